"""Checker of the kubelet's log: how much of it a restart costs.

Theory of operation. A longer delay has more looks, and each is a line; so restarts with the same delay are compared, in a pod
that nothing makes the kubelet look at. The bytes of all lines about the pod are known at each line about a start that was held
back, so those of one restart lie between the first such line of one wait and that of the next. The constant amount is an
expectation of this suite: KEP-5593 says that logs are spammed, and names no number.
"""

from itertools import groupby, pairwise
from statistics import median

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail
from crashloop.history.recording import LoggedDelay, PodHistory
from crashloop.restarts.case import Case
from crashloop.restarts.lives import ran
from crashloop.spec.scenario import Mode
from crashloop.words import at_lines

MIN_RESTARTS = 12
MOST_GROWTH = 1.25
"""How much more the last restarts may cost than the first: each line grows with its numbers, such as the count of a backoff."""


def check_log_growth(case: Case) -> Checked:
    """The kubelet's log MUST grow by a constant amount per restart: no more by the last third of them than by the first.

    Needs min_restarts (12) restarts with the same delay, each with a line of the kubelet's log about its delay.
    """
    findings: list[Finding] = []
    grown: dict[str, int] = {}
    restarts = 0
    for pod in case.pods if case.scenario.mode is Mode.NATURAL else ():
        for spec in case.scenario.pod.containers:
            per_restart = _bytes_per_restart(pod, spec.name)
            restarts += len(per_restart)
            if len(per_restart) < case.number("min_restarts", MIN_RESTARTS):
                continue
            third = len(per_restart) // 3
            (first, first_lines), (last, last_lines) = (
                (median(each for each, _ in part), [line for _, line in part])
                for part in (per_restart[:third], per_restart[-third:])
            )
            grown[spec.name] = round(last)
            if last > MOST_GROWTH * first:
                lines = (first_lines[0], last_lines[-1])
                sentence = (
                    f'each of the last {third} restarts of "{spec.name}" cost the kubelet\'s log {last:.0f} bytes, '
                    f"and each of the first {third} {first:.0f} {at_lines(lines)}; a constant amount was due."
                )
                findings.append(fail(sentence, *lines))
    if not findings:
        findings += too_few(case, restarts, "min_restarts", MIN_RESTARTS, "restart", "with a line about its delay")
    return Checked(findings=tuple(findings), facts={"bytes_per_restart": grown})


def _bytes_per_restart(pod: PodHistory, container: str) -> list[tuple[int, int]]:
    """The bytes from the first line of each wait to that of the next, if both have the newest delay, and the latter's line."""
    starts_ns = [each.begun_ns for each in ran(pod, container) if each.begun_ns is not None]

    def starts_before(logged: LoggedDelay) -> int:
        return sum(started_ns <= logged.t_ns for started_ns in starts_ns)

    logged = [each for each in pod.logged if each.container == container and each.pod_bytes is not None]
    waits = [(number, list(lines)) for number, lines in groupby(logged, starts_before)]
    restarts = [
        (
            after[0].delay_s if after[0].delay_s == before[0].delay_s else None,
            sum(each.pod_bytes or 0 for each in (*before[1:], after[0])),
            after[0].line,
        )
        for (number, before), (following, after) in pairwise(waits)
        if following == number + 1
    ]
    newest_s = restarts[-1][0] if restarts else None
    return [(collected, line) for delay_s, collected, line in restarts if delay_s == newest_s is not None]
