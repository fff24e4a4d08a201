"""The simulated recorder's other half: creates the pod, intervenes as planned, pokes, and knows when it has seen enough."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from crashloop.history.event import Channel, Kind
from crashloop.sim.behaviour import S
from crashloop.sim.host import MS
from crashloop.sim.kubelet import Kubelet
from crashloop.sim.manifest import manifest
from crashloop.sim.pod import Instance, SimPod
from crashloop.sim.runtime import Runtime
from crashloop.sim.status_writer import StatusWriter
from crashloop.sim.world import World
from crashloop.spec.scenario import Intervention, InterventionKind, Mode, PodScenario

POKE_NS = S
REQUEST_MS = (5, 40)
NOTICE_NS = 10 * MS
RUNTIME_DOWN_MS = (400, 1_500)


class Director:
    """Carries out one scenario."""

    def __init__(self, scenario: PodScenario, world: World, runtime: Runtime, kubelet: Kubelet) -> None:
        self.scenario = scenario
        self.world = world
        self.loop, self.host, self.tape = world
        self.runtime = runtime
        self.kubelet = kubelet
        self.complete = False
        self.pod = self._create()
        self._created_ns = self.loop.now
        self._phase: str | None = None
        self._done: set[int] = set()
        self._pokes_ns: list[int] = []
        runtime.on_exit = self._exited
        self.loop.after(int(scenario.until.at_least_s * 1e9), self._check)
        for index, each in enumerate(scenario.interventions):
            if each.trigger.after_restart is None:
                self._plan(index, each)
        if scenario.mode is Mode.ANNOTATED:
            self.loop.after(POKE_NS, self._poke)

    def _create(self) -> SimPod:
        uid = str(self._uuid())
        pod = SimPod(self.scenario.name, uid, self.scenario.pod, self.loop.now)
        writer = StatusWriter(self.world, uid)
        writer.on_delivery = self._phase_seen
        self.tape.api(self.loop.now, Kind.CREATED, {"pod": manifest(pod)}, uid)
        self.loop.after(self.host.takes_ms(REQUEST_MS), lambda: self.kubelet.admit(pod, writer))
        return pod

    def _uuid(self) -> str:
        text = f"{self.host.chance.getrandbits(128):032x}"
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"

    def _exited(self, pod: SimPod, instance: Instance) -> None:
        self.kubelet.exited(pod, instance)
        if pod is not self.pod:
            return
        for index, each in enumerate(self.scenario.interventions):
            trigger = each.trigger
            if trigger.container == instance.name and trigger.after_restart == instance.ordinal:
                self._plan(index, each)
        self.loop.after(NOTICE_NS, self._check)

    def _plan(self, index: int, intervention: Intervention) -> None:
        if index not in self._done:
            self._done.add(index)
            delay_ns = int(intervention.trigger.after_s * 1e9) + NOTICE_NS
            self.loop.after(delay_ns, lambda: self._intervene(index, intervention))

    def _intervene(self, index: int, intervention: Intervention) -> None:
        arguments = intervention.arguments
        carry_out: dict[InterventionKind, Callable[[dict[str, Any]], None]] = {
            InterventionKind.ANNOTATE: self._update,
            InterventionKind.CHANGE_IMAGE: self._change_image,
            InterventionKind.RESIZE: self._resize,
            InterventionKind.RECREATE_POD: self._recreate,
            InterventionKind.RESTART_KUBELET: self._restart_kubelet,
            InterventionKind.KILL_KUBELET: self._restart_kubelet,
            InterventionKind.RESTART_RUNTIME: self._restart_runtime,
        }
        carry_out[intervention.action](arguments)
        ended_ns = self.loop.now + self.host.takes_ms(REQUEST_MS)
        self.tape.intervened(self.loop.now, intervention.action.value, arguments, index, ended_ns)

    def _poke(self) -> None:
        """Patch an annotation, as every second in the mode annotated; the first is written down at once."""
        self._update({})
        if not self._pokes_ns:
            self._write_poke(self.loop.now)
        self._pokes_ns.append(self.loop.now)
        self.loop.after(POKE_NS, self._poke)

    def finish(self) -> None:
        """The recording ends: write the last poke down, with what became of all."""
        pokes_ns = self._pokes_ns
        if pokes_ns:
            longest_ns = max((after - before for before, after in pairwise(pokes_ns)), default=0)
            self._write_poke(pokes_ns[-1], count=len(pokes_ns), longest_ns=longest_ns)

    def _write_poke(self, t_ns: int, **more: int) -> None:
        self.tape.intervened(t_ns, InterventionKind.ANNOTATE.value, {}, None, t_ns, **more)

    def _update(self, arguments: dict[str, Any]) -> None:  # noqa: ARG002 (an annotation has no arguments)
        pod = self.pod
        self.loop.after(self.host.takes_ms(REQUEST_MS), lambda: self.kubelet.updated(pod))

    def _change_image(self, arguments: dict[str, Any]) -> None:
        self.pod.images[arguments["container"]] = arguments["image"]
        self._update(arguments)

    def _resize(self, arguments: dict[str, Any]) -> None:
        self.pod.resources[arguments["container"]] = f"cpu={arguments['cpu']}"
        self._update(arguments)

    def _recreate(self, arguments: dict[str, Any]) -> None:  # noqa: ARG002 (the same pod again)
        old = self.pod
        self.loop.spawn(self.kubelet.delete(old).delete(), lambda: self._replace(old))

    def _replace(self, old: SimPod) -> None:
        self.tape.api(self.loop.now, Kind.DELETED, {"resource_version": "9999"}, old.uid)
        self.pod = self._create()

    def _restart_kubelet(self, arguments: dict[str, Any]) -> None:
        self.kubelet.restart(int(float(arguments.get("down_s", 0.0)) * 1e9))

    def _restart_runtime(self, arguments: dict[str, Any]) -> None:  # noqa: ARG002 (there is one runtime a node)
        down_ns = self.host.takes_ms(RUNTIME_DOWN_MS)
        self.runtime.restart(down_ns)
        self.tape.gap(Channel.RUNTIME, self.loop.now, self.loop.now + down_ns, "container runtime restarted")

    def _phase_seen(self, phase: str) -> None:
        self._phase = phase
        self._check()

    def _check(self) -> None:
        """Whether the evidence that the scenario asks for is there."""
        until = self.scenario.until
        if self.complete or self.loop.now - self._created_ns < int(until.at_least_s * 1e9):
            return
        enough = (
            all(self.pod.lives.get(name, 0) > restarts for name, restarts in until.restarts.items())
            and all(self._exits(name) >= exits for name, exits in until.exits.items())
            and (until.phase is None or self._phase == until.phase)
        )
        if enough:
            self.complete = True
            least, most = self.host.model.settle_s
            self.loop.after(int((least + (most - least) * self.host.chance.random()) * S), self.loop.stop)

    def _exits(self, name: str) -> int:
        """How often the container has exited."""
        alive = sum(1 for each in self.pod.instances if each.name == name and each.exited_ns is None)
        return self.pod.made.get(name, 0) - alive
