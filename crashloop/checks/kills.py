"""Checkers of kills: by a failing probe and by a hook that fails, after the threshold of failures in a row, not before and not
much later.
"""

from collections.abc import Iterator
from itertools import islice

from crashloop.checks.checker import Life, Need, Seen, checker, lives
from crashloop.checks.finding import Finding, fail, fail_unless
from crashloop.history.instances import Instance, Note
from crashloop.model.after_restart import HOOK
from crashloop.model.planned_exit import ending_s, failures_go_on
from crashloop.restarts.answers import ProbeAnswer, answers_of, failures_left, fatal, spared
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import is_journal_lost, silent_end
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import exited_by_itself, leaves_ns, was_killed
from crashloop.restarts.owed import owed_until_ns
from crashloop.restarts.worker import busy_s
from crashloop.spec.pod import GRACE_PERIOD_S, SUCCEEDS, Container, Probe
from crashloop.spec.program import KILLED, LifeEnd
from crashloop.words import at_lines, count, seconds

KILLED_WITHIN_S = 2.0
"""From the kubelet's last failure to the exit: a sync of the pod, the kill and the program's own end."""
ANSWERED_WITHIN_S = 0.5
"""A command that answers at once has been answered within this time, on a host that does not stand still."""


@checker(
    "probe-kill",
    Need("kills", 1, "kill"),
    Need("spared", 0, "spared run of failures"),
    Need("answers", 1, "answer", is_shown=False),
    Need("cut_off", 0, "run", "of failures that the end of a life cut off", is_shown=False),
    about=lambda scenario: any(each.killing_probes and scenario.keeps(each.name) for each in scenario.pod.containers),
)
def check_probe_kill(case: Case, seen: Seen) -> Iterator[Finding]:
    """A container MUST be killed once a probe has failed as often in a row as its threshold says, and MUST NOT be before.

    Spared are runs of fewer failures than the threshold before a success. A kubelet that restarts counts anew, and meanwhile
    kills nothing: where something is done only kills without failures are judged.
    """
    before: dict[Probe, frozenset[int]] = {}
    for life in lives(case):
        spec, instance, probes = life.spec, life.instance, life.spec.killing_probes
        if not probes or not case.scenario.keeps(spec.name):
            continue
        if life.number == 0:
            before = dict.fromkeys(probes, frozenset({0}))
        fatals = {
            each: [fatal(instance, each, failures=failures) for failures in known] for each, known in before.items()
        }
        may_end = any(each is not None for lasts in fatals.values() for each in lasts)
        seen["kills"] += may_end and instance.exit is not None
        seen["spared"] += sum(spared(instance, each) for each in probes)
        seen["answers"] += sum(1 for each in probes for _ in answers_of(instance, each))
        seen["cut_off"] += sum(_is_cut_off(instance, each) for each in probes)
        if not may_end and was_killed(case, spec.name, life.number, instance):
            yield from _killed_early(case, life)
        due = ((probe, last) for probe, lasts in fatals.items() if (last := _surely_fatal(lasts)) is not None)
        for probe, last in islice(due, 0 if case.scenario.is_disturbed else 1):
            yield from tuple(_asked_again(life, probe, last)) or _killed_late(case, life, probe, last)
            # RestartAllContainers and the end of its pod may have been on the way to end it before that.
            is_first = not case.restarts_all and not _ends_with_its_pod(case, life)
            if is_first and not exited_by_itself(case, spec.name, life.number, instance):
                yield from without_grace(spec, instance, last.had_ns, last_failure(probe), last.fact.line)
                yield from without_hook(case, life, last.had_ns, last_failure(probe), last.fact.line)
        if failures_go_on(case.prediction.deviations):
            before = {each: _failures_left(instance, each, known) for each, known in before.items()}
    seen.facts["probe_answers"] = seen["answers"]


def _is_cut_off(instance: Instance, probe: Probe) -> bool:
    """Whether the life is over and surely left failures that did not kill."""
    return instance.exit is not None and 0 not in failures_left(instance, probe)


def _failures_left(instance: Instance, probe: Probe, known: frozenset[int]) -> frozenset[int]:
    return frozenset(left for failures in known for left in failures_left(instance, probe, failures=failures))


def _surely_fatal(lasts: list[ProbeAnswer | None]) -> ProbeAnswer | None:
    """The answer after which the container was to be killed at the latest; None if that depends on what counted before."""
    answers = [each for each in lasts if each is not None]
    return max(answers, key=lambda each: each.number) if len(answers) == len(lasts) else None


def _killed_early(case: Case, life: Life) -> Iterator[Finding]:
    """A kill without a probe that had failed often enough. RestartAllContainers and the pod's end kill for another reason."""
    spec, instance = life.spec, life.instance
    if case.restarts_all or instance.exit is None or _ends_with_its_pod(case, life):
        return
    if leaves_ns(case, life.pod) is None and case.scenario.pod.active_deadline_s is not None:
        return  # no status with a startTime came, so nothing shows when its deadline passed
    if any(_most_failures(instance, each) >= each.failure_threshold for each in spec.killing_probes):
        return  # a kubelet that has restarted asks a startup probe anew that has succeeded before
    worst = max(spec.killing_probes, key=lambda each: _most_failures(instance, each))
    failures = _most_failures(instance, worst)
    lines = (*instance.lines[:1], instance.exit.line)
    sentence = (
        f'"{spec.name}" was ended after {count(failures, "failure")} in a row of its {worst.kind} probe {at_lines(lines)}; '
        f"{worst.failure_threshold} were to be needed."
    )
    is_lost = instance.journal_started is None or is_journal_lost(case, life.pod)
    doubt = "Its journal may lack answers" if is_lost else _host_made_late(case, spec, instance)
    yield fail_unless(doubt, sentence, *lines)


def _ends_with_its_pod(case: Case, life: Life) -> bool:
    """Whether its pod was to end when it ended."""
    ends_ns = _pod_ends_ns(case, life)
    return ends_ns is not None and ends_ns <= (life.instance.exit_ns or ends_ns)


def _pod_ends_ns(case: Case, life: Life) -> int | None:
    """When its pod was to end, UTC, and it with that; sidecars also end with a pod whose containers are done."""
    return owed_until_ns(case, life.pod) if life.spec.is_sidecar else leaves_ns(case, life.pod)


def _host_made_late(case: Case, spec: Container, instance: Instance) -> str | None:
    """Why the kubelet may have had answers too late, or killed too late; None if the host was not in the way."""
    if instance.start_ns is None or instance.exit_ns is None:
        return "No clock shows for how long it ran"
    had_ns = (each.had_ns for probe in spec.killing_probes for each in answers_of(instance, probe))
    last_ns = max(had_ns, default=instance.start_ns)
    over_s = (instance.exit_ns - last_ns) / 1e9 - KILLED_WITHIN_S
    if over_s > 0 and (held := excuse(case, (last_ns, instance.exit_ns), 0.0, over_s)):
        return held
    held_s = case.recording.host.held_s(instance.start_ns, instance.exit_ns)
    ran_s = (instance.exit_ns - instance.start_ns) / 1e9
    if not any(_may_be_late(instance, each, held_s, ran_s) for each in spec.killing_probes):
        return None
    return f"The host held it up for {seconds(held_s)}, and answers may have come too late"


def _may_be_late(instance: Instance, probe: Probe, held_s: float, ran_s: float) -> bool:
    """Whether so many answers can have been late as failures lack; the kubelet waits for one after the other."""
    lacking = max(1, probe.failure_threshold - sum(each.failed for each in answers_of(instance, probe)))
    spare_s = max(ANSWERED_WITHIN_S, probe.timeout_s - probe.answering_s(SUCCEEDS) - ANSWERED_WITHIN_S)
    return held_s >= lacking * spare_s and ran_s >= lacking * probe.timeout_s


def _asked_again(life: Life, probe: Probe, last: ProbeAnswer) -> Iterator[Finding]:
    """A kubelet that has seen enough failures asks no more."""
    further = next((each for each in answers_of(life.instance, probe) if each.number > last.number), None)
    if further is not None:
        lines = (last.fact.line, further.fact.line)
        failed = f'"{life.spec.name}" failed its {probe.kind} probe {probe.failure_threshold} times in a row'
        yield fail(f"{failed} and was asked again {at_lines(lines)}; it was to be killed.", *lines)


def without_grace(spec: Container, instance: Instance, since_ns: int, reason: str, *lines: int) -> Iterator[Finding]:
    """SIGKILL sooner than the grace period can have passed since its reason: "terminationGracePeriodSeconds: [...] a grace
    period for the kubelet to wait between triggering a shut down [...] and then forcing" (documentation, Configure Probes)."""
    ended, by_sigkill = instance.exit, KILLED in (instance.exit_code, spec.exit_code_on_term)
    if ended is None or ended.utc_ns is None or not since_ns or not by_sigkill:
        return
    lived_s = (ended.utc_ns + ended.resolution_ns - since_ns) / 1e9
    if lived_s < GRACE_PERIOD_S:
        seen = (*lines, ended.line)
        yield fail(
            f'"{spec.name}" was ended by SIGKILL {seconds(lived_s)} after {reason} {at_lines(seen)}; '
            f"it had {seconds(GRACE_PERIOD_S)} to end by itself.",
            *seen,
        )


def without_hook(case: Case, life: Life, since_ns: int, reason: str, *lines: int) -> Iterator[Finding]:
    """The end of a container sooner after its reason than its preStop hook takes, which the kubelet executes before SIGTERM.

    RestartAllContainers executes none (KEP-5532), nor may an exit of its own wait for one.
    """
    ended, hook_s = life.instance.exit, life.spec.pre_stop_s
    shortest_s = min(case.scenario.pod.graces_s(life.spec))
    if ended is None or ended.utc_ns is None or not since_ns or not 0 < hook_s <= shortest_s:
        return
    took_s = (ended.utc_ns + ended.resolution_ns - since_ns) / 1e9
    is_killed = was_killed(case, life.spec.name, life.number, life.instance) and not case.restarts_all
    if is_killed and 0 <= took_s < hook_s:
        seen = (*lines, ended.line)
        ends = f'"{life.spec.name}" ended {seconds(took_s, unlike=hook_s)} after {reason} {at_lines(seen)}'
        yield fail(f"{ends}; its preStop hook takes {seconds(hook_s)}.", *seen)


def last_failure(probe: Probe) -> str:
    return f"failure {probe.failure_threshold} in a row of its {probe.kind} probe"


def _most_failures(instance: Instance, probe: Probe) -> int:
    """The most failures in a row."""
    return max((each.in_a_row for each in answers_of(instance, probe) if each.failed), default=0)


def _killed_late(case: Case, life: Life, probe: Probe, last: ProbeAnswer) -> Iterator[Finding]:
    ended = life.instance.exit
    if last.had_ns == 0 or (ended is not None and ended.utc_ns is None):
        return
    grace_s = case.scenario.pod.grace_s if probe.grace_s is None else probe.grace_s
    until_ns = min(life.instance.exit_ns or case.recording.end_ns, _pod_ends_ns(case, life) or case.recording.end_ns)
    lived_s, most_s = (until_ns - last.had_ns) / 1e9, KILLED_WITHIN_S + ending_s(life.spec, grace_s)
    if lived_s > most_s:
        lived_s -= busy_s(case, life.pod, (last.had_ns, until_ns), but_for=life.spec.name)
    if lived_s > most_s:
        lines = (last.fact.line, *((ended.line,) if ended else ()))
        sentence = (
            f'"{life.spec.name}" ran on for {seconds(lived_s, unlike=most_s)} after {last_failure(probe)} '
            f"{at_lines(lines)}; it was to be killed within {seconds(most_s)}."
        )
        yield fail_unless(_why_so_long(case, life, (last.had_ns, until_ns), lived_s - most_s), sentence, *lines)


def _why_so_long(case: Case, life: Life, window_ns: tuple[int, int], excess_s: float) -> str | None:
    """What leaves open whether it ran on for too long; None: nothing does."""
    unseen = silent_end(case, life.pod, life.spec, life.instance, window_ns)
    return f"Its exit could have gone unseen: {unseen}" if unseen else excuse(case, window_ns, 0.0, excess_s)


HOOK_KILLED_WITHIN_S = 10.0
"""From the hook's note to the exit: the hook ends, the kubelet sends SIGTERM, and the program exits at once."""


@checker("hook-kill", Need("kills", 1, "exit", "after a failed hook", is_shown=False))
def check_hook_kill(case: Case, seen: Seen) -> Iterator[Finding]:
    """A container whose postStart hook fails MUST be killed within 10 s."""
    killed: dict[str, int] = {}
    for life, noted_ns, note in _failed_hooks(case):
        exited = life.instance.exit
        ended_ns = life.instance.exit_ns or case.recording.end_ns
        seen["kills"] += exited is not None
        killed[life.spec.name] = killed.get(life.spec.name, 0) + (exited is not None)
        late_s = (ended_ns - noted_ns) / 1e9
        if late_s > HOOK_KILLED_WITHIN_S:
            lines = (note.line, *((exited.line,) if exited is not None else ()))
            ran_on = f"{life.name} ran on for {seconds(late_s)} after its postStart hook had failed {at_lines(lines)}"
            doubt = _why_so_long(case, life, (noted_ns, ended_ns), late_s - HOOK_KILLED_WITHIN_S)
            yield fail_unless(doubt, f"{ran_on}; it was to be killed.", *lines)
    seen.facts["killed"] = killed


def _failed_hooks(case: Case) -> Iterator[tuple[Life, int, Note]]:
    """Each life whose hook failed; when its hook noted its run (UTC), and that note."""
    for life in lives(case):
        planned = life.spec.program.each_life()[life.number : life.number + 1]
        note = next((each for each in life.instance.notes if each.name == HOOK), None)
        if note is not None and note.fact.utc_ns is not None and any(each.end is LifeEnd.HOOK for each in planned):
            yield life, note.fact.utc_ns, note
