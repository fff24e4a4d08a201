"""How a pod ends: its containers get their signals, regular ones before sidecars, and its last status says how they ended.

pkg/kubelet/kubelet.go SyncTerminatingPod, SyncTerminatedPod and pkg/kubelet/kuberuntime/kuberuntime_termination_order.go
newTerminationOrdering @v1.37.1: sidecars come last, one after the other.
"""

from collections.abc import Callable

import msgspec

from crashloop.spec.pod import Container, RestartPolicy
from sim.behaviour import S
from sim.host import Steps, World
from sim.instance import PodView, SimulatedInstance
from sim.pod_worker import Worker
from sim.prober import Prober
from sim.runtime import Runtime
from sim.statements import Statements
from sim.status_manager import StatusWriter

LOOK_NS = S // 20


def as_hooked(container: Container, instance: SimulatedInstance, runs_hooks: str, *, at_end: bool) -> Container:
    """The container as it is ended: a faulty kubelet leaves its preStop hook out."""
    left_out = {"not after a failure": not at_end, "not at the end": at_end, "in the first life": instance.number > 0}
    return msgspec.structs.replace(container, pre_stop_s=0) if left_out.get(runs_hooks) else container


class PodEnd:
    """Ends one pod: because it is done, past its deadline, without a sandbox, or deleted."""

    def __init__(
        self,
        world: World,
        runtime: Runtime,
        worker: Worker,
        prober: Prober,
        statements: Statements,
        writer: StatusWriter,
        start: Callable[[Container], Steps],
    ) -> None:
        """`start` starts a container, which only a faulty kubelet does while its pod ends."""
        self._loop = world.loop
        self._runtime = runtime
        self._pod = statements.pod
        self._behaviour = statements.policies.behaviour
        self._worker = worker
        self._prober = prober
        self._statements = statements
        self._writer = writer
        self._start = start

    def kill_all(self) -> Steps:
        """End what runs, sidecars after the others, and the last of them first."""
        pod, how = self._pod, self._behaviour.ends_sidecars
        alive = [(pod.spec.container(each.name), each) for each in pod.alive()]
        hurried = pod.is_static and self._behaviour.edited_static == "without grace"
        graces = [
            (
                as_hooked(container, each, self._behaviour.runs_hooks, at_end=True),
                each,
                1 if hurried else self._prober.grace_s(container),
            )
            for container, each in alive
        ]
        regular = [each for each in graces if not each[0].is_sidecar]
        sidecars = [each for each in graces if each[0].is_sidecar][:: 1 if how == "as declared" else -1]
        if how == "beside others":
            for each in sidecars:
                self._loop.spawn(self._runtime.kill(pod, *each))
        for group in (
            [[each] for each in sidecars] + [regular] if how == "first" else [regular, *([each] for each in sidecars)]
        ):
            yield from self._runtime.end(pod, [each for each in group if each[1].exited_ns is None])

    def terminate(self) -> Steps:
        """The pod is done: stop what still runs, say how it ended, give the sandbox back."""
        yield from self.kill_all()
        self._worker.refresh()
        self._writer.state(self._statements.status(PodView(self._pod.instances))[0])
        yield from self._runtime.stop_sandbox(self._pod)
        self._writer.has_stopped = True
        self._worker.halt()
        self._worker.completed(failed=False)

    def delete(self, delay_ns: Callable[[], int]) -> Steps:
        """The pod was deleted: stop everything, say how it ended, and remove it. `delay_ns`: what is left of its delays."""
        pod, behaviour = self._pod, self._behaviour
        self._prober.terminates = True
        self._worker.halt()
        while self._worker.busy and (behaviour.deletion_awaits_volumes or not pod.awaits_volumes):
            yield LOOK_NS
        if behaviour.deletion_awaits_delay:
            yield delay_ns()
        if not behaviour.signals_waiting_sidecars and any(
            each.is_sidecar and each.name not in pod.numbers for each in pod.inits
        ):
            yield pod.spec.grace_s * S
        self._loop.spawn(self._restart_while_ending())
        yield from self.kill_all()
        if behaviour.ending_restarts != "nothing":
            yield from self._runtime.end(pod, [(pod.spec.container(each.name), each, 1) for each in pod.alive()])
        if behaviour.restarts_deleted:
            yield from self._start(pod.regulars[0])
            yield from self.kill_all()
        self._worker.refresh()
        final = self._statements.final(PodView(pod.instances))
        if final is not None and behaviour.generation_named == "none at the end":
            final.pop("observedGeneration", None)
        if final is not None:
            self._writer.state(final)
        while self._writer.is_busy:
            yield LOOK_NS
        self._writer.close()
        for instance in list(pod.instances):
            self._runtime.remove(pod, instance)
        yield from self._runtime.stop_sandbox(pod, remove=True)

    def _restart_while_ending(self) -> Steps:
        """A faulty kubelet starts again, once, what exits by itself while its pod ends."""
        pod = self._pod
        chosen = {
            "sidecars": [each for each in pod.inits if each.is_sidecar],
            "regular": [each for each in pod.regulars if each.restart_policy is RestartPolicy.ALWAYS],
            "ruled": [each for each in pod.regulars if each.rules],
        }.get(self._behaviour.ending_restarts, [])
        while chosen and pod.alive():
            for container in [each for each in chosen if not any(one.name == each.name for one in pod.alive())]:
                chosen.remove(container)
                yield from self._start(container)
            yield LOOK_NS
