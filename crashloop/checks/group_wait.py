"""Checker of how long a group of pods waits for the one of them that fails, on two curves.

Theory of operation. The pods of a Job are a group: it is complete when the last of them has succeeded. The group waits from the
first exit of the pod that fails until then. Both scenarios run the same lives, so that the difference is that of the delays.
"""

from collections.abc import Sequence
from typing import NamedTuple

from crashloop.checks.compared_delays import FIRST
from crashloop.checks.finding import Checked, Finding, fail_unless, inconclusive
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.model.lateness import START_SHARE_S
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
from crashloop.restarts.restart import Restart, restarts_of
from crashloop.words import at_lines, count, seconds

MIN_PODS, MIN_FAILURES = 5, 4


class _Wait(NamedTuple):
    """A group that has waited."""

    failed: Fact
    done: Fact
    delays: tuple[Restart, ...]
    """After each exit of the pod that failed."""

    @property
    def window_ns(self) -> tuple[int, int]:
        return self.failed.utc_ns or 0, self.done.utc_ns or 0

    @property
    def took_s(self) -> float:
        return (self.window_ns[1] - self.window_ns[0]) / 1e9

    @property
    def lines(self) -> tuple[int, int]:
        return self.failed.line, self.done.line


def check_group_wait(cases: Sequence[Case]) -> Checked:
    """A group MUST wait less in the last scenario than in the first, by what their curves owe, but for lateness and starts.

    Needs min_pods (5) pods that succeed in each, of which one alone restarts, min_failures (4) times.
    """
    high, low = cases[0], cases[-1]
    waits: dict[str, _Wait] = {}
    findings: list[Finding] = []
    for case in (high, low):
        found = _waited(case)
        if isinstance(found, Finding):
            findings.append(found)
        else:
            waits[case.scenario.name] = found
    facts = {"waited_s": {name: round(each.took_s, 3) for name, each in waits.items()}}
    if not findings:
        findings += _judged(low, waits[high.scenario.name], waits[low.scenario.name], high.scenario.name)
    return Checked(findings=tuple(findings), facts=facts)


def _waited(case: Case) -> _Wait | Finding:
    """How long the group of a scenario waited, or what of it was not seen."""
    pods, failures = int(case.number("min_pods", MIN_PODS)), int(case.number("min_failures", MIN_FAILURES))
    why = f"in {case.scenario.name}", why_it_ended(case)
    ends = [_success(pod) for pod in case.pods]
    succeeded = [each for each in ends if each is not None and each.utc_ns is not None]
    if len(succeeded) < max(pods, len(case.pods)):
        return inconclusive(f"{count(len(succeeded), 'pod')} of {pods} seen to succeed {why[0]}: {why[1]}.")
    failing = [pod for pod in case.pods if len(ran(pod, FIRST)) > 1]
    delays = tuple(each for pod in failing[:1] for each in restarts_of(case, pod, FIRST) if each.next is not None)
    if len(failing) != 1 or len(delays) < failures or delays[0].exit is None or delays[0].exit.utc_ns is None:
        seen = f"{count(len(failing), 'pod')} seen to restart {why[0]}, the first of them {count(len(delays), 'time')}"
        return inconclusive(f"{seen}; one that restarts {failures} times needed: {why[1]}.")
    return _Wait(delays[0].exit, max(succeeded, key=lambda each: each.utc_ns or 0), delays)


def _success(pod: PodHistory) -> Fact | None:
    """The exit with 0 that ends the container of a pod; None if it was not seen."""
    instances = ran(pod, FIRST)
    return instances[-1].exit if instances and instances[-1].exit_code == 0 else None


def _judged(low: Case, longer: _Wait, shorter: _Wait, named: str) -> list[Finding]:
    due_s = sum(each.due.delay_s for each in longer.delays)
    latest_s = sum(each.due.latest_s + START_SHARE_S for each in shorter.delays)
    saved_s, owed_s = longer.took_s - shorter.took_s, due_s - latest_s
    if owed_s <= 0:
        return [inconclusive(f"the curves differ by less than lateness and starts explain, {seconds(latest_s)}.")]
    if saved_s >= owed_s:
        return []
    sentence = (
        f"the group waited {seconds(shorter.took_s)} in {low.scenario.name} {at_lines(shorter.lines)} and "
        f"{seconds(longer.took_s)} in {named} {at_lines(longer.lines)}; {seconds(owed_s)} less were due."
    )
    doubt = excuse(low, shorter.window_ns, latest_s, owed_s - saved_s)
    return [fail_unless(doubt, sentence).at((low.scenario.name, shorter.lines), (named, longer.lines))]
