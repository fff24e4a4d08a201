"""How one life of a container ends: by its program, or by its probe.

Theory of operation. A program gives the duration of every life; after its lives the container holds. A liveness or startup probe
that fails `failure_threshold` times in a row kills the container, if it still runs; it then exits with `exit_code_on_term`, after
its preStop hook, or when its grace period is over if it ignores SIGTERM. A success in between begins the count anew.
Source: documentation, Configure Liveness, Readiness and Startup Probes; a successful startup probe does not run again.
"""

import math

import msgspec

from crashloop.model.restart import Decision
from crashloop.model.variants import DOCUMENTED, PROBE_FAILURES_GO_ON, PROBE_SUCCESSES_GO_ON
from crashloop.spec.pod import FAILS, SUCCEEDS, Container, Pod, Probe, ProbeKind
from crashloop.spec.program import KILLED


class PlannedEnd(msgspec.Struct, frozen=True):
    """The end of one life. `run_s` is math.inf for a life that holds."""

    run_s: float
    exit_code: int
    killed: bool = False


class PlannedExit(msgspec.Struct, frozen=True, kw_only=True):
    """An exit that the model expects, and what follows it."""

    instance: int
    """Ordinal of the instance that exits: 0 for the first start."""
    exit_code: int
    decision: Decision
    step: str
    """The sentence that led to the decision."""
    killed: bool = False
    """The kubelet had it killed: a probe failed, or another container triggered RestartAllContainers."""


class PlannedEnds:
    """How each life of a container ends if nothing from outside ends it."""

    def __init__(self, container: Container, pod_grace_s: float) -> None:
        kills = ((each.initial_delay_s + _killed_after_s(each), each.grace_s) for each in container.killing_probes)
        self._kill_s, own_grace_s = min(kills, key=lambda kill: kill[0], default=(math.inf, None))
        ends_s = self._kill_s + ending_s(container, pod_grace_s if own_grace_s is None else own_grace_s)
        self._killed = PlannedEnd(ends_s, container.exit_code_on_term, killed=True)
        self._program = container.program

    def of(self, instance: int) -> PlannedEnd:
        """Of the instance with that ordinal: 0 is the first start."""
        life = self._program.life(instance)
        if life is not None and life.run_s <= self._kill_s:
            return PlannedEnd(life.run_s, life.exit_code)
        return self.of_holding

    @property
    def of_holding(self) -> PlannedEnd:
        """Of a life after those of the program."""
        return PlannedEnd(math.inf, 0) if self._killed.run_s == math.inf else self._killed


LEAST_AFTER_HOOK_S = 2
"""What a container has left after its preStop hook; pkg/kubelet/kuberuntime@v1.37.1 minimumGracePeriodInSeconds."""


def ending_s(container: Container, grace_s: float) -> float:
    """How long it takes to end a container that is killed with such a grace period."""
    hook_s = min(container.pre_stop_s, grace_s)
    return max(grace_s, hook_s + LEAST_AFTER_HOOK_S) if container.exit_code_on_term == KILLED else hook_s


def longest_ending_s(pod: Pod, container: Container) -> float:
    """The same by the longest of its grace periods."""
    return max(ending_s(container, each) for each in pod.graces_s(container))


def fatal_answer(probe: Probe) -> float:
    """Number (from 1) of the answer by pattern that kills; math.inf if none does."""
    failures = 0
    for number in range(2 * len(probe.pattern)):
        answer = probe.answer(number, 0.0)
        failed = probe.counts_as_failure(answer)
        failures = failures + 1 if failed else 0
        if failures == probe.failure_threshold:
            return number + 1
        if probe.kind is ProbeKind.STARTUP and not failed:
            break
    return math.inf


def failures_go_on(deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether failures of a probe before a restart count towards its threshold after it."""
    # "After a probe fails failureThreshold times in a row" -- documentation, Configure Probes
    return PROBE_FAILURES_GO_ON in deviations


def successes_go_on(deviations: frozenset[str] = DOCUMENTED) -> bool:
    """Whether successes of a readiness probe before a restart count towards its threshold after it."""
    # "Minimum consecutive successes for the probe to be considered successful after having failed" -- API reference, Probe
    return PROBE_SUCCESSES_GO_ON in deviations


def _killed_after_s(probe: Probe) -> float:
    if probe.pattern:
        every_s = max(probe.period_s, probe.answering_s(SUCCEEDS))
        return fatal_answer(probe) * every_s
    every_s = max(probe.period_s, probe.answering_s(FAILS))
    if probe.is_late:
        return probe.failure_threshold * every_s
    if probe.kind is ProbeKind.STARTUP and probe.fails_after_s > 0:
        return math.inf
    return probe.fails_after_s + probe.failure_threshold * every_s
