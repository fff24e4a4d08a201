"""The simulated recorder: which events become lines of the history, when they arrive, which are lost, what it notes of the host.

Of the host it notes clocks, stalls, pressure, waits for a CPU, and control containers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any

import msgspec

from crashloop.history.event import HISTORY_FORMAT, Channel, Clock, Event, Kind
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import Scenario
from crashloop.spec.version import KubernetesVersion
from sim.behaviour import S
from sim.host import MS, HostSpan, SimulatedHost, drawn
from sim.instance import SimulatedInstance

CLOCK_PERIOD_NS = 10 * S
CONTROL_PERIOD_NS = 2 * S
SMALL_PRESSURE_US = 900
"""What a calm host shows as well."""

HostLine = tuple[int, Kind, dict[str, Any], int | None]
"""Time, kind, data, and when it was in hand if later; in nanoseconds."""


def host_lines(host: SimulatedHost, begin_ns: int, end_ns: int, boot_ns: Callable[[int], int]) -> Iterator[HostLine]:
    """All of a history, kind after kind. `boot_ns` is the host's boot-time clock at a UTC time."""
    for t_ns in (*range(begin_ns, end_ns, CLOCK_PERIOD_NS), end_ns):
        yield t_ns, Kind.CLOCK, {"boot_ns": boot_ns(t_ns), "monotonic_ns": boot_ns(t_ns)}, None
    for stall in host.stalls:
        if stall.to_ns <= end_ns:
            yield stall.from_ns, Kind.STALL, {"stalled_ns": stall.to_ns - stall.from_ns}, stall.to_ns
    yield from _pressure_lines(host, begin_ns, end_ns)
    if host.model.controls and Channel.RUNTIME not in host.model.missing:
        yield from _control_lines(host, begin_ns, end_ns)
    if host.model.controls:
        yield from _api_control_lines(host, begin_ns, end_ns)


def _pressure_lines(host: SimulatedHost, begin_ns: int, end_ns: int) -> Iterator[HostLine]:
    """The kernel's figures, once a second."""
    model = host.model
    waits, pressed, blocked = (
        Overlap(host.starved),
        Overlap([*host.starved, *host.crowded, *host.stalls]),
        Overlap(host.blocked),
    )
    last_ns = begin_ns
    for t_ns in map(host.awake, range(begin_ns + S, end_ns, S)):
        if t_ns <= last_ns or t_ns > end_ns:
            continue
        spent_ns = t_ns - last_ns
        pressure: dict[str, Any] = {"some_us": None, "io_us": None, "memory_us": None}
        if model.pressure:
            felt_ns = min(spent_ns, pressed.within_ns(last_ns, t_ns) + int(model.extra_pressure * spent_ns))
            io_us = blocked.within_ns(last_ns, t_ns) // 1_000
            pressure = {"some_us": felt_ns // 1_000 + SMALL_PRESSURE_US, "io_us": io_us, "memory_us": 0}
        yield t_ns, Kind.PRESSURE, {**pressure, "interval_ns": spent_ns}, None
        if model.run_queues:
            waited_us = waits.within_ns(last_ns, t_ns) // 1_000
            yield t_ns, Kind.CPU_WAIT, {"waited_us": waited_us, "interval_ns": spent_ns}, None
        last_ns = t_ns


def _control_lines(host: SimulatedHost, begin_ns: int, end_ns: int) -> Iterator[HostLine]:
    """Containers that the recorder has the runtime create, one after the other."""
    t_ns = begin_ns
    while True:
        create_ns, list_ns = host.takes_ms(host.model.create_ms), host.takes_ms(host.model.relist_ms)
        begun_ns, done_ns = t_ns, host.thawed(host.awake(t_ns + create_ns))
        t_ns = host.thawed(host.awake(done_ns + list_ns))
        if t_ns >= end_ns:
            return
        yield t_ns, Kind.CONTROL, {"create_ns": done_ns - begun_ns, "list_ns": t_ns - done_ns}, None
        t_ns = host.awake(t_ns + CONTROL_PERIOD_NS)


def _api_control_lines(host: SimulatedHost, begin_ns: int, end_ns: int) -> Iterator[HostLine]:
    """Patches of the recorder until the watch brings them, one after the other; drawn apart, since they delay nobody."""
    chance, t_ns = Random(begin_ns ^ end_ns), begin_ns
    while True:
        took_ms = sum(drawn(chance, each) for each in (host.model.api_ms, host.model.delivery_ms))
        came_ns = host.awake(t_ns + int(took_ms * MS))
        if came_ns >= end_ns:
            return
        yield came_ns, Kind.API_CONTROL, {"took_ns": came_ns - t_ns}, None
        t_ns = host.awake(came_ns + S)


class Overlap:
    """Spans, merged; says how much of them falls into an interval. Intervals are queried in order of time."""

    def __init__(self, spans: Iterable[HostSpan]) -> None:
        self._merged: list[tuple[int, int]] = []
        for from_ns, to_ns in sorted((span.from_ns, span.to_ns) for span in spans):
            if self._merged and from_ns <= self._merged[-1][1]:
                self._merged[-1] = (self._merged[-1][0], max(self._merged[-1][1], to_ns))
            else:
                self._merged.append((from_ns, to_ns))
        self._first = 0

    def within_ns(self, from_ns: int, to_ns: int) -> int:
        """Nanoseconds of the spans in the interval."""
        while self._first < len(self._merged) and self._merged[self._first][1] <= from_ns:
            self._first += 1
        total = 0
        for span in self._merged[self._first :]:
            if span[0] >= to_ns:
                break
            total += min(span[1], to_ns) - max(span[0], from_ns)
        return total


NODE = "node-1"
LOG_READ_MS = (20, 400)
EVENT_MS = (1, 10)
UPTIME_NS = 3 * 86_400 * S + 271_828_182
"""For how long the simulated host had been up at the Unix time that the simulation begins with."""


class Tape:
    """Collects events and, at the end, puts them in the order in which they were received."""

    def __init__(self, host: SimulatedHost, begin_ns: int) -> None:
        self.host = host
        self.begin_ns = begin_ns
        self._boot_ns = begin_ns - UPTIME_NS
        self._drafts: list[tuple[int, dict[str, Any]]] = []
        self._journals: dict[str, list[tuple[int, Kind, dict[str, Any], dict[str, Any]]]] = {}
        self._requests: list[tuple[int, str, dict[str, Any]]] = []
        self._event_ns = begin_ns
        """When the last Kubernetes Event came."""
        self._missing = host.model.missing
        self._ways = Random(begin_ns)

    def boot_ns(self, t_ns: int) -> int:
        """The host's boot-time clock at a UTC time."""
        return t_ns - self._boot_ns

    def began(self, scenario: Scenario, profile: KubeletProfile, version: KubernetesVersion) -> None:
        data = {
            "format": HISTORY_FORMAT,
            "scenario": msgspec.to_builtins(scenario),
            "node": NODE,
            "kubernetes_version": str(version),
            "profile": profile.name,
        }
        self._add(self.begin_ns, Channel.RECORDER, Kind.BEGIN, data=data)

    def kubelet(self, t_ns: int, kind: Kind, data: dict[str, Any], **of: Any) -> None:
        """What the kubelet process said: its log comes late and can be lost, its answers do not."""
        if kind is not Kind.LOG:
            self._add(t_ns, Channel.KUBELET, kind, data=data, **of)
        elif Channel.KUBELET not in self._missing and not self.host.lost(Channel.KUBELET, t_ns):
            received = self._late(t_ns, LOG_READ_MS)
            self._add(t_ns, Channel.KUBELET, kind, data=data, received_ns=received, resolution_ns=1_000, **of)

    def runtime(self, t_ns: int, kind: Kind, data: dict[str, Any], published_ns: int | None = None, **of: Any) -> None:
        """An event of the container runtime, in hand a few milliseconds after it was published."""
        sent_ns = published_ns or t_ns
        if Channel.RUNTIME in self._missing or self.host.lost(Channel.RUNTIME, sent_ns):
            return
        step = self.host.model.runtime_step_ns
        self._add(
            t_ns - t_ns % step,
            Channel.RUNTIME,
            kind,
            data=data,
            received_ns=self._late(sent_ns, EVENT_MS),
            resolution_ns=step,
            **of,
        )

    def journal(
        self, t_ns: int, kind: Kind, words: str, pod_uid: str, instance: SimulatedInstance, **data: Any
    ) -> None:
        """A line of a container's journal. Each life prints all earlier ones to its log, so none is lost for good."""
        of = {"pod_uid": pod_uid, "container": instance.name, "instance": instance.life}
        stamped = {"line": f"{self.boot_ns(t_ns) // 10_000_000} {words}"}
        self._journals.setdefault(pod_uid, []).append((t_ns, kind, data | stamped, of))

    def noted(self, t_ns: int, name: str, value: str, pod_uid: str, instance: SimulatedInstance) -> None:
        """A life's note in its journal."""
        words = f"note {instance.life} {name} {value}"
        self.journal(t_ns, Kind.NOTED, words, pod_uid, instance, name=name, value=value)

    def lose_journals(self, pod_uid: str) -> None:
        """The pod's volumes are gone, with what nobody has read."""
        self._journals.pop(pod_uid, None)

    def read_journals(self, pod_uid: str, now_ns: int) -> None:
        """The recorder reads the logs of a pod's containers: their journals come all at once."""
        if Channel.JOURNAL in self._missing:
            return
        step, lines = self.host.model.journal_step_ns, self._journals.pop(pod_uid, [])
        self._journals[pod_uid] = [line for line in lines if line[0] > now_ns]
        # Each life appends to the same file, so its lines are in the order of time.
        for t_ns, kind, data, of in sorted((line for line in lines if line[0] <= now_ns), key=lambda line: line[0]):
            boot_ns = self.boot_ns(t_ns)
            self._add(
                boot_ns - boot_ns % step,
                Channel.JOURNAL,
                kind,
                data=data,
                clock=Clock.BOOT,
                received_ns=now_ns,
                resolution_ns=step,
                **of,
            )

    def requested(self, t_ns: int, container: str, data: dict[str, Any]) -> None:
        """A request to the image registry, which notes it."""
        self._requests.append((t_ns, container, data))

    def read_requests(self, now_ns: int) -> None:
        """The recorder reads what the registry has noted."""
        for t_ns, container, data in self._requests:
            self._add(t_ns, Channel.REGISTRY, Kind.REQUEST, data=data, received_ns=now_ns, container=container)
        self._requests.clear()

    def kubernetes_event(self, t_ns: int, reason: str, message: str, *, pod_uid: str, container: str) -> None:
        """A Kubernetes Event of the kubelet, as the watch brings it."""
        if Channel.EVENTS in self._missing or self.host.lost(Channel.EVENTS, t_ns):
            return
        # A watch keeps the order in which they were written.
        self._event_ns = received_ns = max(self._event_ns, self._late(t_ns, self.host.model.delivery_ms))
        data = {"reason": reason, "message": message, "type": "Normal", "count": 1, "reporter": "kubelet"}
        self._add(received_ns, Channel.EVENTS, Kind.KUBERNETES_EVENT, data=data, pod_uid=pod_uid, container=container)

    def said(self, t_ns: int, reason: str, *, pod_uid: str, container: str) -> None:
        """The same of one that nobody waits for: its time on the way is drawn apart."""
        if Channel.EVENTS not in self._missing and not self.host.lost(Channel.EVENTS, t_ns):
            way_ns = int(
                sum(drawn(self._ways, each) for each in (self.host.model.api_ms, self.host.model.delivery_ms)) * MS
            )
            data = {"reason": reason, "message": "", "type": "Warning", "count": 1, "reporter": "kubelet"}
            came_ns = self.host.awake(self.host.thawed(t_ns) + way_ns)
            self._add(came_ns, Channel.EVENTS, Kind.KUBERNETES_EVENT, data=data, pod_uid=pod_uid, container=container)

    def api(self, received_ns: int, kind: Kind, data: dict[str, Any], pod_uid: str) -> None:
        """A pod object as the watch brought it."""
        self._add(received_ns, Channel.API, kind, data=data, pod_uid=pod_uid)

    def job(self, t_ns: int, status: dict[str, Any]) -> None:
        """The Job as the recorder has read it."""
        self._add(t_ns, Channel.API, Kind.JOB, data={"status": status})

    def answered(self, t_ns: int, data: dict[str, Any]) -> None:
        """The API server's answer to a request of the scenario."""
        self._add(t_ns, Channel.API, Kind.ANSWER, data=data)

    def sampled(self, t_ns: int, data: dict[str, Any]) -> None:
        """What kube-state-metrics states."""
        self._add(t_ns, Channel.API, Kind.SAMPLE, data=data)

    def intervened(
        self, t_ns: int, action: str, arguments: dict[str, Any], index: int | None, ended_ns: int, **more: int | str
    ) -> None:
        data = {"action": action, "arguments": arguments, "outcome": "ok", "index": index, "ended_ns": ended_ns, **more}
        self._add(t_ns, Channel.RECORDER, Kind.INTERVENTION, data=data, received_ns=ended_ns)

    def gap(self, channel: Channel, from_ns: int, to_ns: int, reason: str, running: Sequence[str] = ()) -> None:
        if channel not in self._missing:
            data: dict[str, Any] = {"channel": channel.value, "from_ns": from_ns, "reason": reason, "lost": True}
            data |= {"running": list(running)} if running else {}
            self._add(to_ns, Channel.RECORDER, Kind.GAP, data=data)

    def seal(self, end_ns: int, reason: str, detail: str = "") -> tuple[Event, ...]:
        """The history: what was in hand by then, numbered, closed with an `end` event."""
        self._gaps(end_ns)
        for t_ns, kind, data, received_ns in host_lines(self.host, self.begin_ns, end_ns, self.boot_ns):
            self._add(t_ns, Channel.RECORDER, kind, data=data, received_ns=received_ns)
        in_hand = [draft for draft in self._drafts if draft[0] <= end_ns]
        in_hand.sort(key=lambda draft: draft[0])
        self._drafts = in_hand
        self._add(end_ns, Channel.RECORDER, Kind.END, data={"reason": reason, "detail": detail})
        return tuple(Event(seq=seq, **draft) for seq, (_, draft) in enumerate(self._drafts))

    def _gaps(self, end_ns: int) -> None:
        for channel, gaps in self.host.gaps.items():
            for gap in gaps:
                if gap.from_ns < end_ns:
                    self.gap(channel, gap.from_ns, min(gap.to_ns, end_ns), "connection lost")

    def _late(self, t_ns: int, by_ms: tuple[float, float]) -> int:
        return self.host.awake(t_ns + self.host.takes_ms(by_ms))

    def _add(
        self,
        t_ns: int,
        channel: Channel,
        kind: Kind,
        *,
        data: dict[str, Any],
        received_ns: int | None = None,
        clock: Clock = Clock.UTC,
        resolution_ns: int = 1,
        pod_uid: str | None = None,
        container: str | None = None,
        instance: int | None = None,
    ) -> None:
        received = t_ns if received_ns is None else received_ns
        self._drafts.append(
            (
                received,
                {
                    "t_ns": t_ns,
                    "clock": clock,
                    "resolution_ns": resolution_ns,
                    "received_ns": received,
                    "channel": channel,
                    "kind": kind,
                    "node": NODE,
                    "pod_uid": pod_uid,
                    "container": container,
                    "instance": instance,
                    "data": data,
                },
            )
        )
