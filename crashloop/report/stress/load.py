"""A stress run in words: its headline, the load as planned, its nodes and arrivals, the figures of its stages, what it ran on.

In the headline checks of the run itself (load as planned, evidence complete) and SLOs are counted separately: a run whose checks
hold is a valid measurement, of good or bad values. Missed and unjudged SLOs are always named, whether they gate or not.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from crashloop.report.document import Article, Block, Headline, Listing, Medium, Paragraph, table
from crashloop.report.standing import Standing
from crashloop.report.stress.results import NodeResult, StageResult, StressResults
from crashloop.report.text import config_yaml, counted, node_facts
from crashloop.slo.estimates import least_samples
from crashloop.slo.measurements import Interval, SloVerdict
from crashloop.slo.preconditions import percentage
from crashloop.slo.rows import Better
from crashloop.verdict import Outcome


class StageFigure(NamedTuple):
    """The kind of a figure of stages: what it is called, its unit, and how two runs are compared by it."""

    words: str
    unit: str = ""
    """Empty: none, or it is nowhere compared."""
    better: Better | None = None
    """Which of two values is better under the same load; None: it is shown, and not compared."""
    percentile: int | None = None
    samples: str = ""
    """The figure with the number of events that a percentile is of."""


FIGURES = {
    "restarts_per_s": StageFigure("restarts/s", "restarts/s", Better.HIGHER),
    "requests_per_restart": StageFigure("API requests of the kubelets per restart", "requests/restart", Better.LOWER),
    "kubelet_cpu_s_per_restart": StageFigure("CPU of the kubelets per restart (s)", "CPU s/restart"),
    "runtime_cpu_s_per_restart": StageFigure("CPU of the runtimes per restart (s)", "CPU s/restart"),
    "apiserver_cpu_s_per_restart": StageFigure("CPU of the API server per restart (s)"),
    "lateness_p50_s": StageFigure("restart lateness p50 (s)", "s", Better.LOWER, 50, "lateness_samples"),
    "lateness_p99_s": StageFigure("restart lateness p99 (s)", "s", Better.LOWER, 99, "lateness_samples"),
    "lateness_samples": StageFigure("restarts with a known delay, done or overdue"),
    "lateness_open": StageFigure("restarts still open"),
    "startup_p50_s": StageFigure("start-up of healthy pods p50 (s)", "s", Better.LOWER, 50, "startup_samples"),
    "startup_p99_s": StageFigure("start-up of healthy pods p99 (s)", "s", Better.LOWER, 99, "startup_samples"),
    "startup_samples": StageFigure("healthy pods, started or overdue"),
    "startup_open": StageFigure("healthy pods not started yet"),
    "kubelet_requests_per_s": StageFigure("API requests/s of the kubelets", "requests/s"),
    "apiserver_requests_per_s": StageFigure("API requests/s of all clients", "requests/s"),
    "kubelet_cpu_cores": StageFigure("CPU of the kubelets (cores)", "cores", Better.LOWER),
    "runtime_cpu_cores": StageFigure("CPU of the runtimes (cores)", "cores", Better.LOWER),
    "apiserver_cpu_cores": StageFigure("CPU of the API server (cores)", "cores", Better.LOWER),
    "etcd_cpu_cores": StageFigure("CPU of etcd (cores)"),
    "harness_cpu_cores": StageFigure("CPU of this harness (cores)"),
    "harness_share": StageFigure("harness / (kubelets + runtimes)"),
    "host_busy_share": StageFigure("host CPU busy"),
    "foreign_cpu_share": StageFigure("host CPU taken by others"),
    "kubelet_memory_mib": StageFigure("memory of the kubelets, highest (MiB)", "MiB"),
    "runtime_memory_mib": StageFigure("memory of the runtimes, highest (MiB)"),
}
"""In the order of display."""


def is_a_highest(name: str, figures: Mapping[str, float | None]) -> bool:
    """Whether a figure is a p99 of so few events that it is their highest."""
    samples = figures.get(FIGURES[name].samples)
    return FIGURES[name].percentile == 99 and samples is not None and samples < least_samples(99)


def stage_figure_text(name: str, figures: Mapping[str, float | None]) -> str:
    """A figure of a stage, and what it really is."""
    value = figures.get(name)
    shown = figure_text(name, value)
    if value is None or not is_a_highest(name, figures):
        return shown
    return f"{shown} (highest of {figures[FIGURES[name].samples]:.0f})"


def figure_text(name: str, value: float | None) -> str:
    """A figure with the digits that matter, a share as a percentage; a dash without a value."""
    if value is None:
        return "–"
    if name.endswith("_share"):
        return percentage(value)
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.4f}" if name.endswith("_per_restart") else f"{value:.3f}"


COUNTING = (
    "Restarts are counted in four ways: those of the whole run, comings and goings between stages included (totals); those that "
    "came within a stage (restarts/s); those whose exit lies within it (lateness, and most promises); and those between the "
    "scrapes nearest to its ends (whatever is a counter per restart). So the numbers differ a little."
)


def stage_name(stage: StageResult) -> str:
    """Name, mix and arm."""
    return ", ".join(filter(None, (stage.name, stage.mix, stage.arm)))


def stage_rows(results: StressResults) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Load, duration and figures of every stage."""
    stages = results.stages
    yield "users", tuple(", ".join(f"{count} {name}" for name, count in each.users.items()) for each in stages)
    yield "measured for (s)", tuple(f"{each.to_s - each.from_s:.0f}" for each in stages)
    for name, kind in FIGURES.items():
        yield kind.words, tuple(stage_figure_text(name, each.figures) for each in stages)


FAR = 100.0
"""A ratio beyond it, or below one part of it, says no more than that nothing is known."""


def ratios_in_words(interval: Interval | None) -> str:
    """`0.774 to 1.201`; extreme bounds are shown as such."""
    if interval is None:
        return "–"
    lower, upper = interval.lower or 0.0, interval.upper
    low = f"below {1 / FAR:g}" if lower < 1 / FAR else f"{lower:.3f}"
    high = f"more than {FAR:g}" if upper is None or upper > FAR else f"{upper:.3f}"
    return f"{low} to {high}"


def environment_in_words(results: StressResults) -> str:
    """One line on host, nodes and measuring; what is not known is left out."""
    return "; ".join(
        (
            *_host_in_words(results.environment.get("host")),
            *_nodes_in_words(node_facts(results.environment)),
            *_disk_in_words(results.environment.get("etcd_disk")),
            *_measuring_in_words(results),
        )
    )


def _host_in_words(host: Any) -> Iterator[str]:
    if not isinstance(host, Mapping):
        return
    parts = []
    if "cpus" in host:
        model = f" ({host['cpu_model']})" if host.get("cpu_model") else ""
        parts.append(f"{host['cpus']} CPUs{model}")
    if "memory_bytes" in host:
        parts.append(f"{host['memory_bytes'] / 2**30:.1f} GiB of memory")
    if "kernel" in host:
        parts.append(f"kernel {host['kernel']}")
    if "cgroup_version" in host:
        parts.append(f"cgroup v{host['cgroup_version']}")
    if parts:
        yield f"host with {', '.join(parts)}"


def _nodes_in_words(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    versions = dict.fromkeys(
        f"kubelet {each.get('kubelet', '?')}, {each.get('container_runtime', '?')}" for each in found
    )
    if found:
        yield f"{counted(len(found), 'node')} ({'; '.join(versions)})"


def _disk_in_words(disk: Any) -> Iterator[str]:
    if isinstance(disk, str):
        yield f"etcd waits for its disk ({disk})" if disk else "etcd does not wait for its disk"


def _measuring_in_words(results: StressResults) -> Iterator[str]:
    if results.planned is not None:
        yield f"metrics scraped every {results.planned.scrape_every_s:g} s"


def planned_load(results: StressResults) -> Iterator[Block]:
    """Loads, stages, and how the load was made; nothing for results without a plan."""
    plan = results.planned
    if plan is None:
        return
    loads = [(each.name, each.kind, each.node, each.user, each.users) for each in plan.loads]
    yield table(("load", "kind", "node", "each user", "users"), *loads)
    rounds = f", {counted(plan.rounds, 'round')}" if plan.rounds > 1 else ""
    yield Paragraph(
        f"Stages{rounds}. A stage is measured after all of its users have started, at the given rate, and settled; then they "
        "stop and remove their objects.",
        "note",
        Medium.PAGE,
    )
    stages = [
        (
            f"{each.label}, {each.arm}" if each.arm else each.label,
            each.users_text or "none",
            *(f"{value:g}" for value in (each.spawn_per_s, each.settle_s, each.duration_s)),
            "not measured" if each.measured_s is None else f"{each.measured_s:g}",
        )
        for each in plan.stages
    ]
    header = ("stage", "users", "come at (users/s)", "settle for (s)", "planned (s)", "measured (s)")
    yield table(header, *stages, look="stages", on=Medium.PAGE)
    if plan.disturbances:
        yield Paragraph(f"On purpose: {'; '.join(plan.disturbances)}.")
    source = f"a master and {plan.workers} workers" if plan.workers else "one process"
    elsewhere = ": the workers ran on other machines, the master" if plan.are_workers_elsewhere else ""
    yield Paragraph(
        f"The load came from {source}{elsewhere} on the nodes' host with {plan.host_cores} cores. Kubelets, API server and "
        f"processes were scraped every {plan.scrape_every_s:g} s.",
        "note",
    )
    if plan.sample is not None:
        yield Paragraph(
            f"Kubelets were scraped on {plan.sample.words}: {', '.join(plan.scraped_nodes)}. Rows about nodes judge these only, "
            "and figures of kubelets are sums over these."
        )


def load_nodes(results: StressResults) -> Iterator[Block]:
    """The nodes, with their configuration on a page."""
    rows = [(_node_name(each), each.profile, each.arm or "–", each.curve or "unknown") for each in results.nodes]
    yield table(("node", "kubelet profile", "arm", "delays"), *rows)
    for each in results.nodes:
        if each.stands_for:
            yield Paragraph(
                f"The scheduler spread the load of {each.name} over {counted(len(each.stands_for), 'node')}: "
                f"{', '.join(each.stands_for)}. Numbers of users are those of all of them.",
                "note",
                Medium.PAGE,
            )
    for each in {each.profile: each for each in results.nodes}.values():
        yield Article(f"Kubelet profile {each.profile}", (Listing(config_yaml(each.config)),))


def _node_name(node: NodeResult) -> str:
    return f"{node.name} ({counted(len(node.stands_for), 'node')})" if node.stands_for else node.name


def open_arrivals(results: StressResults) -> Iterator[Block]:
    """Arrivals of loads that follow a rate."""
    if not results.arrivals:
        return
    yield Paragraph(
        "Open models: arrivals follow the rate alone, even if the system answers slowly; arrivals without a place are dropped "
        "and counted.",
        "note",
        Medium.PAGE,
    )
    rows = [
        (
            each.load,
            *map(str, (each.intended, each.made, each.dropped, each.failed)),
            "–" if each.late_p99_s is None else f"{each.late_p99_s:.3f}",
        )
        for each in results.arrivals
    ]
    yield table(("arrivals of", "intended", "made", "dropped", "failed", "sent late, p99 (s)"), *rows, look="stages")


def stress_headline(results: StressResults) -> Headline:
    """The headline of a stress run. Its standing is that of the worst verdict that gates, as the exit code is."""
    standing = Standing(results.outcome.value)
    slos = _Slos(results)
    sentence = f"{_load_in_words(results)}: {_checks_in_words(results)}; {slos.sentence}."
    return Headline(
        standing,
        sentence,
        " ".join((slos.nothing_gates or _MEANS[standing], *slos.undecided)),
        _TO_DO[standing] if slos.are_kept or standing in (Standing.FAIL, Standing.ERROR) else slos.what_to_read,
    )


class _Slos:
    """The verdicts of rows, by outcome."""

    def __init__(self, results: StressResults) -> None:
        found = [(each, row) for each in results.verdicts if (row := results.row(each.slo)) is not None]
        self._all = [each for each, _ in found]
        self._checks_hold = results.outcome is Outcome.PASS
        self._official = [each for each, row in found if row.is_official]

    @property
    def are_kept(self) -> bool:
        """Whether no SLO was missed or left open."""
        return all(each.outcome is Outcome.PASS for each in self._all)

    @property
    def sentence(self) -> str:
        """`of 14 SLOs 6 are kept, 2 are missed (reported only): a, b; 6 are not judged`."""
        if not self._all:
            return "no SLO was requested"
        if self.are_kept:
            return f"all {len(self._all)} SLOs are kept" if len(self._all) > 1 else "the only SLO is kept"
        kept = _so_many_are(sum(1 for each in self._all if each.outcome is Outcome.PASS), "kept")
        named = (
            ("broken", self._with(Outcome.FAIL, "gate")),
            ("missed (reported only)", self._with(Outcome.FAIL, "report")),
            ("a known deviation" if len(self._known) == 1 else "known deviations", self._known),
            ("in error", self._with(Outcome.ERROR)),
        )
        parts = [f"{_so_many_are(len(each), word)}: {_slo_names(each)}" for word, each in named if each]
        undecided = self._with(Outcome.INCONCLUSIVE)
        details = "; ".join([*parts, *([_so_many_are(len(undecided), "not judged")] if undecided else [])])
        return f"of {counted(len(self._all), 'SLO')} {kept}, {details}"

    @property
    def nothing_gates(self) -> str:
        """A note that only the checks decide; empty if any SLO gates, or a check does not hold."""
        if any(each.mode == "gate" for each in self._all) or not self._checks_hold:
            return ""
        return "No SLO gates in this load: it measures, and only the checks of the run decide the exit code."

    @property
    def undecided(self) -> Iterator[str]:
        """The unjudged SLOs, official ones first."""
        open_ones = self._with(Outcome.INCONCLUSIVE)
        if open_ones:
            yield f"Not judged: {_slo_names(open_ones)}."
        if self._no_official_one:
            yield (
                f"So none of the {counted(len(self._official), 'official SLO')} of Kubernetes was judged: "
                "this run proves nothing about them."
            )

    @property
    def what_to_read(self) -> str:
        """What to do if no gate was broken, but not every SLO was kept."""
        return f"{_READ_ON} {_OFFICIAL}" if self._no_official_one else _READ_ON

    @property
    def _no_official_one(self) -> bool:
        return bool(self._official) and all(each.outcome is Outcome.INCONCLUSIVE for each in self._official)

    @property
    def _known(self) -> list[SloVerdict]:
        return [each for each in self._all if each.deviation is not None]

    def _with(self, outcome: Outcome, *modes: str) -> list[SloVerdict]:
        return [
            each
            for each in self._all
            if each.outcome is outcome and each.deviation is None and (not modes or each.mode in modes)
        ]


def _load_in_words(results: StressResults) -> str:
    restarts = counted_restarts(results)
    return f"{restarts} in the load {results.profile} on Kubernetes {results.kubernetes_version}"


def counted_restarts(results: StressResults) -> str:
    """`2,870 restarts`, of the whole run."""
    number = round(results.totals.get("restarts", 0))
    return f"{number:,} {'restart' if number == 1 else 'restarts'}"


def _checks_in_words(results: StressResults) -> str:
    found = [each for each in results.verdicts if results.row(each.slo) is None]
    open_ones = [each for each in found if each.outcome is not Outcome.PASS]
    if not found:
        return "the run itself was not checked"
    if not open_ones:
        return f"all {counted(len(found), 'check')} of the run hold"
    do = "does" if len(open_ones) == 1 else "do"
    return f"{len(open_ones)} of {counted(len(found), 'check')} of the run {do} not hold: {_slo_names(open_ones)}"


def _so_many_are(number: int, word: str) -> str:
    return f"{number or 'none'} {'are' if number > 1 else 'is'} {word}"


def _slo_names(verdicts: Sequence[SloVerdict]) -> str:
    return ", ".join(each.slo for each in verdicts)


_MEANS = {
    Standing.PASS: "Every gating target was met where its preconditions held, with at least the samples that it requires.",
    Standing.FAIL: "The preconditions of every missed target held; a failed check of the run is a broken guarantee.",
    Standing.INCONCLUSIVE: (
        "No gate accuses Kubernetes, but not every gate could be judged: the load differed from the plan, a precondition was "
        "broken, or samples were few."
    ),
    Standing.ERROR: (
        "The fault lies with this suite, its rows, the credentials or the host, not with Kubernetes; the recording is kept."
    ),
}
_READ_ON = (
    "Read the sentences of missed and unjudged SLOs before relying on this run: they name the missing evidence, and the "
    "stages' figures say what was scarce."
)
_OFFICIAL = (
    "Official SLOs need a load within their preconditions (at most 110 pods per node and 10 per core), "
    "and enough samples."
)
_TO_DO = {
    Standing.PASS: "Nothing. The figures below show the cost of the load.",
    Standing.FAIL: (
        "Read the sentence of each broken promise; the stages' figures say what was scarce. "
        "If the host was busy with other work, repeat the run on a quiet host."
    ),
    Standing.INCONCLUSIVE: "The sentences name the missing evidence.",
    Standing.ERROR: "Read the sentences: they name what is left and how to remove it, or the row that is wrong itself.",
}
