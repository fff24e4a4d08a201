"""Checker of the time between failed pulls: that of the pull backoff, whatever delays the pod's restarts.

Theory of operation. A pull comes with a look of the kubelet at the pod, and each start of another container of the pod is part of
such a look. So a pull that is due comes before the second look after that; no clock is needed to say that it is late.
"""

from collections.abc import Iterator
from itertools import pairwise

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail
from crashloop.checks.images import failed_pulls, pulled
from crashloop.history.recording import ImageRequest
from crashloop.model.pulls import pull_delays
from crashloop.restarts.case import Case
from crashloop.restarts.lives import ran
from crashloop.spec.pod import Container
from crashloop.words import at_lines, seconds

MIN_DELAYS = 3
MOST_LOOKS = 3
"""Looks after the due moment before a pull is late; one more than a sync that was under way can account for."""


def check_pull_backoff(case: Case) -> Checked:
    """Failed pulls of an image MUST be 10 s apart at first, then twice as long each time, up to 300 s.

    Needs min_delays (3) times between failed pulls, in a pod with another container that restarts.
    """
    findings: list[Finding] = []
    apart: list[float] = []
    for spec in pulled(case):
        failed = failed_pulls(case, spec)
        looks = sorted(
            each.begun_ns
            for other in case.scenario.pod.containers
            if other is not spec
            for each in ran(case.pod, other.name)
            if each.begun_ns is not None
        )
        apart += [round((after.t_ns - before.t_ns) / 1e9, 3) for before, after in pairwise(failed)]
        findings += _judged(case, spec, failed, looks)
    if not findings:
        findings += too_few(case, len(apart), "min_delays", MIN_DELAYS, "delay", "between failed pulls")
    return Checked(findings=tuple(findings), facts={"pulls_apart_s": apart})


def _judged(case: Case, spec: Container, failed: tuple[ImageRequest, ...], looks: list[int]) -> Iterator[Finding]:
    # The last one has no successor unless it is overdue.
    for before, after, due_s in zip(failed, (*failed[1:], None), pull_delays(), strict=False):
        due_ns = before.t_ns + round(due_s * 1e9)
        ends_ns = case.recording.end_ns if after is None else after.t_ns
        lines = (before.line, *((after.line,) if after else ()))
        apart_s = (ends_ns - before.t_ns) / 1e9
        step_ns = case.recording.clocks.step_within_ns(before.t_ns, ends_ns)
        if after is not None and ends_ns < due_ns - step_ns:
            yield fail(
                f'two failed pulls of the image of "{spec.name}" are {seconds(apart_s, unlike=due_s)} apart {at_lines(lines)}; '
                f"{seconds(due_s)} was due.",
                *lines,
            )
        missed = sum(due_ns + step_ns < each < ends_ns for each in looks)
        if missed > MOST_LOOKS and not _may_be_pulled(case, spec):
            what = f"again only after {seconds(apart_s)}" if after else f"not again within {seconds(apart_s)}"
            yield fail(
                f'after a failed pull the image of "{spec.name}" was pulled {what} {at_lines(lines)}; {seconds(due_s)} was due, '
                f"and the kubelet looked at the pod {missed} times meanwhile.",
                *lines,
            )


def _may_be_pulled(case: Case, spec: Container) -> bool:
    """Whether a pull succeeded, after which none is due any more."""
    return bool(ran(case.pod, spec.name))
