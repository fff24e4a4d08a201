"""Whether a restart is owed after an exit, and until when: until the pod has ended or is being deleted; and the pod's phases.

Ground truth gives the states of all containers over time, and the model the phase for those states.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from crashloop.history.event import Channel
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.model.after_restart import may_be_hidden
from crashloop.model.lateness import DETECTION_S, START_SHARE_S
from crashloop.model.pod_status import (
    FAILED,
    IS_RUNNING,
    NEVER_STARTED,
    PENDING,
    SUCCEEDED,
    KnownState,
    StateKind,
    knows_started,
    phase,
    terminated,
)
from crashloop.model.restart import REDEFINED, RESIZED, Decided, Decision
from crashloop.restarts.answers import AHEAD_NS, first_success
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import ended_by_node
from crashloop.restarts.lives import earliest_ns, leaves_ns, may_be_killed, ran, was_failing, was_killed
from crashloop.restarts.outages import SANDBOX_NS, SETTLED_NS, may_be_old_ns, may_lag_ns
from crashloop.restarts.restart_all import Replacement, replacements
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container, ContainerKind, ProbeKind


class PhaseChange(msgspec.Struct, frozen=True):
    """From `t_ns` on the containers' states stand for this phase."""

    t_ns: int
    phase: str
    line: int
    late_s: float = 0.0
    """How much later its stamp may be than a status that shows it, but for what the host holds up."""


def phases_of(case: Case, pod: PodHistory) -> tuple[PhaseChange, ...]:
    """The phases that follow from ground truth, in order; Pending before anything started."""
    states: dict[str, KnownState] = {
        each.name: NEVER_STARTED for each in case.scenario.pod.containers if each.kind is not ContainerKind.EPHEMERAL
    }
    changes = [PhaseChange(0, PENDING, 0)]
    regulars = [each.name for each in case.scenario.pod.of_kind(ContainerKind.REGULAR)]
    # What starts between a kill and the next sandbox starts in the one before.
    made_ns = [each.fact.utc_ns for each in pod.sandboxes if each.phase == "created" and each.fact.utc_ns is not None]
    kills_ns = [
        min((each for each in made_ns if each >= kill_ns), default=kill_ns) for kill_ns in case.sandbox_kills_ns
    ]
    initialized_after = -1
    for t_ns, line, stamped_s, name, state in sorted(
        (*_transitions(case, pod), *_reconfigured(case)), key=lambda each: each[0]
    ):
        late_s, kills = stamped_s, bisect_right(kills_ns, t_ns)
        if name is not None:
            # A pod runs again once its sidecars have started again, which its first application may show late.
            is_again = name in regulars and initialized_after < kills and states[name] != NEVER_STARTED
            late_s = START_SHARE_S if is_again and not all(each.started for each in states.values()) else stamped_s
            states[name] = state
        if name in regulars and state.kind is StateKind.RUNNING:
            initialized_after = kills
        elif all(states[each].being_reset for each in regulars):
            initialized_after = -1
        if initialized_after == kills:
            states |= {each: IS_RUNNING for each, one in states.items() if one.kind is StateKind.RUNNING}
        kubelet = case.in_force_at(t_ns)
        now = phase(
            case.scenario.pod,
            states,
            gates=kubelet.gates,
            version=kubelet.version,
            initialized=initialized_after == kills,
            deviations=case.prediction.deviations,
        )
        changes.append(PhaseChange(t_ns, now, line, late_s))
    ended = ended_by_node(pod)
    if ended is None:
        return tuple(changes)
    return (*(each for each in changes if each.t_ns <= ended.t_ns), PhaseChange(ended.t_ns, FAILED, ended.line))


_Transition = tuple[int, int, float, str | None, KnownState]
"""When, UTC; its line; how much later its stamp may be than a status that shows it; the container, and its state from then on."""


def _reconfigured(case: Case) -> Iterator[_Transition]:
    """Another configuration of the kubelet, by which the same states may stand for another phase."""
    for before, after in pairwise(case.recording.nodes):
        if case.in_force_at(before.since_ns) is not case.in_force_at(after.since_ns):
            yield after.since_ns, after.line, 0.0, None, NEVER_STARTED


def _transitions(case: Case, pod: PodHistory) -> Iterator[_Transition]:
    of_kind = case.scenario.pod.of_kind
    # Of what a coarse clock stamps with the same time, the start of a sidecar came before that of an application.
    for spec in (*of_kind(ContainerKind.INIT), *of_kind(ContainerKind.REGULAR)):
        for fact, late_s, state in _states(case, pod, spec):
            if fact.utc_ns is not None:
                yield fact.utc_ns, fact.line, late_s if fact.channel is Channel.JOURNAL else 0.0, spec.name, state


def _states(case: Case, pod: PodHistory, spec: Container) -> Iterator[tuple[Fact, float, KnownState]]:
    """The states of one container, each from a fact on, with how late its journal may stamp that.

    A sidecar has started once its startup probe has succeeded; without one, once a status has shown it running.
    """
    instances = ran(pod, spec.name)
    followers = (*instances, None)[1:]
    replaced = replacements(case, pod, spec.name)
    probe = spec.probe(ProbeKind.STARTUP) if spec.is_sidecar else None
    if spec.kind is ContainerKind.REGULAR:
        yield from ((gone, 0.0, terminated(NEVER_RAN)) for gone in _cut_off(pod, spec.name))
    is_known = not spec.is_sidecar or knows_started(case.prediction.at_first.version)
    for number, (each, following) in enumerate(zip(instances, followers, strict=True)):
        if each.begun is not None and spec.is_sidecar:
            yield each.begun, START_SHARE_S, KnownState(kind=StateKind.RUNNING, started=False)
        if each.begun is not None and is_known and probe is None:
            yield each.begun, START_SHARE_S, IS_RUNNING
        if is_known and probe is not None and (success := first_success((each,), probe)) is not None:
            yield success, AHEAD_NS / 1e9, IS_RUNNING
        if each.exit is not None and each.exit_code is not None:
            probed = bool(spec.killing_probes) and was_killed(case, spec.name, number, each)
            yield each.exit, 0.0, terminated(each.exit_code, killed=probed)
        if (purged := _purged(case, spec, each, following)) is not None:
            yield purged, 0.0, NEVER_STARTED
        if (removed := _removed_by_reset(case, each, replaced.get(each.ordinal), following)) is not None:
            yield removed, 0.0, KnownState(kind=StateKind.WAITING, last_exit_code=each.exit_code, being_reset=True)


NEVER_RAN = 128
"""The exit code that the runtime states of a container whose sandbox went between its create and its start."""


def _cut_off(pod: PodHistory, container: str) -> Iterator[Fact]:
    """The ends of sandboxes in which an instance was created and never ran: to the kubelet it has ended."""
    instances = pod.instances(container)
    for each, following in zip(instances, (*instances, None)[1:], strict=True):
        if each.has_run or each.created is None or each.created.utc_ns is None:
            continue
        until_ns = following.begun_ns if following else None
        ends = (one.fact for one in pod.sandboxes if one.phase == "exited")
        gone = next((one for one in ends if (one.utc_ns or 0) >= each.created.utc_ns), None)
        if gone is not None and (until_ns is None or (gone.utc_ns or 0) < until_ns):
            yield gone


def _purged(case: Case, spec: Container, instance: Instance, following: Instance | None) -> Fact | None:
    """The removal of a sidecar for another sandbox, from which on, by a variant, it counts as one that has not started."""
    known = spec.is_sidecar and may_be_hidden(spec, case.prediction.deviations)
    return instance.removed if known and case.lost_sandbox(instance, following) else None


def _removed_by_reset(
    case: Case, instance: Instance, reset: Replacement | None, following: Instance | None
) -> Fact | None:
    """The removal of an instance by RestartAllContainers; None if there was none, as where no rule can restart all.

    The kubelet removes others only after their successors began, or with the pod. Where the runtime's events are missing, the
    exits of the instance and of the one that triggered the removal stand for it.
    """
    if not case.restarts_all:
        return None
    removed, begun = instance.removed, following.begun if following else None
    if removed is not None:
        by_reset = reset is not None if begun is None else (removed.utc_ns or 0) <= (begun.utc_ns or 0)
        return removed if by_reset else None
    if reset is None or instance.exit is None:
        return None
    exited = max(instance.exit, reset.trigger.exited, key=lambda each: each.utc_ns or 0)
    until_ns = case.recording.end_ns if begun is None else begun.utc_ns
    # Of an instance that only its journal shows, the removal is not known either.
    return exited if instance.container_id is None or _is_runtime_lost(case, exited.utc_ns, until_ns) else None


def _is_runtime_lost(case: Case, from_ns: int | None, to_ns: int | None) -> bool:
    """Whether the runtime's events of that time may be missing."""
    if from_ns is None or to_ns is None or not any(Channel.RUNTIME in pod.channels for pod in case.pods):
        return True
    return any(case.recording.gaps_of(Channel.RUNTIME, from_ns, to_ns))


NOTICED_NS = round(DETECTION_S * 1e9)
"""A kubelet may learn of an exit as late as that."""


def owed_until_ns(case: Case, pod: PodHistory) -> int | None:
    """When the pod ended or began to be deleted, by truth, or its node began to end it, by the status that says so.

    None while it is owed restarts to the end of the recording.
    """
    ends = [change.t_ns for change in phases_of(case, pod)[-1:] if change.phase in (SUCCEEDED, FAILED)]
    ended = ended_by_node(pod)
    ends += [] if ended is None else [ended.t_ns - max(SETTLED_NS, may_be_old_ns(case, ended.t_ns))]
    ends += [] if pod.deleted is None or pod.deleted.utc_ns is None else [pod.deleted.utc_ns]
    leaves = leaves_ns(case, pod)
    ends += [] if leaves is None else [leaves]
    done_ns = _all_done_ns(case, pod)
    ends += [] if done_ns is None else [done_ns]
    # The controller of a Job deletes the pods that it has when the Job ends, which a watch may show later.
    ends += [each.t_ns for each in case.recording.jobs if each.end is not None]
    return min(ends, default=None)


def _all_done_ns(case: Case, pod: PodHistory) -> int | None:
    """When the last regular container ended for good, UTC: the kubelet then ends sidecars too, whatever the phase says.

    pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 computePodActions.
    """
    ends_ns: list[int] = []
    for spec in case.scenario.pod.of_kind(ContainerKind.REGULAR):
        instances = ran(pod, spec.name)
        last = instances[-1] if instances else None
        if last is None or last.exit_ns is None or last.exit_code is None:
            return None
        replaced = replacements(case, pod, spec.name).get(last.ordinal)
        decided = decided_after(case, spec.name, len(instances) - 1, last, None, replaced)
        if decided.decision is not Decision.STOP:
            return None
        ends_ns.append(last.exit_ns)
    return max(ends_ns, default=None)


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
    if (killed or following is not None) and _was_redefined(case, container, instance, following):
        return REDEFINED
    if killed and following is not None and _was_resized(case, container, instance):
        return RESIZED
    return case.decided(container, instance, killed=killed, following=following)


def owed_after(
    case: Case,
    container: str,
    number: int,
    instance: Instance,
    following: Instance | None,
    replaced: Replacement | None,
) -> Decided | None:
    """The same; None where the evidence leaves open whether a restart is owed.

    That is so after an exit without a code, and after a life that a probe was about to kill, the sync that made another sandbox
    was or, in a user's own pod, anything may have been, where that matters: a hook that hangs holds every restart up, and a kill
    is no exit that could restart all containers.
    """
    if instance.exit_code is None:
        return None
    pod = case.scenario.pod
    unknown = [each for each in pod.containers if not each.program.known]
    if any(each.post_start for each in unknown):
        return None
    if pod.restarts_all and any(each.killed_after_s is not None for each in unknown):
        return None
    decided = decided_after(case, container, number, instance, following, replaced)
    spec = pod.container(container)
    ending = may_be_killed(case, container, instance) or was_failing(case, spec, number, instance)
    if replaced is None and (ending or _ended_in_another_sync(case, instance, following)):
        killed = case.decided(container, instance, killed=True, following=following)
        return decided if killed.decision is decided.decision else None
    return decided


def _ended_in_another_sync(case: Case, instance: Instance, following: Instance | None) -> bool:
    """Whether an instance ended while the sync may have been under way that made the next sandbox: to that it ran.

    pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.2 computePodActions, containerSucceeded.
    """
    lost_ns, ended_ns = case.sandbox_killed_ns(instance, following), instance.exit_ns
    if lost_ns is None or ended_ns is None or ended_ns < lost_ns:
        return False
    made = (each.fact.utc_ns or 0 for pod in case.pods for each in pod.sandboxes if each.phase == "created")
    made_ns = min((each for each in made if each >= ended_ns), default=None)
    return (
        made_ns is not None and made_ns - ended_ns <= SANDBOX_NS + case.recording.host.held_s(ended_ns, made_ns) * 1e9
    )


def _was_redefined(case: Case, container: str, instance: Instance, following: Instance | None) -> bool:
    """Whether the scenario changed the image of a container while this instance ran, or ran on for all the kubelet knew.

    Of its own kills a kubelet knows at once; only another start shows that it was a change that killed.
    """
    began_ns, exited = earliest_ns((instance,)) or 0, instance.exit
    from_ns = began_ns if instance.created else began_ns - round(START_SHARE_S * 1e9)

    def unnoticed(at_ns: int) -> bool:
        if exited is None or exited.utc_ns is None:
            return True
        late_ns = at_ns - exited.utc_ns - (NOTICED_NS if following else 0)
        return late_ns <= 0 or (
            following is not None and late_ns <= case.recording.host.held_s(exited.utc_ns, at_ns) * 1e9
        )

    return any(
        done.ok
        and done.data.action == InterventionKind.CHANGE_IMAGE
        and (done.data.arguments or {}).get("container", container) == container
        and from_ns <= done.t_ns
        and unnoticed(done.t_ns)
        for done in case.recording.interventions
    )


def _was_resized(case: Case, container: str, instance: Instance) -> bool:
    """Whether the scenario resized a container that this restarts just before the instance ended."""
    changes_ns = case.changes_ns(container) if case.scenario.pod.container(container).restarts_on_resize else []
    began_ns, ended_ns = earliest_ns((instance,)) or 0, instance.exit_ns or 0
    return any(began_ns <= each <= ended_ns <= each + may_lag_ns(case, each, ended_ns) for each in changes_ns)
