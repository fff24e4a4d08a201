"""Liveness and startup probes, reduced to the times at which they change the kubelet's actions."""

from collections.abc import Callable

from crashloop.sim.behaviour import Behaviour
from crashloop.sim.environment import World
from crashloop.sim.pod import SimulatedInstance
from crashloop.sim.pod_actions import Probed
from crashloop.spec.scenario import Container, Probe, ProbeKind

EXEC_MS = (15, 120)


class Prober:
    """The probe workers of one pod. A worker ticks with its period over all instances of its container."""

    def __init__(self, world: World, behaviour: Behaviour, wake: Callable[[], None]) -> None:
        self._loop, self._host = world
        self._behaviour = behaviour
        self._wake = wake
        self._phases: dict[str, int] = {}
        self.probed = Probed()

    def watch(self, container: Container, instance: SimulatedInstance) -> None:
        """Probe an instance from now on."""
        probe = container.probe
        if probe is None or not self._behaviour.heeds_probes:
            return
        first = self._tick(container.name, probe, self._loop.now)
        fails_from = self._tick(container.name, probe, self._loop.now + int(probe.fails_after_s * 1e9))
        if probe.kind is ProbeKind.STARTUP and first < fails_from:
            self._loop.at(first + self._host.takes_ms(EXEC_MS), lambda: self._succeed(instance))
            return
        failures = probe.failure_threshold + self._behaviour.extra_failures
        failed_ns = fails_from + (failures - 1) * _period_ns(probe)
        self._loop.at(failed_ns + self._host.takes_ms(EXEC_MS), lambda: self._fail(instance))

    def ended(self, container: Container) -> None:
        """An instance exited: its worker says so at its next tick."""
        if container.probe is not None:
            self._loop.at(self._tick(container.name, container.probe, self._loop.now), self._wake)

    def _tick(self, name: str, probe: Probe, after_ns: int) -> int:
        period = _period_ns(probe)
        phase = self._phases.setdefault(name, int(self._host.chance.random() * period))
        return after_ns + period - (after_ns - phase) % period

    def _succeed(self, instance: SimulatedInstance) -> None:
        if instance.exited_ns is None:
            self.probed.started.add(instance.container_id)
            self._wake()

    def _fail(self, instance: SimulatedInstance) -> None:
        if instance.exited_ns is None:
            self.probed.failed.add(instance.container_id)
            self._wake()


def _period_ns(probe: Probe) -> int:
    return probe.period_s * 1_000_000_000
