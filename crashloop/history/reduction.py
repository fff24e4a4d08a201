"""From lines to a `Recording`, one line at a time: nothing but what is judged stays in memory."""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from crashloop.history import payload
from crashloop.history.clock import Clocks
from crashloop.history.event import Channel, Event, Kind
from crashloop.history.host import Host
from crashloop.history.jsonl import Damage, read_events
from crashloop.history.pods import PodReducer
from crashloop.history.recording import Done, Gap, NodeReport, Pokes, ProcessEvent, Recording
from crashloop.spec.scenario import InterventionKind

T = TypeVar("T")


def read_recording(lines: Iterable[bytes]) -> Recording:
    """Reduce the lines of a history file. Raises nothing about their content: `Recording.damage` says what is wrong."""
    reducer = _Reducer()
    for item in read_events(lines):
        if isinstance(item, Damage):
            reducer.damage.append(item)
        else:
            reducer.take(item.line, item.event)
    return reducer.recording()


class _Reducer:
    def __init__(self) -> None:
        self.damage: list[Damage] = []
        self._recording = Recording(clocks=Clocks([]), host=Host())
        self._readings: list[tuple[int, int, int]] = []
        self._gaps: list[Gap] = []
        self._done: list[Done] = []
        self._pokes: list[Done] = []
        self._nodes: list[NodeReport] = []
        self._processes: dict[Kind, list[ProcessEvent]] = {
            Kind.PROCESS_STARTED: [],
            Kind.PROCESS_EXITED: [],
            Kind.PROCESS_HEALTHY: [],
        }
        self._pods: dict[str, PodReducer] = {}

    def take(self, line: int, event: Event) -> None:
        """Fold one event in."""
        self._recording.events += 1
        self._recording.end_line = line
        try:
            if not self._of_the_run(line, event):
                self._of_a_pod(line, event)
        except msgspec.ValidationError as error:
            self.damage.append(Damage(line=line, problem=f"{event.kind!s} event with unusable data ({error})"))
        if event.channel is not Channel.JOURNAL:
            self._recording.end_ns = max(self._recording.end_ns, event.received_ns)

    def recording(self) -> Recording:
        """What was folded in."""
        recording = self._recording
        recording.clocks = Clocks(self._readings)
        recording.gaps = tuple(self._gaps)
        recording.interventions = tuple(self._done)
        recording.pokes = _pokes(self._pokes)
        recording.nodes = tuple(self._nodes)
        recording.started = tuple(self._processes[Kind.PROCESS_STARTED])
        recording.exited = tuple(self._processes[Kind.PROCESS_EXITED])
        recording.healthy = tuple(self._processes[Kind.PROCESS_HEALTHY])
        reduced = [pod.reduced(recording.clocks) for pod in self._pods.values()]
        recording.pods = tuple(pod for pod, _ in reduced)
        self.damage += [fault for _, faults in reduced for fault in faults]
        recording.damage = tuple(sorted(self.damage, key=lambda damage: damage.line))
        return recording

    def _of_the_run(self, line: int, event: Event) -> bool:
        """Fold in an event that belongs to no pod; False if it does belong to one."""
        recording = self._recording
        match event.kind:
            case Kind.BEGIN:
                recording.begin, recording.begin_ns = _data(event, payload.Begin), event.t_ns
            case Kind.END:
                recording.end = _data(event, payload.End)
            case Kind.CLOCK:
                self._readings.append((line, event.t_ns, _data(event, payload.ClockReading).boot_ns))
            case Kind.STALL:
                recording.host.add_stall(event.t_ns, _data(event, payload.Stall).stalled_ns)
            case Kind.PRESSURE:
                recording.host.add_pressure(event.t_ns, _data(event, payload.Pressure).some_us)
            case Kind.GAP:
                gap = _data(event, payload.GapData)
                self._gaps.append(
                    Gap(
                        line=line,
                        channel=gap.channel,
                        from_ns=gap.from_ns,
                        to_ns=event.t_ns,
                        reason=gap.reason,
                        lost=gap.lost,
                    )
                )
            case Kind.INTERVENTION:
                self._intervention(Done(line=line, t_ns=event.t_ns, data=_data(event, payload.InterventionData)))
            case Kind.NODE:
                data = _data(event, payload.NodeData)
                self._nodes.append(NodeReport(line=line, t_ns=event.t_ns, node=event.node, data=data))
            case Kind.PROCESS_STARTED | Kind.PROCESS_EXITED | Kind.PROCESS_HEALTHY:
                process = _data(event, payload.ProcessData)
                self._processes[event.kind].append(ProcessEvent(line=line, t_ns=event.t_ns, data=process))
            case _:
                return False
        return True

    def _of_a_pod(self, line: int, event: Event) -> None:
        if event.pod_uid is None:
            self.damage.append(Damage(line=line, problem=f"{event.kind!s} event without a pod_uid"))
            return
        pod = self._pods.get(event.pod_uid)
        if pod is None:
            pod = self._pods[event.pod_uid] = PodReducer(event.pod_uid)
        pod.take(line, event)

    def _intervention(self, done: Done) -> None:
        poke = done.data.index is None and done.data.action == InterventionKind.ANNOTATE
        (self._pokes if poke else self._done).append(done)


def _pokes(written: list[Done]) -> Pokes | None:
    """The first poke, those that failed and the last are written."""
    if not written:
        return None
    last = next((each for each in written if each.data.count is not None), None)
    return Pokes(
        first_ns=written[0].t_ns,
        last_ns=last.t_ns if last else None,
        longest_ns=last.data.longest_ns if last else None,
        failed_ns=tuple(each.t_ns for each in written if not each.ok),
    )


def _data(event: Event, kind: type[T]) -> T:
    return msgspec.convert(event.data, type=kind)
