"""Input of the backoff model from one container's history: its lives, and other changes of its counter."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest

from crashloop.history.event import Channel
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.model.after_restart import counts_anew, ends_delay
from crashloop.model.lives import (
    ChangedPart,
    CounterLost,
    DeadContainerRemoved,
    KeyChanged,
    Lived,
    Mark,
    Observed,
    StartAttemptFailed,
    StartsBlocked,
)
from crashloop.restarts.case import Case
from crashloop.restarts.dependencies import missing_dependencies
from crashloop.restarts.lives import collected_early, ran, was_being_ended, was_killed
from crashloop.restarts.restart_all import replacements, unseen_reset
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.program import Program

_CHANGED = {
    InterventionKind.CHANGE_IMAGE: ChangedPart.IMAGE,
    InterventionKind.RESIZE: ChangedPart.RESOURCES,
}


CREATE_NS = 10_000_000_000
"""The longest that a start attempt is looked for before its create."""
SPEAKS_AFTER_S = 1.0
"""From a create that nobody saw to the first line of the program."""
SPEAKS_WITHIN_NS = 5_000_000_000
"""The same at the longest, on a host that has much to do."""
LATE_NS = 60_000_000_000
"""The time before a change in which the host may have kept the kubelet from what it had to do."""


def observed(case: Case, pod: PodHistory, container: str) -> tuple[Observed, ...]:
    """Lives and marks in order of time, in seconds from the first start attempt. Ends where a time is unknown."""
    lives = tuple(_lives(case, pod, container))
    marks = tuple(_marks(case, pod, container))
    if not lives:
        return ()
    # A create is stamped rounded down: what is stamped as later within the resolution may have come before it.
    begun = (each.begun for each in pod.instances(container))
    step_s = max((fact.resolution_ns for fact in begun if fact is not None), default=1) / 1e9
    return tuple(sorted((*lives, *marks), key=lambda each: _time(each, step_s)))


def zero_ns(pod: PodHistory) -> int:
    """What the seconds given to the model count from: when the pod was accepted, or else its first start."""
    begun = [each.begun for instances in pod.containers.values() for each in instances[:1]]
    known = [fact.utc_ns for fact in (pod.created, *begun) if fact is not None and fact.utc_ns is not None]
    return min(known, default=0)


def _lives(case: Case, pod: PodHistory, container: str) -> Iterator[Lived]:
    """Lives in the model's order: one that began before the last had ended counts from that end; a checker objects to it.

    They end with the first whose end was not seen, even if another follows: one-at-a-time objects to that; and before the
    first of which is not known whether RestartAllContainers replaced it, itself perhaps unseen, since that decides whether its
    restart counts.
    """
    instances, spec = ran(pod, container), case.scenario.pod.container(container)
    replaced = replacements(case, pod, container)
    ephemeral = spec.kind is ContainerKind.EPHEMERAL
    zero = latest_ns = zero_ns(pod)
    for number, (instance, following) in enumerate(zip_longest(instances, instances[1:])):
        attempt_ns, exited = instance.begun_ns, instance.exit
        if attempt_ns is None or (exited is not None and exited.utc_ns is None):
            return
        reset = None if ephemeral else replaced.get(instance.ordinal)
        until_ns = following.begun_ns if following is not None else None
        if until_ns is not None and reset is None and unseen_reset(case, pod, attempt_ns, until_ns) is not None:
            return
        if reset is not None and not reset.sure:
            return
        held_s = case.recording.host.held_s(latest_ns, attempt_ns) if number else 0.0
        started_ns = latest_ns = max(latest_ns, attempt_ns)
        if exited is not None and exited.utc_ns is not None:
            latest_ns = max(latest_ns, exited.utc_ns)
        with_sandbox = _ends_with_its_sandbox(case, instance, following)
        yield Lived(
            started_attempt_s=(started_ns - zero) / 1e9,
            finished_s=(latest_ns - zero) / 1e9 if exited else None,
            killed_by_kubelet=not with_sandbox and was_killed(case, container, number, instance),
            may_be_killed=with_sandbox or was_being_ended(case, spec, number, instance),
            by_rule_alone=case.is_under_never(spec, instance.exit_ns),
            restart_all=reset is not None,
            created_late_s=case.recording.host.held_s(attempt_ns - CREATE_NS, attempt_ns)
            + (0.0 if instance.created else SPEAKS_AFTER_S),
            held_s=held_s,
        )
        if exited is None:
            return


def _ends_with_its_sandbox(case: Case, instance: Instance, following: Instance | None) -> bool:
    """Whether it may have ended while the kubelet ended what was left of a lost sandbox."""
    killed_ns = case.sandbox_killed_ns(instance, following)
    if killed_ns is None and instance.created is None and instance.begun_ns is not None:
        unseen_ns = instance.begun_ns - SPEAKS_WITHIN_NS, instance.begun_ns
        killed_ns = next((each for each in case.sandbox_kills_ns if unseen_ns[0] <= each <= unseen_ns[1]), None)
    exited = instance.exit
    return killed_ns is not None and exited is not None and killed_ns <= (exited.utc_ns or 0) + exited.resolution_ns


def _marks(case: Case, pod: PodHistory, container: str) -> Iterator[Mark]:
    """What rightfully changes a counter, or what the kubelet goes by; the removal of the exit that it counts from does not."""
    zero = zero_ns(pod)
    for before, after in pairwise(case.recording.nodes):
        if after.data.kubelet_started_ns != before.data.kubelet_started_ns:
            yield CounterLost((after.since_ns - zero) / 1e9, case.in_force_at(after.since_ns))
    for done in case.recording.interventions:
        part = next((part for kind, part in _CHANGED.items() if kind == done.data.action), None)
        if part is not None and done.ok and (done.data.arguments or {}).get("container", container) == container:
            yield KeyChanged((done.t_ns - zero) / 1e9, part, _late_s(case, done.t_ns))
    for gone, back in missing_dependencies(case, case.scenario.pod.container(container)):
        until_s = math.inf if back is None else (back.to_ns - zero) / 1e9
        held_s = 0.0 if back is None else case.recording.host.held_s(gone.from_ns, back.to_ns)
        yield StartsBlocked((gone.from_ns - zero) / 1e9, until_s, _late_s(case, gone.from_ns), held_s)
    for removed in collected_early(ran(pod, container)).values():
        yield DeadContainerRemoved((removed.own_ns - zero) / 1e9)
    for instance in ran(pod, container):
        if (lost_ns := case.record_lost_ns(container, instance, by_its_kill=True)) is not None:
            after_ns = max(lost_ns, (instance.exit_ns or 0) + 1)
            yield DeadContainerRemoved((after_ns - zero) / 1e9, by_hand=True)
    for removed_ns in _purged_ns(case, pod, container):
        yield DeadContainerRemoved((removed_ns - zero) / 1e9, with_its_sandbox=True)
    for instance in pod.instances(container):
        if not instance.has_run and instance.created is not None:
            yield StartAttemptFailed((instance.created.own_ns - zero) / 1e9)


def counted_anew(case: Case, container: str, instances: Sequence[Instance]) -> bool:
    """Whether, by the variants in force, the last of these is counted from the removal of one before it for another sandbox."""
    purged = any(_purged_at_ns(case, before, after) is not None for before, after in pairwise(instances))
    return purged and counts_anew(case.scenario.pod.container(container), case.prediction.deviations)


def _purged_ns(case: Case, pod: PodHistory, container: str) -> Iterator[int]:
    """Removals for another sandbox that, by the variants in force, end a delay."""
    if ends_delay(case.scenario.pod.container(container), case.prediction.deviations):
        instances = ran(pod, container)
        for instance, following in zip_longest(instances, instances[1:]):
            if (purged_ns := _purged_at_ns(case, instance, following)) is not None:
                yield purged_ns


def _purged_at_ns(case: Case, instance: Instance, following: Instance | None) -> int | None:
    """When an instance was removed for another sandbox; the loss of the sandbox, if that went unseen; None if it was not."""
    killed_ns = case.sandbox_killed_ns(instance, following)
    if killed_ns is not None and instance.removed is not None:
        return instance.removed.own_ns
    return (
        killed_ns
        if killed_ns is not None and (instance.created is None or _has_gap(case, killed_ns, following))
        else None
    )


def _has_gap(case: Case, from_ns: int, following: Instance | None) -> bool:
    """Whether the runtime's events may lack a removal between that moment and the next instance."""
    until_ns = None if following is None else following.begun_ns
    return any(case.recording.gaps_of(Channel.RUNTIME, from_ns, until_ns or case.recording.end_ns))


def _late_s(case: Case, at_ns: int) -> float:
    return case.recording.host.held_s(at_ns - LATE_NS, at_ns)


def _time(each: Observed, step_s: float) -> float:
    return each.started_attempt_s + step_s if isinstance(each, Lived) else each.at_s


def turning_points(case: Case, pod: PodHistory, container: Container) -> frozenset[int]:
    """Numbers of the restarts that are the first to show what may have reset the counter."""
    return frozenset(_turning_points(case, pod, container))


def _turning_points(case: Case, pod: PodHistory, container: Container) -> Iterator[int]:
    longest = _longest_life(container.program)
    if longest is not None:
        yield longest + 1
    if pod is not case.pods[0]:
        yield 1
    events = observed(case, pod, container.name)
    finished_s = [each.finished_s for each in events if isinstance(each, Lived) and each.finished_s is not None]
    for mark in events:
        if isinstance(mark, CounterLost | KeyChanged):
            waiting = sum(1 for at_s in finished_s if at_s < mark.at_s)
            running = any(
                isinstance(each, Lived)
                and each.started_attempt_s < mark.at_s
                and each.finished_s not in finished_s[:waiting]
                for each in events
            )
            yield waiting + 1 if running else max(waiting, 1)


def _longest_life(program: Program) -> int | None:
    """The number of the one life that is longer than all others."""
    by_length = sorted(enumerate(program.each_life()), key=lambda life: -life[1].run_s)
    if len(by_length) < 2 or by_length[0][1].run_s == by_length[1][1].run_s:
        return None
    return by_length[0][0]
