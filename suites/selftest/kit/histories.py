"""Hand-written histories for the tests of readers and checkers: what happened, in seconds since the pod was created.

    history = History(scenario).lives("app", (0.5, 1.5, 1), (1.8, 2.8, 1), (5.1, 6.1, 1)).ends(60)

Every life is reported by the runtime (created 0.1 s before its start), by the journal and by a pod status 0.3 s later,
unless a test leaves one of them out. Heartbeat, clock readings and the node's configuration come of themselves.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Self

import msgspec

from crashloop.history.event import HISTORY_FORMAT, Channel, Clock, Event, Kind, to_line
from crashloop.history.journal import last_words
from crashloop.history.recording import Recording
from crashloop.history.reduction import read_recording
from crashloop.spec.pod import ContainerKind
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import PodScenario, Scenario, StartupScenario

VERSION = "1.37.1"
ZERO_NS = 1_800_000_000_000_000_000
BOOTED_NS = ZERO_NS - 5_000_000_000_000
UID = "0d5f3d3e-aaaa-4bbb-8ccc-000000000001"
JOURNAL_STEP_NS = 10_000_000
INITIALIZED = {"type": "Initialized", "status": "True"}
NOT_READY = [
    INITIALIZED,
    *(
        {"type": each, "status": "False", "lastTransitionTime": "2027-01-15T08:00:00Z"}
        for each in ("ContainersReady", "Ready")
    ),
]
"""The conditions of a pod without init containers that has not started."""
READY = [each | {"status": "True"} for each in NOT_READY]
"""Those of a pod whose containers run."""

Life = tuple[float, float | None, int]
"""Start, exit (None: still running) and exit code."""


def ns(seconds: float) -> int:
    return ZERO_NS + round(seconds * 1e9)


NOT_STARTED: dict[str, Any] = {"waiting": {"reason": "ContainerCreating"}}


class History:
    """Events under construction. Methods return the history, so that they chain."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        profile: KubeletProfile | None = None,
        create_s: float = 0.1,
        node: str = "node-1",
    ) -> None:
        self.scenario = scenario
        self.profile = profile or KubeletProfile(name=scenario.subject)
        self._create_s = create_s
        self._events: list[tuple[float, Event]] = []
        self._end_s: float | None = None
        self._states: dict[str, dict[str, Any]] = {}
        self._address: dict[str, Any] = {}
        """What statuses have from the first one with conditions on."""
        self._uid = UID
        self.pressure_us = 1000
        self.io_us = 0
        self.waited_us: int | None = None
        self.kubelet_us: int | None = None
        """What the accused wait for a CPU in each second; None: the recorder does not see that."""
        begin = {
            "format": HISTORY_FORMAT,
            "scenario": msgspec.json.decode(msgspec.json.encode(scenario)),
            "node": None if scenario.node_profile is None else node,
            "kubernetes_version": VERSION,
            "profile": scenario.subject,
        }
        self.add(-1.0, Channel.RECORDER, Kind.BEGIN, begin)
        if scenario.node_profile is not None:
            self.node(-0.9)
        if scenario.pod_spec is not None:
            self.add(0.0, Channel.API, Kind.CREATED, {"pod": {}}, pod=True)
            self.add(0.2, Channel.RUNTIME, Kind.SANDBOX, {"container_id": "sandbox-0", "phase": "created"}, pod=True)

    def add(
        self,
        at_s: float,
        channel: Channel,
        kind: Kind,
        data: dict[str, Any],
        *,
        pod: bool = False,
        container: str | None = None,
        instance: int | None = None,
        boot: bool = False,
        received_s: float | None = None,
    ) -> Self:
        """One event. `boot`: stamped with boot time, in steps of 10 ms, rounded down as /proc/uptime is."""
        t_ns = ns(at_s)
        if boot:
            t_ns = (t_ns - BOOTED_NS) // JOURNAL_STEP_NS * JOURNAL_STEP_NS
        arrived_s = at_s if received_s is None else received_s
        event = Event(
            seq=0,
            t_ns=t_ns,
            clock=Clock.BOOT if boot else Clock.UTC,
            resolution_ns=JOURNAL_STEP_NS if boot else 1,
            received_ns=ns(arrived_s),
            channel=channel,
            kind=kind,
            pod_uid=self._uid if pod else None,
            container=container,
            instance=instance,
            data=data,
        )
        self._events.append((arrived_s, event))
        return self

    def lives(
        self,
        container: str,
        *lives: Life,
        runtime: bool = True,
        journal: bool = True,
        status: bool = True,
        phase: str = "Running",
        first: int = 0,
        told: bool = False,
    ) -> Self:
        """The instances of a container, told by the channels that are not left out.

        `told`: each that exits has left its name in its termination log.
        """
        for number, (start_s, exit_s, code) in enumerate(lives, start=first):
            identity = f"{container}-{number}"
            if runtime:
                self.runtime(start_s - self._create_s, Kind.CREATED, container, identity)
                self.runtime(start_s, Kind.STARTED, container, identity)
            if journal:
                self.journal(start_s + 0.01, Kind.STARTED, container, number)
            if status:
                self.status(start_s + 0.3, {container: self.running(container, number, start_s)}, phase=phase)
            if exit_s is None:
                continue
            if journal:
                self.journal(exit_s - 0.005, Kind.EXITED, container, number, code, told=told)
            if runtime:
                self.runtime(exit_s, Kind.EXITED, container, identity, code)
            if status:
                message = last_words(container, number) if told else ""
                ended = self.exited(container, number, start_s, exit_s, code, message=message)
                self.status(exit_s + 0.3, {container: ended}, phase=phase)
        return self

    def runtime(self, at_s: float, kind: Kind, container: str, identity: str, code: int | None = None) -> Self:
        data: dict[str, Any] = {"container_id": identity} | ({} if code is None else {"exit_code": code})
        return self.add(at_s, Channel.RUNTIME, kind, data, pod=True, container=container)

    def journal(
        self, at_s: float, kind: Kind, container: str, number: int, code: int | None = None, *, told: bool = False
    ) -> Self:
        data: dict[str, Any] = {"line": "x"} | ({} if code is None else {"exit_code": code})
        data |= {"told": True} if told else {}
        return self.add(at_s, Channel.JOURNAL, kind, data, pod=True, container=container, instance=number, boot=True)

    def note(self, at_s: float, container: str, number: int, name: str, value: str) -> Self:
        """What a life has found, by its journal."""
        data = {"line": "x", "name": name, "value": value}
        return self.add(
            at_s, Channel.JOURNAL, Kind.NOTED, data, pod=True, container=container, instance=number, boot=True
        )

    def running(self, container: str, number: int, start_s: float) -> dict[str, Any]:
        """The status of a container that runs; it keeps the last exit."""
        before = self._states.get(container, {}).get("state", {})
        return {
            "name": container,
            "restartCount": number,
            "ready": True,
            "started": True,
            "containerID": f"containerd://{container}-{number}",
            "state": {"running": {"startedAt": stamp(start_s)}},
            "lastState": before if "terminated" in before else {},
        }

    def exited(
        self, container: str, number: int, start_s: float, exit_s: float, code: int, *, message: str = ""
    ) -> dict[str, Any]:
        """The status of a container that has exited."""
        return {
            "name": container,
            "restartCount": number,
            "containerID": f"containerd://{container}-{number}",
            "state": {
                "terminated": {
                    "exitCode": code,
                    "reason": "Error" if code else "Completed",
                    **({"message": message} if message else {}),
                    "startedAt": stamp(start_s),
                    "finishedAt": stamp(exit_s),
                    "containerID": f"containerd://{container}-{number}",
                }
            },
            "lastState": self._states.get(container, {}).get("lastState", {}),
        }

    def status(
        self,
        at_s: float,
        containers: dict[str, dict[str, Any]],
        *,
        phase: str = "Running",
        reason: str = "",
        **more: Any,
    ) -> Self:
        """A pod status in which these containers have changed."""
        self._states |= containers
        of_kind: dict[str, list[dict[str, Any]]] = {"containerStatuses": [], "initContainerStatuses": []}
        assert isinstance(self.scenario, PodScenario)
        listed = {each.name for each in self.scenario.pod.containers if each.kind is not ContainerKind.EPHEMERAL}
        yet_to_start = (
            {name: {"name": name, "restartCount": 0, "state": NOT_STARTED} for name in listed} if containers else {}
        )
        for name, state in (yet_to_start | self._states).items():
            init = self.scenario.pod.container(name).kind is ContainerKind.INIT
            of_kind["initContainerStatuses" if init else "containerStatuses"].append(state)
        if "conditions" in more:
            more["conditions"] = [{"type": "PodScheduled", "status": "True"}, *more["conditions"]]
            self._address = {"startTime": stamp(0), "podIP": "10.0.0.1"}
        more = self._address | more
        data = {
            "resource_version": "1",
            "status": {"phase": phase, "reason": reason, "observedGeneration": 1} | of_kind | more,
        }
        return self.add(at_s, Channel.API, Kind.STATUS, data, pod=True)

    def counts(self, at_s: float, container: str, restart_count: int, *, phase: str = "Running") -> Self:
        """A status that says this restartCount, and nothing else about the container."""
        return self.status(at_s, {container: {"name": container, "restartCount": restart_count}}, phase=phase)

    def node(
        self,
        at_s: float,
        *,
        matches: bool | None = True,
        started_s: float = -100.0,
        maximum: str | None = "2s",
        **more: Any,
    ) -> Self:
        """What is known of the kubelet; without a `maximum` its configuration was not read."""
        configz = None if maximum is None else {"crashLoopBackOff": {"maxContainerRestartPeriod": maximum}}
        data = {
            "kubelet_pid": round(1000 - started_s),
            "kubelet_started_ns": ns(started_s),
            "configz": configz,
            "gates": {},
            "matches_profile": matches,
        } | more
        return self.add(at_s, Channel.KUBELET, Kind.NODE, data)

    def gap(
        self, channel: Channel, from_s: float, to_s: float, *, reason: str = "410 Gone", lost: bool = True, **more: Any
    ) -> Self:
        data = {"channel": channel.value, "from_ns": ns(from_s), "reason": reason, "lost": lost, **more}
        return self.add(to_s, Channel.RECORDER, Kind.GAP, data)

    def stall(self, at_s: float, for_s: float) -> Self:
        return self.add(at_s, Channel.RECORDER, Kind.STALL, {"stalled_ns": round(for_s * 1e9)}, received_s=at_s + for_s)

    def control(self, at_s: float, *, create_s: float = 0.02, list_s: float = 0.003) -> Self:
        """A container that the recorder had the runtime create."""
        data = {"create_ns": round(create_s * 1e9), "list_ns": round(list_s * 1e9)}
        return self.add(at_s, Channel.RECORDER, Kind.CONTROL, data)

    def api_controls(self, to_s: float, *, took_s: float = 0.03, slow_s: tuple[float, float] | None = None) -> Self:
        """Patches of the recorder once a second; those that come in `slow_s` take 1.5 s."""
        for at_s in range(1, int(to_s)):
            is_slow = slow_s is not None and slow_s[0] <= at_s <= slow_s[1]
            data = {"took_ns": 1_500_000_000 if is_slow else round(took_s * 1e9)}
            self.add(at_s, Channel.RECORDER, Kind.API_CONTROL, data)
        return self

    def clock_step(self, at_s: float, by_s: float) -> Self:
        """The wall clock jumps before `at_s`; everything built so far keeps its stamps."""
        return self.clock(at_s, boot_ns=ns(at_s - by_s) - BOOTED_NS).clock(
            at_s + 100, boot_ns=ns(at_s + 100 - by_s) - BOOTED_NS
        )

    def clock(self, at_s: float, *, boot_ns: int | None = None, boot_id: str | None = None) -> Self:
        reading = ns(at_s) - BOOTED_NS if boot_ns is None else boot_ns
        data = {"boot_ns": reading, "monotonic_ns": reading, "boot_id": boot_id}
        return self.add(at_s, Channel.RECORDER, Kind.CLOCK, data)

    def pokes(self, from_s: float, to_s: float, *, longest_s: float = 1.1) -> Self:
        """The patches of the mode annotated, as the recorder sums them up."""
        first: dict[str, Any] = {"action": "annotate", "arguments": {}, "outcome": "ok", "index": None}
        last = {**first, "count": round(to_s - from_s), "longest_ns": round(longest_s * 1e9)}
        self.add(from_s, Channel.RECORDER, Kind.INTERVENTION, first)
        return self.add(to_s, Channel.RECORDER, Kind.INTERVENTION, last)

    def intervention(
        self,
        at_s: float,
        action: str,
        *,
        index: int = 0,
        outcome: str = "ok",
        ended_s: float | None = None,
        **arguments: Any,
    ) -> Self:
        """What was done from `at_s` until `ended_s`, if that is known."""
        ended = {} if ended_s is None else {"ended_ns": ns(ended_s)}
        data = {"action": action, "arguments": arguments, "outcome": outcome, "index": index, **ended}
        return self.add(at_s, Channel.RECORDER, Kind.INTERVENTION, data, received_s=ended_s)

    def request(
        self,
        at_s: float,
        container: str = "app",
        status: int = 200,
        password: str | None = None,
        *,
        reference: str = "current",
        answered_s: float | None = None,
    ) -> Self:
        """A request to the image registry for what the container's tag names, or for other content of it."""
        data = {
            "method": "HEAD",
            "what": "manifests",
            "reference": reference,
            "status": status,
            "password": password,
            "answered_ns": ns(at_s if answered_s is None else answered_s),
        }
        return self.add(at_s, Channel.REGISTRY, Kind.REQUEST, data, container=container)

    def process(self, at_s: float, kind: Kind, **data: Any) -> Self:
        """An event of the kubelet that a startup scenario tries."""
        return self.add(at_s, Channel.KUBELET, kind, data)

    def recreated(self, at_s: float, uid: str) -> Self:
        """From here on the pod is another one."""
        self._uid = uid
        self._states = {}
        return self.add(at_s, Channel.API, Kind.CREATED, {"pod": {}}, pod=True)

    def ends(self, at_s: float, reason: str = "complete", *, detail: str | None = None, heartbeat: bool = True) -> Self:
        """Seal the recording, with a heartbeat each second and a clock reading at both ends."""
        if heartbeat:
            for beat in range(-1, int(at_s)):
                # Whoever waits for a CPU makes the pressure of the whole system count.
                data = {
                    "some_us": max(self.pressure_us, self.waited_us or 0),
                    "io_us": self.io_us,
                    "interval_ns": 1_000_000_000,
                }
                self.add(beat + 0.5, Channel.RECORDER, Kind.PRESSURE, data)
                if self.waited_us is not None:
                    waited = {"waited_us": self.waited_us, "kubelet_us": self.kubelet_us, "interval_ns": 1_000_000_000}
                    self.add(beat + 0.5, Channel.RECORDER, Kind.CPU_WAIT, waited)
        if not any(event.kind is Kind.CLOCK for _, event in self._events):
            self.clock(-0.95).clock(at_s)
        self.add(at_s + 1e-6, Channel.RECORDER, Kind.END, {"reason": reason, "detail": detail})
        self._end_s = at_s
        return self

    def without(self, kind: Kind, channel: Channel | None = None) -> Self:
        """Leave out all events of a kind."""
        self._events = [
            (at_s, event)
            for at_s, event in self._events
            if event.kind is not kind or (channel is not None and event.channel is not channel)
        ]
        return self

    def events(self) -> list[Event]:
        """All events in the order in which they reached the recorder."""
        ordered = [event for _, event in sorted(self._events, key=lambda each: each[0])]
        return [msgspec.structs.replace(event, seq=seq) for seq, event in enumerate(ordered)]

    def lines(self) -> list[bytes]:
        return [to_line(event) for event in self.events()]

    def recording(self) -> Recording:
        return read_recording(self.lines())

    def line_of(self, kind: Kind, nth: int = 0, *, channel: Channel | None = None, container: str | None = None) -> int:
        """The history line of the n-th event of a kind."""
        matching: Iterable[int] = (
            number
            for number, event in enumerate(self.events(), start=1)
            if event.kind is kind
            and (channel is None or event.channel is channel)
            and (container is None or event.container == container)
        )
        return list(matching)[nth]


def stamp(seconds: float) -> str:
    """As the API prints a time: whole seconds."""
    return datetime.fromtimestamp(ns(seconds) // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def startup(scenario: StartupScenario) -> History:
    """The history of a kubelet that was started with a candidate's configuration."""
    return History(scenario).process(0.0, Kind.PROCESS_STARTED, pid=4711, argv=["kubelet"])
