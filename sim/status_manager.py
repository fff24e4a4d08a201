"""The kubelet's status manager and the API server behind it: statements reach the watch, the latest wins.

While a node has no connection to its control plane, nothing is stated, and nothing of the API is heard.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from crashloop.history.event import Channel, Kind
from sim.behaviour import Behaviour
from sim.host import Action, World, ignore
from sim.instance import PodView
from sim.pod import SimPod, stamp
from sim.pod_status import ONCE_ENDED, leaves_end, with_fields_of
from sim.policy import Policies

_RIGHT = Policies(Behaviour(), rules=True, reset=True)
"""How the API server reads restart policies, whatever its kubelet makes of them."""
HEARS_MS = (200, 25_000)
"""From the return of the control plane until the kubelet hears of what it has missed: TCP sends again ever more seldom."""


class Connection:
    """Whether the kubelet and the API server reach each other."""

    def __init__(self, world: World) -> None:
        self._loop, self._host = world
        self._waiting: list[Action] = []
        self.since_ns: int | None = None
        """Since when they do not; None while they do."""

    @property
    def lost(self) -> bool:
        return self.since_ns is not None

    def cut(self) -> None:
        self.since_ns = self._loop.now

    def restore(self) -> None:
        self.since_ns = None
        waiting, self._waiting = self._waiting, []
        for action in waiting:
            action()

    def once_restored(self, action: Action) -> None:
        """Do it now, or as soon as they reach each other again."""
        if self.lost:
            self._waiting.append(action)
        else:
            action()

    def once_heard(self, action: Action) -> None:
        """Do it when the kubelet has heard of it."""
        self.once_restored(lambda: self._loop.after(self._host.takes_ms(HEARS_MS), action))


FIRST_STATUS: dict[str, Any] = {"phase": "Pending"}
"""What the API server gives a new pod."""


class StatusWriter:
    """Writes the statuses of one pod, one after the other; those made meanwhile are coalesced into the last.

    Whether a final phase still awaits the ends of containers is asked when a status is sent, not when it is made:
    pkg/kubelet/status/status_manager.go@v1.37.1 syncPod.
    """

    def __init__(self, world: World, pod: SimPod, connection: Connection) -> None:
        self._loop, self._host = world
        self._connection = connection
        self._tape = pod.tape
        self._uid = pod.uid
        self._grace_s = pod.spec.grace_s
        self._pod = pod
        self._written: dict[str, Any] = {}
        self._next: dict[str, Any] | None = None
        self._busy = False
        self._version = 1_000
        self._received = 0
        self._delivered_ns = 0
        self._to_relist = False
        self._closed = False
        self._deletion: dict[str, Any] = {}
        self._apart: dict[str, Any] | None = None
        self._ways = Random(self._loop.now)
        self.has_stopped = False
        """Whether the pod's containers and its sandbox have."""
        self.on_write: Callable[[], None] = ignore
        self.on_delivery: Callable[[str, dict[str, Any]], None] = ignore
        """Called with the pod's uid and a status when the recorder has it in hand."""

    def state(self, status: dict[str, Any], *, apart: bool = False) -> None:
        """Make this the pod's status. `apart`: its times are drawn apart, so that it leaves those of all others as they are."""
        if self._closed:
            return
        self._next = status
        self._apart = status if apart else self._apart
        if not self._busy:
            self._write()

    @property
    def written(self) -> dict[str, Any]:
        """What the API server has."""
        return self._written

    @property
    def is_busy(self) -> bool:
        """Whether a write is under way."""
        return self._busy

    @property
    def delivered_ns(self) -> int:
        """When the watch has brought all that was written; what it brings of the pod from then on comes no sooner."""
        return max(self._delivered_ns, self._loop.now)

    def mark_deleting(self) -> None:
        """Somebody has requested the pod's deletion: its object says so, from the first request on."""
        if self._deletion:
            return
        ends = stamp(self._loop.now, self._grace_s)
        self._deletion = {"deletion": {"timestamp": ends, "grace_s": self._grace_s}}
        self._version += 1
        self._deliver()

    def repeat(self) -> None:
        """The latest status is written into an object that is new."""
        if self._written:
            self._version += 1
            self._deliver()

    def close(self) -> None:
        """The pod is gone: nothing more is stated about it."""
        self._closed = True
        self._next = None

    def read(self) -> None:
        """The recorder reads the pod as it is now; what it has in hand already it does not write again."""
        if self._written and self._version != self._received:
            self._receive(self._loop.now)

    def _write(self) -> None:
        status, self._next = self._next, None
        if status is None or self._as_sent(status) == self._written or self._is_refused(status):
            return
        self._busy = True
        if self._connection.lost:
            self._next = status
            self._connection.once_restored(self._retry)
            return
        took_ns = self._host.writes_ns(self._chance_of(status))
        took_ns += self._host.frozen_for(self._loop.now + took_ns)
        self._loop.after(took_ns, lambda: self._commit(status))

    def _as_sent(self, status: dict[str, Any]) -> dict[str, Any]:
        ended = status.get(ONCE_ENDED, {}) if self.has_stopped else {}
        return {name: value for name, value in (status | ended).items() if value and name != ONCE_ENDED}

    def _is_refused(self, status: dict[str, Any]) -> bool:
        """Whether a container that had ended for good leaves that state: in another sandbox, what a correct kubelet does.

        What the kubelet writes again meanwhile is refused as well, and the end of the container makes another status.
        pkg/apis/core/validation/validation.go@v1.37.1 ValidateContainerStateTransition
        """
        if self._pod.sandboxes <= 1 or self._pod.spec.restarts_all:
            return False
        before, after = (
            {each["name"]: each["state"] for each in one.get("initContainerStatuses", ())}
            for one in (self._written, status)
        )
        inits = (each for each in self._pod.inits if each.name in before.keys() & after.keys())
        if any(leaves_end(each, self._pod.spec, before[each.name], after[each.name]) for each in inits):
            return True
        ended = {each["name"] for each in self._written.get("containerStatuses", ()) if "terminated" in each["state"]}
        going_on = {each["name"] for each in status.get("containerStatuses", ()) if "terminated" not in each["state"]}
        view, leaving = (
            PodView(self._pod.instances),
            [each for each in self._pod.regulars if each.name in ended & going_on],
        )
        last = [(each, view.newest_exited(each.name)) for each in leaving]
        return any(exited and not _RIGHT.restarts(each, self._pod.spec, exited) for each, exited in last)

    def _retry(self) -> None:
        self._busy = False
        self._write()

    def _commit(self, status: dict[str, Any]) -> None:
        self._busy = False
        if self._closed:
            return
        if self._connection.lost:
            self._next = self._next or status
            self._write()
            return
        self._written = self._as_sent(status)
        self._version += 1
        self.on_write()
        self._deliver(self._chance_of(status))
        self._write()

    def _chance_of(self, status: dict[str, Any]) -> Random | None:
        return self._ways if status is self._apart else None

    def _deliver(self, chance: Random | None = None) -> None:
        """To the watch; while the recorder has lost it, the next list brings the latest."""
        now = self._loop.now
        gap = next((gap for gap in self._host.gaps.get(Channel.API, ()) if gap.from_ns <= now < gap.to_ns), None)
        if gap is None:
            received = now + self._host.takes_ms(self._host.model.delivery_ms, chance)
            self._receive(self._host.awake(max(received, self._delivered_ns)))
        elif not self._to_relist:
            self._to_relist = True
            self._loop.at(gap.to_ns, self._relist)

    def _relist(self) -> None:
        self._to_relist = False
        self._deliver()

    def _receive(self, at_ns: int) -> None:
        self._delivered_ns = at_ns
        self._received = self._version
        status = self._written or FIRST_STATUS
        data = {"resource_version": str(self._version), "status": status} | self._deletion
        self._tape.api(at_ns, Kind.STATUS, data, self._uid)
        self._loop.at(at_ns, lambda: self.on_delivery(self._uid, status))


class LateStatements:
    """Hands a pod's statuses on: at once, or, of a faulty kubelet, all or some fields late once a container has restarted."""

    def __init__(self, world: World, behaviour: Behaviour, pod: SimPod, writer: StatusWriter) -> None:
        self._loop = world.loop
        self._late_ns, self._fields = behaviour.states_late_ns, behaviour.late_fields
        self._pod = pod
        self._writer = writer
        self._made: list[tuple[int, dict[str, Any]]] = []

    def state(self, status: dict[str, Any], *, apart: bool = False) -> None:
        """Make this the pod's status, now or later; `apart` as for the writer."""
        if not self._late_ns:
            self._writer.state(status, apart=apart)
        elif not self._made or status != self._made[-1][1]:
            self._made.append((self._loop.now, status))
            self._state()
            self._loop.after(self._late_ns, self._state)

    def _state(self) -> None:
        newest = self._made[-1][1]
        due = [each for made_ns, each in self._made if made_ns <= self._loop.now - self._late_ns]
        old = due[-1] if due and any(self._pod.numbers.values()) else newest
        self._writer.state(with_fields_of(old, newest, self._fields) if self._fields else old)
