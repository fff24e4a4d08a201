"""Checker of the log of the instance before the one that runs, which `kubectl logs --previous` shows.

Theory of operation. The kubelet keeps the newest exited instance of each container with its log, whatever ran out of the older
ones: pkg/kubelet/kuberuntime/kuberuntime_gc.go and pkg/kubelet/pod_container_deletor.go @v1.37.1. It names a log by the
restartCount of its instance. The log of an instance that RestartAllContainers has replaced stays as well. What it removes itself
is left out: an instance that was collected early or before one that never ran, all that a pod has left that its node ends, and
the init containers of a lost sandbox (pkg/kubelet/kuberuntime/kuberuntime_container.go@v1.37.1 purgeInitContainers).
"""

from collections.abc import Iterator

from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.history.event import Channel
from crashloop.history.instances import Instance
from crashloop.history.recording import LogFiles, PodHistory
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import ended_by_node, leaves_ns, why_it_ended
from crashloop.restarts.lives import collected_early, ran
from crashloop.spec.pod import ContainerKind
from crashloop.words import at_lines


def check_previous_log(case: Case) -> Checked:
    """The log of the instance before MUST be there while a restarted container runs.

    Needs a list of the pod's logs, made while a restarted container ran, and of it the same instances as the recording.
    """
    findings: list[Finding] = []
    seen: dict[str, int] = {}
    for pod in case.pods:
        listed = pod.log_files[-1] if pod.log_files else None
        for name, previous in _previous(case, pod, listed) if listed else ():
            assert listed is not None
            seen[name] = previous.ordinal
            if previous.ordinal not in listed.logs.get(name, ()):
                lines = (*previous.lines[-1:], listed.line)
                gone = f'the log of instance {previous.ordinal} of "{name}" was gone while its successor ran'
                findings.append(fail(f"{gone} {at_lines(lines)}; it was to be kept.", *lines))
    if not findings and not seen:
        findings.append(inconclusive(f"no list of logs shows a container after a restart: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts={"previous": seen})


def _previous(case: Case, pod: PodHistory, listed: LogFiles) -> Iterator[tuple[str, Instance]]:
    """The instance before the one that is known to have run when the logs were listed, by container."""
    leaves = leaves_ns(case, pod)
    if ended_by_node(pod) is not None or (leaves is not None and leaves <= listed.t_ns):
        return
    for spec in case.scenario.pod.containers:
        instances = () if spec.kind is ContainerKind.EPHEMERAL else ran(pod, spec.name)
        begun = [each for each in instances if each.start_ns is not None and each.start_ns < listed.t_ns]
        if len(begun) < 2 or begun[-2].ordinal in collected_early(instances):
            continue
        if spec.kind is ContainerKind.INIT and not _keeps_sandbox(case, pod, begun[-2], listed):
            continue
        if _is_judged(case, begun[-2], begun[-1], listed, listed.logs.get(spec.name, ())):
            yield spec.name, begun[-2]


def _is_judged(case: Case, previous: Instance, present: Instance, listed: LogFiles, numbers: tuple[int, ...]) -> bool:
    """Whether the present instance ran when the logs were listed, followed the previous one, and has the newest log."""
    assert present.start_ns is not None
    exited = present.exit
    ran_on = exited is None or (exited.utc_ns or 0) > listed.t_ns
    is_seen = not any(case.recording.gaps_of(Channel.RUNTIME, present.start_ns, listed.t_ns))
    is_counted = not numbers or max(numbers) == present.ordinal
    return ran_on and is_seen and is_counted and previous.ordinal + 1 == present.ordinal


def _keeps_sandbox(case: Case, pod: PodHistory, previous: Instance, listed: LogFiles) -> bool:
    """Whether the pod was seen to keep its sandbox from the previous instance on."""
    begun_ns = previous.begun_ns or 0
    made = (each.fact.utc_ns or 0 for each in pod.sandboxes if each.phase == "created")
    return max(made, default=0) <= begun_ns and not any(case.recording.gaps_of(Channel.RUNTIME, begun_ns, listed.t_ns))
