"""Checks container statuses against ground truth: the last exit, and whether the container is running."""

from collections.abc import Iterator
from itertools import zip_longest

from crashloop.checks.evidence import unwatched
from crashloop.checks.exit_words import other_words
from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive, worst_first
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.history.statuses import FAILED_STARTS, ContainerReport, ContainerState, StatusReport
from crashloop.model.purged_exit import may_be_hidden
from crashloop.model.restart_all import shown_exit_code
from crashloop.restarts.absences import SETTLED_NS, may_lag_ns, silent_ns
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, lost_watch, stated_until_ns, why_it_ended
from crashloop.restarts.lives import collected_early
from crashloop.restarts.restart_all import replacements
from crashloop.words import at_lines, seconds

REPORTED_NS = {"startedAt": (-2_000_000_000, 2_000_000_000), "finishedAt": (-1_500_000_000, 500_000_000)}
"""What may lie between a reported time and the runtime's. It is in whole seconds, rounded down; a start is stamped a moment after
its event, and an exit as its event is (containerd internal/cri/server/events.go@v2.3.7 handleContainerExit)."""


def check_last_exit(case: Case) -> Checked:
    """The status MUST show the exit of the instance before, with its code, text and times, and no exited one as running.

    Needs one status that shows the last exit after a restart. Reports the first objection, FAIL before INCONCLUSIVE.
    """
    findings: list[Finding] = []
    shown = messages = 0
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            seen = _Instances(pod.instances(spec.name))
            statuses = [each for each in pod.statuses if spec.name in each.containers]
            numbered = _numbered([each.containers[spec.name] for each in statuses])
            for status, newer in zip_longest(statuses, statuses[1:]):
                report = status.containers[spec.name]
                last = report.last_state
                # A container that waits to be restarted shows its newest instance as the last, and may not name any.
                is_newest = last is not None and last.container_id == report.container_id
                before = report.restart_count - (not is_newest) if report.container_id else -1
                # While a container is being created, the last state may still be that of the one before the last.
                before = numbered.get(last.container_id, before) if last else before
                for state, ordinal in ((report.state, report.restart_count), (last, before)):
                    instance = seen.ended(state.container_id, ordinal) if state and state.kind == "terminated" else None
                    if state is not None and instance is not None:
                        shown += state is last and report.state.kind == "waiting" and report.restart_count > 0
                        messages += instance.told
                        findings += _contradicts(case, pod, spec.name, status, state, instance)
                present = seen.of(report.container_id, report.restart_count)
                if present is None:
                    continue
                is_running = report.state.kind == "running"
                if is_running:
                    started_ns = report.state.started_ns
                    findings += _other_time(case, spec.name, "startedAt", status, started_ns, present.started, present)
                findings += _out_of_date(case, pod, spec.name, status, newer, present)
                if is_running and present.ordinal > 0:
                    shown += 1
                    findings += _previous(case, pod, spec.name, status, present, seen)
    if not findings:
        findings += unwatched(case, "a status")
    if not findings and not shown:
        findings.append(inconclusive(f"no status with a last exit was seen, 1 needed: {why_it_ended(case)}."))
    # A doubt beside an accusation says what the evidence leaves open even where a known deviation explains the accusation.
    first = {each.outcome: each for each in reversed(findings)}
    facts = {"last_exits_shown": shown} | ({"messages_compared": messages} if messages else {})
    return Checked(findings=tuple(worst_first(first.values())), facts=facts)


def _numbered(reports: list[ContainerReport]) -> dict[str, int]:
    """The restartCount under which each container id was first stated to be the present one."""
    numbers: dict[str, int] = {}
    for each in reports:
        if each.container_id:
            numbers.setdefault(each.container_id, each.restart_count)
    return numbers


class _Instances:
    """Which instance a status speaks of: by its id, or by the restartCount where only the journal saw it, which has no ids."""

    def __init__(self, instances: tuple[Instance, ...]) -> None:
        self._by_id = {each.container_id: each for each in instances if each.container_id}
        self._lives = () if self._by_id else instances

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
    case: Case, pod: PodHistory, name: str, status: StatusReport, present: Instance, seen: _Instances
) -> Iterator[Finding]:
    """What a status of a restarted container says about the instance before it."""
    last, previous = status.containers[name].last_state, pod.instances(name)[present.ordinal - 1]
    purged = case.lost_sandbox(previous, present) and previous.removed is not None
    if purged and last is None and may_be_hidden(case.scenario.pod.container(name), case.prediction.deviations):
        return
    if last is None or last.kind != "terminated":
        sentence = (
            f'a status of "{name}" {at_lines([status.line])} shows no last exit; restart {present.ordinal} was running.'
        )
        collected = collected_early(pod.instances(name)).get(previous.ordinal)
        lines = status.line, *present.lines[:1], *((collected.line,) if collected is not None else ())
        yield fail_unless(_forgotten(collected), sentence, *lines)
    elif seen.is_before(last.container_id, previous.ordinal):
        lines = (*present.lines[:1], status.line)
        sentence = (
            f'a status of "{name}" {at_lines(lines)} shows the exit of another instance than {previous.ordinal} as the last; '
            f"restart {present.ordinal} was running."
        )
        yield fail_unless(_forgotten(collected_early(pod.instances(name)).get(previous.ordinal)), sentence, *lines)
    elif not last.container_id:
        reset = replacements(case, pod, name).get(previous.ordinal)
        code = previous.exit_code
        due = code if reset is None else shown_exit_code(code, case.prediction.deviations)
        may_be = (due, code) if reset is not None and not reset.sure else (due,)
        if due is not None and last.exit_code not in may_be:
            yield _other_code(name, status, last, previous, due)


def _forgotten(collected: Fact | None) -> str | None:
    """Why the kubelet may know no more how an instance ended, by its early removal."""
    if collected is None:
        return None
    return f"Garbage collection removed that instance {at_lines([collected.line])} before the next ran"


def _out_of_date(
    case: Case, pod: PodHistory, name: str, status: StatusReport, newer: StatusReport | None, instance: Instance
) -> Iterator[Finding]:
    """A status that says an instance runs or waits, and that was the newest one long after its exit or its start."""
    said = status.containers[name].state.kind
    truth = {"running": instance.exit, "waiting": instance.started}.get(said)
    if truth is None or truth.utc_ns is None:
        return
    from_ns = max(truth.utc_ns, status.t_ns)
    until_ns = newer.t_ns if newer else stated_until_ns(case, pod)
    if said == "waiting" and instance.exit_ns is not None:
        until_ns = min(until_ns, instance.exit_ns)
    if said == "running" and status.t_ns <= truth.utc_ns + SETTLED_NS:
        from_ns = truth.utc_ns
    if until_ns - from_ns - silent_ns(case, truth.utc_ns, until_ns) <= SETTLED_NS:
        return
    lines = (truth.line, status.line)
    sentence = (
        f'instance {instance.ordinal} of "{name}" was said to be {said} until '
        f"{seconds((until_ns - truth.utc_ns) / 1e9)} after its {'exit' if said == 'running' else 'start'} {at_lines(lines)}."
    )
    doubt = None
    if lost_watch(case, truth.utc_ns, until_ns) is not None:
        doubt = "The watch was lost meanwhile"
    elif until_ns - from_ns <= may_lag_ns(case, truth.utc_ns, until_ns):
        doubt = "The host, the API server or the watch may have held its successor up"
    yield fail_unless(doubt, sentence, *lines)


def _contradicts(
    case: Case, pod: PodHistory, name: str, status: StatusReport, state: ContainerState, instance: Instance
) -> Iterator[Finding]:
    """What a status says about an instance that has ended."""
    if instance.exit is None and instance.started is None and state.reason in FAILED_STARTS:
        return
    if instance.exit is None:
        sentence = f'a status says that instance {instance.ordinal} of "{name}" has ended {at_lines([status.line])}; '
        blind = blind_spot(case, pod, (), instance.begun_ns or 0, status.t_ns)
        if case.recording.cut_off is not None:
            yield inconclusive(f"{sentence}the recording stops before its exit.", status.line)
        elif blind is not None:
            yield inconclusive(f"{sentence}its exit could have gone unseen: {blind}.", status.line)
        else:
            yield fail(f"{sentence}it had not exited.", status.line)
        return
    if instance.exit_code is not None and state.exit_code != instance.exit_code:
        yield _other_code(name, status, state, instance, instance.exit_code)
    yield from other_words(pod, name, status, state, instance)
    for what, reported_ns, truth in (
        ("finishedAt", state.finished_ns, instance.exited),
        ("startedAt", state.started_ns, instance.started),
    ):
        yield from _other_time(case, name, what, status, reported_ns, truth, instance)


def _other_code(name: str, status: StatusReport, state: ContainerState, instance: Instance, due: int) -> Finding:
    lines = (*((instance.exit.line,) if instance.exit else ()), status.line)
    exited = f"it exited with {due}" if due == instance.exit_code else f"{due} was due"
    return fail(
        f'a status says exit code {state.exit_code} of instance {instance.ordinal} of "{name}" {at_lines(lines)}; '
        f"{exited}.",
        *lines,
    )


def _other_time(
    case: Case,
    name: str,
    what: str,
    status: StatusReport,
    reported_ns: int | None,
    truth: Fact | None,
    instance: Instance,
) -> Iterator[Finding]:
    """A reported time that differs from the true one, where both are known."""
    if reported_ns is None or truth is None or truth.utc_ns is None:
        return
    off_ns = reported_ns - truth.utc_ns
    least_ns, most_ns = REPORTED_NS[what]
    if least_ns <= off_ns <= most_ns:
        return
    lines = (status.line, truth.line)
    sentence = (
        f'a status says {what} of instance {instance.ordinal} of "{name}" {seconds(abs(off_ns) / 1e9)} '
        f"{'after' if off_ns > 0 else 'before'} the runtime's time {at_lines(lines)}."
    )
    # A runtime that was held up stamps late; that others waited for a CPU says nothing about a stamp.
    held_s = case.recording.host.held(truth.utc_ns + least_ns, truth.utc_ns + abs(off_ns)).of_the_accused_s
    if held_s * 1e9 >= abs(off_ns) - most_ns:
        yield inconclusive(f"{sentence} The host held the runtime up meanwhile.", *lines)
    else:
        yield fail(sentence, *lines)
