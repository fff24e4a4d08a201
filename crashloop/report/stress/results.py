"""slo.json: what a stress run came to, with all that its report is drawn from. Views are drawn from this alone."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from crashloop.predict.costs import Costs
from crashloop.report.coverage import Coverage
from crashloop.report.results import RequirementText
from crashloop.report.stress.plan import PlannedRun
from crashloop.slo.compare import Effect
from crashloop.slo.rows import Better
from crashloop.slo.types import Interval, SloVerdict
from crashloop.verdict import ExitCode, Outcome, Verdict, exit_code, worst

STRESS_RESULTS_FORMAT = "crashloop.slo/1"

OFFICIAL_SOURCE = "kubernetes/community"
"""How the source of a promise begins that Kubernetes itself makes."""

Point = tuple[float, float]
"""Seconds since the load began, and a value."""


class RowText(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader of a verdict wants to know about its SLO."""

    id: str
    definition: str
    source: str
    promise: str
    """Such as `p99 at most 5 s`."""
    better: Better | None = None
    """None: the file was written before this was told."""
    phase: str | None = None
    """Name of the stages that it looks at; None: all of them."""

    @property
    def is_official(self) -> bool:
        """Whether Kubernetes itself promises it: SIG Scalability's SLOs."""
        return self.source.startswith(OFFICIAL_SOURCE)


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the load's timeline."""

    name: str
    """What it shows, such as restarts; series of one name share a plot."""
    node: str = ""
    unit: str
    target: float | None = None
    """Of the SLO that it belongs to, where one is drawn."""
    slo: str = ""
    at_most: float | None = None
    """The largest value that can be told, where there is one: what is drawn there is that or more."""
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
    """Events of the whole run; of many only the highest of neighbours are among the points."""
    missed: int = 0
    """How many of all of them missed the target."""
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
    """Name and mix of the stages that it is from, all rounds together."""
    points: tuple[LoadCurvePoint, ...]


class StageResult(msgspec.Struct, frozen=True, kw_only=True):
    """One stage as it was measured. Times in seconds since the load began."""

    name: str
    mix: str = ""
    arm: str = ""
    from_s: float
    to_s: float
    users: dict[str, int] = {}
    crashing_pods: int = 0
    """The most pods of it that crash, on all nodes together."""
    figures: dict[str, float | None] = {}
    """By name, the unit in it: restarts_per_s, kubelet_cpu_cores, ... None where nothing tells."""
    intervals: dict[str, Interval] = {}
    """Where figures would lie if the stage were repeated: those of crashloop.stress.intervals."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Treatment against baseline, for one mix."""

    mix: str
    baseline: str
    """Kubelet profile of the baseline's node."""
    treatment: str
    effects: tuple[Effect, ...]


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
    """How much later than intended the requests were sent."""


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


class StressResults(msgspec.Struct, frozen=True, kw_only=True):
    """slo.json."""

    format: str = STRESS_RESULTS_FORMAT
    profile: str
    description: str
    provider: str
    kubernetes_version: str
    crashloop_version: str
    run: str
    started: datetime
    finished: datetime
    outcome: Outcome
    exit_code: int
    verdicts: tuple[SloVerdict, ...]
    judged: tuple[Verdict, ...] = ()
    """On requirements of the catalogue, in its order; also written as results.json."""
    requirements: tuple[RequirementText, ...] = ()
    """Those of `judged`."""
    coverage: Coverage | None = None
    """How many requirements were judged; None: the file was written before this was counted."""
    rows: tuple[RowText, ...]
    nodes: tuple[NodeResult, ...]
    stages: tuple[StageResult, ...]
    series: tuple[Series, ...] = ()
    dots: tuple[Dots, ...] = ()
    curves: tuple[LoadCurve, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    arrivals: tuple[OpenModel, ...] = ()
    incidents: tuple[str, ...] = ()
    costs: Costs | None = None
    """Of one restart; None where too few were measured. Also written as costs.json."""
    totals: dict[str, float] = {}
    """Of the whole run: pods, container_starts, restarts, history_events, ..."""
    environment: dict[str, Any] = {}
    planned: PlannedRun | None = None
    """None: the file was written before this was told."""

    def row(self, slo: str) -> RowText | None:
        """The text of a verdict's SLO; None for what is no row of a file."""
        return next((each for each in self.rows if each.id == slo), None)


def outcome_of(verdicts: Iterable[SloVerdict], judged: Iterable[Verdict] = ()) -> Outcome:
    """The worst of the verdicts that gate, those on requirements included; PASS if none does."""
    gates = [each.outcome for each in verdicts if each.mode == "gate"]
    gates += [each.outcome for each in judged if each.counts and each.outcome is not Outcome.SKIPPED]
    return worst(gates) if gates else Outcome.PASS


def exit_code_of(outcome: Outcome, *, interrupted: bool) -> int:
    """The exit code of a stress run."""
    if interrupted:
        return ExitCode.INTERRUPTED
    return exit_code(outcome)
