"""The simulated recorder: which events become lines of the history, when they arrive, and which are lost."""

from typing import TYPE_CHECKING, Any

import msgspec

from crashloop.history.event import HISTORY_FORMAT, Channel, Clock, Event, Kind
from crashloop.sim.behaviour import S
from crashloop.sim.host import SimulatedHost
from crashloop.sim.host_lines import host_lines
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import Scenario
from crashloop.spec.version import KubernetesVersion

if TYPE_CHECKING:
    from crashloop.sim.pod import SimulatedInstance

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
        self, t_ns: int, kind: Kind, words: str, pod_uid: str, instance: "SimulatedInstance", **data: Any
    ) -> None:
        """A line of a container's journal. Each life prints all earlier ones to its log, so none is lost for good."""
        of = {"pod_uid": pod_uid, "container": instance.name, "instance": instance.life}
        stamped = {"line": f"{self.boot_ns(t_ns) // 10_000_000} {words}"}
        self._journals.setdefault(pod_uid, []).append((t_ns, kind, data | stamped, of))

    def noted(self, t_ns: int, name: str, value: str, pod_uid: str, instance: "SimulatedInstance") -> None:
        """A life's note in its journal."""
        words = f"note {instance.life} {name} {value}"
        self.journal(t_ns, Kind.NOTED, words, pod_uid, instance, name=name, value=value)

    def read_journals(self, pod_uid: str, now_ns: int) -> None:
        """The recorder reads the logs of a pod's containers: their journals come all at once."""
        if Channel.JOURNAL in self._missing:
            return
        step = self.host.model.journal_step_ns
        # Each life appends to the same file, so its lines are in the order of time.
        for t_ns, kind, data, of in sorted(self._journals.pop(pod_uid, ()), key=lambda line: line[0]):
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

    def gap(self, channel: Channel, from_ns: int, to_ns: int, reason: str) -> None:
        if channel not in self._missing:
            data = {"channel": channel.value, "from_ns": from_ns, "reason": reason, "lost": True}
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
