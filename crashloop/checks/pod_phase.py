"""Every reported phase must be one that the containers' true states allow; the last must be the final phase.

Theory of operation. Ground truth gives the states of all containers over time, and the model the phase for those states. A
status may lag: its phase must be that of some time within `SETTLED_NS` before its receipt. If only the journal recorded a
start, the status may also precede it: the kubelet reports a running container after the runtime started it, and the
container stamps its start when its program runs.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from crashloop.checks.evidence import unwatched
from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import StatusReport
from crashloop.model.lateness import START_SHARE_S
from crashloop.model.phase import (
    FAILED,
    SUCCEEDED,
)
from crashloop.restarts.absences import SETTLED_NS, SLOW_API_NS, may_be_old_ns, may_lag_ns
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, ended_by_node, leaves_ns, lost_watch, why_it_ended
from crashloop.restarts.lives import ran
from crashloop.restarts.phases import (
    PhaseChange,
    phases_of,
)
from crashloop.words import at_lines, count, seconds


def check_pod_phase(case: Case) -> Checked:
    """The phase MUST follow from the containers' states at all times, and end as the model says.

    Needs the watch throughout, a status in min_shown_waits (0) of the waits for a restart, and one with the final phase, received
    after the containers' last change; of a pod that the scenario deletes, no final phase is due.
    """
    findings: list[Finding] = []
    seen: list[str] = []
    for pod in case.pods:
        changes = phases_of(case, pod)
        seen += [each.phase for each in pod.statuses]
        findings += _forbidden(case, pod, changes)
    if not findings:
        findings += () if leaves_ns(case, case.pods[-1]) else _final(case, case.pods[-1])
    if not findings:
        findings += unwatched(case, "a phase")
    if not findings:
        findings += _unseen_waits(case)
    return Checked(findings=tuple(findings), facts={"phases": list(dict.fromkeys(seen))})


def _forbidden(case: Case, pod: PodHistory, changes: tuple[PhaseChange, ...]) -> Iterator[Finding]:
    """The first status whose phase no moment shortly before it allows.

    Statuses come in order, so none goes back behind what an earlier one has shown, however late it is.
    """
    shown = 0
    times_ns, leaves = [each.t_ns for each in changes], leaves_ns(case, pod)
    for status in pod.statuses:
        if not status.phase or (leaves is not None and status.t_ns >= leaves):
            continue
        last = max(shown + 1, _begun(case, changes, bisect_right(times_ns, status.t_ns), status.t_ns))
        first, before = (_newest_at(times_ns, status.t_ns - age_ns, shown) for age_ns in (SETTLED_NS, SLOW_API_NS))
        # How much it may lag on a busy host takes long to find out, and matters only if the phase changed.
        if any(changes[number].phase != changes[before].phase for number in range(shown, before)):
            before = _newest_at(times_ns, status.t_ns - may_be_old_ns(case, status.t_ns), shown)
        possible = [number for number in range(before, last) if changes[number].phase == status.phase]
        shown = possible[0] if possible else shown
        allowed = changes[first:last]
        if status.phase in {each.phase for each in allowed}:
            continue
        newest = allowed[-1]
        lines = tuple(line for line in (newest.line, status.line) if line)
        due = " or ".join(dict.fromkeys(each.phase for each in allowed))
        sentence = f"the pod's phase was said to be {status.phase} {at_lines(lines)}; {due} was due."
        if possible:
            yield inconclusive(f"{sentence} The host, the API server or the watch may have held it up.", *lines)
        else:
            yield _doubted(case, pod, sentence, status, lines)
        return


def _newest_at(times_ns: Sequence[int], t_ns: int, shown: int) -> int:
    """Number of the newest change at that time; at least that of the one that was shown."""
    return max(shown, bisect_right(times_ns, t_ns) - 1)


def _unseen_waits(case: Case) -> Iterator[Finding]:
    """Fewer waits than needed in which a status was received: what was said in the others is not known."""
    needed = int(case.number("min_shown_waits", 0))
    if needed == 0:
        return
    waits = [
        (each.exit.utc_ns, later.begun_ns)
        for pod in case.pods
        for spec in case.scenario.pod.containers
        for each, later in pairwise(ran(pod, spec.name))
        if each.exit is not None
    ]
    reported_ns = sorted(status.t_ns for pod in case.pods for status in pod.statuses)
    shown = sum(
        1
        for from_ns, to_ns in waits
        if from_ns and to_ns and bisect_right(reported_ns, from_ns) < bisect_left(reported_ns, to_ns)
    )
    if shown < needed:
        yield inconclusive(
            f"{count(shown, 'wait', 'for a restart')} shown by a status, {needed} needed: {why_it_ended(case)}."
        )


def _begun(case: Case, changes: tuple[PhaseChange, ...], known: int, t_ns: int) -> int:
    """How many changes had come by then, if `known` were stamped by then; a program without a CPU stamps its start late."""

    def may_have_come(change: PhaseChange) -> bool:
        late_s = START_SHARE_S + case.recording.host.held_s(t_ns, change.t_ns)
        return change.stamped_late and change.t_ns <= t_ns + late_s * 1e9

    while known < len(changes) and may_have_come(changes[known]):
        known += 1
    return known


def _doubted(case: Case, pod: PodHistory, sentence: str, status: StatusReport, lines: tuple[int, ...]) -> Finding:
    """A FAIL unless truth may have missed something that the status shows."""
    for spec in case.scenario.pod.containers:
        blind = blind_spot(case, pod, pod.instances(spec.name), case.recording.begin_ns, status.t_ns)
        if blind is not None and _ends_without_an_exit(status):
            return fail(f"{sentence} That status shows no exit of any container.", *lines)
        if blind is not None:
            return inconclusive(f'{sentence} An instance of "{spec.name}" could have gone unseen: {blind}.', *lines)
    return fail(sentence, *lines)


def _ends_without_an_exit(status: StatusReport) -> bool:
    """Whether a status says by itself that its containers have ended, and shows no end of any."""
    ended = any(each.state.kind == "terminated" or each.last_state is not None for each in status.containers.values())
    return status.phase in (SUCCEEDED, FAILED) and not status.reason and bool(status.containers) and not ended


def _final(case: Case, pod: PodHistory) -> Iterator[Finding]:
    """The phase that the model predicts for the end, said by the last status."""
    due = case.prediction.phase
    last = pod.statuses[-1] if pod.statuses else None
    if last is None:
        yield inconclusive(f"no pod status was seen, one that says {due} needed: {why_it_ended(case)}.")
    elif (ended := ended_by_node(pod)) is not None:
        sentence = f"the node ended the pod itself, reason {ended.reason} {at_lines([ended.line])}; {due} was due"
        yield inconclusive(f"{sentence} at the end of its containers.", ended.line)
    elif last.phase != due:
        yield _not_final(case, pod, last, due)


def _not_final(case: Case, pod: PodHistory, last: StatusReport, due: str) -> Finding:
    truth = phases_of(case, pod)[-1]
    seen = f"the pod's phase was last said to be {last.phase or 'nothing'} {at_lines([last.line])}; {due} was due"
    if truth.phase != due:
        return inconclusive(f"{seen}, but its containers had not come that far: {why_it_ended(case)}.", last.line)
    waited_ns = case.recording.end_ns - truth.t_ns
    if waited_ns <= may_lag_ns(case, truth.t_ns, case.recording.end_ns):
        return inconclusive(
            f"{seen}, and it had {seconds(waited_ns / 1e9)} to say so: {why_it_ended(case)}.", last.line
        )
    lost = lost_watch(case, truth.t_ns, case.recording.end_ns)
    if lost is not None:
        return inconclusive(f"{seen}; the watch was lost meanwhile (history line {lost.line}).", last.line, lost.line)
    return _doubted(case, pod, f"{seen}.", last, (last.line,))
