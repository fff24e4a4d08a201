"""What a status has to say whatever happened: its pod's place and time, each container, and of each one nothing that contradicts
the rest of the same status.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

from crashloop.checks.checker import Statement
from crashloop.checks.finding import Finding, fail
from crashloop.history.event import Channel
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import SCHEDULED, StatusReport
from crashloop.model.pod_status import WAITING_REASON
from crashloop.restarts.case import Case
from crashloop.restarts.outages import may_lag_ns
from crashloop.spec.intervention import DISTURB_NODE
from crashloop.spec.pod import Container, ContainerKind
from crashloop.words import at_lines

_CONTRADICTED: dict[str, Callable[[int | None], bool]] = {"Completed": bool, "Error": lambda code: code == 0}
"""Which exit codes a reason contradicts."""


def lacking(case: Case, status: StatusReport) -> Iterator[Finding]:
    """What a status of a kubelet leaves out of a pod; one that runs on without its sandbox may have no address."""
    said = f"a status does not say {{}} {at_lines([status.line])}"
    if not status.scheduled:
        yield fail(f"{said.format(f'that {SCHEDULED} of the pod is True')}; its kubelet has it.", status.line)
    if status.started_ns is None:
        yield fail(f"{said.format('since when the pod is on its node')}; its kubelet knows that.", status.line)
    runs = any(each.state.kind == "running" for each in status.containers.values())
    if runs and not status.address and not next(iter(case.sandbox_kills_ns), None):
        yield fail(f"{said.format('which address the pod has')}; a container of it runs.", status.line)


def address_lost(case: Case, pod: PodHistory) -> Iterator[Finding]:
    """The first status without the address that the one before had: a pod keeps it as it ends.

    A sandbox that is gone takes it along, and a kubelet that restarts may have forgotten it; of a mirror pod another one tells.
    So does one whose collector, once a minute, removes the sandbox before its last statement (pkg/kubelet/pleg/generic.go@v1.37.2
    updateCache); its removal is in the runtime's record, or lost with a part of it.
    pkg/kubelet/kubelet.go@v1.37.1 preserveDataFromBeforeStopping, kubernetes/kubernetes#125404.
    """
    lost = len({each.sandbox_id for each in pod.sandboxes}) > 1 or next(iter(case.sandbox_kills_ns), None)
    if lost or pod.mirrors or any(each.data.action in DISTURB_NODE for each in case.recording.interventions):
        return
    for before, after in pairwise(pod.statuses):
        if before.address and not after.address:
            if any(each.phase == "removed" and each.fact.own_ns <= after.t_ns for each in pod.sandboxes):
                return
            if next(case.recording.gaps_of(Channel.RUNTIME, before.t_ns, after.t_ns), None):
                return
            lines = before.line, after.line
            yield fail(f"a status does not say which address the pod has {at_lines(lines)}; it had one before.", *lines)
            return


def left_out(case: Case, pod: PodHistory, spec: Container) -> Iterator[Finding]:
    """The first status that says nothing of a container; an ephemeral one is added once the pod is there, and may come late."""
    begun_ns = next((each.begun_ns for each in pod.instances(spec.name) if each.begun_ns is not None), None)
    for status in pod.statuses:
        if not status.containers or spec.name in status.containers:
            continue
        if spec.kind is ContainerKind.EPHEMERAL and (
            begun_ns is None or status.t_ns <= begun_ns + may_lag_ns(case, begun_ns, status.t_ns)
        ):
            continue
        sentence = f'a status says nothing of "{spec.name}" {at_lines([status.line])}; its pod has that container.'
        yield fail(sentence, status.line)
        return


def unlike_itself(case: Case, statement: Statement) -> Iterator[Finding]:
    """What one status leaves out or contradicts: which container it is about, why that waits, how it ended.

    pkg/kubelet/kubelet_pods.go@v1.37.1 convertToAPIContainerStatuses; the reasons are the runtime's (containerd
    internal/cri/server/container_status.go@v2.3.7 toCRIContainerStatus), and another one contradicts no code.
    """
    _, spec, status, report = statement
    state, last = report.state, report.last_state
    waits = state.kind == "waiting" and state.reason == WAITING_REASON
    # The reason stands until it starts again, also in another sandbox, where it has no instance yet.
    waits &= bool(report.container_id) or not case.may_lack_instance(spec.name)
    about = f'a status of "{spec.name}" {at_lines([status.line])}'
    is_of_one = waits or state.kind == "running" or state.finished_ns is not None
    is_named = report.container_id and (state.kind != "terminated" or state.container_id)
    if is_of_one and not is_named:
        yield fail(f"{about} names no container ID; by its state it is {state.kind}.", status.line)
    elif waits and (last is None or last.kind != "terminated"):
        yield fail(f"{about} shows no last exit; it waits to be restarted.", status.line)
    elif waits and last is not None and last.container_id != report.container_id:
        yield fail(f"{about} shows the exit of another container than the one that it names as the last.", status.line)
    for each in (state, last):
        contradicted = None if each is None else _CONTRADICTED.get(each.reason)
        if each is not None and contradicted is not None and contradicted(each.exit_code):
            yield fail(f"{about} gives {each.reason} as the reason of exit code {each.exit_code}.", status.line)
