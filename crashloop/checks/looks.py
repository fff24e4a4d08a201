"""Checker of the looks at a pod that waits: few of them, because the kubelet knows when the next start is due.

Theory of operation. Each sync that holds a start back, or fails to make one, is a line of the kubelet's log. The next comes by
the kubelet's timer: when the delay is over, up to 1.34 and after a start that failed 10 s to 16 s later
(pkg/kubelet/pod_workers.go@v1.37.1 completeWork). Events of the pod make it look as well: its sandbox and an exit.
"""

from collections.abc import Iterator
from itertools import pairwise

from crashloop.checks.case import Case
from crashloop.checks.evidence import why_it_ended
from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.checks.objects import missing_for
from crashloop.checks.restart_all_triggers import ran
from crashloop.checks.text import at_lines, seconds
from crashloop.history.recording import PodHistory
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.scenario import Container, Mode, PodScenario

BY_EVENTS = 3
"""Looks that events of the pod may cause in one wait."""
TIMER_S = 10.0
"""The kubelet's timer is not shorter, but for the rest of a delay."""


def check_looks(case: Case) -> Checked:
    """A pod that waits MUST be looked at no more often than events of the pod and the kubelet's timer require.

    Needs a pod that nothing else makes the kubelet look at, and min_waits (1) waits of 10 s in which the log shows a look.
    """
    findings: list[Finding] = []
    looks: list[int] = []
    for pod in case.pods if _is_left_alone(case.scenario) else ():
        for spec in case.scenario.pod.containers:
            for from_ns, to_ns in _waits(case, pod, spec):
                waited_s = (to_ns - from_ns) / 1e9
                lines = [
                    each.line for each in pod.logged if each.container == spec.name and from_ns <= each.t_ns <= to_ns
                ]
                most = BY_EVENTS + int(waited_s / TIMER_S)
                if waited_s < TIMER_S or not lines:
                    continue
                looks.append(len(lines))
                if len(lines) > most:
                    ends = (lines[0], lines[-1])
                    findings.append(
                        fail(
                            f'"{spec.name}" waited for {seconds(waited_s)}, and the kubelet looked {len(lines)} times whether '
                            f"to start it {at_lines(ends)}; {most} times are the most.",
                            *ends,
                        )
                    )
    needed = int(case.number("min_waits", 1))
    if not findings and len(looks) < needed:
        findings.append(
            inconclusive(f"{len(looks)} waits of 10 s with a look seen, {needed} needed: {why_it_ended(case)}.")
        )
    return Checked(findings=tuple(findings), facts={"looks": looks})


def _is_left_alone(scenario: PodScenario) -> bool:
    """Whether nothing but its own container makes the kubelet look at the pod: no other, no probe and no change of the pod."""
    containers, changes = scenario.pod.containers, {each.action for each in scenario.interventions}
    return (
        scenario.mode is Mode.NATURAL
        and len(containers) == 1
        and not containers[0].probes
        and changes <= {InterventionKind.CREATE_OBJECT, InterventionKind.CHANGE_OBJECT, InterventionKind.DELETE_OBJECT}
    )


def _waits(case: Case, pod: PodHistory, spec: Container) -> Iterator[tuple[int, int]]:
    """When it waited for a restart, or for an object without which it cannot start, UTC."""
    for before, after in pairwise(ran(pod, spec.name)):
        if before.exit_ns is not None and after.begun_ns is not None:
            yield before.exit_ns, after.begun_ns
    created_ns = pod.created.utc_ns if pod.created else None
    for gone, back in missing_for(case, spec):
        if created_ns is not None:
            yield max(created_ns, gone.to_ns), back.from_ns if back else case.recording.end_ns
