"""A gRPC server that speaks containerd's events and containers services, from a script. It runs no container."""

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from crashloop.record.channels.containerd import api_pb2
from crashloop.record.channels.containerd.wire import Topic


def stamp(t_ns: int) -> Timestamp:
    return Timestamp(seconds=t_ns // 1_000_000_000, nanos=t_ns % 1_000_000_000)


def labels(pod: str, container: str | None, *, namespace: str = "ns") -> dict[str, str]:
    of_pod = {
        "io.kubernetes.pod.uid": f"uid-{pod}",
        "io.kubernetes.pod.name": pod,
        "io.kubernetes.pod.namespace": namespace,
    }
    if container is None:
        return of_pod | {"io.cri-containerd.kind": "sandbox"}
    return of_pod | {"io.cri-containerd.kind": "container", "io.kubernetes.container.name": container}


class Peer:
    """Serves on a socket between `start` and `stop`. Every subscriber gets every event, and all of them end on `stop`."""

    def __init__(self, socket: Path) -> None:
        self.collects_snapshots = False
        """Whether a snapshot is gone before it can be removed."""
        self.socket = str(socket)
        self.containers: dict[str, api_pb2.Container] = {}
        self.filters: list[str] = []
        self.calls: list[str] = []
        """Of what control containers take, in order: the method and what it was about."""
        self.refused: dict[str, api_pb2.ContainerStatus] = {}
        """What CRI says of containers whose start was refused, by id."""
        self._subscribers: list[queue.Queue[api_pb2.Envelope | None]] = []
        self._lock = threading.Lock()
        self._serves = False
        """Both with the lock: nobody subscribes to a peer that stops."""
        self._server: Any = None

    def start(self) -> None:
        self._server = grpc.server(ThreadPoolExecutor(4))
        self._server.add_generic_rpc_handlers(
            (
                _service(
                    "containerd.services.events.v1.Events",
                    Subscribe=grpc.unary_stream_rpc_method_handler(
                        self._subscribe,
                        request_deserializer=api_pb2.SubscribeRequest.FromString,
                        response_serializer=api_pb2.Envelope.SerializeToString,
                    ),
                ),
                _service(
                    "containerd.services.containers.v1.Containers",
                    Get=grpc.unary_unary_rpc_method_handler(
                        self._get,
                        request_deserializer=api_pb2.GetContainerRequest.FromString,
                        response_serializer=api_pb2.GetContainerResponse.SerializeToString,
                    ),
                    List=grpc.unary_unary_rpc_method_handler(
                        lambda *_: api_pb2.ListContainersResponse(containers=list(self.containers.values())),
                        request_deserializer=api_pb2.ListContainersRequest.FromString,
                        response_serializer=api_pb2.ListContainersResponse.SerializeToString,
                    ),
                    Create=self._noting("Create", api_pb2.CreateContainerRequest, lambda asked: asked.container.id),
                    Delete=self._noting("Delete", api_pb2.DeleteContainerRequest, lambda asked: asked.id),
                ),
                _service(
                    "containerd.services.snapshots.v1.Snapshots",
                    Prepare=self._noting("Prepare", api_pb2.PrepareSnapshotRequest, lambda asked: asked.key),
                    Remove=self._noting("Remove", api_pb2.RemoveSnapshotRequest, lambda asked: asked.key),
                ),
                _service(
                    "containerd.services.tasks.v1.Tasks",
                    Kill=self._noting(
                        "Kill", api_pb2.KillRequest, lambda asked: f"{asked.container_id} {asked.signal}"
                    ),
                ),
                _service(
                    "runtime.v1.RuntimeService",
                    ContainerStatus=grpc.unary_unary_rpc_method_handler(
                        self._status,
                        request_deserializer=api_pb2.ContainerStatusRequest.FromString,
                        response_serializer=api_pb2.ContainerStatusResponse.SerializeToString,
                    ),
                    ListPodSandbox=self._noting("ListPodSandbox", api_pb2.Whatever, lambda _: ""),
                    RemoveContainer=self._noting(
                        "RemoveContainer", api_pb2.DeleteContainerRequest, lambda asked: str(asked.id)
                    ),
                    ListContainers=self._noting("ListContainers", api_pb2.Whatever, lambda _: ""),
                ),
            )
        )
        self._server.add_insecure_port(f"unix:{self.socket}")
        self._serves = True
        self._server.start()

    def stop(self) -> None:
        ended = self._server.stop(grace=0)
        with self._lock:
            self._serves = False
            for subscriber in self._subscribers:
                subscriber.put(None)
            self._subscribers.clear()
        ended.wait()
        Path(self.socket).unlink(missing_ok=True)

    def add(self, container_id: str, created_ns: int, of: dict[str, str]) -> None:
        """A container that exists from now on, without an event."""
        self.containers[container_id] = api_pb2.Container(
            id=container_id, image="image", labels=of, created_at=stamp(created_ns)
        )

    def publish(self, topic: Topic, event: Message, at_ns: int) -> None:
        envelope = api_pb2.Envelope(timestamp=stamp(at_ns), topic=topic)
        envelope.event.Pack(event)
        with self._lock:
            for subscriber in self._subscribers:
                subscriber.put(envelope)

    def created(self, container_id: str, at_ns: int, of: dict[str, str]) -> None:
        self.add(container_id, at_ns, of)
        self.publish(Topic.CREATE, api_pb2.ContainerCreate(id=container_id, image="image"), at_ns)

    def started(self, container_id: str, at_ns: int) -> None:
        self.publish(Topic.START, api_pb2.TaskStart(container_id=container_id, pid=7), at_ns)

    def exited(self, container_id: str, at_ns: int, code: int, *, exec_id: str | None = None) -> None:
        event = api_pb2.TaskExit(
            container_id=container_id,
            id=exec_id or container_id,
            exit_status=code,
            exited_at=stamp(at_ns),
        )
        self.publish(Topic.EXIT, event, at_ns + 5)

    def cleared(self, container_id: str, at_ns: int, *, exec_id: str | None = None) -> None:
        event = api_pb2.TaskDelete(container_id=container_id, id=exec_id or container_id)
        self.publish(Topic.TASK_DELETE, event, at_ns)

    def removed(self, container_id: str, at_ns: int) -> None:
        del self.containers[container_id]
        self.publish(Topic.DELETE, api_pb2.ContainerDelete(id=container_id), at_ns)

    def _subscribe(self, request: api_pb2.SubscribeRequest, _: object) -> Iterator[api_pb2.Envelope]:
        self.filters = list(request.filters)
        subscriber: queue.Queue[api_pb2.Envelope | None] = queue.Queue()
        with self._lock:
            if not self._serves:
                return
            self._subscribers.append(subscriber)
        while (envelope := subscriber.get()) is not None:
            yield envelope

    def _noting(self, method: str, request: type[Message], subject: Callable[[Any], str]) -> Any:
        """A method that does nothing but note in which namespace it was asked for what."""

        def answer(asked: Any, context: Any) -> api_pb2.Whatever:
            namespace = dict(context.invocation_metadata())["containerd-namespace"]
            self.calls.append(f"{namespace} {method} {subject(asked)}".rstrip())
            if method == "Remove" and self.collects_snapshots:
                context.abort(grpc.StatusCode.NOT_FOUND, f"snapshot {subject(asked)} does not exist: not found")
            return api_pb2.Whatever()

        return grpc.unary_unary_rpc_method_handler(
            answer, request_deserializer=request.FromString, response_serializer=api_pb2.Whatever.SerializeToString
        )

    def _get(self, request: api_pb2.GetContainerRequest, context: Any) -> api_pb2.GetContainerResponse:
        if request.id not in self.containers:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such container")
        return api_pb2.GetContainerResponse(container=self.containers[request.id])

    def _status(self, request: api_pb2.ContainerStatusRequest, _: object) -> api_pb2.ContainerStatusResponse:
        return api_pb2.ContainerStatusResponse(status=self.refused.get(request.container_id))

    @property
    def is_subscribed(self) -> bool:
        return bool(self._subscribers)


def _service(name: str, **methods: Any) -> Any:
    return grpc.method_handlers_generic_handler(name, methods)
