"""The limits of a recording: what it can show, and why its evidence ends."""

from collections.abc import Iterable

from crashloop.history.event import Channel
from crashloop.history.instances import Instance
from crashloop.history.recording import Gap, PodHistory, Recording
from crashloop.history.stamps import Fact
from crashloop.history.statuses import StatusReport
from crashloop.model.after_restart import stands_still
from crashloop.restarts.case import Case
from crashloop.restarts.lives import deletions
from crashloop.restarts.outages import control_plane_outages
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.program import KILLED, LifeEnd
from crashloop.words import seconds


def watched_s(recording: Recording, since: Fact | None) -> float:
    """Seconds from a fact to the end of the recording; 0 if its time is unknown."""
    return 0.0 if since is None or since.utc_ns is None else max(0.0, (recording.end_ns - since.utc_ns) / 1e9)


def why_it_ended(case: Case) -> str:
    """Why the recording shows no more, as the end of a sentence."""
    recording = case.recording
    lost = [gap for gap in recording.gaps if gap.lost and gap.channel in (Channel.RUNTIME, Channel.JOURNAL)]
    gaps = "".join(
        f"; {gap.channel} was lost for {seconds((gap.to_ns - max(gap.from_ns, recording.begin_ns)) / 1e9)} "
        f"(history line {gap.line})"
        for gap in lost
    )
    return _end_of(case) + gaps


def why_they_ended(cases: Iterable[Case]) -> str:
    """The same for each of the scenarios that are compared."""
    return "; ".join(f"in {case.scenario.name} {why_it_ended(case)}" for case in cases)


def _end_of(case: Case) -> str:
    recording = case.recording
    if recording.cut_off is not None or recording.end is None:
        return f"the recording stops at line {recording.end_line} without an end"
    detail = f" ({recording.end.detail.rstrip('.')})" if recording.end.detail else ""
    match recording.end.reason:
        case "deadline":
            return f"the watch ended at its deadline of {seconds(case.scenario.until.at_most_s)}{detail}"
        case "complete":
            return f"the scenario was complete{detail}"
        case reason:
            return f"the recording was {reason}{detail}"


DEADLINE_EXCEEDED = "DeadlineExceeded"
"""Reason of a pod that its own deadline ended: pkg/kubelet/active_deadline.go@v1.37.1."""
ENDED_BY_NODE = frozenset({"Evicted", "Preempting", "Terminated"})
"""Reasons of a pod that its node ended: pkg/kubelet/eviction, preemption and nodeshutdown @v1.37.1."""


def ended_by_node(pod: PodHistory) -> StatusReport | None:
    """The first status by which the node ended the pod: too little disk, memory or room, or a shutdown."""
    return next((each for each in pod.statuses if each.reason in ENDED_BY_NODE), None)


def lost_watch(case: Case, from_ns: int, to_ns: int) -> Gap | None:
    """The first time in that interval in which the API's watch was lost.

    A control plane that the scenario had stopped states nothing, and the list after it has what it states then: no loss.
    """
    away = tuple(control_plane_outages(case))
    lost = case.recording.gaps_of(Channel.API, from_ns, to_ns)
    return next((gap for gap in lost if not any(gap.overlaps(each.from_ns, each.back_ns) for each in away)), None)


def blind_spot(case: Case, pod: PodHistory, instances: tuple[Instance, ...], from_ns: int, to_ns: int) -> str | None:
    """Why a start of the container in that interval could have gone unseen by every ground truth; None if it could not.

    A later life in the journal proves the earlier ones: it numbers them without holes.
    """
    reported_later = any(
        each.journal_started is not None
        and each.journal_started.utc_ns is not None
        and each.journal_started.utc_ns > to_ns
        for each in instances
    )
    runtime = _why_blind(case.recording, pod, Channel.RUNTIME, from_ns, to_ns)
    if runtime is None or reported_later:
        return None
    journal = _why_blind(case.recording, pod, Channel.JOURNAL, from_ns, to_ns) or _read_before(case, pod, to_ns)
    if any(each.program.is_refused for each in case.scenario.pod.containers):
        journal = journal or "what never ran keeps no journal"
    return None if journal is None else f"{runtime}, {journal}"


def unseen_exit(case: Case, pod: PodHistory, from_ns: int, to_ns: int, container_id: str | None = None) -> str | None:
    """Why the runtime's events may lack an exit in that interval, as of that instance; None if they do not."""
    return _why_blind(case.recording, pod, Channel.RUNTIME, from_ns, to_ns, container_id)


def silent_end(
    case: Case, pod: PodHistory, spec: Container, instance: Instance, window_ns: tuple[int, int]
) -> str | None:
    """Why an instance may have ended in that interval (UTC) unseen: what SIGKILL ends, by the runtime's events alone.

    None if it was seen to end, or nothing ends it so.
    """
    planned = spec.program.life(instance.ordinal)
    by_sigkill = planned is not None and planned.end in (LifeEnd.SIGNAL, LifeEnd.MEMORY)
    if instance.exit is not None or not (by_sigkill or spec.exit_code_on_term == KILLED):
        return None
    return unseen_exit(case, pod, *window_ns, instance.container_id)


def first_gap(case: Case, channel: Channel) -> Gap | None:
    """The first time of the recording in which a channel was lost."""
    return next(case.recording.gaps_of(channel, case.recording.begin_ns, case.recording.end_ns), None)


def is_journal_lost(case: Case, pod: PodHistory) -> bool:
    """Whether the journals may lack something, at whatever time."""
    return Channel.JOURNAL not in pod.channels or first_gap(case, Channel.JOURNAL) is not None


def _read_before(case: Case, pod: PodHistory, to_ns: int) -> str | None:
    """A pod that is deleted has its journals read out first; they do not have what happens after that."""
    read = next((done for done in deletions(case, pod) if done.t_ns <= to_ns), None)
    return None if read is None else f"its journals were read before the pod was deleted (history line {read.line})"


def _why_blind(
    recording: Recording, pod: PodHistory, channel: Channel, from_ns: int, to_ns: int, outlasts: str | None = None
) -> str | None:
    """Why the channel lacks something in that interval; not by gaps that the instance of the id `outlasts` has outlasted."""
    if channel not in pod.channels:
        return f"no {channel} evidence"
    gap = next((each for each in recording.gaps_of(channel, from_ns, to_ns) if outlasts not in each.running), None)
    if gap is None:
        return None
    reason = f": {gap.reason}" if gap.reason else ""
    return f"{channel} lost for {seconds((gap.to_ns - gap.from_ns) / 1e9)} (history line {gap.line}{reason})"


def stated_until_ns(case: Case, pod: PodHistory) -> int:
    """Until when the kubelet states a pod: until its object is gone, and of a static pod until its file has changed.

    By a variant, neither of a pod in which what had ended runs again.
    pkg/kubelet/status/status_manager.go@v1.37.1 syncPod: "Pod was deleted and then recreated, skipping status update";
    updateStatusInternal: "Status update on pod aborted".
    """
    lost = (
        case.record_lost_ns(each.name, one)
        for each in case.scenario.pod.of_kind(ContainerKind.REGULAR)
        for one in pod.instances(each.name)
    )
    stops = [each for each in lost if each is not None and stands_still(case.prediction.deviations)]
    edits = (each.t_ns for each in deletions(case, pod) if each.data.action == InterventionKind.EDIT_STATIC_POD)
    gone = [] if pod.deleted is None or pod.deleted.utc_ns is None else [pod.deleted.utc_ns]
    return min([*edits, *stops, *gone, case.recording.end_ns])
