"""What statuses state of a container's exits: which container, code, reason, text and times of the last one, and that it is over.

Theory of operation. A life that ends by itself leaves its name in its termination log, and its exit stamp says so: the kubelet
has to state that name and no other as the message. One that was killed may have left nothing, or may have been killed right
after its words. Without such a stamp, as in histories of earlier versions, no message is judged. The kubelet puts what the
runtime says of the end before the text, which it keeps as long as the pod
(pkg/kubelet/kuberuntime/kuberuntime_container.go@v1.37.1 convertToKubeContainerStatus).
"""

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from crashloop.checks.checker import Need, Seen, Statement, checker, statements_about
from crashloop.checks.completeness import left_out, unlike_itself
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive, worst_first
from crashloop.history.instances import Instance
from crashloop.history.journal import last_words
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.history.statuses import FAILED_STARTS, ContainerReport, ContainerState, StatusReport
from crashloop.model.after_restart import may_be_hidden, shown_exit_code
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, lost_watch, stated_until_ns, unseen_exit, why_it_ended
from crashloop.restarts.lives import collected_early, leaves_ns, ran
from crashloop.restarts.model_input import counted_anew
from crashloop.restarts.outages import SETTLED_NS, may_lag_ns, settled_ns, start_cut_short, without_statements_ns
from crashloop.restarts.restart_all import replacements
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.program import KILLED
from crashloop.words import at_lines, seconds

_WORDS = re.compile(r"(?:.*: )?(?P<container>\S+) life \d+", re.DOTALL)
REPORTED_NS = {"startedAt": (-2_000_000_000, 2_000_000_000), "finishedAt": (-1_500_000_000, 500_000_000)}
"""What may lie between a reported time and the runtime's. It is in whole seconds, rounded down; a start is stamped a moment after
its event, and an exit as its event is (containerd internal/cri/server/events.go@v2.3.7 handleContainerExit)."""

COLLECTED_EVERY_NS = 60_000_000_000
"""pkg/kubelet/kubelet.go@v1.37.1 ContainerGCPeriod."""


@checker("last-exit", Need("last_exits_shown", 1, "status", "with a last exit"), watch="a status")
def check_last_exit(case: Case, seen: Seen) -> Iterator[Finding]:
    """The status MUST show the exit of the instance before, with its code, text and times, and no exited one as running.

    Reported is the first objection, FAIL before INCONCLUSIVE; beside an accusation also the first doubt: it says what the
    evidence leaves open even where a known deviation explains the accusation.
    """
    containers = [(pod, spec) for pod in case.pods for spec in case.scenario.pod.containers]
    findings = [each for pod, spec in containers for each in _of_container(case, pod, spec, seen)]
    findings += [each for pod, spec in containers for each in left_out(case, pod, spec)]
    first = {each.outcome: each for each in reversed(findings)}
    yield from worst_first(first.values())


def _of_container(case: Case, pod: PodHistory, spec: Container, seen: Seen) -> Iterator[Finding]:
    """What each status of one container states of its instances."""
    lives = pod.instances(spec.name)
    instances = _Instances(lives, are_numbered=not counted_anew(case, spec.name, lives))
    statements = tuple(statements_about(pod, spec))
    numbered = _numbered(statements)
    hidden: dict[int, int] = {}
    for statement, newer in zip_longest(statements, statements[1:]):
        yield from unlike_itself(case, statement)
        report = statement.report
        last, is_running = report.last_state, report.state.kind == "running"
        # A container that waits to be restarted shows its newest instance as the last, and may not name any.
        is_newest = last is not None and last.container_id == report.container_id
        before = report.restart_count - (not is_newest) if report.container_id else -1
        # While a container is being created, the last state may still be that of the one before the last.
        before = numbered.get(last.container_id, before) if last else before
        for state, ordinal in ((report.state, report.restart_count), (last, before)):
            ended = instances.ended(state.container_id, ordinal) if state and state.kind == "terminated" else None
            if state is not None and ended is not None:
                seen["last_exits_shown"] += (
                    state is last and report.state.kind == "waiting" and report.restart_count > 0
                )
                if ended.told:
                    seen.facts["messages_compared"] = seen.facts.get("messages_compared", 0) + 1
                yield from _contradicts(case, statement, state, ended)
        present = instances.of(report.container_id, report.restart_count)
        if present is None:
            continue
        if is_running:
            yield from _other_time(case, statement, "startedAt", report.state.started_ns, present.started, present)
        yield from _out_of_date(case, statement, newer, present)
        if is_running and present.ordinal > 0:
            seen["last_exits_shown"] += 1
            yield from _previous(case, statement, present, instances, hidden)


def _numbered(statements: Iterable[Statement]) -> dict[str, int]:
    """The restartCount under which each container id was first stated to be the present one."""
    numbers: dict[str, int] = {}
    for each in statements:
        if each.report.container_id:
            numbers.setdefault(each.report.container_id, each.report.restart_count)
    return numbers


class _Instances:
    """Which instance a status speaks of: by its id, or by the restartCount where only the journal saw it, which has no ids."""

    def __init__(self, instances: tuple[Instance, ...], *, are_numbered: bool) -> None:
        self._by_id = {each.container_id: each for each in instances if each.container_id}
        self._lives = instances if are_numbered and not self._by_id else ()

    def of(self, container_id: str, ordinal: int) -> Instance | None:
        if self._lives and container_id and 0 <= ordinal < len(self._lives):
            return self._lives[ordinal]
        return self._by_id.get(container_id)

    def is_before(self, container_id: str, ordinal: int) -> bool:
        """Whether an id is that of an instance before this one."""
        instance = self._by_id.get(container_id)
        return instance is not None and instance.ordinal < ordinal

    def ended(self, container_id: str, ordinal: int) -> Instance | None:
        """One that is said to have ended; a life that was killed stamps no exit, so its journal says nothing of it."""
        instance = self.of(container_id, ordinal)
        return None if instance is not None and self._lives and instance.exit is None else instance


def _previous(
    case: Case, statement: Statement, present: Instance, known: _Instances, hidden: dict[int, int]
) -> Iterator[Finding]:
    """What a status of a restarted container says about the instance before it.

    `hidden`: when the instances began before which none was shown so far, though nobody was seen to remove it.
    """
    pod, spec, status, report = statement
    last, previous = report.last_state, pod.instances(spec.name)[present.ordinal - 1]
    if case.record_lost_ns(spec.name, previous) is not None:
        return
    purged = case.lost_sandbox(previous, present) and previous.removed is not None
    shows_none = last is None or _is_of_none(last) or known.is_before(last.container_id, previous.ordinal)
    if purged and shows_none and may_be_hidden(spec, case.prediction.deviations):
        return
    if last is None or last.kind != "terminated":
        said = f'a status of "{spec.name}" {at_lines([status.line])} shows no last exit'
        collected = collected_early(pod.instances(spec.name)).get(previous.ordinal)
        lines = status.line, *present.lines[:1], *((collected.line,) if collected is not None else ())
        cut_short = previous in start_cut_short(case, pod, spec.name)
        doubt = "Its kubelet ended between the create and the start of the one before" if cut_short else None
        doubt = doubt or _forgotten(collected) or _removed_unseen(case, pod, previous, present, hidden)
        yield fail_unless(doubt, f"{said}; restart {present.ordinal} was running.", *lines)
    elif known.is_before(last.container_id, previous.ordinal):
        lines = (*present.lines[:1], status.line)
        sentence = (
            f'a status of "{spec.name}" {at_lines(lines)} shows the exit of another instance than {previous.ordinal} as the '
            f"last; restart {present.ordinal} was running."
        )
        collected = collected_early(pod.instances(spec.name)).get(previous.ordinal)
        yield fail_unless(_forgotten(collected), sentence, *lines)
    elif not last.container_id:
        reset = replacements(case, pod, spec.name).get(previous.ordinal)
        code = previous.exit_code
        due = code if reset is None else shown_exit_code(code, case.prediction.deviations)
        may_be = (due, code) if reset is not None and not reset.sure else (due,)
        if due is not None and last.exit_code not in may_be:
            yield _other_code(statement, last, previous, due)


def _is_of_none(last: ContainerState) -> bool:
    """Whether it is what a kubelet states that does not know how a container ended: 137, of no instance."""
    return not last.container_id and last.exit_code == KILLED


def _forgotten(collected: Fact | None) -> str | None:
    """Why the kubelet may know no more how an instance ended, by its early removal."""
    if collected is None:
        return None
    return f"Garbage collection removed that instance {at_lines([collected.line])} before the next ran"


def _removed_unseen(
    case: Case, pod: PodHistory, previous: Instance, present: Instance, hidden: dict[int, int]
) -> str | None:
    """Why the instance before may have been removed before the next one ran; garbage collection does that to one a minute."""
    begun_ns = present.begun_ns or 0
    unseen = unseen_exit(case, pod, previous.begun_ns or 0, begun_ns)
    hidden[present.ordinal] = begun_ns
    others = (ns for ordinal, ns in hidden.items() if ordinal != present.ordinal)
    if unseen is None or any(abs(each - begun_ns) < COLLECTED_EVERY_NS for each in others):
        return None
    return f"Its removal could have gone unseen: {unseen}"


def _out_of_date(case: Case, statement: Statement, newer: Statement | None, instance: Instance) -> Iterator[Finding]:
    """A status that says an instance runs or waits, and that was the newest one long after its exit or its start."""
    pod, spec, status, report = statement
    said = report.state.kind
    truth = {"running": instance.exit, "waiting": instance.started}.get(said)
    if truth is None or truth.utc_ns is None:
        return
    from_ns = max(truth.utc_ns, status.t_ns)
    until_ns = min(newer.status.t_ns if newer else case.recording.end_ns, stated_until_ns(case, pod))
    if said == "waiting" and instance.exit_ns is not None:
        until_ns = min(until_ns, instance.exit_ns)
    if said == "running" and status.t_ns <= truth.utc_ns + settled_ns(case, truth.utc_ns, status.t_ns):
        from_ns = truth.utc_ns
    may_lag = may_lag_ns(case, truth.utc_ns, until_ns)
    if until_ns - from_ns - without_statements_ns(case, truth.utc_ns, until_ns) <= min(SETTLED_NS, may_lag):
        return
    lines = (truth.line, status.line)
    sentence = (
        f'instance {instance.ordinal} of "{spec.name}" was said to be {said} until '
        f"{seconds((until_ns - truth.utc_ns) / 1e9)} after its {'exit' if said == 'running' else 'start'} {at_lines(lines)}."
    )
    doubt = None
    if lost_watch(case, truth.utc_ns, until_ns) is not None:
        doubt = "The watch was lost meanwhile"
    elif until_ns - from_ns <= may_lag:
        doubt = "The host, the API server or the watch may have held its successor up"
    yield fail_unless(doubt, sentence, *lines)


def _contradicts(case: Case, statement: Statement, state: ContainerState, instance: Instance) -> Iterator[Finding]:
    """What a status says about an instance that has ended."""
    pod, spec, status, _ = statement
    if instance.exit is None and instance.started is None and state.reason in FAILED_STARTS:
        return
    if instance.exit is None:
        said = f'a status says that instance {instance.ordinal} of "{spec.name}" has ended {at_lines([status.line])}'
        blind = unseen_exit(case, pod, instance.begun_ns or 0, status.t_ns)
        if case.recording.cut_off is not None:
            yield inconclusive(f"{said}; the recording stops before its exit.", status.line)
        elif blind is not None:
            yield inconclusive(f"{said}; its exit could have gone unseen: {blind}.", status.line)
        else:
            yield fail(f"{said}; it had not exited.", status.line)
        return
    if instance.exit_code is not None and state.exit_code != instance.exit_code:
        yield _other_code(statement, state, instance, instance.exit_code)
    yield from _other_words(statement, state, instance)
    yield from _other_time(case, statement, "finishedAt", state.finished_ns, instance.exited, instance)
    yield from _other_time(case, statement, "startedAt", state.started_ns, instance.started, instance)


def _other_code(statement: Statement, state: ContainerState, instance: Instance, due: int) -> Finding:
    lines = (*((instance.exit.line,) if instance.exit else ()), statement.status.line)
    said = f'exit code {state.exit_code} of instance {instance.ordinal} of "{statement.spec.name}" {at_lines(lines)}'
    exited = f"it exited with {due}" if due == instance.exit_code else f"{due} was due"
    return fail(f"a status says {said}; {exited}.", *lines)


def _other_time(
    case: Case, statement: Statement, what: str, reported_ns: int | None, truth: Fact | None, instance: Instance
) -> Iterator[Finding]:
    """A reported time that differs from the true one, or is left out, where the true one is known."""
    if truth is None or truth.utc_ns is None:
        return
    if reported_ns is None:
        lines = (statement.status.line, truth.line)
        of = f'of instance {instance.ordinal} of "{statement.spec.name}"'
        yield fail(f"a status says no {what} {of} {at_lines(lines)}; the runtime stamped it.", *lines)
        return
    off_ns = reported_ns - truth.utc_ns
    least_ns, most_ns = REPORTED_NS[what]
    if least_ns <= off_ns <= most_ns:
        return
    lines = (statement.status.line, truth.line)
    sentence = (
        f'a status says {what} of instance {instance.ordinal} of "{statement.spec.name}" {seconds(abs(off_ns) / 1e9)} '
        f"{'after' if off_ns > 0 else 'before'} the runtime's time {at_lines(lines)}."
    )
    # A runtime that was held up stamps late; that others waited for a CPU says nothing about a stamp.
    held_s = case.recording.host.held(truth.utc_ns + least_ns, truth.utc_ns + abs(off_ns)).of_the_accused_s
    held_up = held_s * 1e9 >= abs(off_ns) - most_ns
    yield fail_unless("The host held the runtime up meanwhile" if held_up else None, sentence, *lines)


def _other_words(statement: Statement, state: ContainerState, instance: Instance) -> Iterator[Finding]:
    """That a status states another text of an instance that has ended than that which it has left."""
    ended = instance.journal_exited or instance.exit
    if instance.life is None or ended is None:
        return
    own = last_words(statement.spec.name, instance.life)
    is_own = state.message == own or state.message.endswith(f": {own}")
    if is_own or not (instance.told or _is_of_another(statement.pod, state.message)):
        return
    stated = f"message {state.message!r}" if state.message else "no message"
    left = f"left {own!r}" if instance.told else "left nothing"
    lines = (ended.line, statement.status.line)
    of = f'of instance {instance.ordinal} of "{statement.spec.name}"'
    yield fail(f"a status says {stated} {of} {at_lines(lines)}; it {left}.", *lines)


def _is_of_another(pod: PodHistory, message: str) -> bool:
    """Whether it is the text of a life of this pod."""
    words = _WORDS.fullmatch(message)
    return words is not None and any(each.told for each in pod.instances(words["container"]))


@checker("final-status", Need("deleted_pods", 1, "deleted pod", is_shown=False), watch="the last status")
def check_final_status(case: Case, seen: Seen) -> Iterator[Finding]:
    """The last status of a deleted pod MUST show the exit code of every container's last instance.

    The watch has to have seen the deletion, and truth the exit of each container; what surely never ran has none.
    """
    shown = seen.facts["last_exit_codes"] = {}
    for pod in case.pods:
        if leaves_ns(case, pod) is None or pod.deleted is None:
            continue
        seen["deleted_pods"] += 1
        last = pod.statuses[-1] if pod.statuses else None
        for spec in case.scenario.pod.containers:
            newest = next(reversed(ran(pod, spec.name)), None)
            if spec.kind is ContainerKind.EPHEMERAL or (newest is None and _never_ran(case, pod)):
                continue
            if last is None or newest is None or newest.exit_code is None:
                yield inconclusive(f'the last exit of "{spec.name}" was not seen: {why_it_ended(case)}.')
                continue
            code = _shown_code(last.containers.get(spec.name))
            if code is not None and code in (newest.exit_code, _after_reset(case, pod, spec.name, newest)):
                shown[spec.name] = newest.exit_code
            else:
                yield _not_shown(case, pod, spec.name, newest, last, code)


def _never_ran(case: Case, pod: PodHistory) -> bool:
    """Whether a container of which no instance was seen had none; a pod in which nothing ran shows nothing of ends."""
    some = any(ran(pod, each.name) for each in case.scenario.pod.containers)
    return some and blind_spot(case, pod, (), case.recording.begin_ns, case.recording.end_ns) is None


def _after_reset(case: Case, pod: PodHistory, container: str, instance: Instance) -> int | None:
    """What may stand for the last exit if RestartAllContainers removed that instance before the pod went."""
    is_removed = instance.ordinal in replacements(case, pod, container)
    return shown_exit_code(instance.exit_code, case.prediction.deviations) if is_removed else None


def _not_shown(
    case: Case, pod: PodHistory, name: str, newest: Instance, status: StatusReport, code: int | None
) -> Finding:
    """A FAIL unless another instance may have followed the last one that was seen."""
    lines = (*newest.lines[-1:], status.line)
    said = "no exit" if code is None else f"exit code {code}"
    sentence = (
        f'the last status of the deleted pod shows {said} of "{name}" {at_lines(lines)}; '
        f"it exited with {newest.exit_code}."
    )
    blind = blind_spot(case, pod, ran(pod, name), newest.exit_ns or 0, status.t_ns)
    return fail_unless(f'An instance of "{name}" could have gone unseen: {blind}' if blind else None, sentence, *lines)


def _shown_code(report: ContainerReport | None) -> int | None:
    """The exit code that a status shows: of a container that waits for its restart, as its last state."""
    if report is None or report.state.kind == "running":
        return None
    shown = report.state if report.state.kind == "terminated" else report.last_state
    return None if shown is None else shown.exit_code
