"""A pod worker: when the kubelet syncs a pod, and how soon it does again.

pkg/kubelet/pod_workers.go completeWork @v1.37.1: after a sync that ended in a backoff the pod is queued for
Jitter(min(remaining, 60 s), 0.5), up to 1.34 for Jitter(10 s, 0.5); the queue is polled once a second. Any event of
the pod causes a sync at once, as soon as the pod cache is newer than the last sync.
"""

from collections.abc import Callable

from crashloop.sim.behaviour import Behaviour, S
from crashloop.sim.environment import World
from crashloop.sim.loop import Steps
from crashloop.sim.pleg import Pleg

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
