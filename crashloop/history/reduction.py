"""From lines to a `Recording`, one line at a time: nothing but what is judged stays in memory."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from crashloop.history import lines
from crashloop.history.clock import Clocks
from crashloop.history.event import Channel, Damage, read_lines
from crashloop.history.host import HostRecord
from crashloop.history.lines import AnyLine, Line, decode_line
from crashloop.history.pod_reduction import PodReducer
from crashloop.history.recording import (
    AnnotationPeriod,
    ApiAnswer,
    Done,
    Gap,
    ImageRequest,
    JobReport,
    NodeReport,
    ProcessEvent,
    Recording,
    Sample,
)

_JOURNAL = Channel.JOURNAL


def read_recording(history: Iterable[bytes]) -> Recording:
    """Reduce the lines of a history file. Raises nothing about their content: `Recording.damage` says what is wrong."""
    reducer = _Reducer()
    for item in read_lines(history, decode_line):
        if isinstance(item, Damage):
            reducer.damage.append(item)
        else:
            reducer.take(*item)
    return reducer.recording()


class _Reducer:
    def __init__(self) -> None:
        self.damage: list[Damage] = []
        self._recording = Recording(clocks=Clocks([]), host=HostRecord())
        self._last_line = self._last_ns = self._events = 0
        self._readings: dict[bool, list[tuple[int, int, int]]] = {False: [], True: []}
        """By whether they are of the node, where that is not the recorder's host."""
        self._boots: dict[bool, set[str]] = {False: set(), True: set()}
        """Ids of the boots that the readings count from."""
        self._hosts = {False: self._recording.host, True: HostRecord()}
        self._gaps: list[Gap] = []
        self._done: list[Done] = []
        self._nodes: list[NodeReport] = []
        self._samples: list[Sample] = []
        self._processes: dict[tuple[type[Line], bool], list[ProcessEvent]] = defaultdict(list)
        """By kind, and whether they are of a control start."""
        self._answers: list[ApiAnswer] = []
        self._jobs: list[JobReport] = []
        self._requests: list[ImageRequest] = []
        self._pods: dict[str, PodReducer] = {}
        self._of_the_run: dict[type[Line], Callable[[int, Any], None]] = {
            lines.BeginLine: self._begin,
            lines.EndLine: self._end,
            lines.ReadingLine: self._reading,
            lines.StallLine: self._stall,
            lines.PressureLine: self._pressure,
            lines.CpuWaitLine: self._cpu_wait,
            lines.ControlLine: self._control,
            lines.ApiControlLine: self._api_control,
            lines.GapLine: self._gap,
            lines.InterventionLine: self._intervention,
            lines.NodeLine: self._node,
            lines.SampleLine: self._sample,
            lines.ProcessStarted: self._process,
            lines.ProcessExited: self._process,
            lines.ProcessHealthy: self._process,
            lines.AnswerLine: self._answer,
            lines.JobLine: self._job,
            lines.RequestLine: self._request,
        }

    def take(self, number: int, line: AnyLine) -> None:
        """Fold one line in."""
        self._events += 1
        self._last_line = number
        if line.received_ns > self._last_ns and line.channel is not _JOURNAL:  # journals are read at the end
            self._last_ns = line.received_ns
        handler = self._of_the_run.get(type(line))
        if handler is not None:
            handler(number, line)
        elif line.pod_uid is None:
            self.damage.append(Damage(line=number, problem=f"{line.kind!s} event without a pod_uid"))
        else:
            pod = self._pods.get(line.pod_uid)
            if pod is None:
                pod = self._pods[line.pod_uid] = PodReducer(line.pod_uid)
            pod.take(number, line)

    def recording(self) -> Recording:
        """What was folded in."""
        recording = self._recording
        recording.events, recording.end_line, recording.end_ns = self._events, self._last_line, self._last_ns
        elsewhere = bool(self._readings[True])
        recording.clocks, recording.host = Clocks(self._readings[elsewhere]), self._hosts[elsewhere]
        recording.gaps = tuple(self._gaps)
        recording.interventions = tuple(each for each in self._done if not each.is_poke)
        recording.pokes = _pokes([each for each in self._done if each.is_poke])
        recording.nodes = tuple(self._nodes)
        recording.samples = tuple(self._samples)
        recording.started = tuple(self._processes[lines.ProcessStarted, False])
        recording.exited = tuple(self._processes[lines.ProcessExited, False])
        recording.healthy = tuple(self._processes[lines.ProcessHealthy, False])
        recording.control_exited = tuple(self._processes[lines.ProcessExited, True])
        recording.control_healthy = tuple(self._processes[lines.ProcessHealthy, True])
        recording.answers = tuple(self._answers)
        recording.jobs = tuple(self._jobs)
        recording.requests = tuple(sorted(self._requests, key=lambda each: each.t_ns))
        boots = frozenset(self._boots[elsewhere])
        reduced = [pod.reduced(recording.clocks, boots) for pod in self._pods.values()]
        recording.pods = tuple(pod for pod, _ in reduced)
        self.damage += [fault for _, faults in reduced for fault in faults]
        recording.damage = tuple(sorted(self.damage, key=lambda damage: damage.line))
        return recording

    def _begin(self, _: int, line: lines.BeginLine) -> None:
        self._recording.begin, self._recording.begin_ns = line.data, line.t_ns

    def _end(self, _: int, line: lines.EndLine) -> None:
        self._recording.end = line.data

    def _reading(self, number: int, line: lines.ReadingLine) -> None:
        self._readings[line.node is not None].append((number, line.t_ns, line.data.boot_ns))
        if line.data.boot_id is not None:
            self._boots[line.node is not None].add(line.data.boot_id)

    def _stall(self, _: int, line: lines.StallLine) -> None:
        self._hosts[line.node is not None].add_stall(line.t_ns, line.data.stalled_ns)

    def _pressure(self, _: int, line: lines.PressureLine) -> None:
        grown = line.data
        host = self._hosts[line.node is not None]
        host.add_pressure(line.t_ns, grown.some_us, interval_ns=grown.interval_ns, blocked_us=grown.blocked_us)

    def _cpu_wait(self, _: int, line: lines.CpuWaitLine) -> None:
        for host in self._hosts.values():
            host.add_wait(line.t_ns, line.data.waited_us, line.data.kubelet_us, interval_ns=line.data.interval_ns)

    def _control(self, _: int, line: lines.ControlLine) -> None:
        for host in self._hosts.values():
            host.add_control(line.t_ns, line.data.create_ns, line.data.list_ns)

    def _api_control(self, _: int, line: lines.ApiControlLine) -> None:
        for host in self._hosts.values():
            host.add_api_control(line.t_ns, line.data.took_ns)

    def _gap(self, number: int, line: lines.GapLine) -> None:
        gap = line.data
        self._gaps.append(
            Gap(
                line=number,
                channel=gap.channel,
                from_ns=gap.from_ns,
                to_ns=line.t_ns,
                reason=gap.reason,
                lost=gap.lost,
                running=gap.running,
            )
        )

    def _intervention(self, number: int, line: lines.InterventionLine) -> None:
        self._done.append(Done(line=number, t_ns=line.t_ns, data=line.data))

    def _node(self, number: int, line: lines.NodeLine) -> None:
        self._nodes.append(NodeReport(line=number, t_ns=line.t_ns, node=line.node, data=line.data))

    def _sample(self, number: int, line: lines.SampleLine) -> None:
        self._samples.append(Sample(line=number, t_ns=line.t_ns, data=line.data))

    def _process(self, number: int, line: lines.ProcessLine) -> None:
        is_control = line.data.control is not None
        self._processes[type(line), is_control].append(ProcessEvent(line=number, t_ns=line.t_ns, data=line.data))

    def _answer(self, number: int, line: lines.AnswerLine) -> None:
        self._answers.append(ApiAnswer(line=number, t_ns=line.t_ns, data=line.data))

    def _job(self, number: int, line: lines.JobLine) -> None:
        self._jobs.append(JobReport(line=number, t_ns=line.t_ns, status=line.data.status))

    def _request(self, number: int, line: lines.RequestLine) -> None:
        self._requests.append(ImageRequest(line=number, t_ns=line.t_ns, container=line.container, data=line.data))


def _pokes(written: list[Done]) -> AnnotationPeriod | None:
    """The first poke, those that failed and the last are written."""
    if not written:
        return None
    last = next((each for each in written if each.data.count is not None), None)
    return AnnotationPeriod(
        first_ns=written[0].t_ns,
        last_ns=last.t_ns if last else None,
        longest_ns=last.data.longest_ns if last else None,
        failed_ns=tuple(each.t_ns for each in written if not each.ok),
    )
