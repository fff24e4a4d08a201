"""The lines of a history with their `data` typed, one struct per kind, so that decoding a line also checks it.

Fields that are not judged are left out and skipped while decoding. Missing or mistyped data make a line unreadable: damage.
"""

from typing import ClassVar

import msgspec

from crashloop.history import payload
from crashloop.history.event import Channel, Clock, Kind
from crashloop.history.payload import Whole


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", gc=False):
    """What all lines have in common: the fields of Event."""

    kind: ClassVar[Kind]
    seq: Whole
    t_ns: Whole
    clock: Clock = Clock.UTC
    resolution_ns: Whole = 1
    received_ns: Whole
    channel: Channel
    node: str | None = None
    pod_uid: str | None = None
    container: str | None = None
    instance: Whole | None = None


class BeginLine(Line, tag="begin", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.BEGIN
    data: payload.Begin


class EndLine(Line, tag="end", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.END
    data: payload.End


class ReadingLine(Line, tag="clock", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.CLOCK
    data: payload.ClockReading


class StallLine(Line, tag="stall", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.STALL
    data: payload.Stall


class PressureLine(Line, tag="pressure", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.PRESSURE
    data: payload.Pressure = payload.Pressure()


class CpuWaitLine(Line, tag="cpu-wait", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.CPU_WAIT
    data: payload.CpuWait


class ControlLine(Line, tag="control", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.CONTROL
    data: payload.Control


class ApiControlLine(Line, tag="api-control", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.API_CONTROL
    data: payload.ApiControl


class GapLine(Line, tag="gap", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.GAP
    data: payload.GapData


class InterventionLine(Line, tag="intervention", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.INTERVENTION
    data: payload.InterventionData


class NodeLine(Line, tag="node", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.NODE
    data: payload.NodeData = payload.NodeData()


class SampleLine(Line, tag="sample", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.SAMPLE
    data: payload.SampleData = payload.SampleData()


class ContainerLine(Line, frozen=True, kw_only=True):
    """About a container, by the runtime or by its journal; `created` also about the pod, by the API."""

    data: payload.ContainerData = payload.ContainerData()


class Created(ContainerLine, tag="created", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.CREATED


class Started(ContainerLine, tag="started", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.STARTED


class Exited(ContainerLine, tag="exited", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.EXITED


class Noted(ContainerLine, tag="noted", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.NOTED


class Removed(ContainerLine, tag="removed", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.REMOVED


class Cleared(ContainerLine, tag="cleared", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.CLEARED


class Oom(ContainerLine, tag="oom", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.OOM


class ExecExited(ContainerLine, tag="exec-exited", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.EXEC_EXITED


class Sandbox(Line, tag="sandbox", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.SANDBOX
    data: payload.SandboxData


class Status(Line, tag="status", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.STATUS
    data: payload.StatusData


class Mirror(Line, tag="mirror", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.MIRROR
    data: payload.MirrorData


class KubernetesEventLine(Line, tag="kubernetes-event", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.KUBERNETES_EVENT
    data: payload.KubernetesEventData


class Deleted(Line, tag="deleted", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.DELETED


class Log(Line, tag="log", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.LOG
    data: payload.LogData = payload.LogData()


class LogFilesLine(Line, tag="log-files", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.LOG_FILES
    data: payload.LogFilesData


class ProcessLine(Line, frozen=True, kw_only=True):
    """About the kubelet that a startup scenario tries."""

    data: payload.ProcessData = payload.ProcessData()


class ProcessStarted(ProcessLine, tag="process-started", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.PROCESS_STARTED


class ProcessExited(ProcessLine, tag="process-exited", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.PROCESS_EXITED


class ProcessHealthy(ProcessLine, tag="process-healthy", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.PROCESS_HEALTHY


class AnswerLine(Line, tag="answer", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.ANSWER
    data: payload.AnswerData


class JobLine(Line, tag="job", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.JOB
    data: payload.JobData


class RequestLine(Line, tag="request", frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind.REQUEST
    data: payload.RequestData


OfTheRun = (
    BeginLine
    | EndLine
    | ReadingLine
    | StallLine
    | PressureLine
    | CpuWaitLine
    | ControlLine
    | ApiControlLine
    | GapLine
    | InterventionLine
    | NodeLine
    | SampleLine
    | ProcessStarted
    | ProcessExited
    | ProcessHealthy
    | AnswerLine
    | JobLine
    | RequestLine
)
OfAPod = (
    Created
    | Started
    | Noted
    | Exited
    | Cleared
    | Removed
    | Oom
    | ExecExited
    | Sandbox
    | Status
    | Mirror
    | KubernetesEventLine
    | Deleted
    | Log
    | LogFilesLine
)
AnyLine = OfTheRun | OfAPod

decode_line = msgspec.json.Decoder(AnyLine).decode
