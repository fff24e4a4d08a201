"""Whether a restart is owed after an exit, and until when: until the pod has ended or is being deleted."""

from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.model.lateness import DETECTION_S, START_SHARE_S
from crashloop.model.pod_status import FAILED, SUCCEEDED
from crashloop.model.restart import REDEFINED, Decided
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import ended_by_node
from crashloop.restarts.lives import earliest_ns, leaves_ns, may_be_killed, was_killed
from crashloop.restarts.outages import SETTLED_NS
from crashloop.restarts.phases import phases_of
from crashloop.restarts.restart_all import Replacement
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import ContainerKind

NOTICED_NS = round(DETECTION_S * 1e9)
"""A kubelet may learn of an exit as late as that."""


def owed_until_ns(case: Case, pod: PodHistory) -> int | None:
    """When the pod ended or began to be deleted, by truth, or its node began to end it, by the status that says so.

    None while it is owed restarts to the end of the recording.
    """
    ends = [change.t_ns for change in phases_of(case, pod)[-1:] if change.phase in (SUCCEEDED, FAILED)]
    ended = ended_by_node(pod)
    ends += [] if ended is None else [ended.t_ns - SETTLED_NS]
    ends += [] if pod.deleted is None or pod.deleted.utc_ns is None else [pod.deleted.utc_ns]
    leaves = leaves_ns(case, pod)
    ends += [] if leaves is None else [leaves]
    # The controller of a Job deletes the pods that it has when the Job ends, which a watch may show later.
    ends += [each.t_ns for each in case.recording.jobs if each.end is not None]
    return min(ends, default=None)


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


def owed_after(
    case: Case,
    container: str,
    number: int,
    instance: Instance,
    following: Instance | None,
    replaced: Replacement | None,
) -> Decided | None:
    """The same; None where the evidence leaves open whether a restart is owed.

    That is so after an exit without a code, and in a user's own pod after a life that may have been killed, where that matters: a
    hook that hangs holds every restart up, and a kill is no exit that could restart all containers.
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
    if replaced is None and may_be_killed(case, container, instance):
        killed = case.decided(container, instance, killed=True, following=following)
        return decided if killed.decision is decided.decision else None
    return decided


def _was_redefined(case: Case, container: str, instance: Instance) -> bool:
    """Whether the scenario changed the image of a container while this instance ran, or ran on for all the kubelet knew."""
    began_ns, exited = earliest_ns((instance,)) or 0, instance.exit
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
