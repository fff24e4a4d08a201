"""The steps in the life of a pod, from its watch events. Pure."""

import msgspec

NAMED_RESTARTS = 10
"""Restarts with a statistic of their own; later ones share one, so that the statistics stay bounded."""

_MS = 1e6


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    """Empty in a bookmark."""
    resource_version: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str


class _Set(msgspec.Struct, frozen=True):
    """Whether it exists; its value does not matter."""


class _State(msgspec.Struct, frozen=True):
    running: _Set | None = None
    terminated: _Set | None = None


class _Container(msgspec.Struct, frozen=True, rename="camel"):
    restart_count: int = 0
    state: _State = _State()
    last_state: _State = _State()

    @property
    def has_started(self) -> bool:
        now, before = self.state, self.last_state
        return (now.running or now.terminated or before.terminated) is not None or self.restart_count > 0


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    phase: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    conditions: tuple[_Condition, ...] = ()
    container_statuses: tuple[_Container, ...] = ()


class SeenPod(msgspec.Struct, frozen=True):
    """The fields of a watched pod that steps need."""

    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def restarts(self) -> int:
        """Of all containers together."""
        return sum(each.restart_count for each in self.status.container_statuses)

    @property
    def has_started(self) -> bool:
        """Whether every container has started at least once, as the official start-up SLI counts it."""
        return bool(self.status.container_statuses) and all(each.has_started for each in self.status.container_statuses)

    @property
    def address(self) -> str:
        """Empty before its sandbox has one."""
        return self.status.pod_ip

    @property
    def is_ready(self) -> bool:
        return any(each.type == "Ready" and each.status == "True" for each in self.status.conditions)


class Step(msgspec.Struct, frozen=True):
    """A step and its duration in milliseconds: from the request, or for a restart from the previous step."""

    name: str
    took_ms: float


class Steps:
    """Finds the new steps of one pod."""

    def __init__(self, asked_ns: int) -> None:
        self.asked_ns = asked_ns
        self.deleting_ns: int | None = None
        """When its deletion was requested."""
        self.reached: set[str] = set()
        """Steps so far: scheduled, started, ready, completed."""
        self.address = ""
        """Of the pod; it stays when a container is restarted."""
        self._restarts = 0
        self._last_ns = asked_ns

    def take(self, pod: SeenPod, now_ns: int) -> tuple[Step, ...]:
        """The new steps in the present state of the pod."""
        self.address = pod.address or self.address
        steps = [
            self._reach(name, now_ns)
            for name, holds in (
                ("scheduled", bool(pod.spec.node_name)),
                ("started", pod.has_started),
                ("ready", pod.is_ready),
                ("completed", pod.status.phase == "Succeeded"),
            )
            if holds and name not in self.reached
        ]
        for number in range(self._restarts + 1, pod.restarts + 1):
            label = f"restart {number}" if number <= NAMED_RESTARTS else f"restart {NAMED_RESTARTS + 1} and later"
            steps.append(Step(label, (now_ns - self._last_ns) / _MS))
            self._restarts, self._last_ns = number, now_ns
        return tuple(steps)

    def gone(self, now_ns: int) -> Step:
        """The pod is gone: the step, timed from the request for its deletion if there was one."""
        return Step("deleted", (now_ns - (self.deleting_ns or self.asked_ns)) / _MS)

    def _reach(self, name: str, now_ns: int) -> Step:
        self.reached.add(name)
        if name == "started":
            self._last_ns = now_ns
        return Step(name, (now_ns - self.asked_ns) / _MS)
