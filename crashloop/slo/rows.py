"""Rows of manifests/slo/*.yaml: SLOs as people write them.

A row is a promise with its condition ("you promise, we promise"): SLI, window, percentile, target, preconditions, fewest
samples. `crashloop.slo.row_faults` reports its errors.
Source of the form: kubernetes/community sig-scalability/slos/slos.md.
"""

from collections.abc import Iterable
from enum import StrEnum
from math import inf
from typing import Any, Literal

import msgspec

from crashloop.slo.scrapes import Labels


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A misspelt field is an error."""


class Selection(_Strict, frozen=True, kw_only=True):
    """Series of one metric, by their labels."""

    metric: str
    """Name of the family, without _bucket."""
    source: str = "kubelet"
    """Where it is scraped: crashloop.slo.scrapes.SOURCES."""
    where: dict[str, tuple[str, ...]] = {}
    """Values that a label must have, by label."""
    without: dict[str, tuple[str, ...]] = {}
    """Values that a label must not have; a missing label has the value ''."""

    def selects(self, labels: Labels) -> bool:
        return all(labels.get(name, "") in allowed for name, allowed in self.where.items()) and not any(
            labels.get(name, "") in excluded for name, excluded in self.without.items()
        )


class HistogramSli(Selection, frozen=True, kw_only=True, tag="histogram", tag_field="kind"):
    """Single events, as a histogram counted them."""

    each: tuple[str, ...] = ()
    """Labels to group by; every group has to keep the target."""
    of: str = "requests"
    """What one sample is, in plural."""


class SampleSli(_Strict, frozen=True, kw_only=True, tag="samples", tag_field="kind"):
    """Single events, from lifecycles."""

    of: str
    """crashloop.slo.events.SAMPLES: such as restart-lateness."""
    groups: tuple[str, ...] = ()
    """Only pods of these groups of the load; all if empty."""


class ShareSli(_Strict, frozen=True, kw_only=True, tag="share", tag_field="kind"):
    """The share of bad events, in percent; in a row without a phase, over all phases together."""

    of: str
    """crashloop.slo.events.SHARES: such as late-restarts."""
    groups: tuple[str, ...] = ()


class RateSli(_Strict, frozen=True, kw_only=True, tag="rate", tag_field="kind"):
    """Events per second."""

    of: str
    """crashloop.slo.events.COUNTS: such as restarts."""
    groups: tuple[str, ...] = ()


class RatioSli(Selection, frozen=True, kw_only=True, tag="ratio", tag_field="kind"):
    """Growth of a counter per event."""

    per: str
    """crashloop.slo.events.COUNTS, such as restarts; or seconds."""
    idle: str | None = None
    """Name of the phase without the load, whose rate is subtracted. None: nothing is."""


class ConservationSli(_Strict, frozen=True, kw_only=True, tag="conservation", tag_field="kind"):
    """The difference in starts between ground truth, restartCount and the kubelet's own counter."""

    groups: tuple[str, ...] = ()


class MovesSli(_Strict, frozen=True, kw_only=True, tag="moves", tag_field="kind"):
    """The number of metrics that do not exist, or do not move."""

    metrics: tuple[str, ...]
    """Families that have to exist and to move; a histogram moves by its count."""
    present: tuple[str, ...] = ()
    """Families that only have to exist."""
    source: str = "kubelet"

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.metrics, *self.present)


class GaugeSli(Selection, frozen=True, kw_only=True, tag="gauge", tag_field="kind"):
    """The highest value of a gauge; every node has to keep the target."""

    relative_to: str | None = None
    """Name of the phase by whose highest value it is divided. None: it is not."""


class GrowthSli(Selection, frozen=True, kw_only=True, tag="growth", tag_field="kind"):
    """How much a gauge grows per event: from the median of the window's first third to that of its last one."""

    per: str
    """crashloop.slo.events.COUNTS, such as restarts."""


class ReadSli(_Strict, frozen=True, kw_only=True, tag="reads", tag_field="kind"):
    """Reads of the API server by the load's canary: a percentile of their latency, or without one the number that failed."""

    of: Literal["get", "list", "watch-list"] | None = None
    """Only these; all if None."""


Figure = SampleSli | RateSli | RatioSli
"""SLIs of one value with an interval, which can be compared."""


class Other(_Strict, frozen=True, kw_only=True):
    """What a phase is compared with: the phase nearest in time that differs in what is named, and in nothing else."""

    phase: str | None = None
    mix: str | None = None
    arm: str | None = None


class RelativeSli(_Strict, frozen=True, kw_only=True, tag="relative", tag_field="kind"):
    """A figure of one phase against the same of another, each on the nodes under load in it; or against its prediction."""

    of: Figure
    unit: str
    """Of the figure."""
    to: Other | Literal["prediction"]
    by: Literal["ratio", "percent", "difference"] = "ratio"
    """How many times the other one; the difference in either direction, in percent of the other; or how much more."""


class KindsSli(Selection, frozen=True, kw_only=True, tag="kinds", tag_field="kind"):
    """The number of kinds of counted events that one of two phases has and the other lacks."""

    each: tuple[str, ...]
    """Labels that make a kind."""
    least: int = 20
    """Fewer events of a kind may be missing by chance."""
    of: str = "requests"
    """What one event is, in plural."""
    to: Other


class ServedSli(_Strict, frozen=True, kw_only=True, tag="served", tag_field="kind"):
    """A figure of the pods of one load that answer requests."""

    of: str
    """crashloop.slo.servers.SERVER_FIGURES: such as kills."""
    load: str
    relative_to: str | None = None
    """Another load, by whose figure it is divided. None: it is not."""


Sli = (
    HistogramSli
    | SampleSli
    | ShareSli
    | RateSli
    | RatioSli
    | ConservationSli
    | MovesSli
    | GaugeSli
    | GrowthSli
    | ReadSli
    | RelativeSli
    | KindsSli
    | ServedSli
)


class Better(StrEnum):
    """Which of two values is the better one."""

    LOWER = "lower"
    HIGHER = "higher"


class Target(_Strict, frozen=True, kw_only=True):
    """What is promised: exactly one bound, or that the figure is reported."""

    at_most: float | None = None
    below: float | None = None
    at_least: float | None = None
    reported: bool = False
    """Nothing is promised but the figure itself, under the preconditions of the row."""
    unit: str

    @property
    def bound(self) -> float:
        """Infinity where nothing is promised."""
        return next((bound for bound in (self.at_most, self.below, self.at_least) if bound is not None), inf)

    @property
    def words(self) -> str:
        """`at most 5 s`, or `reported in s`."""
        return f"reported in {self.unit}" if self.reported else f"{self.word} {self.bound:g} {self.unit}"

    @property
    def word(self) -> str:
        return "at most" if self.at_most is not None else "below" if self.below is not None else "at least"

    @property
    def better(self) -> Better:
        """On which side of the bound the promise is kept."""
        return Better.LOWER if self.at_least is None else Better.HIGHER

    def keeps(self, value: float) -> bool:
        """Whether a value keeps the promise."""
        if self.at_least is not None:
            return value >= self.at_least
        return value < self.below if self.below is not None else value <= self.bound


class Precondition(_Strict, frozen=True, kw_only=True):
    """A promise of the load's author. Where it is broken nothing is promised in return."""

    fact: str
    """crashloop.slo.preconditions.FACTS: such as churn_per_s."""
    at_most: float | None = None
    at_least: float | None = None
    at_most_per_core: float | None = None
    """A second upper bound, times the cores of a node; the lower of the two holds."""
    at_least_per_core: float | None = None
    """A second lower bound, times the cores of a node; the lower of the two holds."""

    @property
    def facts(self) -> tuple[str, ...]:
        """What has to be known to judge it."""
        return (self.fact, "cores") if self.depends_on_cores else (self.fact,)

    @property
    def depends_on_cores(self) -> bool:
        return self.at_most_per_core is not None or self.at_least_per_core is not None

    def most(self, cores: float | None) -> float | None:
        """The upper bound on a node with so many cores; None if there is none, or the cores are unknown."""
        return _lower_of(self.at_most, self.at_most_per_core, cores)

    def least(self, cores: float | None) -> float | None:
        """The lower bound on a node with so many cores; None if there is none, or the cores are unknown."""
        return _lower_of(self.at_least, self.at_least_per_core, cores)


def _lower_of(bound: float | None, per_core: float | None, cores: float | None) -> float | None:
    if per_core is None or cores is None:
        return bound if per_core is None else None
    return per_core * cores if bound is None else min(bound, per_core * cores)


class KnownMiss(_Strict, frozen=True, kw_only=True):
    """A promise that healthy kubelets are known to miss, and by how much."""

    up_to: float
    """The value to which they miss it, in the unit of the target; beyond it the promise is broken by something else."""
    sentence: str
    evidence: str
    """The measurement."""


class SloRow(_Strict, frozen=True, kw_only=True):
    """One SLO."""

    id: str
    sli: Sli
    target: Target
    percentile: float | None = None
    """For histogram and samples. Nearest rank (crashloop.slo.estimates)."""
    phase: str | None = None
    """Name of the judged phases (the stages of a stress profile); None: every phase. Each phase has to keep the target."""
    mixes: tuple[str, ...] = ()
    """Only phases of these mixes; all if empty."""
    except_mixes: tuple[str, ...] = ()
    """No phase of these mixes; a profile need not have them."""
    arm: str | None = None
    """Only phases of this arm of a comparison; None: of all."""
    slice_s: float | None = None
    """Cut each phase into windows of this length. None: the phase is one window."""
    min_samples: int = 1
    preconditions: tuple[Precondition, ...] = ()
    own_preconditions: tuple[Precondition, ...] = ()
    """Further ones of the verdict on the row alone: its requirement and the highest rate of restarts are judged without them."""
    mode: Literal["gate", "report"] = "report"
    decided_by: Literal["value", "interval"] = "value"
    """value: what happened counts. interval: a target within the interval is INCONCLUSIVE."""
    requirement: str | None = None
    """The requirement of the catalogue that says the same; its verdicts come from this row."""
    requirement_preconditions: tuple[Precondition, ...] = ()
    """What the requirement takes for granted besides the preconditions of the row."""
    deviation: KnownMiss | None = None
    """None: no healthy kubelet is known to miss it."""
    definition: str
    """The measured quantity: first and last timestamp, and exclusions."""
    source: str
    """Author and place of the promise."""

    def judges(self, phase: str, mix: str | None, arm: str | None) -> bool:
        """Whether it is about a phase of that name, mix and arm."""
        of_mix = (not self.mixes or mix in self.mixes) and mix not in self.except_mixes
        return self.phase in (None, phase) and of_mix and self.arm in (None, arm)

    def explains(self, value: float | None) -> bool:
        """Whether a missed target is a known deviation."""
        if self.deviation is None or value is None:
            return False
        if self.target.better is Better.LOWER:
            return value <= self.deviation.up_to
        return value >= self.deviation.up_to

    @property
    def figure(self) -> "Sli":
        """The SLI, or of a relative one the figure that it compares."""
        return self.sli.of if isinstance(self.sli, RelativeSli) else self.sli

    @property
    def other(self) -> Other | None:
        """The phase that it is compared with; None for an SLI of one phase, and against a prediction."""
        to = self.sli.to if isinstance(self.sli, RelativeSli | KindsSli) else None
        return to if isinstance(to, Other) else None

    @property
    def for_itself(self) -> "SloRow":
        """The row under the preconditions of its own verdict."""
        every = dict.fromkeys((*self.preconditions, *self.own_preconditions))
        return msgspec.structs.replace(self, preconditions=tuple(every))

    @property
    def for_requirement(self) -> "SloRow":
        """The row under the preconditions of its requirement."""
        every = dict.fromkeys((*self.preconditions, *self.requirement_preconditions))
        return msgspec.structs.replace(self, preconditions=tuple(every))

    @property
    def budget(self) -> float | None:
        """The share of samples that may miss the target."""
        if self.percentile is not None and not isinstance(self.sli, RelativeSli):
            return 1 - self.percentile / 100
        return self.target.bound / 100 if isinstance(self.sli, ShareSli) else None


class SloFile(_Strict, frozen=True, kw_only=True):
    """A file of manifests/slo."""

    description: str
    slos: tuple[SloRow, ...]


def row_of(raw: Any) -> SloRow:
    """A row from plain data. Raises msgspec.ValidationError if its form is wrong."""
    return msgspec.convert(raw, SloRow)


def families_of(rows: Iterable[SloRow]) -> dict[str, frozenset[str]]:
    """The metric families of the rows, by source."""
    found: dict[str, set[str]] = {}
    for row in rows:
        if isinstance(row.figure, Selection):
            found.setdefault(row.figure.source, set()).add(row.figure.metric)
        if isinstance(row.sli, MovesSli):
            found.setdefault(row.sli.source, set()).update(row.sli.names)
    return {source: frozenset(metrics) for source, metrics in found.items()}
