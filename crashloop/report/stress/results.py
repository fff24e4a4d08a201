"""slo.json: the results of a stress run, with all data of its report. Views are made from this alone.

Its verdicts on requirements, SLOs and the run itself are also a results.json, in the form that every run has.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from crashloop.predict.costs import Costs
from crashloop.report.results import DeviationText, ProfileSummary, RequirementText, Results, RunResults, command_line
from crashloop.report.standing import Standing, count
from crashloop.slo.compare import Effect
from crashloop.slo.measurements import Interval, SloVerdict
from crashloop.slo.rows import Better
from crashloop.slo.scrapes import NodeSample
from crashloop.verdict import ExitCode, Outcome, Verdict, VerdictMode, exit_code, worst


class PlannedLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One load."""

    name: str
    kind: str
    node: str
    user: str
    """The fields of one user of it that have no default."""
    users: str
    """Numbers by stage, in words."""


class PlannedStage(msgspec.Struct, frozen=True, kw_only=True):
    """One stage, rounds spelled out."""

    label: str
    """Name and mix."""
    arm: str = ""
    duration_s: float
    measured_s: float | None = None
    """Duration of its measurement; None: not measured."""
    users: dict[str, int]
    """By load."""
    spawn_per_s: float
    settle_s: float

    @property
    def users_text(self) -> str:
        """`1 healthy, 110 crashers`."""
        return ", ".join(f"{count} {name}" for name, count in self.users.items())


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was decided before the load began."""

    loads: tuple[PlannedLoad, ...]
    stages: tuple[PlannedStage, ...]
    rounds: int = 1
    scrape_every_s: float
    workers: int = 0
    """Of the load generator, besides its master; 0: one process."""
    are_workers_elsewhere: bool = False
    host_cores: int
    disturbances: tuple[str, ...] = ()
    """In words."""
    sample: NodeSample | None = None
    """The nodes whose metrics were scraped; None: all of them."""
    scraped_nodes: tuple[str, ...] = ()
    """Names of their Node objects, if that was not all of them."""


STRESS_RESULTS_FORMAT = "crashloop.slo/1"

OFFICIAL_SOURCE = "kubernetes/community"
"""Prefix of the source of Kubernetes' own promises."""

Point = tuple[float, float]
"""Seconds since the load began, and a value."""


class RowText(msgspec.Struct, frozen=True, kw_only=True):
    """The SLO of a verdict, for its readers."""

    id: str
    definition: str
    source: str
    promise: str
    """Such as `p99 at most 5 s`."""
    better: Better
    phase: str | None = None
    """Name of its stages; None: all of them."""

    @property
    def is_official(self) -> bool:
        """Whether Kubernetes itself promises it: SIG Scalability's SLOs."""
        return self.source.startswith(OFFICIAL_SOURCE)


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the load's timeline."""

    name: str
    """Its quantity, such as restarts; series of one name share a plot."""
    node: str = ""
    unit: str
    target: float | None = None
    """Target of its SLO, where one is drawn."""
    slo: str = ""
    at_most: float | None = None
    """The largest measurable value, if bounded: a point there is that or more."""
    points: tuple[Point, ...]


class Dots(msgspec.Struct, frozen=True, kw_only=True):
    """Single events of the timeline, with the line of their SLO."""

    name: str
    node: str = ""
    unit: str
    target: float | None = None
    slo: str = ""
    """Id of the row that promises the target."""
    samples: int = 0
    """Events of the whole run; of many only the highest of neighbours become points."""
    missed: int = 0
    """Events that missed the target."""
    points: tuple[Point, ...]


class LoadCurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """All restarts of one number on one node: exit to create, in seconds."""

    restart: int
    due_s: float
    samples: int
    lowest_s: float
    p50_s: float
    p90_s: float
    highest_s: float


class LoadCurve(msgspec.Struct, frozen=True, kw_only=True):
    """The delays of a node's crashing containers under one load."""

    node: str
    profile: str
    stage: str = ""
    """Name and mix of its stages, all rounds together."""
    points: tuple[LoadCurvePoint, ...]


class StageResult(msgspec.Struct, frozen=True, kw_only=True):
    """One measured stage. Times in seconds since the load began."""

    name: str
    mix: str = ""
    arm: str = ""
    from_s: float
    to_s: float
    users: dict[str, int] = {}
    crashing_pods: int = 0
    """The most crashing pods, on all nodes together."""
    figures: dict[str, float | None] = {}
    """By name, the unit in it: restarts_per_s, kubelet_cpu_cores, ... None without a value."""
    intervals: dict[str, Interval] = {}
    """Intervals of figures by what varied within the stage (crashloop.stress.figures)."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Treatment against baseline, for one mix."""

    mix: str
    baseline: str
    """Kubelet profile of the baseline's node."""
    treatment: str
    effects: tuple[Effect, ...]
    doubt: str = ""
    """Why its figures may not be those of the nodes, as a sentence; empty if nothing speaks against them."""


class OpenModel(msgspec.Struct, frozen=True, kw_only=True):
    """Arrivals of one load, intended and achieved."""

    load: str
    intended: int
    made: int
    dropped: int
    """No place was left."""
    failed: int
    """Refused or unanswered."""
    late_p99_s: float | None = None
    """Lateness of the requests against their intended times."""


class ServedResult(msgspec.Struct, frozen=True, kw_only=True):
    """A server and the requests to it, in one stage."""

    load: str
    stage: str
    requests: int
    """Intended in the stage."""
    figures: dict[str, float | None] = {}
    """By name (crashloop.slo.servers). None without a value."""
    cpu_limit: float | None = None
    """Cores."""
    kills_s: tuple[float, ...] = ()
    """When its container was killed in the stage, by ground truth; seconds since the load began."""
    downs_s: tuple[tuple[float, float], ...] = ()
    """When its container was down in the stage, likewise: from an exit to the next start."""
    at_least: tuple[str, ...] = ()
    """Names of figures that are known to be that or more: requests were never answered."""


class NodeResult(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the run."""

    name: str
    profile: str
    arm: str = ""
    config: dict[str, Any] = {}
    curve: str = ""
    """Its delays in words."""
    kubernetes_version: str | None = None
    """Of its kubelet, where that is not the cluster's."""
    stands_for: tuple[str, ...] = ()
    """Names of the Node objects over which its load was spread; empty: it is one node."""


class StressResults(RunResults, frozen=True, kw_only=True):
    """slo.json."""

    format: str = STRESS_RESULTS_FORMAT
    profile: str
    description: str
    verdicts: tuple[SloVerdict, ...]
    judged: tuple[Verdict, ...] = ()
    """On requirements of the catalogue, in its order; also written as results.json."""
    requirements: tuple[RequirementText, ...] = ()
    """Those of `judged`."""
    deviations: tuple[DeviationText, ...] = ()
    """Those that rows know of and that explain a verdict."""
    rows: tuple[RowText, ...]
    nodes: tuple[NodeResult, ...]
    stages: tuple[StageResult, ...]
    series: tuple[Series, ...] = ()
    dots: tuple[Dots, ...] = ()
    curves: tuple[LoadCurve, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    arrivals: tuple[OpenModel, ...] = ()
    served: tuple[ServedResult, ...] = ()
    incidents: tuple[str, ...] = ()
    costs: Costs | None = None
    """Of one restart; None with too few restarts. Also written as costs.json."""
    totals: dict[str, float] = {}
    """Of the whole run: pods, container_starts, restarts, history_events, ..."""
    planned: PlannedRun | None = None
    """None: written by a version without this field."""

    def row(self, slo: str) -> RowText | None:
        """The text of a verdict's SLO; None without a row."""
        return next((each for each in self.rows if each.id == slo), None)


def standing_of(verdict: SloVerdict) -> Standing:
    """The standing of an SLO or a check in its run."""
    return Standing(verdict.outcome.value) if verdict.deviation is None else Standing.DEVIATION


def outcome_of(verdicts: Iterable[SloVerdict], judged: Iterable[Verdict] = ()) -> Outcome:
    """The worst outcome of the gates, requirements included; PASS without any."""
    gates = [each.outcome for each in verdicts if each.counts]
    gates += [each.outcome for each in judged if each.counts and each.outcome is not Outcome.SKIPPED]
    return worst(gates) if gates else Outcome.PASS


def exit_code_of(outcome: Outcome, *, interrupted: bool) -> int:
    """The exit code of a stress run."""
    if interrupted:
        return ExitCode.INTERRUPTED
    return exit_code(outcome)


SUITE = "stress"
CHECK = "A check of the run itself."


def requirement_results(results: StressResults) -> Results:
    """The part of a stress run about requirements of the catalogue; outcome and exit code are those of the whole run."""
    profiles = {
        each.profile: ProfileSummary(
            name=each.profile, config=each.config, curve=each.curve, kubernetes_version=each.kubernetes_version
        )
        for each in results.nodes
    }
    head = {name: getattr(results, name) for name in RunResults.__struct_fields__ if name != "format"}
    return Results(
        **head,
        suite=SUITE,
        scope=results.profile,
        counts=count(results.judged),
        verdicts=tuple(sorted(results.judged, key=lambda each: Standing.of(each).rank)),
        requirements=results.requirements,
        deviations=results.deviations,
        profiles=tuple(profiles.values()),
    )


def run_results(results: StressResults) -> Results:
    """All verdicts of a stress run; an SLO stands where a requirement stands, with its promise as the sentence."""
    judged = requirement_results(results)
    verdicts = (*judged.verdicts, *(_verdict_of_slo(each, results) for each in results.verdicts))
    return msgspec.structs.replace(
        judged,
        counts=count(verdicts),
        verdicts=tuple(sorted(verdicts, key=lambda each: Standing.of(each).rank)),
        requirements=(*judged.requirements, *(_text_of_slo(each.slo, results) for each in results.verdicts)),
    )


def _verdict_of_slo(verdict: SloVerdict, results: StressResults) -> Verdict:
    row = results.row(verdict.slo)
    facts = {"value": verdict.value, "unit": verdict.unit, "target": verdict.target, "samples": verdict.samples}
    return Verdict(
        requirement=verdict.slo,
        scenario=f"{results.profile}/{row.phase}" if row is not None and row.phase else results.profile,
        profile=", ".join(dict.fromkeys(each.profile for each in results.nodes)),
        outcome=verdict.outcome,
        mode=VerdictMode(verdict.mode),
        findings=(verdict.sentence, *verdict.notes),
        deviation=verdict.deviation,
        facts={name: value for name, value in facts.items() if value is not None},
    )


def _text_of_slo(slo: str, results: StressResults) -> RequirementText:
    row = results.row(slo)
    if row is None:
        return RequirementText(id=slo, sentence=CHECK)
    return RequirementText(id=slo, sentence=row.promise, source=row.source, note=row.definition)


def stress_again(results: StressResults) -> str:
    """The command that runs the same stress profile again."""
    older = (
        results.profile,
        f"--provider={results.provider}",
        f"--kubernetes-version={results.kubernetes_version}",
    )
    return command_line("stress", results.arguments or older)
