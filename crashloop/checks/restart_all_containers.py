"""RestartAllContainers stops every running container and reruns the init containers before the triggering container restarts."""

from collections.abc import Iterator

from crashloop.checks.finding import Finding, fail_unless
from crashloop.history.event import Channel
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.model.restart import Decision
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot
from crashloop.restarts.lives import ran
from crashloop.restarts.owed import decided_after
from crashloop.restarts.restart_all import RestartAllTrigger, resets_of
from crashloop.spec.pod import Container, ContainerKind
from crashloop.words import at_lines


def left_out(case: Case, pod: PodHistory) -> Iterator[Finding]:
    """Containers that a RestartAllContainers did not restart along with its source."""
    for reset in resets_of(case, pod):
        again = _first_after(ran(pod, reset.container), reset.t_ns)
        if again is None:
            continue
        for spec in case.scenario.pod.containers:
            if spec.name != reset.container and not _taken_along(case, pod, spec, reset, again):
                yield _objection(case, pod, spec, reset, again)


def _taken_along(case: Case, pod: PodHistory, spec: Container, reset: RestartAllTrigger, again: Fact) -> bool:
    """Whether a container had been ended or removed, and an init container run again, by the time the source started again."""
    instances = ran(pod, spec.name)
    before = [each for each in instances if each.begun and (each.begun_ns or 0) < reset.t_ns]
    if spec.kind is ContainerKind.EPHEMERAL or not before:
        return True
    ended_ns = before[-1].exit_ns
    if (
        ended_ns is None
        or ended_ns > (again.utc_ns or 0)
        or _spared(case, spec, reset, instances, again, len(before) - 1)
    ):
        return False
    source = case.scenario.pod.container(reset.container)
    if spec.kind is not ContainerKind.INIT or source.kind is not ContainerKind.REGULAR:
        return True
    repeated = _first_after(instances, reset.t_ns)
    return repeated is not None and (repeated.utc_ns or 0) < (again.utc_ns or 0) + again.resolution_ns


def _spared(
    case: Case, spec: Container, reset: RestartAllTrigger, instances: tuple[Instance, ...], again: Fact, number: int
) -> bool:
    """Whether instance `number`, whose restart was put off at the trigger, was still there when the source started again."""
    instance, following = instances[number], next(iter(instances[number + 1 :]), None)
    if instance.created is None or (instance.exit_ns or 0) >= reset.t_ns:
        return False
    if following is not None and (following.begun_ns or 0) < reset.latest_ns:
        return False
    if decided_after(case, spec.name, number, instance, following, None).decision is not Decision.RESTART:
        return False
    removed, by_ns = instance.removed, (again.utc_ns or 0) + again.resolution_ns
    is_lost = any(case.recording.gaps_of(Channel.RUNTIME, instance.exit_ns or 0, by_ns))
    return not is_lost if removed is None else (removed.utc_ns or 0) > by_ns


def _objection(case: Case, pod: PodHistory, spec: Container, reset: RestartAllTrigger, again: Fact) -> Finding:
    lines = (reset.exited.line, again.line)
    sentence = (
        f'"{reset.container}" exited and was restarted without "{spec.name}" {at_lines(lines)}; '
        f"all containers were to restart: {reset.decided.step}."
    )
    blind = blind_spot(case, pod, pod.instances(spec.name), reset.t_ns, again.utc_ns or reset.t_ns)
    return fail_unless(blind and f"But {blind}", sentence, *lines)


def _first_after(instances: tuple[Instance, ...], t_ns: int) -> Fact | None:
    """When the first of these instances began that began after a time."""
    begun = [start for each in instances if (start := each.begun) and start.utc_ns is not None]
    return next((each for each in begun if (each.utc_ns or 0) > t_ns), None)
