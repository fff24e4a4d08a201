"""Checker of the log of the instance before the one that runs, which `kubectl logs --previous` shows.

Theory of operation. The kubelet keeps the newest exited instance of each container with its log:
pkg/kubelet/kuberuntime/kuberuntime_gc.go@v1.37.1. It names a log by the restartCount of its instance.
"""

from collections.abc import Iterator

from crashloop.checks.case import Case
from crashloop.checks.collected_early import collected_early
from crashloop.checks.evidence import why_it_ended
from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.checks.restart_all_triggers import ran
from crashloop.checks.text import at_lines
from crashloop.history.event import Channel
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.spec.pod import ContainerKind


def check_previous_log(case: Case) -> Checked:
    """The log of the instance before MUST be there while a restarted container runs.

    Needs a list of the pod's logs, made while a restarted container ran.
    """
    findings: list[Finding] = []
    seen: dict[str, int] = {}
    for pod in case.pods:
        for name, previous in _previous(case, pod):
            listed = pod.log_files[-1]
            seen[name] = previous.ordinal
            if previous.ordinal not in listed.logs.get(name, ()):
                lines = (*previous.lines[-1:], listed.line)
                gone = f'the log of instance {previous.ordinal} of "{name}" was gone while its successor ran'
                findings.append(fail(f"{gone} {at_lines(lines)}; it was to be kept.", *lines))
    if not findings and not seen:
        findings.append(inconclusive(f"no list of logs shows a container after a restart: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts={"previous": seen})


def _previous(case: Case, pod: PodHistory) -> Iterator[tuple[str, Instance]]:
    """The instance before the one that is known to have run when the logs were listed, by container.

    Without one that was collected early: its log goes with it.
    """
    listed_ns = pod.log_files[-1].t_ns if pod.log_files else 0
    for spec in case.scenario.pod.containers:
        instances = ran(pod, spec.name)
        if spec.kind is ContainerKind.EPHEMERAL or len(instances) < 2:
            continue
        previous, present = instances[-2:]
        started_ns, exited = present.start_ns or listed_ns, present.exit
        ran_on = exited is None or (exited.utc_ns or 0) > listed_ns
        is_seen = not any(case.recording.gaps_of(Channel.RUNTIME, started_ns, listed_ns))
        if started_ns < listed_ns and ran_on and is_seen and previous.ordinal not in collected_early(instances):
            yield spec.name, previous
