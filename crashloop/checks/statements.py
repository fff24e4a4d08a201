"""What statuses state of a container's restarts: how many there were, and that it waits for the next.

Theory of operation. A watch delivers a pod's newest status, not every one, and the kubelet merges statuses in quick succession,
so an unseen value proves nothing. Judged are properties of every single status: its count does not exceed the containers
created before its receipt, it never falls below an earlier one, its data about an instance fit that instance, and the last
status, if it had the time to arrive, has counted every restart.

A sync writes the status before it decides about starts, so CrashLoopBackOff shows one sync after the exit: at once where the
pod is looked at every second, and else about when the delay is over (crashloop.model.pod_status). Upstream may reword what
a status shows of a delay, its reason, message and order, so that is only reported.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from crashloop.checks.checker import Holds, Need, Seen, Statement, checker, statements_about
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.history.event import Channel
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import ContainerReport, ContainerState, StatusReport
from crashloop.model.pod_status import FAILED, SUCCEEDED, WAITING_REASON, shows_by_s
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, lost_watch, stated_until_ns, why_it_ended
from crashloop.restarts.lives import first_sign_ns
from crashloop.restarts.model_input import counted_anew
from crashloop.restarts.outages import may_be_old_ns, may_lag_ns, settled_ns
from crashloop.restarts.restart import Restart, restarts
from crashloop.spec.duration import stated_backoff_s
from crashloop.spec.intervention import CHANGE_A_CONTAINER, MAKE_ANOTHER_POD
from crashloop.spec.pod import ContainerKind
from crashloop.words import at_lines, count, seconds

ON_ITS_WAY_NS = 1_000_000_000
"""A status of the sync that starts a container may arrive after the start."""
BACK_OFF_EVENT = "BackOff"
"""pkg/kubelet/events/event.go@v1.37.1 BackOffStartContainer."""
THAT_CAN_SHOW = Need("delays", 3, "delay", "that can show", is_shown=False)


@checker("restart-count", Need("restarts", 1, "counted restart", is_shown=False), watch="a status")
def check_restart_count(case: Case, seen: Seen) -> Iterator[Finding]:
    """restartCount MUST count each restart once, and the status MUST show the last exit.

    Counted are the restarts of one container that a status has counted as well.
    """
    made: dict[str, int] = {}
    counted: dict[str, int] = {}
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            stated = tuple(statements_about(pod, spec))
            made[spec.name] = max(0, len(pod.instances(spec.name)) - 1)
            counted[spec.name] = stated[-1].report.restart_count if stated else 0
            yield from _counted_ahead(case, pod, spec.name, stated)
            yield from _count_falls(case, pod, stated)
            yield from _count_of_another(case, pod, spec.name, stated)
            yield from _counted_behind(case, pod, spec.name, stated)
    seen["restarts"] = max(min(made[name], counted[name]) for name in made)
    seen.facts |= {"restarts": made, "restart_counts": counted}


def _counted_ahead(case: Case, pod: PodHistory, name: str, stated: Sequence[Statement]) -> Iterator[Finding]:
    """The first status that counts more restarts than there had been."""
    instances = pod.instances(name)
    created_ns = [begun_ns for each in instances if (begun_ns := each.begun_ns) is not None]
    seen_by_runtime = all(each.created for each in instances)
    for _, _, status, report in stated:
        known = bisect_right(created_ns, status.t_ns)
        # "restartCount rises when the containers are removed, before they start again": KEP-5532, kubelet_pods.go
        waits = case.may_lack_instance(name) and _is_of_none(report)
        if report.restart_count <= max(known - 1, 0) + waits:
            continue
        if not seen_by_runtime and report.restart_count < len(instances):
            continue  # the journal is stamped after the create that the status counts
        sentence = (
            f'the status said restartCount {report.restart_count} of "{name}" {at_lines([status.line])} '
            f"when {count(max(known - 1, 0), 'restart')} had been seen."
        )
        blind = blind_spot(case, pod, instances, case.recording.begin_ns, status.t_ns)
        doubt = blind and f"One could have gone unseen: {blind}"
        if _is_stamped_after(case, created_ns[: report.restart_count + 1], status):
            doubt = "The wall clock jumped meanwhile"
        yield fail_unless(doubt, sentence, status.line)
        return


def _is_of_none(report: ContainerReport) -> bool:
    """Whether a state is of no instance: it waits for one, or its pod ended while it did (ContainerStatusUnknown)."""
    return report.state.kind == "waiting" or (report.state.kind == "terminated" and not report.state.container_id)


def _is_stamped_after(case: Case, counted_ns: list[int], status: StatusReport) -> bool:
    """Whether a wall clock that jumped back may be why what a status counts is stamped later than the status."""
    newest_ns = counted_ns[-1] if counted_ns else status.t_ns
    return 0 < newest_ns - status.t_ns <= case.recording.clocks.step_within_ns(status.t_ns, newest_ns)


def _count_falls(case: Case, pod: PodHistory, stated: Sequence[Statement]) -> Iterator[Finding]:
    """The first status that counts less than the one before it, but for a container that was removed for another sandbox."""
    for (*_, before, earlier), (_, spec, after, later) in pairwise(stated):
        if later.restart_count < earlier.restart_count:
            instances = pod.instances(spec.name)
            at = {each.container_id: each.ordinal for each in instances if each.container_id}
            begun = [sum((each.begun_ns or 0) <= t_ns for each in instances) - 1 for t_ns in (before.t_ns, after.t_ns)]
            # A status that names no instance may be older than the newest one.
            first, last = at.get(earlier.container_id, begun[0] - 1), at.get(later.container_id, begun[1])
            # Where the scenario had the runtime forget the newest ones, the one before is what the kubelet knows of.
            newer = instances[at.get(later.container_id, first) + 1 : first + 1]
            lost_ns = [case.record_lost_ns(spec.name, each, by_its_kill=True) for each in newer]
            if (newer and None not in lost_ns) or counted_anew(case, spec.name, instances[max(0, first) : last + 1]):
                continue
            lines = (before.line, after.line)
            fell = f"fell from {earlier.restart_count} to {later.restart_count} {at_lines(lines)}"
            yield fail(f'restartCount of "{spec.name}" {fell}; it counts every restart and never falls.', *lines)
            return


def _count_of_another(case: Case, pod: PodHistory, name: str, stated: Sequence[Statement]) -> Iterator[Finding]:
    """The first status that says an instance runs, or could not, and counts more or fewer restarts than made that instance.

    The container id names the instance, so no delay on the way of the status explains the difference.
    """
    if case.restarts_all:  # counts rise when containers are removed: KEP-5532
        return
    instances = pod.instances(name)
    by_id = {each.container_id: each for each in instances if each.container_id is not None}
    for _, _, status, report in stated:
        instance = by_id.get(report.container_id)
        if instance is None or instance.ordinal == report.restart_count:
            continue
        if report.state.kind != "running" and not instance.was_refused:
            continue
        if report.restart_count < instance.ordinal and counted_anew(case, name, instances[: instance.ordinal + 1]):
            continue
        lines = (*instance.lines[:1], status.line)
        sentence = (
            f'the status said restartCount {report.restart_count} of "{name}" while the instance of restart '
            f"{instance.ordinal} {'was refused' if instance.was_refused else 'ran'} {at_lines(lines)}."
        )
        blind = blind_spot(case, pod, instances, case.recording.begin_ns, status.t_ns)
        yield fail_unless(blind and f"An earlier one could have gone unseen: {blind}", sentence, *lines)
        return


def _counted_behind(case: Case, pod: PodHistory, name: str, stated: Sequence[Statement]) -> Iterator[Finding]:
    """A last status that has not counted every restart, though it had the time."""
    until_ns, counted = stated_until_ns(case, pod), stated[-1].report.restart_count if stated else 0
    created = [(each, begun_ns) for each in pod.instances(name) if (begun_ns := each.begun_ns) is not None]
    settled = [each for each in created if each[1] <= until_ns - settled_ns(case, each[1], until_ns)]
    if counted >= max(0, len(settled) - 1) or counted_anew(case, name, pod.instances(name)):
        return
    overdue = [each for each in created if each[1] + may_lag_ns(case, each[1], until_ns) <= until_ns]
    is_overdue = counted < len(overdue) - 1
    judged = overdue if is_overdue else settled
    (newest, created_ns), due = judged[-1], len(judged) - 1
    lines = (*newest.lines[:1], *((stated[-1].status.line,) if stated else ()))
    lost = lost_watch(case, created_ns, until_ns)
    doubt = None
    if not stated:
        doubt = "No pod status was seen at all"
    elif lost is not None:
        doubt = f"The watch was lost meanwhile (history line {lost.line})"
    elif not is_overdue:
        doubt = "The host, the API server or the watch may have held it up"
    sentence = (
        f'the last status said restartCount {counted} of "{name}" after {count(due, "restart")} {at_lines(lines)}; '
        f"{due} was to be said."
    )
    yield fail_unless(doubt, sentence, *lines, *((lost.line,) if stated and lost is not None else ()))


class Shown(NamedTuple):
    """A status that says that a container waits for its delay."""

    status: StatusReport
    message: str
    after_s: float
    """Since the exit."""


@checker("shown-waiting", THAT_CAN_SHOW, holds=Holds.DECLARED)
def check_shown_waiting(case: Case, seen: Seen) -> Iterator[Finding]:
    """CrashLoopBackOff MUST be shown during each delay that lasts until it can show, and MUST NOT be before a free restart."""
    rows = seen.facts["shown"] = []
    for delay in _followed_restarts(case):
        shown = _first_shown(delay)
        latest_s = _shows_by_s(case, delay)
        shown_s = None if shown is None else shown.after_s
        rows.append({"restart": delay.due.restart, "due_s": delay.due.delay_s, "shown_s": shown_s})
        if latest_s is None and shown is not None and delay.due.delay_s == 0:
            yield fail(f"{delay.name} was free, and {WAITING_REASON} was shown.", shown.status.line)
        if latest_s is None or delay.to_create is None or delay.to_create.seconds < latest_s:
            continue
        seen["delays"] += 1
        if shown is None and not _is_watched(case, delay):
            yield inconclusive(f"the watch was lost before {delay.name}.")
        elif shown is None:
            lines = delay.to_create.lines
            yield fail(f"no status showed {WAITING_REASON} before {delay.name} {at_lines(lines)}.", *lines)


@checker("back-off-message", THAT_CAN_SHOW, holds=Holds.DECLARED)
def check_back_off_message(case: Case, seen: Seen) -> Iterator[Finding]:
    """The message of a waiting container MUST name the delay that is due."""
    messages = seen.facts["messages"] = {}
    for delay in _followed_restarts(case):
        shown = _first_shown(delay)
        if shown is None:
            continue
        seen["delays"] += 1
        messages[delay.name] = shown.message
        named_s, line = stated_backoff_s(shown.message), shown.status.line
        if named_s != delay.due.delay_s:
            said = "no delay" if named_s is None else seconds(named_s)
            sentence = f"before {delay.name} a status named {said} {at_lines([line])}"
            yield fail(f"{sentence}; {seconds(delay.due.delay_s)} was due.", line)


@checker("back-off-event", Need("delays", 1, "first delay", "that a look finds", is_shown=False), holds=Holds.DECLARED)
def check_back_off_event(case: Case, seen: Seen) -> Iterator[Finding]:
    """The first delay of a container SHOULD be reported by its Event BackOff, as soon as a status can say that it waits.

    Later Events may be merged or left out (client-go tools/record/events_cache.go@v0.37.1), so nothing follows from their lack.
    """
    first: dict[tuple[str, str], Restart] = {}
    for each in _followed_restarts(case):
        if each.due.delay_s > 0:
            first.setdefault((each.pod.uid, each.container), each)
    for each in first.values():
        from_ns, to_ns = each.window_ns or (0, 0)
        latest_ns = may_lag_ns(case, from_ns, to_ns)
        if to_ns - from_ns <= latest_ns:
            continue
        seen["delays"] += 1
        told = [one for one in each.pod.events if one.container == each.container and one.data.reason == BACK_OFF_EVENT]
        came = next((one for one in told if one.t_ns >= from_ns), None)
        lost = not each.pod.events or any(case.recording.gaps_of(Channel.EVENTS, from_ns, to_ns))
        doubt = "Events were not followed meanwhile" if lost else None
        if came is None or came.t_ns > to_ns:
            yield fail_unless(doubt, f"no Event {BACK_OFF_EVENT} was seen before {each.name}.")
        elif came.t_ns - from_ns > latest_ns:
            late = f"the Event {BACK_OFF_EVENT} came {seconds((came.t_ns - from_ns) / 1e9)} after the exit before {each.name}"
            yield fail_unless(
                doubt, f"{late} {at_lines([came.line])}; {seconds(latest_ns / 1e9)} was the longest.", came.line
            )


@checker(
    "status-sequence",
    "the whole `sequence`, beginning with the first of its states that is shown",
    holds=Holds.DECLARED,
)
def check_status_sequence(case: Case, seen: Seen) -> Iterator[Finding]:
    """The states of each container MUST be shown in the order of the parameter `sequence`, other statuses apart."""
    wanted = [str(each) for each in case.parameters.get("sequence", ())]
    states = seen.facts["states"] = {}
    for spec in case.scenario.pod.containers:
        labelled = [(_label(each.report.state), each.status.line) for each in statements_about(case.pod, spec)]
        steps = [next(group) for _, group in groupby(labelled, key=lambda each: each[0])]
        shown = [step for step in steps if step[0] in wanted]
        states[spec.name] = [label for label, _ in steps]
        wrong = next((n for n, (label, _) in enumerate(shown[: len(wanted)]) if label != wanted[n]), None)
        if wrong is not None:
            label, line = shown[wrong]
            yield fail(f'"{spec.name}" was shown as {label} {at_lines([line])}; {wanted[wrong]} was next.', line)
        elif len(shown) < len(wanted) or not wanted:
            sentence = f'{len(shown)} of {len(wanted)} states of "{spec.name}" were shown'
            yield inconclusive(f"{sentence}: {why_it_ended(case)}.")


def _followed_restarts(case: Case) -> Iterator[Restart]:
    return (each for each in restarts(case) if each.next is not None and each.window_ns is not None)


def _first_shown(delay: Restart) -> Shown | None:
    """The first status with the waiting reason from the exit to the next start."""
    if delay.window_ns is None:
        return None
    from_ns, to_ns = delay.window_ns
    for status in delay.pod.statuses:
        report = status.containers.get(delay.container)
        if report is None or not from_ns <= status.t_ns <= to_ns + ON_ITS_WAY_NS:
            continue
        if report.state.kind == "waiting" and report.state.reason == WAITING_REASON:
            return Shown(status, report.state.message, round((status.t_ns - from_ns) / 1e9, 3))
    return None


def _is_watched(case: Case, delay: Restart) -> bool:
    """Whether a status in that delay would have been seen: an outage that the scenario made hides it too."""
    return delay.window_ns is not None and next(case.recording.gaps_of(Channel.API, *delay.window_ns), None) is None


def _shows_by_s(case: Case, delay: Restart) -> float | None:
    """By when CrashLoopBackOff shows at the latest, since the exit; None if it never does."""
    prediction = case.prediction
    others = prediction.containers[delay.container].other_sync_sources
    version = prediction.at_first.version
    return shows_by_s(delay.due.delay_s, version, mode=prediction.mode, other_sync_sources=others)


def _label(state: ContainerState) -> str:
    """As kubectl shows it: the reason, or Running."""
    return "Running" if state.kind == "running" else state.reason


"""Each makes another generation of the pod's spec."""
SEEN_WITHIN_NS = 3_000_000_000
"""From a change of the spec to the status of a kubelet that has seen it."""


@checker(
    "observed-generation", Need("statuses", 3, "status"), Need("changes", 0, "change", "of the spec"), watch="a status"
)
def check_observed_generation(case: Case, seen: Seen) -> Iterator[Finding]:
    """A status that a kubelet has written MUST name the generation of the pod's spec, once it can have seen it, none beyond.

    A deletion makes another generation too, as ephemeral containers do. A pod of a file has none, whatever its mirror pod has.
    """
    done = [each for each in case.recording.interventions if each.ok and each.data.action in CHANGE_A_CONTAINER]
    seen["changes"] += len(done)
    added = len(case.scenario.pod.of_kind(ContainerKind.EPHEMERAL))
    for pod in (each for each in case.pods if not each.mirrors):
        before, went_on_ns, since_ns = 0, 0, 0 if pod is case.pods[0] else first_sign_ns(pod)
        made_ns = [each.t_ns for each in case.recording.interventions if each.data.action in MAKE_ANOTHER_POD]
        asked_ns = max((each for each in made_ns if each < since_ns), default=0)
        changes = [each.t_ns for each in done if each.t_ns >= asked_ns]
        # The same value again is no change of the spec.
        sure = {str((each.data.action, each.data.arguments)): each.t_ns for each in done[::-1] if each.t_ns >= since_ns}
        for each in (status for status in pod.statuses if status.containers):
            seen["statuses"] += 1
            lag_ns = max(SEEN_WITHIN_NS, may_be_old_ns(case, each.t_ns))
            # A kubelet looks at no change of a pod that has ended.
            went_on_ns = went_on_ns if each.phase in (SUCCEEDED, FAILED) else each.t_ns
            least = max(before, 1 + sum(t_ns + lag_ns < went_on_ns for t_ns in sure.values()))
            most = 1 + sum(t_ns - lag_ns < each.t_ns for t_ns in changes) + added + (each.deletion_ns is not None)
            named = "none" if each.generation is None else each.generation
            due = f"{least}" if least == most else f"{least} to {most}"
            if each.generation is None or not least <= each.generation <= most:
                yield fail(
                    f"the generation that a status names is {named} {at_lines([each.line])}; {due} was due.", each.line
                )
            before = max(before, each.generation or 0)
