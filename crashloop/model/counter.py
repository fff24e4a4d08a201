"""What the backoff counter of one container may do at one exit.

Theory of operation. The kubelet keeps, for each container, the present delay and the time of the last start attempt.
At an exit there is one branch for each thing it may rightfully do: how long it has to wait, when it must have started
at the latest, and what the counter says afterwards. Without an entry the restart is free and makes one, with the
initial delay; otherwise each restart doubles the delay up to the maximum. A run of more than 600 s drops the entry.
Two branches arise where the evidence does not show which of two right things happens.
Source: client-go util/flowcontrol/backoff.go@v0.37.1; pkg/kubelet/kubelet.go@v1.37.1 newCrashLoopBackOff (600 s);
pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 doBackOff.
"""

import math

import msgspec

from crashloop.model.config import Curve, InForce
from crashloop.model.lateness import DETECTION_S, latest_s, polls
from crashloop.model.variants import (
    COUNTER_COLLECTED,
    DOCUMENTED,
    FIRST_RESTART_WAITS,
    RESTART_ALL_STALLS,
    RESTART_ALL_WITHOUT_BACKOFF,
    TWO_FREE_AFTER_KILLS,
)
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion

# "executed for 10 minutes without any problems, the kubelet resets the restart backoff timer" -- documentation
RESET_AFTER_S = 600.0
ATTEMPT_TO_CREATE_S = 1.0
"""A start attempt precedes the runtime's create, which is what is observed, by as much."""
STAMPS_S = 0.25
"""By how much two exits may be stamped further apart than they were."""
COLLECTION_S = 5.0
"""The counter is collected at a housekeeping tick, one each 2 s, and a loaded kubelet is late with it."""
RESTART_ALL_S = 60.0
"""KEP-5532, Goals: all containers restart within 1 minute."""


class Counter(msgspec.Struct, frozen=True):
    """The counter: the delay due after an exit, and the time of the last start attempt."""

    delay_s: float
    updated_s: float
    early_s: float = ATTEMPT_TO_CREATE_S
    """By how much the start attempt may have come before that: `updated_s` is the create that followed it."""


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """One thing the kubelet may rightfully do at an exit; times count from the exit."""

    delay_s: float
    latest_s: float
    reason: str
    next_delay_s: float | None = None
    """Delay in the counter once the restart was attempted; None leaves the counter as it was."""
    before: Counter | None = None
    """The counter at the exit."""
    knows_exit: bool = True
    """False: RestartAllContainers removed the exited instance, so no restart from here counts, whatever happens meanwhile."""

    def entry_after(self, attempt_s: float, early_s: float = ATTEMPT_TO_CREATE_S) -> Counter | None:
        return self.before if self.next_delay_s is None else Counter(self.next_delay_s, attempt_s, early_s)


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """One exit, as far as it matters to the counter."""

    finished_s: float
    previous_finished_s: float | None = None
    """When the instance before exited, if the kubelet still knows of it."""
    killed: bool = False
    may_be_killed: bool = False
    """It ended by itself while the kubelet may have been ending it."""
    by_rule_alone: bool = False
    """Its policy is Never: the sync that kills it does not start it again, and a rule does later."""
    redefined: bool = False
    """It was killed because its definition changed."""
    restart_all: bool = False
    late_s: float = 0.0
    """For how long the host held up the create that followed it, after its start attempt."""
    held_s: float = 0.0
    """For how long it held the kubelet up until then."""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """Where a container runs: its node's curve and release, and how its pod is looked at."""

    curve: Curve
    version: KubernetesVersion
    mode: Mode
    deviations: frozenset[str] = DOCUMENTED
    other_sync_sources: bool = False
    detection_s: float = DETECTION_S

    def under(self, in_force: InForce) -> "Setting":
        """The same where another kubelet process decides."""
        return msgspec.structs.replace(self, curve=in_force.curve, version=in_force.version)

    def latest_s(self, due_s: float) -> float:
        return latest_s(
            due_s,
            self.version,
            mode=self.mode,
            other_sync_sources=self.other_sync_sources,
            detection_s=self.detection_s,
        )

    @property
    def next_sync_s(self) -> float:
        """Longest time to the next sync of a pod that waits, whatever it waits for."""
        if self.mode is Mode.ANNOTATED:
            return 2.0
        return 16.0 if polls(self.version) else 91.0


def branches(entry: Counter | None, exit_: Exit, setting: Setting) -> tuple[Branch, ...]:
    """What may follow an exit when the counter is `entry`. Never empty."""
    return tuple(msgspec.structs.replace(each, before=entry) for each in _branches(entry, exit_, setting))


def _branches(entry: Counter | None, exit_: Exit, setting: Setting) -> tuple[Branch, ...]:
    ran_s = math.inf if entry is None else exit_.finished_s - entry.updated_s
    if exit_.restart_all and (exit_.killed or RESTART_ALL_WITHOUT_BACKOFF in setting.deviations):
        return (_restart_all(setting),)
    if exit_.redefined or (exit_.killed and not exit_.by_rule_alone and TWO_FREE_AFTER_KILLS in setting.deviations):
        return _after_kill(entry if ran_s <= RESET_AFTER_S else None, exit_, setting)
    if exit_.may_be_killed and TWO_FREE_AFTER_KILLS in setting.deviations:
        by_itself = msgspec.structs.replace(exit_, may_be_killed=False)
        return (
            *_after_kill(entry if ran_s <= RESET_AFTER_S else None, exit_, setting),
            *_branches(entry, by_itself, setting),
        )
    if entry is None:
        free = _free(setting, "the counter is empty, so the restart is free")
        return (_with_reset(free),) if exit_.restart_all else (free,)
    reset = _free(setting, f"it ran for {ran_s:.1f} s, more than {RESET_AFTER_S:g} s, so the curve starts over")
    if ran_s > RESET_AFTER_S:
        return (reset,)
    waits = _waits(entry, exit_, setting)
    if ran_s > RESET_AFTER_S - entry.early_s:
        ran = f"it ran for {ran_s:.1f} s from its create, and up to {entry.early_s:.1f} s more from its start attempt"
        doubtful = f"{ran}, so the curve may start over"
        return (*waits, msgspec.structs.replace(reset, reason=doubtful))
    # "exponential backoff ... still applies" -- KEP-5532, Risks and Mitigations
    return tuple(map(_with_reset, waits)) if exit_.restart_all else waits


def _with_reset(branch: Branch) -> Branch:
    """A branch that has to reset the pod as well."""
    return msgspec.structs.replace(branch, latest_s=branch.latest_s + RESTART_ALL_S)


def _at_once(setting: Setting, reason: str) -> Branch:
    return Branch(delay_s=0.0, latest_s=setting.latest_s(0.0), reason=reason)


def _free(setting: Setting, reason: str) -> Branch:
    if FIRST_RESTART_WAITS in setting.deviations:
        first_s = setting.curve.initial_s
        return Branch(
            delay_s=first_s,
            latest_s=setting.latest_s(first_s),
            reason="the first restart waits as well",
            next_delay_s=setting.curve.after(first_s),
        )
    return Branch(delay_s=0.0, latest_s=setting.latest_s(0.0), reason=reason, next_delay_s=setting.curve.initial_s)


def _waits(entry: Counter, exit_: Exit, setting: Setting) -> tuple[Branch, ...]:
    """The wait that the counter imposes, and what becomes of it if the entry is collected meanwhile."""
    delay_s, latest = entry.delay_s, setting.latest_s(entry.delay_s)
    kept = Branch(
        delay_s=delay_s,
        latest_s=latest,
        reason=f"the counter says {delay_s:g} s",
        next_delay_s=setting.curve.after(delay_s),
    )
    expires_s = entry.updated_s + RESET_AFTER_S - exit_.finished_s
    from_s, by_s = max(0.0, expires_s - entry.early_s), expires_s + COLLECTION_S
    held = latest + exit_.held_s
    if held <= from_s or COUNTER_COLLECTED not in setting.deviations:
        return (kept,)
    collected = Branch(
        delay_s=from_s,
        latest_s=min(held, by_s + setting.next_sync_s),
        reason=f"the counter was collected {RESET_AFTER_S:g} s after the start attempt, while the container waited",
        next_delay_s=setting.curve.initial_s,
    )
    if by_s <= delay_s:
        return (collected,)
    return msgspec.structs.replace(kept, latest_s=min(latest, by_s)), collected


def _after_kill(entry: Counter | None, exit_: Exit, setting: Setting) -> tuple[Branch, ...]:
    """SyncPod kills and starts in one go, with the status from before the kill: the exit before counts."""
    at_once = "a kill and a start are one step, which goes by the exit before"
    if exit_.previous_finished_s is None:
        return (_at_once(setting, f"{at_once}: there is none"),)
    if entry is None:
        return (_free(setting, f"{at_once}, and the counter is empty"),)
    since_s = exit_.finished_s - exit_.previous_finished_s
    immediate = Branch(
        delay_s=0.0,
        latest_s=setting.latest_s(0.0),
        reason=f"{at_once}: that is {since_s:.1f} s ago, {entry.delay_s:g} s were due",
        next_delay_s=setting.curve.after(entry.delay_s),
    )
    if since_s >= entry.delay_s + STAMPS_S:
        return (immediate,)
    waits = _waits(entry, exit_, setting)
    short_s = entry.delay_s - since_s
    # The kill and the start are one step, but the start comes at its end.
    late = msgspec.structs.replace(
        immediate, delay_s=max(0.0, short_s - STAMPS_S), latest_s=immediate.latest_s + exit_.late_s
    )
    return (late, *waits) if short_s <= setting.detection_s + exit_.late_s else waits


def _restart_all(setting: Setting) -> Branch:
    if RESTART_ALL_WITHOUT_BACKOFF in setting.deviations:
        reason = "RestartAllContainers removes the exited instances, so no delay is due"
        stall_s = setting.next_sync_s if RESTART_ALL_STALLS in setting.deviations else 0.0
        return Branch(delay_s=0.0, latest_s=RESTART_ALL_S + stall_s, reason=reason, knows_exit=False)
    reason = "it was restarted with the container that triggered RestartAllContainers"
    return Branch(delay_s=0.0, latest_s=math.inf, reason=reason, knows_exit=False)
