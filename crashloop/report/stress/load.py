"""The load of a stress run in words: as planned, its nodes and arrivals, the figures of its stages, and what it ran on."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crashloop.report.document import Article, Block, Listing, Medium, Paragraph, table
from crashloop.report.stress.results import NodeResult, StageResult, StressResults
from crashloop.report.text import config_yaml, counted, node_facts
from crashloop.slo.estimates import least_samples
from crashloop.slo.measurements import Interval
from crashloop.slo.preconditions import percentage

FIGURES = {
    "restarts_per_s": "restarts/s",
    "requests_per_restart": "API requests of the kubelets per restart",
    "kubelet_cpu_s_per_restart": "CPU of the kubelets per restart (s)",
    "runtime_cpu_s_per_restart": "CPU of the runtimes per restart (s)",
    "apiserver_cpu_s_per_restart": "CPU of the API server per restart (s)",
    "lateness_p50_s": "restart lateness p50 (s)",
    "lateness_p99_s": "restart lateness p99 (s)",
    "lateness_samples": "restarts with a known delay, done or overdue",
    "lateness_open": "restarts still open",
    "startup_p50_s": "start-up of healthy pods p50 (s)",
    "startup_p99_s": "start-up of healthy pods p99 (s)",
    "startup_samples": "healthy pods, started or overdue",
    "startup_open": "healthy pods not started yet",
    "kubelet_requests_per_s": "API requests/s of the kubelets",
    "apiserver_requests_per_s": "API requests/s of all clients",
    "kubelet_cpu_cores": "CPU of the kubelets (cores)",
    "runtime_cpu_cores": "CPU of the runtimes (cores)",
    "apiserver_cpu_cores": "CPU of the API server (cores)",
    "etcd_cpu_cores": "CPU of etcd (cores)",
    "harness_cpu_cores": "CPU of this harness (cores)",
    "harness_share": "harness / (kubelets + runtimes)",
    "host_busy_share": "host CPU busy",
    "foreign_cpu_share": "host CPU taken by others",
    "kubelet_memory_mib": "memory of the kubelets, highest (MiB)",
    "runtime_memory_mib": "memory of the runtimes, highest (MiB)",
}
"""In the order of display."""

_SAMPLES = {"lateness_p99_s": "lateness_samples", "startup_p99_s": "startup_samples"}
"""The figures with the number of events that a p99 is of."""


def is_a_highest(name: str, figures: Mapping[str, float | None]) -> bool:
    """Whether a figure is a p99 of so few events that it is their highest."""
    samples = figures.get(_SAMPLES.get(name, ""))
    return samples is not None and samples < least_samples(99)


def stage_figure_text(name: str, figures: Mapping[str, float | None]) -> str:
    """A figure of a stage, and what it really is."""
    value = figures.get(name)
    shown = figure_text(name, value)
    if value is None or not is_a_highest(name, figures):
        return shown
    return f"{shown} (highest of {figures[_SAMPLES[name]]:.0f})"


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
    for name, words in FIGURES.items():
        yield words, tuple(stage_figure_text(name, each.figures) for each in stages)


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


def _measuring_in_words(results: StressResults) -> Iterator[str]:
    if results.planned is not None:
        yield f"metrics scraped every {results.planned.scrape_every_s:g} s"


def planned_load(results: StressResults) -> Iterator[Block]:
    """Loads, stages, and how the load was made; nothing for results without a plan."""
    plan = results.planned
    if plan is None:
        return
    loads = [(each.name, each.kind, each.node, f"{each.user}.", each.users) for each in plan.loads]
    yield table(("load", "kind", "node", "one user is", "users"), *loads)
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
