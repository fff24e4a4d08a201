"""When the one worker of a pod was busy: everything else of the pod waits for it.

Theory of operation. A sync ends, makes and starts one after the other (pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.1
SyncPod). What it starts is measured: from the runtime's create to the start, or to the end of what its hook has killed. What it
ends is planned: a preStop hook takes its time, and what ignores SIGTERM its grace period. While the scenario has taken the
runtime away it can do neither.
"""

from collections.abc import Iterator

from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import joined, overlap_ns
from crashloop.model.planned_exit import longest_ending_s
from crashloop.restarts.answers import fatal
from crashloop.restarts.case import Case
from crashloop.restarts.lives import ran, was_failing, was_killed
from crashloop.restarts.outages import back_ns
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container
from crashloop.spec.program import LifeEnd

SANDBOX_ANEW_NS = 5_000_000_000
"""From the end of a sandbox to the creation of the next: a relist, a sync, the usual grace period, and the end of its network."""
RUNTIME_BACK_NS = 6_000_000_000
"""From the start of a runtime to the kubelet's first sync of its pods: it looks every 5 s at most (pkg/kubelet/kubelet.go@v1.37.1
syncLoop)."""

_Span = tuple[int | None, int | None]
"""From and until, UTC; None where that was not seen."""


def busy_s(case: Case, pod: PodHistory, window_ns: tuple[int, int], *, but_for: str) -> float:
    """For how long in that window (UTC) the worker was at the pod's sandbox, its runtime, or a container but this one."""
    spans = [
        each
        for spec in case.scenario.pod.containers
        if spec.name != but_for
        for number, instance in enumerate(ran(pod, spec.name))
        for each in (_starting(spec, number, instance), _ending(case, spec, number, instance))
    ]
    spans += (*_sandboxes(pod, window_ns[1]), *_without_runtime(case))
    seen = ((begun_ns, done_ns) for begun_ns, done_ns in spans if begun_ns is not None and done_ns is not None)
    return overlap_ns(joined(seen), *window_ns) / 1e9


def _starting(spec: Container, number: int, instance: Instance) -> _Span:
    planned = spec.program.life(number)
    by_hook = planned is not None and planned.end is LifeEnd.HOOK
    created, done = instance.created, instance.exited if instance.was_refused or by_hook else instance.started
    return (None, None) if created is None or done is None else (created.utc_ns, done.utc_ns)


def _ending(case: Case, spec: Container, number: int, instance: Instance) -> _Span:
    """The end of an instance by the kubelet, which is only expected of what a probe, a change or RestartAllContainers may end."""
    longest_ns = round(longest_ending_s(case.scenario.pod, spec) * 1e9)
    if instance.exit is None:  # unseen, as SIGKILL's is without runtime events: what a probe decided is ended at once
        decided = (fatal(instance, probe) for probe in spec.killing_probes)
        decided_ns = min((each.had_ns for each in decided if each is not None), default=None)
        return decided_ns, decided_ns and decided_ns + longest_ns
    is_due = spec.killing_probes or case.is_changed(spec.name) or case.restarts_all
    # One that a probe had failed may also end by itself while the kubelet ends it.
    ends = was_killed(case, spec.name, number, instance) or was_failing(case, spec, number, instance)
    if instance.exit_ns is None or not is_due or not ends:
        return None, None
    return instance.exit_ns - longest_ns, instance.exit_ns


def _sandboxes(pod: PodHistory, until_ns: int) -> Iterator[_Span]:
    """From the creation of each sandbox to its start, and from the end of one towards the next: what still runs is ended."""
    phases = {(each.sandbox_id, each.phase): each.fact.utc_ns for each in pod.sandboxes}
    made_ns = [at_ns for (_, phase), at_ns in phases.items() if phase == "created" and at_ns is not None]
    for (one, phase), at_ns in phases.items():
        if phase == "created":
            yield at_ns, phases.get((one, "started"))
        elif phase == "exited" and at_ns is not None:
            yield at_ns, min((*(each for each in made_ns if each > at_ns), until_ns, at_ns + SANDBOX_ANEW_NS))


def _without_runtime(case: Case) -> Iterator[_Span]:
    for each in case.recording.interventions:
        if each.data.action == InterventionKind.RESTART_RUNTIME:
            yield each.t_ns, back_ns(each) + RUNTIME_BACK_NS
