"""How far a pod scenario has come, by the events so far: what it still waits for, which interventions and signals are due. Pure.

The starts and exits of its containers are counted by the runtime's events where the cluster has them, else by the statuses in
the API. Both are kept: a scenario is settled when the statuses agree with the runtime.

A first process cannot be killed from within its container, so the recorder kills it through the runtime when the
container's program wants it.
"""

from collections import defaultdict

import msgspec

from crashloop.history.event import Channel, Event, Kind
from crashloop.spec.intervention import Trigger
from crashloop.spec.pod import Pod
from crashloop.spec.program import LifeEnd
from crashloop.spec.scenario import Until


class _Set(msgspec.Struct, frozen=True):
    """Whether it exists; its value does not matter."""


class _ContainerState(msgspec.Struct, frozen=True):
    running: _Set | None = None
    terminated: _Set | None = None


class _ContainerStatus(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    restart_count: int = 0
    state: _ContainerState = _ContainerState()
    last_state: _ContainerState = _ContainerState()

    @property
    def exits(self) -> int:
        """Instances that have ended: those before the newest, and the newest unless it runs or never ran."""
        return self.restart_count + (self.has_started and self.state.running is None)

    @property
    def has_started(self) -> bool:
        return (self.state.running or self.state.terminated or self.last_state.terminated) is not None


class PodCounts(msgspec.Struct, frozen=True, rename="camel"):
    """What is counted of a PodStatus."""

    phase: str = ""
    init_container_statuses: tuple[_ContainerStatus, ...] | None = None
    container_statuses: tuple[_ContainerStatus, ...] | None = None

    @property
    def each(self) -> tuple[_ContainerStatus, ...]:
        return (*(self.init_container_statuses or ()), *(self.container_statuses or ()))


class _JobCondition(msgspec.Struct, frozen=True):
    type: str
    status: str


class JobCounts(msgspec.Struct, frozen=True):
    """What is looked at of a JobStatus."""

    conditions: tuple[_JobCondition, ...] | None = None

    @property
    def has_ended(self) -> bool:
        return any(each.type in ("Complete", "Failed") and each.status == "True" for each in self.conditions or ())


class _Tally:
    """Counts of one channel, by container and pod: a recreated pod starts anew."""

    def __init__(self) -> None:
        self.restarts: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.exits_ns: defaultdict[str, list[int]] = defaultdict(list)
        self.exits: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))

    def exit(self, container: str, pod_uid: str, count: int, at_ns: int) -> None:
        """The container has exited `count` times in that pod, the last time no later than `at_ns`."""
        new = count - self.exits[container][pod_uid]
        if new > 0:
            self.exits[container][pod_uid] = count
            self.exits_ns[container] += [at_ns] * new


class Counts:
    """Counts of one scenario, over all of its pods."""

    def __init__(self, *, has_runtime_events: bool) -> None:
        self._runtime, self._api = _Tally(), _Tally()
        self._by = [self._runtime] if has_runtime_events else [self._api]
        self._starts: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._refused: defaultdict[tuple[str, str], int] = defaultdict(int)
        """Starts that the runtime refused: they have exits, and their programs keep no journal."""
        self._reported_starts: defaultdict[tuple[str, str], int] = defaultdict(int)
        self.phases: set[str] = set()

    def take(self, event: Event) -> None:
        """Count an event of the runtime's channel; others are ignored, but a gap in it lets the statuses count as well."""
        if event.kind is Kind.GAP and event.data["channel"] == Channel.RUNTIME and self._api not in self._by:
            self._by.append(self._api)
        if event.channel is not Channel.RUNTIME or event.container is None or event.pod_uid is None:
            return
        container, pod_uid = event.container, event.pod_uid
        is_refused = event.kind is Kind.EXITED and "refused" in event.data
        self._starts[container, pod_uid] += event.kind is Kind.STARTED
        self._refused[container, pod_uid] += is_refused
        if event.kind is Kind.STARTED or is_refused:
            begun = self._starts[container, pod_uid] + self._refused[container, pod_uid]
            self._runtime.restarts[container][pod_uid] = begun - 1
        if event.kind is Kind.EXITED:
            self._runtime.exit(container, pod_uid, self._runtime.exits[container][pod_uid] + 1, event.t_ns)

    def take_status(self, pod_uid: str, status: PodCounts, received_ns: int) -> None:
        """Count a status of the API."""
        self.phases.add(status.phase)
        for each in status.each:
            restarts = self._api.restarts[each.name]
            restarts[pod_uid] = max(restarts[pod_uid], each.restart_count)
            self._api.exit(each.name, pod_uid, each.exits, received_ns)
            starts = each.restart_count + each.has_started
            self._reported_starts[each.name, pod_uid] = max(self._reported_starts[each.name, pod_uid], starts)

    def restarts(self, container: str) -> int:
        return max(sum(tally.restarts[container].values()) for tally in self._by)

    def exits(self, container: str) -> int:
        return max(len(tally.exits_ns[container]) for tally in self._by)

    @property
    def moves(self) -> int:
        """Restarts and exits of all containers: it grows with each."""
        names = {name for tally in self._by for name in (*tally.restarts, *tally.exits_ns)}
        return sum(self.restarts(name) + self.exits(name) for name in names)

    def exit_ns(self, container: str, index: int) -> int | None:
        """When the container exited for the `index`th time (0 is the first), UTC; None if it has not."""
        known = max((tally.exits_ns[container] for tally in self._by), key=len)
        return known[index] if index < len(known) else None

    def reported_restarts(self, container: str) -> int:
        """Restarts by the statuses."""
        return sum(self._api.restarts[container].values())

    def reported_exits(self, container: str) -> int:
        """Exits by the statuses."""
        return len(self._api.exits_ns[container])

    def starts(self, container: str, pod_uid: str) -> int:
        """Starts of its program in one pod, by the channel that has seen most."""
        of_pod = container, pod_uid
        return max(self._starts[of_pod], self._reported_starts[of_pod] - self._refused[of_pod])


SETTLE_S = 35.0
"""How long the statuses may take to show what the runtime has shown, in seconds.

The kubelet looks about once a second (up to 2 s on a busy node) and syncs pod statuses in batches at the latest every 10 s
(syncPeriod, pkg/kubelet/status/status_manager.go@v1.37.1); a slow API server may take up to 30 s
(crashloop.restarts.outages), after which a missing statement is a FAIL. A scenario whose statuses are quicker ends at once.
"""


def missing(until: Until, counts: Counts, age_s: float) -> tuple[str, ...]:
    """What the scenario still waits for, one phrase each; nothing once it is complete."""
    wanted = [
        *(_shortfall(f"restarts of {name!r}", counts.restarts(name), n) for name, n in until.restarts.items()),
        *(_shortfall(f"exits of {name!r}", counts.exits(name), n) for name, n in until.exits.items()),
    ]
    if until.phase is not None and until.phase not in counts.phases:
        seen = ", ".join(sorted(counts.phases)) or "none"
        wanted.append(f"phase {until.phase} (seen: {seen})")
    if age_s < until.at_least_s:
        wanted.append(f"{until.at_least_s:g} s since the pod was created ({age_s:.0f} s so far)")
    return tuple(filter(None, wanted))


def is_reported(until: Until, counts: Counts) -> bool:
    """Whether the statuses show everything that completes the scenario."""
    return all(counts.reported_restarts(name) >= n for name, n in until.restarts.items()) and all(
        counts.reported_exits(name) >= n for name, n in until.exits.items()
    )


def _shortfall(what: str, seen: int, wanted: int) -> str:
    return f"{what}: {seen} of {wanted}" if seen < wanted else ""


def due_ns(trigger: Trigger, *, created_ns: int, counts: Counts) -> int | None:
    """When an intervention is due (UTC); None before its trigger, and for one before the pod."""
    if trigger.before_pod:
        return None
    if trigger.container is None or trigger.after_restart is None:
        return created_ns + _seconds_ns(trigger.after_s)
    exited_ns = counts.exit_ns(trigger.container, trigger.after_restart)
    return None if exited_ns is None else exited_ns + _seconds_ns(trigger.after_s)


def _seconds_ns(seconds: float) -> int:
    return round(seconds * 1e9)


SIGKILL = 9


class DueSignal(msgspec.Struct, frozen=True, kw_only=True):
    """A signal that one instance of a container is to get, and when (UTC)."""

    container: str
    container_id: str
    at_ns: int
    signal: int = SIGKILL


class Signals:
    """Follows the runtime's events of one scenario."""

    def __init__(self, pod: Pod) -> None:
        self._lives = {each.name: each.program.each_life() for each in pod.containers}
        self._starts: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._wanted: dict[str, DueSignal] = {}

    def take(self, event: Event) -> None:
        """A container that was started may want a signal, one that exited wants none."""
        if event.channel is not Channel.RUNTIME or event.container is None or event.pod_uid is None:
            return
        container_id = str(event.data.get("container_id"))
        if event.kind is Kind.STARTED:
            lives = self._lives.get(event.container, ())
            number = self._starts[event.container, event.pod_uid]
            self._starts[event.container, event.pod_uid] = number + 1
            if number < len(lives) and lives[number].end is LifeEnd.SIGNAL:
                self._wanted[container_id] = DueSignal(
                    container=event.container,
                    container_id=container_id,
                    at_ns=event.t_ns + round(lives[number].run_s * 1e9),
                )
        elif event.kind is Kind.EXITED:
            self._wanted.pop(container_id, None)

    def due(self, now_ns: int) -> list[DueSignal]:
        """Those that have become due, each once."""
        found = [each for each in self._wanted.values() if each.at_ns <= now_ns]
        for each in found:
            del self._wanted[each.container_id]
        return found
