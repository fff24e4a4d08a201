"""Checker of the first start of a container whose volume comes later than its pod.

Theory of operation. The kubelet makes no container of a pod before all its volumes are mounted, so that wait is no start that
failed: the delays of the container begin with its first exit. pkg/kubelet/kubelet.go@v1.37.1 SyncPod (WaitForAttachAndMount).
"""

from crashloop.checks.case import Case
from crashloop.checks.evidence import why_it_ended
from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.checks.objects import missing_for
from crashloop.checks.restart_all_triggers import ran
from crashloop.checks.text import at_lines, seconds

WAITED_S = 5.0


def check_volume_awaited(case: Case) -> Checked:
    """A container MUST NOT start before the objects are there that are mounted in it.

    Needs a start that came at least 5 s after the pod's creation because an object was missing until then.
    """
    findings: list[Finding] = []
    waited: dict[str, float] = {}
    for spec in (each for each in case.scenario.pod.containers if each.folders):
        first = next(iter(ran(case.pod, spec.name)), None)
        came = next((back for gone, back in missing_for(case, spec) if gone.line is None), None)
        if first is None or first.begun_ns is None or came is None or case.pod.created is None:
            findings.append(inconclusive(f'no start of "{spec.name}" was seen: {why_it_ended(case)}.'))
        elif first.begun_ns < came.from_ns:
            lines = (*first.lines[:1], came.line or 0)
            sentence = f'"{spec.name}" was started {at_lines(lines)} before the object was there that is mounted in it.'
            findings.append(fail(sentence, *lines))
        else:
            waited[spec.name] = round((came.from_ns - (case.pod.created.utc_ns or came.from_ns)) / 1e9, 3)
    longest_s = max(waited.values(), default=0.0)
    if not findings and longest_s < WAITED_S:
        sentence = (
            f"no start waited for a volume for {seconds(WAITED_S)}: the longest wait seen is {seconds(longest_s)}."
        )
        findings.append(inconclusive(sentence))
    return Checked(findings=tuple(findings), facts={"waited_s": waited})
