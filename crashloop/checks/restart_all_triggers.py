"""RestartAllContainers in a recorded pod: which exits triggered it, and which instances it replaced."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

import msgspec

from crashloop.checks.case import Case
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.model.lateness import DETECTION_S, START_SHARE_S
from crashloop.model.restart import REDEFINED, Decided, Decision
from crashloop.model.surroundings import SKIPPED
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import ContainerKind
from crashloop.spec.program import Program

KILLED = 137
NOTICED_NS = round(DETECTION_S * 1e9)
"""A kubelet may learn of an exit as late as that."""


class RestartAllTrigger(msgspec.Struct, frozen=True, kw_only=True):
    """An exit that the model answers with RestartAllContainers."""

    container: str
    exited: Fact
    t_ns: int
    soonest_ns: int
    latest_ns: int
    """It was carried out between these: at the removal of its instance or, if that was not seen, by the restart at the latest."""
    decided: Decided
    is_seen: bool
    """Whether that removal was seen."""


class Replacement(msgspec.Struct, frozen=True, kw_only=True):
    """A RestartAllContainers that replaced an instance, or may have."""

    trigger: RestartAllTrigger
    sure: bool
    """False if it may as well have replaced another instance of the container."""


def ran(pod: PodHistory, container: str) -> tuple[Instance, ...]:
    """The container's instances whose process ran; one that was only created is a start that failed."""
    return tuple(each for each in pod.instances(container) if each.has_run)


def exited_by_itself(case: Case, container: str, number: int, instance: Instance) -> bool:
    """Whether instance `number` ended as its program says it does."""
    codes = _exit_codes(case.scenario.pod.container(container).program)
    number += sum(int(note.value) for note in instance.notes if note.name == SKIPPED)
    return number < len(codes) and instance.exit_code == codes[number]


@lru_cache(maxsize=64)
def _exit_codes(program: Program) -> tuple[int, ...]:
    return tuple(life.exit_code for life in program.each_life())


def was_killed(case: Case, container: str, number: int, instance: Instance) -> bool:
    """Whether somebody ended it before its program did."""
    term = case.scenario.pod.container(container).exit_code_on_term
    return not exited_by_itself(case, container, number, instance) and instance.exit_code in (term, KILLED)


def resets_of(case: Case, pod: PodHistory) -> tuple[RestartAllTrigger, ...]:
    """Every trigger in the pod, in order of time."""
    key = case.prediction.deviations, pod.uid
    if key not in case.memo.resets:
        found = _triggers(case, pod) if case.restarts_all else ()
        case.memo.resets[key] = tuple(sorted(found, key=lambda each: each.t_ns))
    return case.memo.resets[key]


def _triggers(case: Case, pod: PodHistory) -> Iterator[RestartAllTrigger]:
    for spec in case.scenario.pod.containers:
        instances = ran(pod, spec.name)
        for number, instance in enumerate(instances):
            exited = instance.exit
            if exited is None or exited.utc_ns is None or was_killed(case, spec.name, number, instance):
                continue
            following = next(iter(instances[number + 1 : number + 2]), None)
            decided = case.decided(spec.name, instance, following=following)
            if decided.decision is Decision.RESTART_ALL:
                removed = instance.removed
                if removed is not None and removed.utc_ns is not None:
                    soonest_ns = max(exited.utc_ns, removed.utc_ns)
                    latest_ns = soonest_ns + removed.resolution_ns
                else:
                    soonest_ns = exited.utc_ns
                    latest_ns = _soonest_ns(instances[number + 1 : number + 2]) or case.recording.end_ns
                yield RestartAllTrigger(
                    container=spec.name,
                    exited=exited,
                    t_ns=exited.utc_ns,
                    soonest_ns=soonest_ns,
                    latest_ns=latest_ns,
                    decided=decided,
                    is_seen=removed is not None,
                )


def replacements(case: Case, pod: PodHistory, container: str) -> Mapping[int, Replacement]:
    """The RestartAllContainers that replaced an instance of a container, by its ordinal.

    What the sync under way at the trigger still started is replaced as well, and the instance before it is not. Of several that
    may have replaced an instance, the first is given.
    """
    key = case.prediction.deviations, pod.uid, container
    if key not in case.memo.replacements:
        case.memo.replacements[key] = _replacements(case, pod, ran(pod, container))
    return case.memo.replacements[key]


def _replacements(case: Case, pod: PodHistory, instances: tuple[Instance, ...]) -> dict[int, Replacement]:
    found: dict[int, Replacement] = {}
    began_ns = [_soonest_ns((each,)) for each in instances]
    followed_ns = [each or case.recording.end_ns for each in (*began_ns, None)[1:]]
    times = tuple(zip(instances, began_ns, followed_ns, strict=True))
    for reset in resets_of(case, pod):
        possible = [each.ordinal for each, begun, followed in times if _fits(reset, each, begun, followed)]
        sure = len(possible) == 1
        for ordinal in possible:
            before = found.get(ordinal)
            if before is None or (sure and not before.sure):
                found[ordinal] = Replacement(trigger=reset, sure=sure)
    return found


def _fits(reset: RestartAllTrigger, instance: Instance, began_ns: int | None, followed_ns: int) -> bool:
    """Whether it was there when a RestartAllContainers was carried out, and its successor was not."""
    if began_ns is None or not (began_ns < reset.latest_ns and reset.soonest_ns <= followed_ns):
        return False
    exited = instance.exit
    return exited is None or exited.utc_ns is None or exited.utc_ns <= reset.latest_ns


def _soonest_ns(instances: tuple[Instance, ...]) -> int | None:
    """When the first of these instances was created or, if that was not seen, started; a short life may be stamped backwards."""
    known = [
        fact.utc_ns
        for each in instances[:1]
        for fact in ((each.created,) if each.created else (each.start, each.exit))
        if fact is not None and fact.utc_ns is not None
    ]
    return min(known, default=None)


def decided_after(
    case: Case,
    container: str,
    number: int,
    instance: Instance,
    following: Instance | None,
    replaced: Replacement | None,
) -> Decided:
    """What the model decides after the exit of instance `number`; a RestartAllContainers restarts it in any case.

    Only a following instance shows whether a kubelet heard of a new image before it noticed the exit.
    """
    if replaced is not None and case.scenario.pod.container(container).kind is not ContainerKind.EPHEMERAL:
        return replaced.trigger.decided
    killed = was_killed(case, container, number, instance)
    if (killed or following is not None) and _was_redefined(case, container, instance):
        return REDEFINED
    return case.decided(container, instance, killed=killed, following=following)


def _was_redefined(case: Case, container: str, instance: Instance) -> bool:
    """Whether the scenario changed the image of a container while this instance ran, or ran on for all the kubelet knew."""
    began_ns, exited = _soonest_ns((instance,)) or 0, instance.exit
    from_ns = began_ns if instance.created else began_ns - round(START_SHARE_S * 1e9)

    def unnoticed(at_ns: int) -> bool:
        if exited is None or exited.utc_ns is None:
            return True
        late_ns = at_ns - exited.utc_ns - NOTICED_NS
        return late_ns <= 0 or late_ns <= case.recording.host.held_s(exited.utc_ns, at_ns) * 1e9

    return any(
        done.ok
        and done.data.action == InterventionKind.CHANGE_IMAGE
        and (done.data.arguments or {}).get("container", container) == container
        and from_ns <= done.t_ns
        and unnoticed(done.t_ns)
        for done in case.recording.interventions
    )


def started_after(pod: PodHistory, reset: RestartAllTrigger, end_ns: int) -> Instance | None:
    """The first instance of the source that began between a reset and `end_ns`; None if the reset was not carried out."""
    return first_begun(ran(pod, reset.container), reset.latest_ns, end_ns)


def first_begun(instances: tuple[Instance, ...], from_ns: int, to_ns: int) -> Instance | None:
    """The first instance that began in that time."""
    return next((each for each in instances if from_ns <= (each.begun_ns or 0) < to_ns), None)
