"""Checker of containers that run on, whatever becomes of the others of their pod and of their readiness."""

from collections.abc import Iterator

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail_unless
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, ended_by_node, leaves_ns
from crashloop.restarts.lives import ran, was_killed
from crashloop.spec.pod import Container
from crashloop.spec.program import KILLED
from crashloop.words import at_lines


def check_runs_on(case: Case) -> Checked:
    """A container that nobody asks to end MUST run on when another one of its pod exits, or its readiness probe fails.

    Asked to end are those with a liveness or startup probe or a hook, those of a pod with RestartAllContainers or interventions,
    and all of a pod that ends: one that starts no container any more. Needs min_spared (0) exits beside a container that ran on.
    """
    findings: list[Finding] = []
    spared = 0
    judged = not case.scenario.interventions and not case.restarts_all
    for pod in case.pods if judged else ():
        for spec in case.scenario.pod.containers:
            for number, instance in enumerate(ran(pod, spec.name)):
                spared += sum(1 for _ in _exits_beside(case, pod, spec, instance))
                if not spec.killing_probes and not spec.post_start and was_killed(case, spec.name, number, instance):
                    findings += _unasked(case, pod, spec, instance)
    if not findings:
        findings += too_few(case, spared, "min_spared", 0, "exit", "beside a container that ran on")
    return Checked(findings=tuple(findings[:1]), facts={"spared": spared})


def _exits_beside(case: Case, pod: PodHistory, spec: Container, instance: Instance) -> Iterator[Instance]:
    """Exits of other containers while this instance ran."""
    from_ns, to_ns = instance.begun_ns or 0, instance.exit_ns or case.recording.end_ns
    others = (each for other in case.scenario.pod.containers if other is not spec for each in ran(pod, other.name))
    return (each for each in others if each.exit_ns is not None and from_ns < each.exit_ns < to_ns)


def _unasked(case: Case, pod: PodHistory, spec: Container, instance: Instance) -> Iterator[Finding]:
    """An instance that heard SIGTERM, in a pod that went on. A kill for memory is hard, and a lost sandbox takes all along."""
    exited = instance.exit
    if exited is None or exited.utc_ns is None or instance.exit_code == KILLED:
        return
    later = [each for other in case.scenario.pod.containers for each in ran(pod, other.name)]
    starts = [each for each in later if (each.begun_ns or 0) > exited.utc_ns]
    leaves = leaves_ns(case, pod)
    sandboxes = {each.sandbox_id for each in pod.sandboxes}
    if not starts or len(sandboxes) > 1 or ended_by_node(pod) or (leaves is not None and leaves <= exited.utc_ns):
        return
    lines = (exited.line, *starts[0].lines[:1])
    sentence = f'"{spec.name}" was ended, and its pod went on {at_lines(lines)}; nobody had asked for that.'
    blind = blind_spot(case, pod, (), case.recording.begin_ns, exited.utc_ns)
    yield fail_unless(blind and f"A life could have gone unseen: {blind}", sentence, *lines)
