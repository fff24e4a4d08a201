"""Checker of the logs of the instances that RestartAllContainers has removed.

Theory of operation. A restart removes the log of an exited instance with its container. RestartAllContainers removes the
containers and keeps the logs: pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1 SyncPod, removeContainer with keepLogs. The
kubelet names a log by the restartCount of its instance.
"""

from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import why_it_ended
from crashloop.restarts.lives import ran
from crashloop.restarts.restart_all import replacements
from crashloop.spec.pod import ContainerKind
from crashloop.words import at_lines


def check_logs_kept(case: Case) -> Checked:
    """RestartAllContainers MUST keep the log of each instance that it replaces.

    Needs a list of the pod's logs after it, and a replaced instance.
    """
    findings: list[Finding] = []
    kept: dict[str, int] = {}
    for spec in (each for each in case.scenario.pod.containers if each.kind is not ContainerKind.EPHEMERAL):
        for pod in case.pods:
            listed = pod.log_files[-1] if pod.log_files else None
            replaced = replacements(case, pod, spec.name)
            for instance in ran(pod, spec.name)[:-1]:
                reset = replaced.get(instance.ordinal)
                if listed is None or reset is None or not reset.sure or reset.trigger.latest_ns > listed.t_ns:
                    continue
                kept[spec.name] = kept.get(spec.name, 0) + 1
                if instance.ordinal not in listed.logs.get(spec.name, ()):
                    lines = (reset.trigger.exited.line, listed.line)
                    gone = (
                        f'the log of instance {instance.ordinal} of "{spec.name}" was gone after RestartAllContainers'
                    )
                    findings.append(fail(f"{gone} {at_lines(lines)}; it was to be kept.", *lines))
    if not findings and not kept:
        findings.append(inconclusive(f"no list of logs shows an instance that was replaced: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts={"replaced": kept})
