"""Checker of what follows a postStart hook that fails: its container is killed."""

from collections.abc import Iterator

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail_unless
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.model.surroundings import HOOK
from crashloop.restarts.case import Case
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
from crashloop.spec.program import LifeEnd
from crashloop.words import at_lines, seconds

KILLED_WITHIN_S = 10.0
"""From the hook's note to the exit: the hook ends, the kubelet sends SIGTERM, and the program exits at once."""
MIN_KILLS = 1


def check_hook_kill(case: Case) -> Checked:
    """A container whose postStart hook fails MUST be killed within 10 s. Needs min_kills (1) exits after a failed hook."""
    findings: list[Finding] = []
    killed: dict[str, int] = {}
    for pod in case.pods:
        for name, instance, noted_ns, line in _failed(case, pod):
            exited = instance.exit
            ended_ns = case.recording.end_ns if exited is None or exited.utc_ns is None else exited.utc_ns
            killed[name] = killed.get(name, 0) + (exited is not None)
            late_s = (ended_ns - noted_ns) / 1e9
            if late_s > KILLED_WITHIN_S:
                lines = (line, *((exited.line,) if exited is not None else ()))
                sentence = (
                    f'instance {instance.ordinal} of "{name}" ran on for {seconds(late_s)} after its postStart hook '
                    f"had failed {at_lines(lines)}; it was to be killed."
                )
                held = excuse(case, (noted_ns, ended_ns), 0.0, late_s - KILLED_WITHIN_S)
                findings.append(fail_unless(held, sentence, *lines))
    if not findings:
        findings += too_few(case, sum(killed.values()), "min_kills", MIN_KILLS, "exit", "after a failed hook")
    return Checked(findings=tuple(findings), facts={"killed": killed})


def _failed(case: Case, pod: PodHistory) -> Iterator[tuple[str, Instance, int, int]]:
    """Each instance whose hook failed, by its container's name; when its hook noted its run (UTC), and that note's line."""
    for spec in case.scenario.pod.containers:
        lives = spec.program.each_life()
        for number, instance in enumerate(ran(pod, spec.name)):
            note = next((each for each in instance.notes if each.name == HOOK), None)
            if note is None or note.fact.utc_ns is None or number >= len(lives):
                continue
            if lives[number].end is LifeEnd.HOOK:
                yield spec.name, instance, note.fact.utc_ns, note.line
