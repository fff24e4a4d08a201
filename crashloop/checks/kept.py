"""Checkers of what a restart keeps: its pod, sandbox and address, and the logs of what has exited.

Theory of operation. The kubelet keeps the newest exited instance of each container with its log, which `kubectl logs --previous`
shows, whatever ran out of the older ones: pkg/kubelet/kuberuntime/kuberuntime_gc.go and pkg/kubelet/pod_container_deletor.go
@v1.37.1. It names a log by the restartCount of its instance. RestartAllContainers removes the containers and keeps the logs:
pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 SyncPod, removeContainer with keepLogs. What the kubelet removes itself is
left out: an instance that was collected early or before one that never ran, all that a pod has left that its node ends, and the
init containers of a lost sandbox (pkg/kubelet/kuberuntime/kuberuntime_container.go@v1.37.1 purgeInitContainers).
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TypeVar

from crashloop.checks.checker import Holds, Need, Seen, checker, lives
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.history.event import Channel
from crashloop.history.instances import Instance
from crashloop.history.recording import LogFiles, PodHistory
from crashloop.history.statuses import StatusReport
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import ended_by_node, first_gap, unseen_exit
from crashloop.restarts.lives import collected_early, leaves_ns, ran
from crashloop.restarts.restart_all import replacements
from crashloop.spec.intervention import MAKE_ANOTHER_POD, InterventionKind
from crashloop.spec.pod import ContainerKind
from crashloop.words import at_lines, seconds

T = TypeVar("T")


@checker("in-place", Need("restarts", 2, "restart"), "the runtime's events throughout", holds=Holds.ANY_PROGRAM)
def check_in_place(case: Case, seen: Seen) -> Iterator[Finding]:
    """Restarts MUST keep the pod, its startTime, its sandbox and its address; only a controller replaces a pod that has ended.

    Nor MUST a status list its containers in another order: pkg/kubelet/types/types.go@v1.37.1 SortedContainerStatuses.
    """
    seen["restarts"] = sum(each.number > 0 for each in lives(case))
    findings = tuple(_moved(case))
    lost = first_gap(case, Channel.RUNTIME)
    yield from findings
    if findings:
        return
    if any(Channel.RUNTIME not in pod.channels for pod in case.pods):
        yield inconclusive("no runtime evidence, and nothing else shows the sandbox.")
    elif lost is not None:
        said = f"runtime events were lost {at_lines([lost.line])}"
        yield inconclusive(f"{said}, and with them perhaps a sandbox.", lost.line)


def _moved(case: Case) -> Iterator[Finding]:
    """Another pod, sandbox, address or startTime."""
    asked = {each.action for each in case.scenario.interventions}
    if len(case.pods) > 1 and not asked & MAKE_ANOTHER_POD and not case.scenario.replaces_pods:
        other = case.pods[1]
        lines = [fact.line for fact in (other.created,) if fact]
        yield fail(f"a second pod appeared, uid {other.uid} {at_lines(lines)}; one pod was to be kept.", *lines)
    is_lost = InterventionKind.KILL_SANDBOX in asked or any(case.sandbox_kills_ns)
    kept = () if is_lost else case.pods
    for pair in (found for pod in kept for found in _later_sandboxes(pod)):
        yield fail(f"a new sandbox was created {at_lines(pair)}; a restart was to keep the sandbox.", *pair)
    yield from (finding for pod in kept for finding in _other_addresses(case, pod))
    yield from (finding for pod in case.pods for finding in (*_other_start_times(pod), *_other_order(pod)))


def _later_sandboxes(pod: PodHistory) -> list[tuple[int, int]]:
    """Lines of the creation of the sandbox that the first container came into, and of each later one's.

    A sandbox that went before anything ran in it was an attempt to begin, such as one that the network refused.
    """
    created: dict[str, int] = {}
    for each in pod.sandboxes:
        if each.phase in ("created", "started"):
            created.setdefault(each.sandbox_id, each.fact.line)
    began = min((line for each in pod.containers.values() for one in each for line in one.lines), default=None)
    if began is None:
        return []
    before = [line for line in created.values() if line < began]
    later = [line for line in created.values() if line > began]
    first = before[-1] if before else next(iter(later), 0)
    return [(first, line) for line in later if line != first]


def _other_addresses(case: Case, pod: PodHistory) -> Iterator[Finding]:
    """The first status with another address than the one before.

    A kill of the last container to run takes the sandbox along, where rules restart it; the runtime's events alone show that.
    """
    may_end = any(each.rules and each.killing_probes for each in case.scenario.pod.of_kind(ContainerKind.REGULAR))
    unseen = "No event of the runtime shows whether a kill took its sandbox along"
    doubt = unseen if may_end and Channel.RUNTIME not in pod.channels else None
    for before, after, lines in _first_change(pod, lambda status: status.address or None):
        was = f"the pod's address was said to be {after}, and {before} before {at_lines(lines)}"
        yield fail_unless(doubt, f"{was}; a restart was to keep the address.", *lines)


def _other_start_times(pod: PodHistory) -> Iterator[Finding]:
    """The first status with another startTime of the pod than the one before.

    A static pod has that of its mirror pod, and may have another one once that was deleted and has come back.
    """
    if pod.mirrors:
        return
    for before, after, lines in _first_change(pod, lambda status: status.started_ns):
        apart = seconds(abs(after - before) / 1e9)
        yield fail(f"the pod's startTime moved by {apart} {at_lines(lines)}; a restart was to keep it.", *lines)


def _other_order(pod: PodHistory) -> Iterator[Finding]:
    """The first status that lists containers in another order than the one before; one that comes late is not listed yet."""
    for before, after in pairwise(each for each in pod.statuses if each.containers):
        named = [each for each in before.containers if each in after.containers]
        if named != (listed := [each for each in after.containers if each in before.containers]):
            lines = before.line, after.line
            yield fail(
                f"a status lists {', '.join(listed)} {at_lines(lines)}; it was {', '.join(named)} before.", *lines
            )
            return


def _first_change(
    pod: PodHistory, stated: Callable[[StatusReport], T | None]
) -> Iterator[tuple[T, T, tuple[int, int]]]:
    """The first two statements that follow one another and differ, with their lines; None states nothing."""
    statements = [(value, each.line) for each in pod.statuses if (value := stated(each)) is not None]
    for (before, first), (after, second) in pairwise(statements):
        if after != before:
            yield before, after, (first, second)
            return


@checker("logs-kept", Need("replaced", 1, "replaced instance", "in a list of logs", is_shown=False))
def check_logs_kept(case: Case, seen: Seen) -> Iterator[Finding]:
    """RestartAllContainers MUST keep the log of each instance that it replaces."""
    kept: dict[str, int] = {}
    for life in lives(case):
        name, ordinal, listed = life.spec.name, life.instance.ordinal, _last_listed(life.pod)
        reset = replacements(case, life.pod, name).get(ordinal)
        if life.spec.kind is ContainerKind.EPHEMERAL or life.following is None or listed is None:
            continue
        if reset is None or not reset.sure or reset.trigger.latest_ns > listed.t_ns:
            continue
        seen["replaced"] += 1
        kept[name] = kept.get(name, 0) + 1
        if ordinal not in listed.logs.get(name, ()):
            lines = (reset.trigger.exited.line, listed.line)
            gone = f"the log of {life.name} was gone after RestartAllContainers {at_lines(lines)}"
            yield fail(f"{gone}; it was to be kept.", *lines)
    seen.facts["replaced"] = kept


def _last_listed(pod: PodHistory) -> LogFiles | None:
    return pod.log_files[-1] if pod.log_files else None


@checker("previous-log", Need("listed", 1, "restarted container", "in a list of logs", is_shown=False))
def check_previous_log(case: Case, seen: Seen) -> Iterator[Finding]:
    """The log of the instance before MUST be there while a restarted container runs.

    Judged is a container that ran when the logs were listed, and of which the list has the same instances as the recording.
    """
    ordinals: dict[str, int] = {}
    for pod in case.pods:
        listed = _last_listed(pod)
        for name, previous in _instances_before(case, pod, listed) if listed else ():
            assert listed is not None
            seen["listed"] += 1
            ordinals[name] = previous.ordinal
            if previous.ordinal not in listed.logs.get(name, ()):
                lines = (*previous.lines[-1:], listed.line)
                gone = f'the log of instance {previous.ordinal} of "{name}" was gone while its successor ran'
                yield fail(f"{gone} {at_lines(lines)}; it was to be kept.", *lines)
    seen.facts["previous"] = ordinals


def _instances_before(case: Case, pod: PodHistory, listed: LogFiles) -> Iterator[tuple[str, Instance]]:
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
        if _has_newest_log(case, pod, begun[-2], begun[-1], listed, listed.logs.get(spec.name, ())):
            yield spec.name, begun[-2]


def _has_newest_log(
    case: Case, pod: PodHistory, previous: Instance, present: Instance, listed: LogFiles, numbers: tuple[int, ...]
) -> bool:
    """Whether the present instance ran when the logs were listed, followed the previous one, and has the newest log."""
    assert present.start_ns is not None
    exited = present.exit
    ran_on = exited is None or (exited.utc_ns or 0) > listed.t_ns
    is_seen = unseen_exit(case, pod, previous.begun_ns or present.start_ns, listed.t_ns) is None
    is_counted = not numbers or max(numbers) == present.ordinal
    return ran_on and is_seen and is_counted and previous.ordinal + 1 == present.ordinal


def _keeps_sandbox(case: Case, pod: PodHistory, previous: Instance, listed: LogFiles) -> bool:
    """Whether the pod was seen to keep its sandbox from the previous instance on."""
    begun_ns = previous.begun_ns or 0
    made = (each.fact.utc_ns or 0 for each in pod.sandboxes if each.phase == "created")
    return max(made, default=0) <= begun_ns and not any(case.recording.gaps_of(Channel.RUNTIME, begun_ns, listed.t_ns))
