"""The active deadline of a pod: pkg/kubelet/active_deadline.go@v1.37.1; looked at once a second by the kubelet's loop."""

from collections.abc import Callable

from crashloop.sim.behaviour import Behaviour, S
from crashloop.sim.environment import World
from crashloop.sim.pod import SimPod

TICK_MS = (0, 1_000)
LATE_NS = 20 * S


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
        wait_ns = {"halved": deadline_ns // 2, "late": deadline_ns + LATE_NS}.get(self._kind, deadline_ns)
        self._loop.at(since_ns + wait_ns + self._host.takes_ms(TICK_MS), lambda: self._pass(since_ns))

    def _pass(self, since_ns: int) -> None:
        newest_ns = max((each.started_ns or 0 for each in self._pod.instances), default=0)
        if self._kind == "since each start" and newest_ns > since_ns:
            self._await(newest_ns)
            return
        self.passed = True
        self._wake()
