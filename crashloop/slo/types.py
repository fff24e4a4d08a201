"""What the measuring half passes around: samples, lifecycles, phases, the value of an SLI, the verdict of an SLO."""

import msgspec

from crashloop.slo.scrapes import Scrapes
from crashloop.verdict import Outcome


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a run in which one load was on. UTC nanoseconds; the end is not part of it."""

    name: str
    """Such as baseline, steady, burst; several phases may share a name (blocks of a comparison)."""
    from_ns: int
    to_ns: int
    arm: str = ""
    """In a comparison: baseline or treatment."""

    @property
    def seconds(self) -> float:
        return (self.to_ns - self.from_ns) / 1e9


class Restart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One restart of a container, by ground truth: the exit that it follows, and what came after it. UTC nanoseconds."""

    container: str
    number: int
    """1 for the first restart."""
    exited_ns: int
    exit_code: int | None = None
    created_ns: int | None = None
    """The runtime's create: the kubelet's decision. None if only the journal saw the start, or it has not come yet."""
    started_ns: int | None = None
    """None if it has not come yet."""
    due_s: float | None = None
    """The backoff delay that was due by the model, the shortest that may have been; None if nothing said which."""
    due_at_most_s: float | None = None
    """The longest that may have been due, where the evidence cannot tell which was; None: only one may."""
    expected: bool | None = None
    """Whether rule, restart policy or a RestartAllContainers of the pod asked for it; None if that was not looked at."""

    @property
    def late_s(self) -> float | None:
        """Restart lateness: exit to create, minus what was due. Negative where the restart came too early."""
        if self.created_ns is None or self.due_s is None:
            return None
        return (self.created_ns - self.exited_ns) / 1e9 - self.due_s


class RestartAll(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One RestartAllContainers: the exit that set it off, and the first container that started after it."""

    container: str
    exited_ns: int
    started_ns: int | None = None


class Lifecycle(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One pod, as it was seen. UTC nanoseconds; None for what was not seen.

    Written to RUN/metrics/lifecycles.jsonl, one a line.
    """

    pod: str
    uid: str
    node: str = ""
    group: str = ""
    """What the load meant it to be: crasher, healthy, canary, job, ..."""
    stateless: bool = True
    """No volumes but secret, configMap, downwardAPI, emptyDir and projected: what the official start-up SLI is about."""
    has_init: bool = False
    """Whether it has init containers, whose time the official SLI leaves out: such pods are left out of it here."""
    created_ns: int | None = None
    """The pod's creationTimestamp, whole seconds; the official SLI starts here."""
    asked_ns: int | None = None
    """When our create request was sent, by our clock."""
    seen_ns: int | None = None
    """When the watch first delivered it."""
    started_ns: int | None = None
    """When the watch first delivered all its containers as started at least once; the official SLI ends here."""
    ready_ns: int | None = None
    """When the watch first delivered it as Ready."""
    failed_ns: int | None = None
    """When the watch first delivered it as Failed, which also deletion and eviction make of it."""
    deleted_ns: int | None = None
    """When the watch delivered its deletion."""
    seen_until_ns: int | None = None
    """What had not happened by then was not seen to happen: end of the observation, or when its deletion was asked for."""
    restart_counts: dict[str, int] = {}
    """restartCount by container, by the last status: statements of the system under test."""
    starts_ns: dict[str, tuple[int, ...]] = {}
    """When each container's process started, by ground truth, the first start included."""
    unstarted_ns: dict[str, tuple[int, ...]] = {}
    """When instances of a container were created that never ran, as a kubelet that is killed leaves them."""
    restarts: tuple[Restart, ...] = ()
    restarts_all: tuple[RestartAll, ...] = ()
    finals_ns: tuple[int, ...] = ()
    """Exits after which their container had to stay down, by rules and policy; empty if that was not looked at."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """All that SLOs are judged by."""

    phases: tuple[Phase, ...]
    scrapes: tuple[Scrapes, ...] = ()
    lifecycles: tuple[Lifecycle, ...] = ()
    facts: dict[str, float] = {}
    """What preconditions are about: churn_per_s, pods_per_node, cores, nodes, ... (crashloop.slo.preconditions computes some)."""


class Interval(msgspec.Struct, frozen=True):
    """Where a value lies if the same run were repeated: bounds, None where nothing bounds it."""

    lower: float | None
    upper: float | None
    confidence: float = 0.95


class SliResult(msgspec.Struct, frozen=True, kw_only=True):
    """The value of one SLI in one window, for one group of labels."""

    value: float | None
    """In the unit of the row; None if there is none."""
    interval: Interval | None = None
    samples: int = 0
    bad: int | None = None
    """How many samples miss the target for sure; None where the SLI is not about single samples."""
    bad_at_most: int | None = None
    """How many may miss it, where the target lies within a bucket; None: no more than `bad`."""
    group: dict[str, str] = {}
    """Labels by which the row tells groups apart, such as resource and verb."""
    phase: str = ""
    """Name of the phase that the window lies in."""
    from_ns: int = 0
    to_ns: int = 0
    edges: tuple[float, float | None] | None = None
    """The histogram's bucket in which the value lies, interpolated between them. Above None there is no edge: the value is more
    than the lower one."""
    notes: tuple[str, ...] = ()
    """Sentences on what the value lacks: scrapes that were missed, a process that restarted."""
    undecided: str = ""
    """Why the value proves nothing, as a sentence; empty if it does."""


class SloVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of one SLO."""

    slo: str
    outcome: Outcome
    mode: str
    """gate: a FAIL fails the run. report: it is shown."""
    sentence: str
    """What was seen, what was promised, on which condition; see style of docs/slo.md."""
    target: float
    unit: str
    percentile: float | None = None
    value: float | None = None
    interval: Interval | None = None
    samples: int = 0
    budget: float | None = None
    """The share of samples that may miss the target."""
    budget_used: float | None = None
    """The share that did, divided by the budget: above 1 the promise is broken."""
    results: tuple[SliResult, ...] = ()
    """One a window and group; `value` above is that of the worst."""
    notes: tuple[str, ...] = ()

    @property
    def fails_the_run(self) -> bool:
        return self.outcome is Outcome.FAIL and self.mode == "gate"
