"""What statuses state as the phase of a pod: while it lives, at its end, and after its deadline.

Theory of operation. Ground truth gives the states of all containers over time, and the model the phase for those states. A
status may lag: its phase must be that of some time before its receipt that the kubelet is allowed (crashloop.restarts.outages).
If only the journal recorded a start, the status may also precede it: the kubelet reports a running container after the runtime
started it, and the container stamps its start when its program runs.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from crashloop.checks.checker import Holds, Need, Seen, checker
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive, too_short
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import StatusReport
from crashloop.model.after_restart import may_be_hidden
from crashloop.model.pod_status import FAILED, RUNNING, SUCCEEDED, ended
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import (
    DEADLINE_EXCEEDED,
    blind_spot,
    ended_by_node,
    lost_watch,
    stated_until_ns,
    unseen_exit,
    why_it_ended,
)
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import deadline_ns, leaves_ns, ran
from crashloop.restarts.outages import (
    SETTLED_NS,
    ended_before_it_stated,
    may_be_old_ns,
    may_lag_ns,
    start_cut_short,
)
from crashloop.restarts.owed import PhaseChange, phases_of
from crashloop.restarts.restart_all import replacements
from crashloop.spec.pod import GRACE_PERIOD_S, ContainerKind
from crashloop.words import at_lines, seconds

FINAL = (SUCCEEDED, FAILED)
LATE_S = 5.0 + GRACE_PERIOD_S
"""startTime is rounded down to a second, the kubelet looks once a second, syncs, and gives containers their grace period."""


@checker("pod-phase", Need("shown_waits", 0, "wait", "for a restart with a status", is_shown=False), watch="a phase")
def check_pod_phase(case: Case, seen: Seen) -> Iterator[Finding]:
    """The phase MUST follow from the containers' states at all times, and end as the model says.

    The last status must state the final phase, and be received after the containers' last change; of a pod that the scenario
    deletes, none is due. Counted are the waits for a restart in which a status was received: what others hid is not known.
    """
    stated = [status.phase for pod in case.pods for status in pod.statuses]
    seen.facts["phases"] = list(dict.fromkeys(stated))
    seen["shown_waits"] = _shown_waits(case)
    findings = [
        each
        for pod in case.pods
        for changes in (phases_of(case, pod),)
        for each in (*_forbidden(case, pod, changes),) or (*_unsaid(case, pod, changes),)
    ]
    yield from findings
    if not findings and not leaves_ns(case, case.pods[-1]):
        yield from _final_phase(case, case.pods[-1])


def _forbidden(case: Case, pod: PodHistory, changes: tuple[PhaseChange, ...]) -> Iterator[Finding]:
    """The first status whose phase no moment shortly before it allows.

    Statuses come in order, so none goes back behind what an earlier one has shown, however late it is.
    """
    shown = 0
    times_ns, leaves = [each.t_ns for each in changes], leaves_ns(case, pod)
    for status in pod.statuses:
        if not status.phase or (leaves is not None and status.t_ns >= leaves) or _is_between_sandboxes(case, status):
            continue
        last = max(shown + 1, _begun(case, changes, bisect_right(times_ns, status.t_ns), status.t_ns))
        if all(each.phase == status.phase for each in changes[shown:last]):
            continue
        may_be_old = may_be_old_ns(case, status.t_ns)
        first, before = (
            _newest_at(times_ns, status.t_ns - age_ns, shown) for age_ns in (min(SETTLED_NS, may_be_old), may_be_old)
        )
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
            yield fail_unless("The host, the API server or the watch may have held it up", sentence, *lines)
        else:
            yield _phase_doubted(case, pod, sentence, status, lines)
        return


def _unsaid(case: Case, pod: PodHistory, changes: tuple[PhaseChange, ...]) -> Iterator[Finding]:
    """A phase between others that lasted for longer than a status may lag, and that no status said."""
    leaves = leaves_ns(case, pod)
    spans = [tuple(group) for _, group in groupby(changes, lambda each: each.phase)]
    for (first, *_), (following, *_) in list(pairwise(spans))[1:]:
        from_ns, to_ns = first.t_ns, following.t_ns
        lag_ns = may_lag_ns(case, from_ns, to_ns)
        if (leaves is not None and to_ns >= leaves) or to_ns - from_ns <= lag_ns:
            continue
        if any(each.phase == first.phase and from_ns <= each.t_ns <= to_ns + lag_ns for each in pod.statuses):
            continue
        lines = first.line, following.line
        lasted = f"the pod was {first.phase} for {seconds((to_ns - from_ns) / 1e9)} {at_lines(lines)}"
        lost = lost_watch(case, from_ns, to_ns)
        doubt = None if lost is None else f"The watch was lost meanwhile (history line {lost.line})"
        yield fail_unless(doubt, f"{lasted}, and no status said so.", *lines)


def _newest_at(times_ns: Sequence[int], t_ns: int, shown: int) -> int:
    """Number of the newest change at that time; at least that of the one that was shown."""
    return max(shown, bisect_right(times_ns, t_ns) - 1)


def _shown_waits(case: Case) -> int:
    """The waits for a restart in which a status was received."""
    waits = [
        (each.exit_ns, later.begun_ns)
        for pod in case.pods
        for spec in case.scenario.pod.containers
        for each, later in pairwise(ran(pod, spec.name))
    ]
    reported_ns = sorted(status.t_ns for pod in case.pods for status in pod.statuses)
    return sum(
        1
        for from_ns, to_ns in waits
        if from_ns and to_ns and bisect_right(reported_ns, from_ns) < bisect_left(reported_ns, to_ns)
    )


def _begun(case: Case, changes: tuple[PhaseChange, ...], known: int, t_ns: int) -> int:
    """How many changes had come by then, if `known` were stamped by then; a program without a CPU stamps its start late."""

    def may_have_come(change: PhaseChange) -> bool:
        held_s = case.recording.host.held_s(t_ns, change.t_ns)
        return change.late_s > 0 and change.t_ns <= t_ns + (change.late_s + held_s) * 1e9

    while known < len(changes) and may_have_come(changes[known]):
        known += 1
    return known


def _phase_doubted(case: Case, pod: PodHistory, sentence: str, status: StatusReport, lines: tuple[int, ...]) -> Finding:
    """A FAIL unless truth may have missed something that the status shows."""
    for spec in case.scenario.pod.containers:
        blind = blind_spot(case, pod, pod.instances(spec.name), case.recording.begin_ns, status.t_ns)
        if blind is not None and _ends_without_an_exit(status):
            return fail(f"{sentence} That status shows no exit of any container.", *lines)
        if blind is not None:
            return inconclusive(f'{sentence} An instance of "{spec.name}" could have gone unseen: {blind}.', *lines)
        if (unseen := _exit_unseen(case, pod, spec.name, status)) is not None:
            return inconclusive(f'{sentence} A kill of "{spec.name}" could have gone unseen: {unseen}.', *lines)
        if (instance := _cut_short(case, pod, spec.name, status)) is not None:
            why = f'The kubelet ended between create and start of "{spec.name}" {at_lines(instance.lines)}'
            return inconclusive(f"{sentence} {why}.", *lines)
    if (unsaid := _ended_before_it_said(case, pod, status)) is not None:
        why = f"The kubelet was ended before it could state the phase {at_lines([unsaid])}"
        return inconclusive(f"{sentence} {why}, and the next one knew nothing of it.", *lines, unsaid)
    return fail(sentence, *lines)


def _cut_short(case: Case, pod: PodHistory, container: str, status: StatusReport) -> Instance | None:
    """An instance that its kubelet created and did not live to start: it waits, without the exit before it.

    pkg/kubelet/kubelet_pods.go@v1.37.1 convertToAPIContainerStatuses.
    """
    report = status.containers.get(container)
    cut_short = (each for each in start_cut_short(case, pod, container) if _has_begun(each, status))
    return next(cut_short, None) if report is not None and report.state.kind == "waiting" else None


def _is_between_sandboxes(case: Case, status: StatusReport) -> bool:
    """Whether a sidecar went with its sandbox, by a variant: both were seen, that it counts as ended, and as yet to start."""
    sidecars = (each for each in case.scenario.pod.containers if each.is_sidecar)
    hidden = (status.containers.get(each.name) for each in sidecars if may_be_hidden(each, case.prediction.deviations))
    return any(each and each.state.kind == "waiting" and each.last_state and not each.container_id for each in hidden)


def _ended_before_it_said(case: Case, pod: PodHistory, status: StatusReport) -> int | None:
    """The line on which a kubelet was ended so soon after the end of its pod that it may not have stated it; None if none was.

    The next kubelet takes the pod for one that runs, and rejects it where it does not fit its node any more.
    """
    over = [each for each in phases_of(case, pod) if each.phase in FINAL and each.t_ns <= status.t_ns]
    if not over or any(each.phase == over[0].phase for each in pod.statuses if each.t_ns < status.t_ns):
        return None
    return ended_before_it_stated(case, over[0].t_ns, status.t_ns)


def _exit_unseen(case: Case, pod: PodHistory, container: str, status: StatusReport) -> str | None:
    """Why the end of an instance that the status says to be over could have gone unseen: its journal shows only its start."""
    report, begun = status.containers.get(container), [each for each in ran(pod, container) if _has_begun(each, status)]
    if not begun or begun[-1].exit is not None or report is None or report.state.kind != "terminated":
        return None
    return unseen_exit(case, pod, begun[-1].begun_ns or 0, status.t_ns)


def _has_begun(instance: Instance, status: StatusReport) -> bool:
    return instance.begun_ns is None or instance.begun_ns <= status.t_ns


def _ends_without_an_exit(status: StatusReport) -> bool:
    """Whether a status says by itself that its containers have ended, and shows no end of any."""
    ended = any(each.state.kind == "terminated" or each.last_state is not None for each in status.containers.values())
    return status.phase in (SUCCEEDED, FAILED) and not status.reason and bool(status.containers) and not ended


def _final_phase(case: Case, pod: PodHistory) -> Iterator[Finding]:
    """The phase that the model predicts for the end, said by the last status."""
    due = case.prediction.phase
    last = pod.statuses[-1] if pod.statuses else None
    if last is None:
        yield inconclusive(f"no pod status was seen, one that says {due} needed: {why_it_ended(case)}.")
    elif (ended := ended_by_node(pod)) is not None:
        sentence = f"the node ended the pod itself, reason {ended.reason} {at_lines([ended.line])}; {due} was due"
        yield inconclusive(f"{sentence} at the end of its containers.", ended.line)
    elif last.phase != due and stated_until_ns(case, pod) >= case.recording.end_ns:
        yield _not_final(case, pod, last, due)


def _not_final(case: Case, pod: PodHistory, last: StatusReport, due: str) -> Finding:
    truth = phases_of(case, pod)[-1]
    seen = f"the pod's phase was last said to be {last.phase or 'nothing'} {at_lines([last.line])}; {due} was due"
    if truth.phase != due:
        return too_short(f"{seen}, but its containers had not come that far: {why_it_ended(case)}.", last.line)
    waited_ns = case.recording.end_ns - truth.t_ns
    if waited_ns <= may_lag_ns(case, truth.t_ns, case.recording.end_ns):
        return too_short(f"{seen}, and it had {seconds(waited_ns / 1e9)} to say so: {why_it_ended(case)}.", last.line)
    lost = lost_watch(case, truth.t_ns, case.recording.end_ns)
    if lost is not None:
        return inconclusive(f"{seen}; the watch was lost meanwhile (history line {lost.line}).", last.line, lost.line)
    return _phase_doubted(case, pod, f"{seen}.", last, (last.line,))


@checker(
    "phase-agrees",
    Need("statuses", 1, "status", "with containers", is_shown=False),
    watch="a status",
    once=True,
    holds=Holds.ANY_PROGRAM,
)
def check_phase_agrees(case: Case, seen: Seen) -> Iterator[Finding]:
    """A status MUST NOT state a final phase while a container runs, nor Running while an init container does by it.

    A pod that has ended MUST keep the reason for which it did (kubernetes/kubernetes#103785).

    The phase and the containers of a status are made of the same look at the runtime, but whether a final phase is due is asked
    once more when the status is sent: what ran by that look may have ended meanwhile. Of a pod that the node ends the phase that
    was stated last stays until its containers have ended: pkg/kubelet/status/status_manager.go@v1.37.1 syncPod, mergePodStatus.
    """
    inits = {each.name for each in case.scenario.pod.of_kind(ContainerKind.INIT) if not each.is_sidecar}
    for pod in case.pods:
        yield from _reason_lost(pod)
        for status in pod.statuses:
            running = [name for name, each in status.containers.items() if each.state.kind == "running"]
            seen["statuses"] += bool(status.containers)
            if status.phase in FINAL:
                wrong = [each for each in running if not _has_ended(pod, each, status)]
            else:
                wrong = [each for each in running if each in inits and not _is_kept(case, pod, status)]
            if wrong and status.phase in (*FINAL, RUNNING):
                what = "init container" if status.phase == RUNNING else "container"
                said = f"a status says that the pod's phase is {status.phase} {at_lines([status.line])}"
                doubt = None if status.phase == RUNNING else _unseen_end(case, pod, wrong[0], status)
                yield fail_unless(doubt, f'{said}; its {what} "{wrong[0]}" runs by it.', status.line)


def _reason_lost(pod: PodHistory) -> Iterator[Finding]:
    """The first status of a pod that has ended with another reason than the status before."""
    final = [each for each in pod.statuses if each.phase in FINAL]
    for before, after in pairwise(final):
        if before.reason and after.reason != before.reason:
            lines = before.line, after.line
            now = f"{after.reason} as the reason" if after.reason else "no reason"
            yield fail(
                f"a status gives {now} of the phase {after.phase} {at_lines(lines)}; it was {before.reason} before.",
                *lines,
            )
            return


def _has_ended(pod: PodHistory, name: str, status: StatusReport) -> bool:
    """Whether ground truth has the end of an instance that a status shows running."""
    shown = status.containers[name].container_id
    own = [each for each in pod.instances(name) if each.container_id in (shown, None)]
    return bool(own) and own[-1].exit_ns is not None and own[-1].exit_ns <= status.t_ns


def _unseen_end(case: Case, pod: PodHistory, name: str, status: StatusReport) -> str | None:
    since_ns = status.t_ns - may_be_old_ns(case, status.t_ns)
    return unseen_exit(case, pod, since_ns, status.t_ns, status.containers[name].container_id)


def _is_kept(case: Case, pod: PodHistory, status: StatusReport) -> bool:
    """Whether the phase of a status may be that of the one before: of a pod whose deadline has passed, or which the node ends."""
    due_ns, ending = deadline_ns(case, pod), ended_by_node(pod)
    by_node = ending is not None and ending in pod.statuses[pod.statuses.index(status) :][1:2]
    return by_node or (due_ns is not None and status.t_ns >= due_ns)


@checker("final-phase", Need("deleted_pods", 1, "deleted pod", is_shown=False), watch="the last phase")
def check_final_phase(case: Case, seen: Seen) -> Iterator[Finding]:
    """The last phase of a deleted pod MUST be Succeeded if its regular containers all exited with 0, and Failed otherwise.

    The watch has to have seen the deletion, and truth the exit of each regular container.
    """
    deleted = [
        pod for pod in case.pods if leaves_ns(case, pod) is not None and pod.deleted is not None and pod.statuses
    ]
    seen["deleted_pods"] = len(deleted)
    seen.facts["last_phases"] = [pod.statuses[-1].phase for pod in deleted]
    for pod in deleted:
        yield from _last_phase(case, pod)


def _last_phase(case: Case, pod: PodHistory) -> Iterator[Finding]:
    instances = {each.name: ran(pod, each.name) for each in case.scenario.pod.of_kind(ContainerKind.REGULAR)}
    codes = {name: each[-1].exit_code if each else None for name, each in instances.items()}
    unseen = next((name for name, code in codes.items() if code is None), None)
    last, due = pod.statuses[-1], ended(codes.values())
    if ended_by_node(pod) is not None or any(
        each and each[-1].ordinal in replacements(case, pod, name) for name, each in instances.items()
    ):
        yield inconclusive("the node ended the pod, or RestartAllContainers removed a container before it went.")
    elif unseen is not None:
        yield inconclusive(f'the last exit of "{unseen}" was not seen: {why_it_ended(case)}.')
    elif last.phase != due:
        exits = ", ".join(f'"{name}" exited with {code}' for name, code in codes.items())
        sentence = (
            f"the last phase of the deleted pod was {last.phase} {at_lines([last.line])}; {due} was due: {exits}."
        )
        spots = (blind_spot(case, pod, each, each[-1].exit_ns or 0, last.t_ns) for each in instances.values())
        doubt = next((f"An instance could have gone unseen: {blind}" for blind in spots if blind), None)
        gone_ns = case.recording.end_ns if pod.deleted is None else pod.deleted.utc_ns or case.recording.end_ns
        is_lost = lost_watch(case, last.t_ns, gone_ns) is not None
        yield fail_unless(
            doubt or ("A later status may have been lost with the watch" if is_lost else None), sentence, last.line
        )


@checker(
    "deadline",
    Need("restarts", 1, "restart", "before the deadline"),
    f"a watch of {seconds(SETTLED_NS / 1e9)} after the deadline",
    once=True,
    holds=Holds.DECLARED,
)
def check_deadline(case: Case, seen: Seen) -> Iterator[Finding]:
    """A pod MUST fail with the reason DeadlineExceeded once its active deadline has passed, and nothing of it runs on then."""
    for pod in case.pods:
        due_ns = deadline_ns(case, pod)
        if due_ns is None:
            yield inconclusive(f"no status with a startTime was seen: {why_it_ended(case)}.")
            continue
        begun_ns = [each.begun_ns or 0 for spec in case.scenario.pod.containers for each in ran(pod, spec.name)[1:]]
        seen["restarts"] += sum(each < due_ns for each in begun_ns)
        yield from _failed_early(pod, due_ns)
        yield from _runs_past_deadline(case, pod, due_ns)
        yield from _unstated(case, pod, due_ns)


def _failed_early(pod: PodHistory, due_ns: int) -> Iterator[Finding]:
    for status in pod.statuses:
        if status.phase == FAILED and status.t_ns < due_ns:
            early = seconds((due_ns - status.t_ns) / 1e9)
            yield fail(
                f"the pod was said to have failed {early} before its deadline {at_lines([status.line])}.", status.line
            )
            return


def _runs_past_deadline(case: Case, pod: PodHistory, due_ns: int) -> Iterator[Finding]:
    """The last instance that was there later than the kubelet has for the end of the pod."""
    for spec in case.scenario.pod.containers:
        for instance in reversed(ran(pod, spec.name)):
            until_ns = case.recording.end_ns if instance.exit is None else instance.exit_ns
            if until_ns is None:
                continue
            late_s = (until_ns - due_ns) / 1e9
            if late_s <= LATE_S:
                continue
            lines = tuple(fact.line for fact in (instance.begun, instance.exit) if fact)
            sentence = (
                f'instance {instance.ordinal} of "{spec.name}" ran until {seconds(late_s)} after the deadline of its pod '
                f"{at_lines(lines)}; {seconds(LATE_S)} are enough to end it."
            )
            yield fail_unless(excuse(case, (due_ns, until_ns), 0.0, late_s - LATE_S), sentence, *lines)
            return
        blind = blind_spot(case, pod, pod.instances(spec.name), due_ns, case.recording.end_ns)
        if blind is not None:
            yield inconclusive(f'a start of "{spec.name}" after the deadline could have gone unseen: {blind}.')


def _unstated(case: Case, pod: PodHistory, due_ns: int) -> Iterator[Finding]:
    """The last status, once the kubelet has had the time to write it."""
    last, end_ns = pod.statuses[-1], case.recording.end_ns
    watched_ns = end_ns - due_ns
    if watched_ns < SETTLED_NS:
        yield inconclusive(
            f"{seconds(watched_ns / 1e9)} were watched after the deadline, {seconds(SETTLED_NS / 1e9)} needed: "
            f"{why_it_ended(case)}."
        )
    elif (last.phase, last.reason) != (FAILED, DEADLINE_EXCEEDED):
        said = f"{last.phase}, {last.reason}" if last.reason else f"{last.phase} without a reason"
        sentence = (
            f"the last status of a pod whose deadline has passed says {said} {at_lines([last.line])}; "
            f"{FAILED}, {DEADLINE_EXCEEDED} was due."
        )
        lagging = watched_ns <= may_lag_ns(case, due_ns, end_ns) and last.phase != FAILED
        held_up = lagging or lost_watch(case, due_ns, end_ns) is not None
        doubt = "The host, the API server or the watch may have held it up" if held_up else None
        yield fail_unless(doubt, sentence, last.line)
