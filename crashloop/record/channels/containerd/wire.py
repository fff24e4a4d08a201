"""containerd's gRPC interface, reduced to the calls that show containers starting and ending, or end them.

Source: github.com/containerd/containerd/api v1.11.1, services/events/v1, services/containers/v1 and services/tasks/v1.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import grpc
import msgspec
from google.protobuf import any_pb2
from google.protobuf.message import Message

from crashloop.errors import ObservationError
from crashloop.record.channels.containerd import api_pb2

CONNECT_S = 0.5
"""Short, since an attempt that began before the runtime listened does not notice when it does."""
ANSWER_S = 5.0
CONTROL_S = 30.0
"""Long, since a control container has to show the slowness of a disk."""

_CONTAINERS = "/containerd.services.containers.v1.Containers"
_RUNNING, _EXITED = 1, 2
"""CONTAINER_RUNNING and CONTAINER_EXITED of CRI."""
_START_ERROR = "StartError"
_CUT_OFF = "context canceled"
"""In the message of a start that the end of its kubelet cut off: nobody refused it
(containerd internal/cri/server/container_start.go@v2.3.7 StartContainer)."""
_NAMESPACE = "k8s.io"
"""containerd's namespace for everything that comes through CRI."""
_OURS = "crashloop"
"""A namespace that CRI does not look into, so that no kubelet sees a control container."""
_SNAPSHOTTER = "overlayfs"
"""containerd's default."""


_OPTIONS = (("grpc.default_authority", "localhost"), ("grpc.use_local_subchannel_pool", 1))
"""A pool of its own: each connection is a fresh attempt, not held up by the backoff of an earlier one."""


class Topic(StrEnum):
    """Topics of events that are read."""

    CREATE = "/containers/create"
    DELETE = "/containers/delete"
    START = "/tasks/start"
    EXIT = "/tasks/exit"
    TASK_DELETE = "/tasks/delete"
    OOM = "/tasks/oom"


class RuntimeEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of the runtime. `published_ns` is its own stamp, UTC."""

    topic: Topic
    container_id: str
    published_ns: int
    image: str = ""
    """CREATE."""
    pid: int = 0
    """START, EXIT."""
    exec_id: str = ""
    """EXIT, TASK_DELETE: equal to `container_id` for the container's own process."""
    exit_code: int = 0
    """EXIT."""
    exited_ns: int = 0
    """EXIT: when the process ended."""

    @property
    def is_of_exec(self) -> bool:
        """Whether it is about a process that was executed in the container, not about the container's own."""
        return self.exec_id not in ("", self.container_id)


class ContainerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the runtime remembers of a container."""

    container_id: str
    image: str
    created_ns: int
    labels: dict[str, str]


class RefusedStart(msgspec.Struct, frozen=True, kw_only=True):
    """A container that the runtime did not start: of that there is no event."""

    ended_ns: int
    """When the refusal was noted, UTC."""
    exit_code: int
    message: str


class StreamLost(ObservationError):
    """The runtime does not answer, or the connection broke."""


class Containerd:
    """A connection to one containerd. Every method raises StreamLost."""

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._channel = grpc.insecure_channel(f"unix:{socket}", options=_OPTIONS)
        self._subscription: Any = None
        self._subscribe = self._channel.unary_stream(
            "/containerd.services.events.v1.Events/Subscribe",
            request_serializer=api_pb2.SubscribeRequest.SerializeToString,
            response_deserializer=api_pb2.Envelope.FromString,
        )

    def create_control(self, name: str) -> None:
        """Create a container that never runs, with an empty file system, as CRI does for a kubelet."""
        self._control(
            "snapshots.v1.Snapshots/Prepare", api_pb2.PrepareSnapshotRequest(snapshotter=_SNAPSHOTTER, key=name)
        )
        container = api_pb2.Container(
            id=name,
            runtime=api_pb2.Runtime(name="io.containerd.runc.v2"),
            spec=any_pb2.Any(type_url="crashloop.dev/none"),
            snapshotter=_SNAPSHOTTER,
            snapshot_key=name,
        )
        self._control("containers.v1.Containers/Create", api_pb2.CreateContainerRequest(container=container))

    def remove_control(self, name: str) -> None:
        """Remove it again. containerd's garbage collector may be faster with the snapshot."""
        self._control("containers.v1.Containers/Delete", api_pb2.DeleteContainerRequest(id=name))
        removed = api_pb2.RemoveSnapshotRequest(snapshotter=_SNAPSHOTTER, key=name)
        self._control("snapshots.v1.Snapshots/Remove", removed, may_be_gone=True)

    def kill(self, container_id: str, signal: int) -> None:
        """Send a signal to the first process of a container or sandbox, as an operator on the node would."""
        request = api_pb2.KillRequest(container_id=container_id, signal=signal)
        self._call("/containerd.services.tasks.v1.Tasks/Kill", request)

    def remove(self, container_id: str) -> None:
        """Have CRI kill a container and forget it, as an operator on the node would by `crictl rm --force`."""
        # RemoveContainerRequest of CRI has the id where DeleteContainerRequest has it.
        self._call("/runtime.v1.RuntimeService/RemoveContainer", api_pb2.DeleteContainerRequest(id=container_id))

    def list_as_kubelets_do(self) -> None:
        """Ask CRI for all sandboxes and containers, as a relist does (pkg/kubelet/pleg/generic.go@v1.37.1)."""
        for what in ("ListPodSandbox", "ListContainers"):
            self._call(f"/runtime.v1.RuntimeService/{what}", api_pb2.Whatever())

    def _control(self, method: str, request: Message, *, may_be_gone: bool = False) -> None:
        self._call(f"/containerd.services.{method}", request, namespace=_OURS, may_be_gone=may_be_gone)

    def _call(
        self,
        path: str,
        request: Message,
        answer: type[Message] = api_pb2.Whatever,
        *,
        namespace: str = _NAMESPACE,
        within_s: float = CONTROL_S,
        may_be_gone: bool = False,
    ) -> Any:
        """The answer; None if what it is about is gone, and may be."""
        method = self._channel.unary_unary(
            path, request_serializer=type(request).SerializeToString, response_deserializer=answer.FromString
        )
        try:
            return method(request, timeout=within_s, metadata=(("containerd-namespace", namespace),))
        except grpc.RpcError as error:
            if may_be_gone and error.code() is grpc.StatusCode.NOT_FOUND:
                return None
            raise self._lost(error) from error

    def _ask(self, path: str, request: Message, answer: type[Message], *, may_be_gone: bool = False) -> Any:
        return self._call(path, request, answer, within_s=ANSWER_S, may_be_gone=may_be_gone)

    def subscribe(self) -> Iterator[RuntimeEvent]:
        """Subscribe at once; the events that come from then on, without an end."""
        try:
            grpc.channel_ready_future(self._channel).result(timeout=CONNECT_S)
            filters = [f'namespace=={_NAMESPACE},topic=="{topic}"' for topic in Topic]
            self._subscription = self._subscribe(api_pb2.SubscribeRequest(filters=filters))
        except (grpc.RpcError, grpc.FutureTimeoutError) as error:
            raise self._lost(error) from error
        return self._events()

    def _events(self) -> Iterator[RuntimeEvent]:
        try:
            for envelope in self._subscription:
                yield _event_in(envelope)
        except grpc.RpcError as error:
            raise self._lost(error) from error

    def container(self, container_id: str) -> ContainerRecord | None:
        """What the runtime knows of a container; None if it is gone."""
        request = api_pb2.GetContainerRequest(id=container_id)
        found = self._ask(f"{_CONTAINERS}/Get", request, api_pb2.GetContainerResponse, may_be_gone=True)
        return None if found is None else _container_record(found.container)

    def refused_start(self, container_id: str) -> RefusedStart | None:
        """How CRI says that a container ended whose start was refused; None if it is gone or no start of it was."""
        found = self._status_of(container_id)
        if found is None or found.state != _EXITED or found.reason != _START_ERROR or _CUT_OFF in found.message:
            return None
        return RefusedStart(ended_ns=found.finished_at, exit_code=found.exit_code, message=found.message)

    def runs(self, container_id: str) -> bool:
        """Whether CRI says that a container runs."""
        found = self._status_of(container_id)
        return found is not None and found.state == _RUNNING

    def _status_of(self, container_id: str) -> api_pb2.ContainerStatus | None:
        """What CRI says of a container; None if it is gone."""
        request = api_pb2.ContainerStatusRequest(container_id=container_id)
        path = "/runtime.v1.RuntimeService/ContainerStatus"
        found = self._ask(path, request, api_pb2.ContainerStatusResponse, may_be_gone=True)
        return None if found is None else found.status

    def containers(self) -> list[ContainerRecord]:
        """All containers there are."""
        found = self._ask(f"{_CONTAINERS}/List", api_pb2.ListContainersRequest(), api_pb2.ListContainersResponse)
        return [_container_record(each) for each in found.containers]

    def close(self) -> None:
        """End `subscribe`, from any thread, and disconnect."""
        if self._subscription is not None:
            self._subscription.cancel()
        self._channel.close()

    def _lost(self, error: Exception) -> StreamLost:
        why = error.details() if isinstance(error, grpc.Call) else f"no connection within {CONNECT_S:g} s"
        return StreamLost(f"containerd at {self._socket}: {why}.")


def _event_in(envelope: api_pb2.Envelope) -> RuntimeEvent:
    topic, raw = Topic(envelope.topic), envelope.event.value
    published_ns = envelope.timestamp.ToNanoseconds()
    if topic is Topic.CREATE:
        created = api_pb2.ContainerCreate.FromString(raw)
        return RuntimeEvent(topic=topic, container_id=created.id, published_ns=published_ns, image=created.image)
    if topic is Topic.DELETE:
        deleted = api_pb2.ContainerDelete.FromString(raw)
        return RuntimeEvent(topic=topic, container_id=deleted.id, published_ns=published_ns)
    if topic is Topic.TASK_DELETE:
        cleared = api_pb2.TaskDelete.FromString(raw)
        return RuntimeEvent(
            topic=topic, container_id=cleared.container_id, published_ns=published_ns, exec_id=cleared.id
        )
    if topic is Topic.START:
        started = api_pb2.TaskStart.FromString(raw)
        return RuntimeEvent(topic=topic, container_id=started.container_id, published_ns=published_ns, pid=started.pid)
    if topic is Topic.OOM:
        killed = api_pb2.TaskOOM.FromString(raw)
        return RuntimeEvent(topic=topic, container_id=killed.container_id, published_ns=published_ns)
    ended = api_pb2.TaskExit.FromString(raw)
    return RuntimeEvent(
        topic=topic,
        container_id=ended.container_id,
        published_ns=published_ns,
        pid=ended.pid,
        exec_id=ended.id,
        exit_code=ended.exit_status,
        exited_ns=ended.exited_at.ToNanoseconds(),
    )


def _container_record(container: api_pb2.Container) -> ContainerRecord:
    return ContainerRecord(
        container_id=container.id,
        image=container.image,
        created_ns=container.created_at.ToNanoseconds(),
        labels=dict(container.labels),
    )
