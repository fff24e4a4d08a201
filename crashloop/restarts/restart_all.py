"""RestartAllContainers in a recorded pod: which exits triggered it, and which instances it replaced."""

from collections.abc import Iterator, Mapping

import msgspec

from crashloop.history.event import Channel
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.model.restart import Decided, Decision, decide
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import ended_by_node, silent_end
from crashloop.restarts.lives import (
    earliest_ns,
    first_begun,
    leaves_ns,
    ran,
    was_being_ended,
    was_changed,
    was_killed,
)
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.program import KILLED


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
            following = next(iter(instances[number + 1 : number + 2]), None)
            if exited is None or exited.utc_ns is None:
                continue
            ended = was_killed(case, spec.name, number, instance) or was_being_ended(case, spec, number, instance)
            if ended and not _left_its_exit(case, pod, spec, instance, following):
                continue
            decided = case.decided(spec.name, instance, following=following)
            if decided.decision is Decision.RESTART_ALL:
                removed = instance.removed
                if removed is not None and removed.utc_ns is not None:
                    soonest_ns = max(exited.utc_ns, removed.utc_ns)
                    latest_ns = soonest_ns + removed.resolution_ns
                else:
                    soonest_ns = exited.utc_ns
                    latest_ns = earliest_ns(instances[number + 1 : number + 2]) or case.recording.end_ns
                yield RestartAllTrigger(
                    container=spec.name,
                    exited=exited,
                    t_ns=exited.utc_ns,
                    soonest_ns=soonest_ns,
                    latest_ns=latest_ns,
                    decided=decided,
                    is_seen=removed is not None,
                )


def _left_its_exit(
    case: Case, pod: PodHistory, spec: Container, instance: Instance, following: Instance | None
) -> bool:
    """Whether a kill left an exit for the next sync to see: it did not start the container anew, and the removal came before.

    Where no event of the runtime shows removals, the policy tells: under Never a probe's kill starts nothing. So does an init
    container that ran again in between. A rule asks for the exit code alone, whatever ended the container:
    pkg/kubelet/container/helpers.go@v1.37.2 ShouldAllContainersRestart.
    """
    if following is None:
        return any(_went_on_without(case, pod, each, instance.exit_ns or 0) for each in case.scenario.pod.containers)
    if following.begun_ns is None:
        return False
    if Channel.RUNTIME not in pod.channels:
        inits = (each for each in case.scenario.pod.of_kind(ContainerKind.INIT) if not each.is_sidecar)
        ran_again = (first_begun(ran(pod, each.name), instance.exit_ns or 0, following.begun_ns) for each in inits)
        never = case.is_under_never(spec, instance.exit_ns) and not was_changed(case, spec.name, instance)
        return never or any(each is not None for each in ran_again)
    removed_ns = instance.removed.utc_ns if instance.removed else None
    return removed_ns is not None and removed_ns <= following.begun_ns


def _went_on_without(case: Case, pod: PodHistory, spec: Container, since_ns: int) -> bool:
    """Whether a pod that went on in its sandbox lost the newest instance of a container after that: else the kubelet keeps it.

    pkg/kubelet/kuberuntime/kuberuntime_gc.go@v1.37.1 evictableContainers.
    """
    newest, leaves = next(iter(pod.instances(spec.name)[-1:]), None), leaves_ns(case, pod)
    if newest is None or newest.removed is None or (removed_ns := newest.removed.utc_ns or 0) < since_ns:
        return False
    lost = case.record_lost_ns(spec.name, newest) is not None or case.lost_sandbox(newest, None)
    return not lost and ended_by_node(pod) is None and (leaves is None or removed_ns < leaves)


def unseen_reset(case: Case, pod: PodHistory, from_ns: int, to_ns: int) -> str | None:
    """Why an exit that restarts all containers may have gone unseen in that time (UTC); None if none can have.

    Its own exit a program writes down, unless it ends by SIGKILL.
    """
    kubelet = case.in_force_at(to_ns)
    for spec in case.scenario.pod.containers if case.restarts_all else ():
        decided = decide(case.scenario.pod, spec, KILLED, gates=kubelet.gates, version=kubelet.version)
        if decided.decision is Decision.RESTART_ALL:
            there = (each for each in ran(pod, spec.name) if (each.begun_ns or 0) < to_ns)
            why = (silent_end(case, pod, spec, each, (from_ns, to_ns)) for each in there)
            if (found := next((each for each in why if each is not None), None)) is not None:
                return found
    return None


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
    began_ns = [earliest_ns((each,)) for each in instances]
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


def started_after(pod: PodHistory, reset: RestartAllTrigger, end_ns: int) -> Instance | None:
    """The first instance of the source that began between a reset and `end_ns`; None if the reset was not carried out."""
    return first_begun(ran(pod, reset.container), reset.latest_ns, end_ns)
