"""One container's history in the words of the back-off model: its lives, and what else touched its counter."""

from collections.abc import Iterator
from itertools import pairwise, zip_longest

from crashloop.checks.case import Case
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.model.lives import (
    ChangedPart,
    CounterLost,
    DeadContainerRemoved,
    KeyChanged,
    Lived,
    Mark,
    Observed,
    StartAttemptFailed,
)
from crashloop.model.restart import Decision
from crashloop.spec.scenario import InterventionKind

_CHANGED = {
    InterventionKind.CHANGE_IMAGE: ChangedPart.IMAGE,
    InterventionKind.RESIZE: ChangedPart.RESOURCES,
}
KILLED = 137


def observed(case: Case, pod: PodHistory, container: str) -> tuple[Observed, ...]:
    """Lives and marks in order of time, in seconds from the first start attempt. Ends where a time is unknown."""
    lives = tuple(_lives(case, pod, container))
    marks = tuple(_marks(case, pod, container))
    if not lives:
        return ()
    return tuple(sorted((*lives, *marks), key=_time))


def ran(pod: PodHistory, container: str) -> tuple[Instance, ...]:
    """The container's instances whose process ran; one that was only created is a start that failed."""
    return tuple(each for each in pod.instances(container) if each.has_run)


def zero_ns(pod: PodHistory) -> int:
    """What the seconds given to the model count from: when the pod was accepted, or the epoch if that was not seen."""
    return (pod.created.utc_ns or 0) if pod.created else 0


def exited_by_itself(case: Case, container: str, number: int, instance: Instance) -> bool:
    """Whether instance `number` ended as its program says it does."""
    lives = case.scenario.pod.container(container).program.each_life()
    return number < len(lives) and instance.exit_code == lives[number].exit_code


def was_killed(case: Case, container: str, number: int, instance: Instance) -> bool:
    """Whether somebody ended it before its program did."""
    term = case.scenario.pod.container(container).exit_code_on_term
    return not exited_by_itself(case, container, number, instance) and instance.exit_code in (term, KILLED)


def _lives(case: Case, pod: PodHistory, container: str) -> Iterator[Lived]:
    """Lives in the model's order: one that began before the last had ended counts from that end; bounds.py objects to it."""
    instances = ran(pod, container)
    resets_ns = tuple(resets_ns_of(case, pod))
    latest_ns = zero_ns(pod)
    for number, instance in enumerate(instances):
        attempt, exited = instance.created or instance.start, instance.exit
        if attempt is None or attempt.utc_ns is None or (exited is not None and exited.utc_ns is None):
            return
        started_ns = latest_ns = max(latest_ns, attempt.utc_ns)
        if exited is not None and exited.utc_ns is not None:
            latest_ns = max(latest_ns, exited.utc_ns)
        following = instances[number + 1].created if number + 1 < len(instances) else None
        replaced_ns = following.own_ns if following else case.recording.end_ns
        yield Lived(
            started_attempt_s=(started_ns - zero_ns(pod)) / 1e9,
            finished_s=(latest_ns - zero_ns(pod)) / 1e9 if exited else None,
            killed_by_kubelet=was_killed(case, container, number, instance),
            restart_all=any(started_ns < reset_ns <= replaced_ns for reset_ns in resets_ns),
        )


def resets_ns_of(case: Case, pod: PodHistory) -> Iterator[int]:
    """When a RestartAllContainers was triggered: exits that the model answers with it."""
    for spec in case.scenario.pod.containers:
        for number, instance in enumerate(ran(pod, spec.name)):
            exited = instance.exit
            if exited is None or exited.utc_ns is None or was_killed(case, spec.name, number, instance):
                continue
            if case.decided(spec.name, instance).decision is Decision.RESTART_ALL:
                yield exited.utc_ns


def _marks(case: Case, pod: PodHistory, container: str) -> Iterator[Mark]:
    zero = zero_ns(pod)
    for before, after in pairwise(case.recording.nodes):
        if after.data.kubelet_started_ns != before.data.kubelet_started_ns:
            yield CounterLost(((after.data.kubelet_started_ns or after.t_ns) - zero) / 1e9)
    for done in case.recording.interventions:
        part = next((part for kind, part in _CHANGED.items() if kind == done.data.action), None)
        if part is not None and done.ok and (done.data.arguments or {}).get("container", container) == container:
            yield KeyChanged((done.t_ns - zero) / 1e9, part)
    instances = pod.instances(container)
    for instance, following in zip_longest(instances, instances[1:]):
        if not instance.has_run and instance.created is not None:
            yield StartAttemptFailed((instance.created.own_ns - zero) / 1e9)
        removed = instance.removed
        if removed is not None and (
            following is None or (following.created and removed.own_ns < following.created.own_ns)
        ):
            yield DeadContainerRemoved((removed.own_ns - zero) / 1e9)


def _time(each: Observed) -> float:
    return each.started_attempt_s if isinstance(each, Lived) else each.at_s
