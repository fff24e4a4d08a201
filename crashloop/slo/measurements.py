"""What is measured and judged: samples, lifecycles, phases, the value of an SLI, the verdict of an SLO and its evidence.

How much does a kept or missed percentile prove: would a system that just breaks the promise look like that? With 100 samples
and one allowed miss, a system that misses 2 % keeps "p99" in four of ten runs. So a verdict says what happened, and its evidence
is *strong* only if as few misses would be rare (5 %) where the budget is just exceeded; likewise as many misses where it is just
kept. Samples are effective ones (crashloop.slo.estimates).
"""

import math
from enum import StrEnum
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from crashloop.slo.scrapes import Scrapes
from crashloop.verdict import Outcome

RARE = 0.05


class Strength(StrEnum):
    """Of the evidence for a verdict."""

    STRONG = "strong"
    WEAK = "weak"


def chance_at_the_budget(bad: int, samples: int, effective: float, budget: float, *, kept: bool) -> float:
    """Probability of a result at least as far from the budget on its side, if the share of misses is exactly the budget."""
    number = max(1, math.floor(effective))
    shrunk = bad * number / samples
    if kept:
        return _chance_of_at_most(math.ceil(shrunk), number, budget)
    return 1 - _chance_of_at_most(math.floor(shrunk) - 1, number, budget)


def strength(bad: int, samples: int, effective: float | None, budget: float, *, kept: bool) -> Strength:
    """Weak also where it is unknown how independent the samples are."""
    known = effective is not None and chance_at_the_budget(bad, samples, effective, budget, kept=kept) <= RARE
    return Strength.STRONG if known else Strength.WEAK


def _chance_of_at_most(hits: int, samples: int, share: float) -> float:
    """Of a binomial number."""
    if hits < 0:
        return 0.0
    logs = [
        math.lgamma(samples + 1)
        - math.lgamma(each + 1)
        - math.lgamma(samples - each + 1)
        + each * math.log(share)
        + (samples - each) * math.log1p(-share)
        for each in range(min(hits, samples) + 1)
    ]
    return min(1.0, float(np.exp(logs).sum()))


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a run under one load. UTC nanoseconds; the end is exclusive."""

    name: str
    """Such as baseline, steady, burst; several phases may share a name (blocks of a comparison)."""
    from_ns: int
    to_ns: int
    arm: str = ""
    """In a comparison: baseline or treatment."""
    mix: str = ""
    """Distinguishes phases of one name."""
    nodes: tuple[str, ...] = ()
    """Nodes that were under load; empty if that is not known."""
    predicted_per_s: float | None = None
    """Restarts per second by `crashloop predict`; None without a prediction."""
    unpredicted: str = ""
    """Why there is none, if the load is not the reason."""

    @property
    def label(self) -> str:
        """For people: name, mix and arm."""
        return ", ".join(each for each in (self.name, self.mix, self.arm) if each)

    @property
    def seconds(self) -> float:
        return (self.to_ns - self.from_ns) / 1e9


class Lost(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A restart that was missing long after its latest moment (crashloop.restarts.bounds.LOST_AFTER_S)."""

    waited_s: float
    """From the exit to the create, or to the end of the observation."""
    latest_s: float
    """The longest time from exit to create that the model allows."""
    doubt: str = ""
    """What may have held it up, or hidden it; empty: nothing."""


class Restart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One restart of a container, by ground truth, with the exit before it. UTC nanoseconds."""

    container: str
    number: int
    """1 for the first restart."""
    exited_ns: int
    exit_code: int | None = None
    created_ns: int | None = None
    """The runtime's create: the kubelet's decision. None if only the journal recorded the start, or if it is still open."""
    started_ns: int | None = None
    """None if it is still open."""
    due_s: float | None = None
    """The shortest backoff delay that the model allows; None if the model has no answer."""
    due_at_most_s: float | None = None
    """The longest due delay, if the evidence leaves several possible; None: only one is."""
    latest_s: float | None = None
    """The longest time from exit to create that the model allows; None if it has no answer or promises none."""
    expected: bool | None = None
    """Whether rule, restart policy or a RestartAllContainers of the pod made it due; None if that is not known."""
    early_s: float | None = None
    """By how much it came before its due delay, beyond the resolution of what saw it; None: it did not."""
    lost: Lost | None = None

    @property
    def is_on_its_way(self) -> bool:
        """Whether it was created, and not seen to start."""
        return self.created_ns is not None and self.started_ns is None

    @property
    def came_ns(self) -> int | None:
        """The create, or the start where only that is known; None while it is open."""
        return self.started_ns if self.created_ns is None else self.created_ns

    @property
    def running_ns(self) -> int | None:
        """The start, or the create where no start was seen; None while it is open."""
        return self.created_ns if self.started_ns is None else self.started_ns

    @property
    def late_s(self) -> float | None:
        """Restart lateness: exit to create, minus the due delay. Negative for a restart that was too early."""
        if self.created_ns is None or self.due_s is None:
            return None
        return (self.created_ns - self.exited_ns) / 1e9 - self.due_s


class RestartAll(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One RestartAllContainers: the exit that triggered it, and the first start of a container after it."""

    container: str
    exited_ns: int
    started_ns: int | None = None


class Lifecycle(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One pod, as observed. UTC nanoseconds; None for unobserved events.

    Written to RUN/metrics/lifecycles.jsonl, one per line.
    """

    pod: str
    uid: str
    node: str = ""
    group: str = ""
    """Its group in the load: crasher, healthy, canary, job, ..."""
    stateless: bool = True
    """No volumes but secret, configMap, downwardAPI, emptyDir and projected: the scope of the official start-up SLI."""
    has_init: bool = False
    """Whether it has init containers, whose time the official SLI excludes: here such pods are excluded from it."""
    may_pull: bool = False
    """Whether images may be pulled for its start, whose time the official SLI excludes, too: likewise."""
    asked_ns: int | None = None
    """When our create request was sent, by our clock; the official SLI starts here. None for the pods of other objects."""
    seen_ns: int | None = None
    """When the watch first delivered it."""
    started_ns: int | None = None
    """When the watch first delivered all its containers as started at least once; the official SLI ends here."""
    ready_ns: int | None = None
    """When the watch first delivered it as Ready."""
    failed_ns: int | None = None
    """When the watch first delivered it as Failed, also after deletion or eviction."""
    deleted_ns: int | None = None
    """When the watch delivered its deletion."""
    seen_until_ns: int | None = None
    """End of its observation: of the recording, the request for its deletion, or the reading of its journals before that."""
    restart_counts: dict[str, int] = {}
    """restartCount by container, by the last status until then: statements of the system under test."""
    starts_ns: dict[str, tuple[int, ...]] = {}
    """When each container's process started, by ground truth, the first start included."""
    unseen_starts: dict[str, int] = {}
    """Restarts that a status stated only after the end of observation and ground truth lacks, by container."""
    unstarted_ns: dict[str, tuple[int, ...]] = {}
    """Creation times of instances that never ran, as a killed kubelet leaves them."""
    restarts: tuple[Restart, ...] = ()
    restarts_all: tuple[RestartAll, ...] = ()
    finals_ns: tuple[int, ...] = ()
    """Exits after which the container had to stay down, by rules and policy; empty if that was not examined."""

    @property
    def there_ns(self) -> int | None:
        """Since when it counts as there: since the request, or since it was seen where a controller made it."""
        return self.seen_ns if self.asked_ns is None else self.asked_ns


class ApiRead(msgspec.Struct, frozen=True, kw_only=True):
    """One read of the API server by the load."""

    kind: str
    """get, list or watch-list."""
    intended_ns: int
    took_s: float
    """From the intended moment to the answer, or to its failure; of a streaming list to the bookmark that ends it."""
    failed: bool = False
    unserved: int = 0
    """The HTTP status by which the API server said that it serves no such reads; 0 if it does."""


class ServedPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that answers requests, with all that was asked of it. UTC nanoseconds."""

    load: str
    pod: str
    node: str = ""
    service: str = ""
    """The Service whose requests it shares with other pods; empty for one with requests of its own."""
    cpu_limit: float | None = None
    """Cores."""
    rate_per_s: float
    bursts: tuple[tuple[int, int, float], ...] = ()
    """Begin and end of intervals with another rate, and that rate."""
    began_ns: int
    """Begin of the demand."""
    ended_ns: int
    intended_ns: tuple[int, ...] = ()
    """Every request, in order."""
    answered: tuple[tuple[int, int], ...] = ()
    """When it was intended and when it was answered, by the latter."""
    given_up: tuple[tuple[int, int], ...] = ()
    """When a request was intended and when its client gave it up, by the latter."""
    downs_ns: tuple[tuple[int, int], ...] = ()
    """From the end of its process, by ground truth, to the next one's start, or to the end of the observation."""

    def has_demand_in(self, window: Phase) -> bool:
        return self.began_ns < window.to_ns and self.ended_ns > window.from_ns


class Measured(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All evidence for the judgement of SLOs."""

    phases: tuple[Phase, ...]
    scrapes: tuple[Scrapes, ...] = ()
    lifecycles: tuple[Lifecycle, ...] = ()
    reads: tuple[ApiRead, ...] = ()
    served: tuple[ServedPod, ...] = ()
    facts: dict[str, float] = {}
    """Facts for preconditions: churn_per_s, pods_per_node, cores, nodes, ... (crashloop.slo.preconditions computes some)."""

    @cached_property
    def found_ns(self) -> dict[tuple[str, str], NDArray[np.int64]]:
        """Times of events by kind and node, which crashloop.slo.events.times_of looks up once."""
        return {}


class Interval(msgspec.Struct, frozen=True):
    """Of a value, by what varies within the run (crashloop.slo.estimates): its bounds, None for an unknown one."""

    lower: float | None
    upper: float | None
    confidence: float = 0.95

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Both, if it has both."""
        return None if self.lower is None or self.upper is None else (self.lower, self.upper)


class SliResult(msgspec.Struct, frozen=True, kw_only=True):
    """The value of one SLI in one window, for one group of labels."""

    value: float | None
    """In the unit of the row; None without a value."""
    interval: Interval | None = None
    samples: int = 0
    effective_samples: float | None = None
    """As many independent samples would vary as much (crashloop.slo.estimates); None if that is unknown."""
    bad: int | None = None
    """Samples that certainly miss the target; None for an SLI without single samples."""
    bad_at_most: int | None = None
    """Samples that may miss it, if the target lies within a bucket; None: no more than `bad`."""
    group: dict[str, str] = {}
    """Labels that the row groups by, such as resource and verb."""
    phase: str = ""
    """Label of the phase that the window lies in."""
    compared: str = ""
    """Of a relative value: the two values behind it, in a sentence."""
    from_ns: int = 0
    to_ns: int = 0
    edges: tuple[float, float | None] | None = None
    """The histogram's bucket in which the value lies, interpolated between them. Above None there is no edge: the value is more
    than the lower one."""
    notes: tuple[str, ...] = ()
    """Sentences on defects of the value: missed scrapes, a restarted process."""


class SloVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of one SLO."""

    slo: str
    outcome: Outcome
    mode: str
    """gate: a FAIL fails the run. report: it is shown."""
    sentence: str
    """Observation, promise and condition; see docs/slo.md."""
    target: float | None
    """None for a figure that is only reported."""
    unit: str
    percentile: float | None = None
    value: float | None = None
    interval: Interval | None = None
    samples: int = 0
    budget: float | None = None
    """The share of samples that may miss the target."""
    budget_used: float | None = None
    """The share of missed samples, divided by the budget: above 1 the promise is broken."""
    evidence: Strength | None = None
    """How much the shown value proves; None where no promise was kept or missed by single samples."""
    results: tuple[SliResult, ...] = ()
    """One per window and group; `value` above is that of the worst."""
    notes: tuple[str, ...] = ()
    deviation: str | None = None
    """The id of the row, if it says that healthy kubelets miss the target as far as this value does."""

    @property
    def counts(self) -> bool:
        """Whether its outcome is one of the run."""
        return self.mode == "gate" and self.deviation is None

    @property
    def fails_the_run(self) -> bool:
        return self.outcome is Outcome.FAIL and self.counts
