"""The conditions Initialized and PodReadyToStartContainers of a pod.

Theory of operation. Initialized follows its init containers and sidecars, and restarts keep it. It is True once a regular
container runs or has ended, or all init containers have succeeded and all sidecars have started. While init containers or
sidecars are down again and the regular containers wait, it stays True where the gate RestartAllContainersOnContainerExits is on;
without that gate it is False for as long, and nobody promises either (pkg/kubelet/status/generate.go@v1.37.1
GeneratePodInitializedCondition).

PodReadyToStartContainers follows its sandbox. Each sync of the pod states what it finds, and pulls images and runs hooks before
the next one can look. From 1.36 on it is stated besides as soon as the sandbox is ready (pkg/kubelet/kubelet.go@v1.37.2
OnPodSandboxReady, kubernetes/kubernetes#134460).
"""

from collections.abc import Iterator
from typing import NamedTuple

from crashloop.checks.checker import Holds, Need, Seen, checker
from crashloop.checks.completeness import address_lost, lacking
from crashloop.checks.finding import Finding, fail, fail_unless
from crashloop.checks.phase import FINAL
from crashloop.checks.readiness import goes_on
from crashloop.history.event import Channel
from crashloop.history.recording import PodHistory, SandboxEvent
from crashloop.history.statuses import INITIALIZED, READY_TO_START, StatusReport
from crashloop.model.gates import is_enabled
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import lost_watch
from crashloop.restarts.lives import leaves_ns, ran
from crashloop.restarts.outages import may_lag_ns
from crashloop.spec.pod import Container, ContainerKind, ProbeKind
from crashloop.spec.profile import RESTART_ALL_GATE
from crashloop.words import at_lines, seconds


class _InitializedDue(NamedTuple):
    """What Initialized is to be, and why: the end of a sentence, and a further line that it rests on."""

    value: bool
    because: str
    lines: tuple[int, ...] = ()


@checker("initialized", Need("statuses", 1, "status", f"with {INITIALIZED}"), watch="a status", once=True)
def check_initialized(case: Case, seen: Seen) -> Iterator[Finding]:
    """Initialized MUST be True once the pod's init containers have succeeded and its sidecars have started, and from then on.

    Beside it, PodScheduled MUST be True, and startTime, and podIP while a container runs, MUST be given: a kubelet states pods
    of its node alone (pkg/kubelet/kubelet_pods.go@v1.37.1 generateAPIPodStatus). Judged of pods that have not ended and that
    nobody deletes; that an address stays is judged to the end.
    """
    after_restart = before = 0
    for pod in case.pods:
        yield from address_lost(case, pod)
        first_true: StatusReport | None = None
        for status in (each for each in pod.statuses if each.initialized is not None and goes_on(each)):
            yield from lacking(case, status)
            due = _initialized_due(case, pod, status, first_true)
            seen["statuses"] += 1
            before += not status.initialized
            after_restart += bool(status.initialized) and any(
                each.restart_count and each.state.kind != "running" for each in status.containers.values()
            )
            if due is not None and due.value is not status.initialized:
                lines = (*due.lines, status.line)
                said = f"a status says that {INITIALIZED} of the pod is {status.initialized} {at_lines(lines)}"
                yield fail(f"{said}; {due.because}.", *lines)
            if status.initialized and first_true is None:
                first_true = status
    seen.facts |= {"after_restart": after_restart, "before": before}


def _initialized_due(
    case: Case, pod: PodHistory, status: StatusReport, first_true: StatusReport | None
) -> _InitializedDue | None:
    """What is due by one status and the first that said True; None: it may be either."""
    containers = case.scenario.pod.containers
    for each in containers:
        report = status.containers.get(each.name)
        if each.kind is ContainerKind.REGULAR and report is not None and report.state.kind != "waiting":
            return _InitializedDue(True, f'"{each.name}" has started')
    inits = [each for each in containers if each.kind is ContainerKind.INIT]
    undone = [each for each in inits if not _is_done(each, status)]
    if not undone and any(each.probe(ProbeKind.STARTUP) for each in inits):
        return None  # between the success of a sidecar's startup probe and the next status that is made it may be False still
    if not undone:
        return _InitializedDue(True, "its init containers are done" if inits else "it has no init containers")
    if first_true is None:
        never = [each for each in undone if _was_never_done(case, pod, each, status)]
        return _InitializedDue(False, f'"{never[0].name}" is not done') if never else None
    return _InitializedDue(True, "it was True before", (first_true.line,)) if _keeps(case, pod, status) else None


def _is_done(container: Container, status: StatusReport) -> bool:
    """Whether an init container has succeeded, or a sidecar has started."""
    report = status.containers.get(container.name)
    return report is not None and (report.started if container.is_sidecar else report.ready)


def _was_never_done(case: Case, pod: PodHistory, container: Container, status: StatusReport) -> bool:
    """Whether ground truth shows that a True which no status has shown could not come before."""
    if case.restarts_all or case.scenario.interventions or len({each.sandbox_id for each in pod.sandboxes}) > 1:
        return False
    if Channel.RUNTIME not in pod.channels or any(case.recording.gaps_of(Channel.RUNTIME, 0, status.t_ns)):
        return False
    instances = ran(pod, container.name)
    if container.is_sidecar:
        return all(each.start_ns is not None and each.start_ns > status.t_ns for each in instances)
    return all(each.exit_code != 0 or (each.exit_ns is not None and each.exit_ns > status.t_ns) for each in instances)


def _keeps(case: Case, pod: PodHistory, status: StatusReport) -> bool:
    """Whether the kubelet of the status keeps a True. Of a static pod it forgets it at its own restart."""
    kubelet = case.in_force_at(status.t_ns)
    return is_enabled(RESTART_ALL_GATE, kubelet.gates, kubelet.version) and not case.later and not pod.mirrors


STATES_AT_ONCE = (1, 36)
"""The first release that states a sandbox at once."""


@checker(
    "ready-to-start", Need("sandboxes", 1, "start", "of a sandbox that was stated"), once=True, holds=Holds.EVERY_POD
)
def check_ready_to_start(case: Case, seen: Seen) -> Iterator[Finding]:
    """PodReadyToStartContainers MUST be True soon after a sandbox of the pod has started, whatever its containers wait for.

    Judged as long as the sandbox lasts, in pods that have not ended and that nobody deletes.
    """
    longest_ns = 0
    for pod in case.pods:
        for sandbox in (each for each in pod.sandboxes if each.phase == "started"):
            from_ns = sandbox.fact.utc_ns
            if from_ns is None or not _states_at_once(case, from_ns):
                continue
            lasts_ns = _lasts_ns(case, pod, sandbox)
            stated = next((each for each in _stated_from(pod, from_ns) if each.ready_to_start), None)
            if stated is not None and stated.t_ns > lasts_ns:
                stated = None
            came_ns = lasts_ns if stated is None else max(from_ns, stated.t_ns)
            latest_ns = may_lag_ns(case, from_ns, came_ns)
            if came_ns - from_ns > latest_ns:
                yield _not_in_time(case, sandbox, stated, came_ns - from_ns, latest_ns)
            elif stated is not None:
                seen["sandboxes"] += 1
                longest_ns = max(longest_ns, came_ns - from_ns)
    seen.facts["longest_s"] = round(longest_ns / 1e9, 3)


def _states_at_once(case: Case, t_ns: int) -> bool:
    """Whether the kubelet of a time says that a sandbox is ready before the sync that has made it is over."""
    version = case.in_force_at(t_ns).version
    own = case.profile_at(t_ns).feature_gates
    return version.release >= STATES_AT_ONCE and is_enabled("PodReadyToStartContainersCondition", own, version)


def _stated_from(pod: PodHistory, t_ns: int) -> tuple[StatusReport, ...]:
    """The status that stands at a time, and those that follow."""
    before = sum(each.t_ns < t_ns for each in pod.statuses)
    return pod.statuses[max(0, before - 1) :]


def _lasts_ns(case: Case, pod: PodHistory, sandbox: SandboxEvent) -> int:
    """Until when a kubelet owes what it says of a sandbox: the end of that, of its pod, or of the recording."""
    gone = (
        each.fact.own_ns
        for each in pod.sandboxes
        if each.sandbox_id == sandbox.sandbox_id and each.phase in ("exited", "removed")
    )
    ended = (each.t_ns for each in pod.statuses if each.phase in FINAL)
    leaves = leaves_ns(case, pod)
    return min([*gone, *ended, *([] if leaves is None else [leaves]), case.recording.end_ns])


def _not_in_time(
    case: Case, sandbox: SandboxEvent, stated: StatusReport | None, waited_ns: int, latest_ns: int
) -> Finding:
    from_ns = sandbox.fact.utc_ns or 0
    lost = lost_watch(case, from_ns, from_ns + waited_ns)
    doubt = f"The watch was lost meanwhile (history line {lost.line})" if lost else None
    lines = sandbox.fact.line, *([] if stated is None else [stated.line])
    took = seconds(waited_ns / 1e9)
    said = f"was said to be True {took} after" if stated else f"was not said to be True for {took} after"
    return fail_unless(
        doubt,
        f"{READY_TO_START} of the pod {said} its sandbox had started {at_lines(lines)}; "
        f"{seconds(latest_ns / 1e9)} was the longest.",
        *lines,
    )
