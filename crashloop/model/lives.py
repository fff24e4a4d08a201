"""The lives of a container, the marks between them, and what a mark does to the counter and to a wait into which it falls.

All times are seconds of one clock. Entries are in order of time: a mark during a life, or during the wait after it, follows that
life. Marks are what else than exits and restarts changes a container's counter, or cuts its wait short.

Theory of operation. Counters are in the kubelet's memory, so a restarted kubelet has none and starts waiting containers at
once. A counter belongs to a container with its image and resources, so a change of either begins a new one. A delay is
counted from an exit, so without a known exit none is due. In the effect of a failed start attempt on the counter, the
kubelet differs from the documentation.
Source: KEP-5593, Upgrade / Downgrade Strategy ("not cached"); pkg/kubelet/kuberuntime/helpers.go@v1.37.1 GetBackoffKey;
pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 doBackOff.

Where an object that the container needs is missing, no start can succeed for a while. The kubelet tries again after 10 to 15 s
and a tick, or when the shortest backoff of the pod is over. A start that failed is no restart, so the delay stays as it was. In
fact every attempt doubles it, also one that fails: how many there were is only known within limits.
Source: documentation, Pod Lifecycle, "Container restarts"; pkg/kubelet/pod_workers.go@v1.37.1 completeWork,
pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 doBackOff.
"""

import math
from collections.abc import Iterable, Iterator
from enum import StrEnum

import msgspec

from crashloop.model.config import InForce
from crashloop.model.counter import Branch, Setting
from crashloop.model.variants import BACKOFF_HOLDS_UP_OTHERS, FAILED_STARTS_COUNT, NEVER_RAN_BACKS_OFF


class Lived(msgspec.Struct, frozen=True):
    """One instance of a container."""

    started_attempt_s: float
    """When the kubelet set out to start it. The runtime's create will do, it follows within a second."""
    finished_s: float | None
    """When it exited; None while it runs."""
    killed_by_kubelet: bool = False
    """A failed probe, or a changed definition, had it killed."""
    may_be_killed: bool = False
    """It ended by itself, where the kubelet may have been ending it: a sync that does goes by what it knew before."""
    by_rule_alone: bool = False
    """Its policy is Never: the sync that kills it does not start it again, and a rule does later."""
    restart_all: bool = False
    """Its end was part of a RestartAllContainers: it triggered that, or was killed by it."""
    created_late_s: float = 0.0
    """How much later than usual its create was seen, after the attempt: held up by the host, or shown by its program alone."""
    held_s: float = 0.0
    """For how long the host held the kubelet up between the exit before it and its create."""


class CounterLost(msgspec.Struct, frozen=True):
    """The kubelet started again at `at_s`; its counters are in memory."""

    at_s: float
    in_force: InForce | None = None
    """What the new process runs with; None: the same as the one before."""


class ChangedPart(StrEnum):
    """What of a container's definition changed."""

    IMAGE = "image"
    RESOURCES = "resources"


class KeyChanged(msgspec.Struct, frozen=True):
    """An accepted update changed a part of the container that the kubelet's backoff key holds."""

    at_s: float
    part: ChangedPart = ChangedPart.RESOURCES
    late_s: float = 0.0
    """For how long the host had held the kubelet up before it, so that an exit may have gone unnoticed until then."""


class DeadContainerRemoved(msgspec.Struct, frozen=True):
    """The exited instance was removed from the runtime: the kubelet no longer knows of an exit."""

    at_s: float
    with_its_sandbox: bool = False
    """For another sandbox: an attempt to start it in the one before may have failed unseen."""
    by_hand: bool = False
    """Not by the kubelet: it may still know of an exit before that one, by which the restart counts."""


class StartAttemptFailed(msgspec.Struct, frozen=True):
    """The kubelet tried to start the container and failed before it ran (image, configuration, create)."""

    at_s: float


class StartsBlocked(msgspec.Struct, frozen=True):
    """From `at_s` to `until_s` no start of the container could succeed: an object that it needs was missing."""

    at_s: float
    until_s: float
    late_s: float = 0.0
    """For how long the host had held the kubelet up before it, so that a start that was due may have waited until then."""
    held_s: float = 0.0
    """For how long it held the kubelet up between the two, so that fewer attempts failed."""


Mark = CounterLost | KeyChanged | DeadContainerRemoved | StartAttemptFailed | StartsBlocked
Observed = Lived | Mark


RETRY_LEAST_S, RETRY_S = 10.0, 16.0
"""A failed start is tried again after so long: pkg/kubelet/pod_workers.go@v1.37.1, backOffPeriod with its jitter, and a tick."""
LONGEST_REQUEUE_S, REQUEUE_JITTER, TICK_S = 60.0, 0.5, 1.0
"""A pod with a container in backoff is tried again after what remains of its delay, or this, with their jitter, and a tick."""


def retry_s(deviations: frozenset[str], beside: Iterable[tuple[float, float]], failed_for_s: float = 0.0) -> float:
    """The longest time from when a start can succeed to the attempt that does.

    `beside`: the delays of the pod's other containers that have begun by then, as their ends, in seconds after that time,
    and their lengths. The last attempt that failed may have been at any time of one. `failed_for_s`: from the first attempt on.
    """
    if NEVER_RAN_BACKS_OFF in deviations:  # a delay is no longer than all before it together, and the first
        return failed_for_s * (1 + REQUEUE_JITTER) + RETRY_S
    if BACKOFF_HOLDS_UP_OTHERS not in deviations:
        return RETRY_S
    longest_s = LONGEST_REQUEUE_S * (1 + REQUEUE_JITTER)
    requeues = (min(longest_s, end_s + REQUEUE_JITTER * min(LONGEST_REQUEUE_S, delay_s)) for end_s, delay_s in beside)
    return max((RETRY_S, *(each_s + TICK_S for each_s in requeues)))


def blocked(branch: Branch, block: StartsBlocked, finished_s: float, setting: Setting) -> tuple[Branch, ...]:
    """The branches of a restart after an exit at `finished_s`, whose starts cannot succeed for the time of the block."""
    from_s, until_s = block.at_s - finished_s, block.until_s - finished_s
    if until_s <= branch.delay_s or from_s > branch.latest_s + block.late_s:
        return (branch,)
    latest = max(branch.latest_s, until_s + RETRY_S)
    kept = msgspec.structs.replace(branch, latest_s=latest)
    endless = until_s == math.inf
    if endless or FAILED_STARTS_COUNT not in setting.deviations or branch.next_delay_s is None:
        return (kept,)
    return tuple(_after_attempts(branch, from_s, until_s, setting, block.late_s + block.held_s))


def _after_attempts(branch: Branch, from_s: float, until_s: float, setting: Setting, held_s: float) -> Iterator[Branch]:
    """One branch for each number of attempts that can have failed by `until_s`, late by `held_s` in all at most."""
    delay_s, next_s, failed = branch.delay_s, branch.next_delay_s, 0
    latest_s = branch.latest_s
    soonest_s = max(delay_s, from_s)
    while soonest_s < until_s and next_s is not None:
        # The attempt after so many failed ones comes between these two moments.
        if latest_s + held_s >= until_s:
            yield _after_failed_starts(branch, delay_s, next_s, until_s, failed)
        failed, delay_s, next_s = failed + 1, next_s, setting.curve.after(next_s)
        soonest_s = max(soonest_s + RETRY_LEAST_S, delay_s)
        latest_s = max(latest_s + RETRY_S, setting.latest_s(delay_s))
    if next_s is not None:
        yield _after_failed_starts(branch, delay_s, next_s, until_s, failed)


def _after_failed_starts(branch: Branch, delay_s: float, next_s: float, until_s: float, failed: int) -> Branch:
    reason = f"{failed} failed starts counted, so the counter says {delay_s:g} s" if failed else branch.reason
    latest_s = max(branch.latest_s, until_s, delay_s * 1.5) + RETRY_S
    return msgspec.structs.replace(branch, delay_s=delay_s, latest_s=latest_s, next_delay_s=next_s, reason=reason)


KUBELET_BACK_S = 20.0
"""A kubelet that starts again looks at its pods within this time."""


def forgets(mark: Mark) -> bool:
    """Whether a mark gives the container a new counter.

    No text says what a changed container does to the counter: KEP-5593, "Late recovery", leaves it out of scope.
    """
    return isinstance(mark, CounterLost | KeyChanged)


def disturbed(branch: Branch, mark: Mark, at_s: float, shown_s: float, setting: Setting) -> tuple[Branch, ...]:
    """What may become of a wait into which a mark fell, `at_s` seconds after the exit; the start was seen after `shown_s`."""
    if isinstance(mark, KeyChanged) and branch.delay_s <= at_s:
        return _changed_when_over(branch, at_s, setting)
    found = _one_disturbed(branch, mark, at_s, setting)
    if isinstance(mark, DeadContainerRemoved) and (
        mark.by_hand or (mark.with_its_sandbox and branch.delay_s <= max(at_s, shown_s))
    ):
        # An attempt in the sandbox that was going has failed unseen, and counts; or the sync that removed it, and still knows its
        # exit, has started it in the next one.
        return found, msgspec.structs.replace(found, next_delay_s=branch.next_delay_s)
    return (found,)


def started_before(branch: Branch, at_s: float) -> Branch:
    """A wait that was over when the kubelet ended: that may have made the attempt, which was seen later, and left no counter."""
    return msgspec.structs.replace(branch, latest_s=max(branch.latest_s, at_s), next_delay_s=None, before=None)


def _changed_when_over(branch: Branch, at_s: float, setting: Setting) -> tuple[Branch, ...]:
    """A change at a time at which the wait is over: the start attempt came before it, by the old key, or after it."""
    replace = msgspec.structs.replace
    latest_s = max(branch.latest_s, at_s + setting.latest_s(0.0))
    before = replace(branch, next_delay_s=None, before=None)
    return before, replace(branch, latest_s=latest_s, next_delay_s=setting.curve.initial_s)


def _one_disturbed(branch: Branch, mark: Mark, at_s: float, setting: Setting) -> Branch:
    replace = msgspec.structs.replace
    sooner_s = min(branch.delay_s, at_s)
    if isinstance(mark, CounterLost) and not branch.knows_exit:
        return replace(branch, latest_s=max(branch.latest_s, at_s + KUBELET_BACK_S), before=None)
    if isinstance(mark, CounterLost):
        return replace(
            branch,
            delay_s=sooner_s,
            latest_s=at_s + KUBELET_BACK_S,
            reason="the kubelet started again and has lost the counter",
            next_delay_s=setting.curve.initial_s,
        )
    if isinstance(mark, DeadContainerRemoved):
        reason = "the exited instance is gone, so no delay is due"
        return replace(branch, delay_s=sooner_s, reason=reason, next_delay_s=None)
    if isinstance(mark, StartAttemptFailed):
        retried_s = at_s + RETRY_S
        if FAILED_STARTS_COUNT not in setting.deviations or branch.next_delay_s is None:
            return replace(branch, latest_s=max(branch.latest_s, retried_s))
        delay_s = branch.next_delay_s
        return replace(
            branch,
            delay_s=delay_s,
            latest_s=max(setting.latest_s(delay_s), retried_s),
            reason=f"a start attempt failed, which counted, so the counter says {delay_s:g} s",
            next_delay_s=setting.curve.after(delay_s),
        )
    if not isinstance(mark, KeyChanged):
        return branch
    return replace(
        branch,
        delay_s=sooner_s,
        latest_s=at_s + setting.latest_s(0.0),
        reason=f"the container's {mark.part} changed, so its counter is a new one",
        next_delay_s=setting.curve.initial_s,
    )
