"""Checkers of the first start of a container that has to wait: for a volume that comes later than its pod, or for the network.

Theory of operation. The kubelet makes no container of a pod before its node has a pod network and all volumes of the pod are
mounted, so that wait is no start that failed: the delays of the container begin with its first exit.
pkg/kubelet/kubelet.go@v1.37.1 SyncPod (networkErrors, WaitForAttachAndMount).
"""

from collections.abc import Iterable

from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.history.recording import Done
from crashloop.restarts.absences import missing_for
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import why_it_ended
from crashloop.restarts.lives import ran
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container
from crashloop.words import at_lines, seconds

WAITED_S = 5.0

Came = tuple[int, int] | None
"""When that came which a container waited for: UTC nanoseconds, and the history's line. None: it was never seen to come."""


def check_volume_awaited(case: Case) -> Checked:
    """A container MUST NOT start before the objects are there that are mounted in it.

    Needs a start that came at least 5 s after the pod's creation because an object was missing until then.
    """
    mounting = ((each, _object_came(case, each)) for each in case.scenario.pod.containers if each.folders)
    return _checked(case, mounting, what="a volume", before="the object was there that is mounted in it")


def check_network_awaited(case: Case) -> Checked:
    """A container MUST NOT start before its node has a pod network.

    Needs a start that came at least 5 s after the pod's creation because the network was away until then.
    """
    came = _network_came(case)
    return _checked(
        case,
        ((each, came) for each in case.scenario.pod.containers),
        what="the network",
        before="its node had a pod network",
    )


def _checked(case: Case, waiting: Iterable[tuple[Container, Came]], *, what: str, before: str) -> Checked:
    findings: list[Finding] = []
    waited: dict[str, float] = {}
    for spec, came in waiting:
        first = next(iter(ran(case.pod, spec.name)), None)
        if first is None or first.begun_ns is None or came is None or case.pod.created is None:
            findings.append(inconclusive(f'no start of "{spec.name}" was seen: {why_it_ended(case)}.'))
        elif first.begun_ns < came[0]:
            lines = (*first.lines[:1], came[1])
            findings.append(fail(f'"{spec.name}" was started {at_lines(lines)} before {before}.', *lines))
        else:
            waited[spec.name] = round((came[0] - (case.pod.created.utc_ns or came[0])) / 1e9, 3)
    longest_s = max(waited.values(), default=0.0)
    if not findings and longest_s < WAITED_S:
        shown = f"the longest wait seen is {seconds(longest_s)}"
        findings.append(inconclusive(f"no start waited for {what} for {seconds(WAITED_S)}: {shown}."))
    return Checked(findings=tuple(findings), facts={"waited_s": waited})


def _object_came(case: Case, spec: Container) -> Came:
    came = next((back for gone, back in missing_for(case, spec) if gone.line is None), None)
    return None if came is None else (came.from_ns, came.line or 0)


def _network_came(case: Case) -> Came:
    """When the network was given back that had been taken before the pod was created."""
    taken, given = (_done(case, each) for each in (InterventionKind.TAKE_NETWORK, InterventionKind.GIVE_NETWORK))
    created_ns = case.pod.created.utc_ns if case.pod.created else None
    if taken is None or given is None or created_ns is None or (taken.data.ended_ns or taken.t_ns) > created_ns:
        return None
    return given.t_ns, given.line


def _done(case: Case, action: InterventionKind) -> Done | None:
    return next((each for each in case.recording.interventions if each.ok and each.data.action == action), None)
