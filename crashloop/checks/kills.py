"""Checkers of kills: by a failing probe, by a hook that fails, and after the grace period of what ignores SIGTERM.

Theory of operation. A container is killed after the threshold of failures in a row, not before, and not much later; so its
probes have to be asked in time. What ignores SIGTERM is killed when the grace period of the failed probe has passed, or that of
the deleted pod.
"""

from collections.abc import Iterable, Iterator
from itertools import islice, pairwise

import msgspec

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.checks.probe_answers import ProbeAnswer, answers_of, failures_left, fatal, spared
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.model.planned_exit import failures_go_on
from crashloop.model.surroundings import HOOK
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import is_journal_lost, leaves_ns, unseen_exit
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran, was_killed
from crashloop.spec.pod import GRACE_PERIOD_S, Container
from crashloop.spec.probe import FAILS, SUCCEEDS, Probe, ProbeKind
from crashloop.spec.program import KILLED, LifeEnd
from crashloop.words import at_lines, count, seconds

KILLED_WITHIN_S = 2.0
"""From the kubelet's last failure to the exit: a sync of the pod, the kill and the program's own end."""
ANSWERED_WITHIN_S = 0.5
"""A command that answers at once has been answered within this time, on a host that does not stand still."""
SEVERAL, SELDOM = 4, 1.5
"""Questions that follow others, and periods between each two of them, that are no chance: stalls scatter."""
UNASKED_PERIODS = 5
"""So many periods of a probe without a question are no chance."""


def check_probe_kill(case: Case) -> Checked:
    """A container MUST be killed once a probe has failed as often in a row as its threshold says, and MUST NOT be before.

    Needs min_kills (1) kills, min_spared (0) runs of fewer failures than the threshold before a success, min_answers (1), and
    min_cut_off (0) runs of failures that the end of a life cut off.
    """
    findings: list[Finding] = []
    kills = times = answers = cut_off = 0
    for pod in case.pods if not case.scenario.interventions else ():
        for spec in case.scenario.pod.containers:
            before = dict.fromkeys(spec.killing_probes, frozenset({0}))
            for number, instance in enumerate(ran(pod, spec.name) if spec.killing_probes else ()):
                fatals = {
                    each: [fatal(instance, each, failures=failures) for failures in known]
                    for each, known in before.items()
                }
                may_end = any(each is not None for lasts in fatals.values() for each in lasts)
                times += sum(spared(instance, each) for each in spec.killing_probes)
                answers += sum(1 for each in spec.killing_probes for _ in answers_of(instance, each))
                kills += may_end and instance.exit is not None
                cut_off += sum(_is_cut_off(instance, each) for each in spec.killing_probes)
                findings += _seldom(case, spec, instance)
                if not may_end:
                    findings += _unasked(case, pod, spec, instance)
                    if was_killed(case, spec.name, number, instance):
                        findings += _killed_early(case, pod, spec, instance)
                due = ((probe, last) for probe, lasts in fatals.items() if (last := _surely_fatal(lasts)) is not None)
                for probe, last in islice(due, 1):
                    findings += _asked_again(spec, probe, instance, last) or _killed_late(
                        case, spec, probe, instance, last
                    )
                    findings += _without_grace(spec, probe, instance, last)
                if failures_go_on(case.prediction.deviations):
                    before = {each: _failures_left(instance, each, known) for each, known in before.items()}
    if not findings:
        findings += too_few(case, kills, "min_kills", 1, "kill")
        findings += too_few(case, times, "min_spared", 0, "spared run of failures")
        findings += too_few(case, answers, "min_answers", 1, "answer")
        findings += too_few(case, cut_off, "min_cut_off", 0, "run", "of failures that the end of a life cut off")
    return Checked(findings=tuple(findings), facts={"kills": kills, "spared": times, "probe_answers": answers})


def _is_cut_off(instance: Instance, probe: Probe) -> bool:
    """Whether the life is over and surely left failures that did not kill."""
    return instance.exit is not None and 0 not in failures_left(instance, probe)


def _failures_left(instance: Instance, probe: Probe, known: frozenset[int]) -> frozenset[int]:
    return frozenset(left for failures in known for left in failures_left(instance, probe, failures=failures))


def _surely_fatal(lasts: list[ProbeAnswer | None]) -> ProbeAnswer | None:
    """The answer after which the container was to be killed at the latest; None if that depends on what counted before."""
    answers = [each for each in lasts if each is not None]
    return max(answers, key=lambda each: each.number) if len(answers) == len(lasts) else None


def _killed_early(case: Case, pod: PodHistory, spec: Container, instance: Instance) -> Iterator[Finding]:
    """A kill without a probe that had failed often enough. RestartAllContainers and the pod's end kill for another reason."""
    leaves = leaves_ns(case, pod)
    if case.restarts_all or instance.exit is None or (leaves is not None and leaves <= (instance.exit_ns or leaves)):
        return
    worst = max(spec.killing_probes, key=lambda each: _most_failures(instance, each))
    failures = _most_failures(instance, worst)
    lines = (*instance.lines[:1], instance.exit.line)
    sentence = (
        f'"{spec.name}" was ended after {count(failures, "failure")} in a row of its {worst.kind} probe {at_lines(lines)}; '
        f"{worst.failure_threshold} were to be needed."
    )
    if instance.journal_started is None or is_journal_lost(case, pod):
        yield inconclusive(f"{sentence} Its journal may lack answers.", *lines)
    elif doubt := _host_made_late(case, spec, instance):
        yield inconclusive(f"{sentence} {doubt}", *lines)
    else:
        yield fail(sentence, *lines)


def _host_made_late(case: Case, spec: Container, instance: Instance) -> str | None:
    """Why the kubelet may have had answers too late, or killed too late; None if the host was not in the way."""
    if instance.start_ns is None or instance.exit_ns is None:
        return "No clock shows for how long it ran."
    had_ns = (each.had_ns for probe in spec.killing_probes for each in answers_of(instance, probe))
    last_ns = max(had_ns, default=instance.start_ns)
    over_s = (instance.exit_ns - last_ns) / 1e9 - KILLED_WITHIN_S
    if over_s > 0 and (held := excuse(case, (last_ns, instance.exit_ns), 0.0, over_s)):
        return f"{held}."
    held_s = case.recording.host.held_s(instance.start_ns, instance.exit_ns)
    ran_s = (instance.exit_ns - instance.start_ns) / 1e9
    if not any(_may_be_late(instance, each, held_s, ran_s) for each in spec.killing_probes):
        return None
    return f"The host held it up for {seconds(held_s)}, and answers may have come too late."


def _may_be_late(instance: Instance, probe: Probe, held_s: float, ran_s: float) -> bool:
    """Whether so many answers can have been late as failures lack; the kubelet waits for one after the other."""
    lacking = max(1, probe.failure_threshold - sum(each.failed for each in answers_of(instance, probe)))
    spare_s = max(ANSWERED_WITHIN_S, probe.timeout_s - probe.answering_s(SUCCEEDS) - ANSWERED_WITHIN_S)
    return held_s >= lacking * spare_s and ran_s >= lacking * probe.timeout_s


def _unasked(case: Case, pod: PodHistory, spec: Container, instance: Instance) -> Iterator[Finding]:
    """A life without a single answer, though the probe's period passed several times."""
    first = min(spec.killing_probes, key=lambda each: each.kind is not ProbeKind.STARTUP)
    if any(True for _ in answers_of(instance, first)) or instance.journal_started is None or is_journal_lost(case, pod):
        return
    begun_ns, ended = instance.journal_started.utc_ns, instance.exit
    until_ns = ended.utc_ns if ended else case.recording.end_ns
    if begun_ns is None or until_ns is None:
        return
    ran_s, due_s = (until_ns - begun_ns) / 1e9, UNASKED_PERIODS * first.period_s + KILLED_WITHIN_S
    if ran_s <= due_s:
        return
    sentence = (
        f'"{spec.name}" ran for {seconds(ran_s)} {at_lines(instance.lines[:1])} and its {first.kind} probe, due every '
        f"{seconds(first.period_s)}, was not asked once."
    )
    doubt = excuse(case, (begun_ns, until_ns), due_s, ran_s - due_s)
    lines = instance.lines[:1]
    yield fail_unless(doubt, sentence, *lines)


def _seldom(case: Case, spec: Container, instance: Instance) -> Iterator[Finding]:
    """A life in which no two questions of a probe followed each other within its period, and half of that."""
    for probe in spec.killing_probes:
        answers = [each for each in answers_of(instance, probe) if each.had_ns]
        apart_s = [(later.had_ns - each.had_ns) / 1e9 for each, later in pairwise(answers)]
        due_s = max(probe.period_s, probe.answering_s(SUCCEEDS), probe.answering_s(FAILS))
        if len(apart_s) < SEVERAL or min(apart_s) <= SELDOM * due_s:
            continue
        lines = (answers[0].fact.line, answers[-1].fact.line)
        sentence = (
            f'the {probe.kind} probe of "{spec.name}" was asked every {seconds(min(apart_s))} at most {at_lines(lines)}; '
            f"every {seconds(due_s)} was due."
        )
        window_ns = answers[0].had_ns, answers[-1].had_ns
        yield fail_unless(excuse(case, window_ns, 0.0, sum(apart_s) - SELDOM * due_s * len(apart_s)), sentence, *lines)


def _asked_again(spec: Container, probe: Probe, instance: Instance, last: ProbeAnswer) -> list[Finding]:
    """A kubelet that has seen enough failures asks no more."""
    further = next((each for each in answers_of(instance, probe) if each.number > last.number), None)
    if further is None:
        return []
    lines = (last.fact.line, further.fact.line)
    sentence = (
        f'"{spec.name}" failed its {probe.kind} probe {probe.failure_threshold} times in a row and was asked again'
    )
    return [fail(f"{sentence} {at_lines(lines)}; it was to be killed.", *lines)]


def _without_grace(spec: Container, probe: Probe, instance: Instance, last: ProbeAnswer) -> Iterator[Finding]:
    """SIGKILL sooner than the grace period can have passed since the last failure: "terminationGracePeriodSeconds: [...] a grace
    period for the kubelet to wait between triggering a shut down [...] and then forcing" (documentation, Configure Probes)."""
    ended = instance.exit
    if (
        ended is None
        or ended.utc_ns is None
        or not last.had_ns
        or instance.exit_code != KILLED != spec.exit_code_on_term
    ):
        return
    lived_s = (ended.utc_ns - last.had_ns) / 1e9
    if lived_s < GRACE_PERIOD_S:
        lines = (last.fact.line, ended.line)
        yield fail(
            f'"{spec.name}" was ended by SIGKILL {seconds(lived_s)} after failure {probe.failure_threshold} in a row of its '
            f"{probe.kind} probe {at_lines(lines)}; it had {seconds(GRACE_PERIOD_S)} to end by itself.",
            *lines,
        )


def _most_failures(instance: Instance, probe: Probe) -> int:
    """The most failures in a row."""
    return max((each.in_a_row for each in answers_of(instance, probe) if each.failed), default=0)


def _killed_late(case: Case, spec: Container, probe: Probe, instance: Instance, last: ProbeAnswer) -> Iterator[Finding]:
    ended = instance.exit
    if last.had_ns == 0 or (ended is not None and ended.utc_ns is None):
        return
    until_ns = case.recording.end_ns if instance.exit_ns is None else instance.exit_ns
    lived_s = (until_ns - last.had_ns) / 1e9
    if lived_s <= KILLED_WITHIN_S:
        return
    lines = (last.fact.line, *((ended.line,) if ended else ()))
    sentence = (
        f'"{spec.name}" ran on for {seconds(lived_s, unlike=KILLED_WITHIN_S)} after failure '
        f'{probe.failure_threshold} in a row of its '
        f"{probe.kind} probe {at_lines(lines)}; it was to be killed within {seconds(KILLED_WITHIN_S)}."
    )
    doubt = excuse(case, (last.had_ns, until_ns), 0.0, lived_s - KILLED_WITHIN_S)
    yield fail_unless(doubt, sentence, *lines)


GRACE_LATE_S = 10.0
"""From its reason to SIGTERM, and from the end of the grace period to the exit, on a host that has much to do."""
MIN_GRACE_KILLS = 1


class _Kill(msgspec.Struct, frozen=True, kw_only=True):
    """A reason to end an instance that ignores SIGTERM."""

    pod: PodHistory
    name: str
    instance: Instance
    from_ns: int
    """When the reason was there; the kubelet knows of it later."""
    unsure_ns: int = 0
    lines: tuple[int, ...] = ()
    reason: str
    grace_s: int


def check_probe_grace(case: Case) -> Checked:
    """A container that ignores SIGTERM MUST be killed when the grace period of the probe that failed has passed, else the pod's.

    Needs min_kills (1) exits of such containers after as many failures in a row as the probe's threshold says.
    """
    return _judged_grace(case, _by_probes(case))


def check_pod_grace(case: Case) -> Checked:
    """A container that ignores SIGTERM MUST be killed when the grace period of its pod has passed, if that is deleted.

    Needs min_kills (1) exits of such containers after the deletion.
    """
    return _judged_grace(case, _by_deletions(case))


def _judged_grace(case: Case, kills: Iterable[_Kill]) -> Checked:
    findings: list[Finding] = []
    seen = 0
    for kill in kills:
        seen += kill.instance.exit is not None
        findings += _beyond_grace(case, kill)
    if not findings:
        findings += too_few(case, seen, "min_kills", MIN_GRACE_KILLS, "kill")
    return Checked(findings=tuple(findings[:1]), facts={"kills": seen})


def _by_probes(case: Case) -> Iterator[_Kill]:
    for pod, spec, instance in _stubborn(case):
        for probe in spec.killing_probes:
            last = fatal(instance, probe)
            if last is not None and last.had_ns:
                yield _Kill(
                    pod=pod,
                    name=spec.name,
                    instance=instance,
                    from_ns=last.had_ns,
                    unsure_ns=last.fact.resolution_ns,
                    lines=(last.fact.line,),
                    reason=f"failure {probe.failure_threshold} in a row of its {probe.kind} probe",
                    grace_s=case.scenario.pod.grace_s if probe.grace_s is None else probe.grace_s,
                )


def _by_deletions(case: Case) -> Iterator[_Kill]:
    for pod, spec, instance in _stubborn(case):
        left_ns = leaves_ns(case, pod)
        if left_ns is not None and (instance.exit is None or (instance.exit_ns or 0) > left_ns):
            yield _Kill(
                pod=pod,
                name=spec.name,
                instance=instance,
                from_ns=left_ns,
                reason="the deletion of its pod",
                grace_s=case.scenario.pod.grace_s,
            )


def _stubborn(case: Case) -> Iterator[tuple[PodHistory, Container, Instance]]:
    """Each life of a container that ignores SIGTERM."""
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            yield from ((pod, spec, each) for each in ran(pod, spec.name) if spec.exit_code_on_term == KILLED)


def _beyond_grace(case: Case, kill: _Kill) -> Iterator[Finding]:
    ended = kill.instance.exit
    until_ns = case.recording.end_ns if ended is None else kill.instance.exit_ns
    if until_ns is None:
        return
    lived_s, unsure_s = (until_ns - kill.from_ns) / 1e9, (kill.unsure_ns + (ended.resolution_ns if ended else 0)) / 1e9
    lines = (*kill.lines, *((ended.line,) if ended else ()))
    after = f"after {kill.reason}{f' {at_lines(lines)}' if lines else ''}; it had {seconds(kill.grace_s)} of grace."
    if ended is not None and lived_s < kill.grace_s - unsure_s:
        yield fail(f'"{kill.name}" was ended {seconds(lived_s, unlike=kill.grace_s)} {after}', *lines)
    elif ended is None and (unseen := unseen_exit(case, kill.pod, kill.from_ns, until_ns)):
        yield inconclusive(f'the end of "{kill.name}" could have gone unseen: {unseen}.')
    elif lived_s > kill.grace_s + GRACE_LATE_S:
        held = excuse(case, (kill.from_ns, until_ns), kill.grace_s, lived_s - kill.grace_s - GRACE_LATE_S)
        yield fail_unless(held, f'"{kill.name}" ran on for {seconds(lived_s)} {after}', *lines)


HOOK_KILLED_WITHIN_S = 10.0
"""From the hook's note to the exit: the hook ends, the kubelet sends SIGTERM, and the program exits at once."""
MIN_KILLS = 1


def check_hook_kill(case: Case) -> Checked:
    """A container whose postStart hook fails MUST be killed within 10 s. Needs min_kills (1) exits after a failed hook."""
    findings: list[Finding] = []
    killed: dict[str, int] = {}
    for pod in case.pods:
        for name, instance, noted_ns, line in _failed_hooks(case, pod):
            exited = instance.exit
            ended_ns = case.recording.end_ns if exited is None or exited.utc_ns is None else exited.utc_ns
            killed[name] = killed.get(name, 0) + (exited is not None)
            late_s = (ended_ns - noted_ns) / 1e9
            if late_s > HOOK_KILLED_WITHIN_S:
                lines = (line, *((exited.line,) if exited is not None else ()))
                sentence = (
                    f'instance {instance.ordinal} of "{name}" ran on for {seconds(late_s)} after its postStart hook '
                    f"had failed {at_lines(lines)}; it was to be killed."
                )
                held = excuse(case, (noted_ns, ended_ns), 0.0, late_s - HOOK_KILLED_WITHIN_S)
                findings.append(fail_unless(held, sentence, *lines))
    if not findings:
        findings += too_few(case, sum(killed.values()), "min_kills", MIN_KILLS, "exit", "after a failed hook")
    return Checked(findings=tuple(findings), facts={"killed": killed})


def _failed_hooks(case: Case, pod: PodHistory) -> Iterator[tuple[str, Instance, int, int]]:
    """Each instance whose hook failed, by its container's name; when its hook noted its run (UTC), and that note's line."""
    for spec in case.scenario.pod.containers:
        lives = spec.program.each_life()
        for number, instance in enumerate(ran(pod, spec.name)):
            note = next((each for each in instance.notes if each.name == HOOK), None)
            if note is None or note.fact.utc_ns is None or number >= len(lives):
                continue
            if lives[number].end is LifeEnd.HOOK:
                yield spec.name, instance, note.fact.utc_ns, note.line
