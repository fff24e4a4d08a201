"""When the kubelet syncs a pod, and how soon it does again: relists of the pod cache, the pod's worker, its active deadline.

The pod lifecycle event generator: a relist about once a second fills the pod cache and reports changes.
pkg/kubelet/pleg/generic.go@v1.37.1 (relistPeriod 1 s); pod workers wait for a cache entry newer than their last sync.

The worker: pkg/kubelet/pod_workers.go completeWork @v1.37.1: after a sync that ended in a backoff the pod is queued for
Jitter(min(remaining, 60 s), 0.5), up to 1.34 for Jitter(10 s, 0.5); the queue is polled once a second. Any event of
the pod causes a sync at once, as soon as the pod cache is newer than the last sync.

The deadline: pkg/kubelet/active_deadline.go@v1.37.1; looked at once a second by the kubelet's loop.
"""

from collections.abc import Callable

from sim.behaviour import Behaviour, S
from sim.host import Steps, World, ignore
from sim.instance import InstanceState, SimulatedInstance
from sim.pod import SimPod
from sim.runtime import Runtime

RELIST_PERIOD_NS = S
RELIST_MS = (3, 30)
ON_DEMAND_MS = (5, 40)


class Pleg:
    """Relists for one pod, planned only when there is something to see or somebody waits."""

    def __init__(self, world: World, runtime: Runtime, pod: SimPod) -> None:
        self._loop, self._host = world
        self._runtime = runtime
        self._pod = pod
        self._period_ns = RELIST_PERIOD_NS + self._host.takes_ms(RELIST_MS)
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


RESYNC_NS = 60 * S
RETRY_NS = 10 * S
JITTER = 0.5
TICK_NS = S
FIRST_WITH_REMAINING = (1, 35)
SLOW_RETRY = 3


class Worker:
    """The queue entry of one pod."""

    def __init__(
        self, world: World, pleg: Pleg, behaviour: Behaviour, release: tuple[int, int], tick_phase_ns: int
    ) -> None:
        self._loop, self._host = world
        self._pleg = pleg
        self._behaviour = behaviour
        self._release = release
        self._tick_phase_ns = tick_phase_ns
        self._queued = 0
        self._waits_for_cache = False
        self._pending = False
        self._synced_ns = -1
        self.busy = False
        self.halted = False
        self.sync: Callable[[], Steps] = lambda: iter(())
        """One pod sync, to be set by the owner; it calls `completed` when it ends."""

    def wake(self) -> None:
        """Look at the pod as soon as possible."""
        if self.halted:
            return
        if self.busy:
            self._pending = True
        elif self._pleg.cached_ns() > self._synced_ns or self._synced_ns < 0:
            self._begin()
        else:
            self._waits_for_cache = True
            self._pleg.plan()

    def relisted(self, changed: bool) -> None:
        """The pod cache is newer now."""
        if changed or self._waits_for_cache:
            self.wake()

    def completed(
        self, *, failed: bool, held_ns: int | None = None, retry_ns: int | None = None, acted: bool = False
    ) -> None:
        """Plan the next look: after an error of which the shortest backoff still lasts `held_ns`, or after success.

        `retry_ns`: when a faulty kubelet looks again.
        """
        self.busy = False
        self._synced_ns = self._loop.now
        if self.halted:
            return
        self._queue(retry_ns or self._delay_ns(failed, held_ns), prompt=self._behaviour.prompt and held_ns is not None)
        if acted and self._release >= (1, 36):
            self._pleg.now()
        if self._pending:
            self._pending = False
            self.wake()

    def refresh(self) -> None:
        """Bring the pod cache up to date, at the end of the pod."""
        self._pleg.refresh()

    def halt(self) -> None:
        """The kubelet goes, or the pod is done: no further look."""
        self.halted = True
        self._pleg.halt()

    def _begin(self) -> None:
        self.busy = True
        self._waits_for_cache = False
        self._queued += 1
        self._loop.spawn(self.sync())

    def _delay_ns(self, failed: bool, held_ns: int | None) -> int:
        if not failed:
            return self._jittered(RESYNC_NS)
        often_ns = self._behaviour.looks_every_ns
        if often_ns is not None and (held_ns or RETRY_NS) > self._behaviour.looks_often_above_ns:
            return often_ns if held_ns is None else min(often_ns, held_ns)
        if self._release < FIRST_WITH_REMAINING or held_ns is None or self._behaviour.fixed_retry:
            return self._jittered(RETRY_NS)
        slow_above_ns = self._behaviour.slow_retry_above_ns
        if slow_above_ns is not None and held_ns > slow_above_ns:
            return SLOW_RETRY * held_ns
        remaining = max(0, min(held_ns, RESYNC_NS))
        return remaining if self._behaviour.prompt else self._jittered(remaining)

    def _jittered(self, delay_ns: int) -> int:
        return int(delay_ns * (1 + JITTER * self._host.chance.random()))

    def _queue(self, delay_ns: int, *, prompt: bool) -> None:
        self._queued += 1
        ticket = self._queued
        due = self._loop.now + delay_ns
        polled = due if prompt else due + TICK_NS - (due - self._tick_phase_ns) % TICK_NS
        self._loop.at(polled, lambda: self._due(ticket))

    def _due(self, ticket: int) -> None:
        if ticket == self._queued:
            self.wake()


DEADLINE_TICK_MS = (0, 1_000)
DEADLINE_LATE_NS = 20 * S


class ActiveDeadline:
    """Says when a pod has been active for too long."""

    def __init__(self, world: World, behaviour: Behaviour, pod: SimPod, *, wake: Callable[[], None]) -> None:
        self._loop, self._host = world
        self._kind = behaviour.deadline
        self._pod = pod
        self._wake = wake
        self.passed = False
        if pod.spec.active_deadline_s is not None and self._kind != "ignored":
            self._await(pod.taken_ns)

    def _await(self, since_ns: int) -> None:
        deadline_ns = (self._pod.spec.active_deadline_s or 0) * S
        wait_ns = {"halved": deadline_ns // 2, "late": deadline_ns + DEADLINE_LATE_NS}.get(self._kind, deadline_ns)
        self._loop.at(since_ns + wait_ns + self._host.takes_ms(DEADLINE_TICK_MS), lambda: self._pass(since_ns))

    def _pass(self, since_ns: int) -> None:
        newest_ns = max((each.started_ns or 0 for each in self._pod.instances), default=0)
        if self._kind == "since each start" and newest_ns > since_ns:
            self._await(newest_ns)
            return
        self.passed = True
        self._wake()
