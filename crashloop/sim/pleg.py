"""The pod lifecycle event generator: a relist about once a second fills the pod cache and reports changes.

pkg/kubelet/pleg/generic.go@v1.37.1 (relistPeriod 1 s); pod workers wait for a cache entry newer than their last sync.
"""

from collections.abc import Callable

from crashloop.sim.behaviour import S
from crashloop.sim.environment import World
from crashloop.sim.loop import ignore
from crashloop.sim.pod import InstanceState, SimPod, SimulatedInstance
from crashloop.sim.runtime import Runtime

PERIOD_NS = S
RELIST_MS = (3, 30)
ON_DEMAND_MS = (5, 40)


class Pleg:
    """Relists for one pod, planned only when there is something to see or somebody waits."""

    def __init__(self, world: World, runtime: Runtime, pod: SimPod) -> None:
        self._loop, self._host = world
        self._runtime = runtime
        self._pod = pod
        self._period_ns = PERIOD_NS + self._host.takes_ms(RELIST_MS)
        self._phase_ns = int(self._host.chance.random() * self._period_ns)
        self._planned = False
        self._halted = False
        self._relisted_ns = -1
        self.on_relist: Callable[[bool, list[SimulatedInstance]], None] = ignore
        """Called after each relist: whether anything changed, and which instances were found dead."""

    def cached_ns(self) -> int:
        """When the newest cache entry was taken: a relist with nothing to see comes every second, but is not played."""
        if self._planned:
            return self._relisted_ns
        now = self._loop.now
        return max(self._relisted_ns, now - (now - self._phase_ns) % self._period_ns)

    def plan(self) -> None:
        """Make sure that a relist comes after now."""
        if not self._planned and not self._halted:
            self._relisted_ns = self.cached_ns()
            self._planned = True
            now = self._loop.now
            tick = now + self._period_ns - (now - self._phase_ns) % self._period_ns
            self._loop.at(tick, self._periodic)

    def now(self) -> None:
        """Relist this pod soon (PLEGOnDemandRelist)."""
        if not self._halted:
            self._loop.after(self._host.takes_ms(ON_DEMAND_MS), self._relist)

    def halt(self) -> None:
        self._halted = True

    def _periodic(self) -> None:
        self._planned = False
        self._relist()

    def _relist(self) -> None:
        if self._halted:
            return
        now = self._loop.now
        if now < self._runtime.ready_ns:
            self._planned = True
            self._loop.at(self._runtime.ready_ns, self._periodic)
            return
        changed, died = self.refresh()
        self._relisted_ns = now
        took = self._host.step_ms(self._host.model.relist_ms, now)
        self._loop.at(now + took, lambda: self._report(changed, died))

    def _report(self, changed: bool, died: list[SimulatedInstance]) -> None:
        if not self._halted:
            self.on_relist(changed, died)

    def refresh(self) -> tuple[bool, list[SimulatedInstance]]:
        """Bring the pod cache up to date; whether an instance started or exited since, and those that exited."""
        now, changed, died = self._loop.now, False, []
        for instance in self._pod.instances:
            state = instance.state(now)
            if state is not instance.seen:
                changed |= state > InstanceState.CREATED
                if state is InstanceState.EXITED:
                    instance.exit_seen_ns = now
                    died.append(instance)
                instance.seen = state
        return changed, died
