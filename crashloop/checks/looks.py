"""Checker of the looks at a pod that waits: few of them, because the kubelet knows when the next start is due.

Theory of operation. Each sync that holds a start back, or fails to make one, is a line of the kubelet's log. The next comes by
the kubelet's timer: when the delay is over, up to 1.34 and after a start that failed 10 s to 16 s later
(pkg/kubelet/pod_workers.go@v1.37.1 completeWork). Events of the pod make it look as well: its sandbox and an exit.
"""

from collections.abc import Iterator
from itertools import pairwise, product
from typing import NamedTuple

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail
from crashloop.history.recording import PodHistory
from crashloop.restarts.absences import missing_for
from crashloop.restarts.case import Case
from crashloop.restarts.lives import ran
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container
from crashloop.spec.scenario import Mode, PodScenario
from crashloop.words import at_lines, seconds

BY_EVENTS = 3
"""Looks that events of the pod may cause in one wait."""
TIMER_S = 10.0
"""The kubelet's timer is not shorter, but for the rest of a delay."""
MIN_WAITS = 1


def check_looks(case: Case) -> Checked:
    """A pod that waits MUST be looked at no more often than events of the pod and the kubelet's timer require.

    Needs a pod that nothing else makes the kubelet look at, and min_waits (1) waits of 10 s in which the log shows a look.
    """
    waits = list(_waits(case)) if _is_left_alone(case.scenario) else []
    findings = [_too_often(each) for each in waits if len(each.lines) > each.most_looks]
    if not findings:
        findings += too_few(case, len(waits), "min_waits", MIN_WAITS, "wait", "of 10 s with a look")
    return Checked(findings=tuple(findings), facts={"looks": [len(each.lines) for each in waits]})


class _Wait(NamedTuple):
    container: str
    waited_s: float
    lines: tuple[int, ...]
    """History lines of the looks."""

    @property
    def most_looks(self) -> int:
        return BY_EVENTS + int(self.waited_s / TIMER_S)


def _too_often(wait: _Wait) -> Finding:
    ends = (wait.lines[0], wait.lines[-1])
    return fail(
        f'"{wait.container}" waited for {seconds(wait.waited_s)}, and the kubelet looked {len(wait.lines)} times whether '
        f"to start it {at_lines(ends)}; {wait.most_looks} times are the most.",
        *ends,
    )


def _is_left_alone(scenario: PodScenario) -> bool:
    """Whether nothing but its own container makes the kubelet look at the pod: no other, no probe and no change of the pod."""
    containers, changes = scenario.pod.containers, {each.action for each in scenario.interventions}
    return (
        scenario.mode is Mode.NATURAL
        and len(containers) == 1
        and not containers[0].probes
        and changes <= {InterventionKind.CREATE_OBJECT, InterventionKind.CHANGE_OBJECT, InterventionKind.DELETE_OBJECT}
    )


def _waits(case: Case) -> Iterator[_Wait]:
    """The waits of 10 s and more in which the log shows a look."""
    for pod, spec in product(case.pods, case.scenario.pod.containers):
        logged = [each for each in pod.logged if each.container == spec.name]
        for from_ns, to_ns in _spans(case, pod, spec):
            lines = tuple(each.line for each in logged if from_ns <= each.t_ns <= to_ns)
            waited_s = (to_ns - from_ns) / 1e9
            if lines and waited_s >= TIMER_S:
                yield _Wait(spec.name, waited_s, lines)


def _spans(case: Case, pod: PodHistory, spec: Container) -> Iterator[tuple[int, int]]:
    """When it waited for a restart, or for an object without which it cannot start, UTC."""
    for before, after in pairwise(ran(pod, spec.name)):
        if before.exit_ns is not None and after.begun_ns is not None:
            yield before.exit_ns, after.begun_ns
    created_ns = pod.created.utc_ns if pod.created else None
    for gone, back in missing_for(case, spec):
        if created_ns is not None:
            yield max(created_ns, gone.to_ns), back.from_ns if back else case.recording.end_ns
