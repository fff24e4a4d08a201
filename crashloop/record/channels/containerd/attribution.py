"""Attributes an event of the runtime to a pod and container. Pure.

CRI labels every container and sandbox with its pod (pkg/kubelet/types/labels.go@v1.37.1) and its kind
(containerd internal/cri/labels). A container id is looked up once; all later events of it are known.
"""

from collections import defaultdict
from typing import Any

import msgspec

from crashloop.history.event import Channel, Event, Kind
from crashloop.record.channels.containerd.wire import ContainerRecord, RefusedStart, RuntimeEvent, Topic

_KINDS = {
    Topic.CREATE: Kind.CREATED,
    Topic.START: Kind.STARTED,
    Topic.EXIT: Kind.EXITED,
    Topic.TASK_DELETE: Kind.CLEARED,
    Topic.DELETE: Kind.REMOVED,
    Topic.OOM: Kind.OOM,
}
_SANDBOX_PHASES = {Kind.CREATED: "created", Kind.STARTED: "started", Kind.EXITED: "exited", Kind.REMOVED: "removed"}


class Attributed(msgspec.Struct, frozen=True, kw_only=True):
    """A container id of a pod. For the pod's sandbox `container` is None."""

    container_id: str
    namespace: str
    pod: str
    pod_uid: str
    container: str | None
    instance: int | None
    image: str
    created_ns: int


def is_sandbox_of(record: ContainerRecord, pod_uid: str) -> bool:
    """Whether a container is a sandbox of that pod."""
    labels = record.labels
    return labels.get("io.cri-containerd.kind") == "sandbox" and labels.get("io.kubernetes.pod.uid") == pod_uid


def is_instance_of(record: ContainerRecord, pod_uid: str, container: str) -> bool:
    """Whether it is an instance of that pod's container."""
    labels = record.labels
    named = labels.get("io.kubernetes.container.name"), labels.get("io.kubernetes.pod.uid")
    return labels.get("io.cri-containerd.kind") == "container" and named == (container, pod_uid)


class Attribution:
    """Remembers whose each container id of a node is, and counts the instances of each container."""

    def __init__(self) -> None:
        self._known: dict[str, Attributed] = {}
        self._instances: defaultdict[tuple[str, str], int] = defaultdict(int)
        self.unattributed: dict[str, str] = {}
        """Container ids that belong to no pod, or were gone before they could be looked up, and why."""

    def knows(self, container_id: str) -> bool:
        return container_id in self._known or container_id in self.unattributed

    def learn(self, record: ContainerRecord) -> Attributed | None:
        """Remember a container; None if it belongs to no pod. Instances are counted in the order in which they are learnt."""
        labels = record.labels
        kind = labels.get("io.cri-containerd.kind")
        container = labels.get("io.kubernetes.container.name") if kind == "container" else None
        if "io.kubernetes.pod.uid" not in labels or (kind != "sandbox" and container is None):
            self.unattributed[record.container_id] = "it has no labels of a pod"
            return None
        instance = None
        pod_uid = labels["io.kubernetes.pod.uid"]
        if container is not None:
            instance = self._instances[pod_uid, container]
            self._instances[pod_uid, container] += 1
        attributed = Attributed(
            container_id=record.container_id,
            namespace=labels.get("io.kubernetes.pod.namespace", ""),
            pod=labels.get("io.kubernetes.pod.name", ""),
            pod_uid=pod_uid,
            container=container,
            instance=instance,
            image=record.image,
            created_ns=record.created_ns,
        )
        self._known[record.container_id] = attributed
        return attributed

    def whose(self, container_id: str) -> Attributed | None:
        return self._known.get(container_id)

    def forget(self, container_id: str) -> None:
        """The container is gone; its id does not come again."""
        self._known.pop(container_id, None)
        self.unattributed.pop(container_id, None)


def created_event(whose: Attributed, *, node: str, t_ns: int, received_ns: int, listed: bool) -> Event:
    """A container (or sandbox) was created; `listed`: its own event was missed."""
    data: dict[str, Any] = {"phase": "created"} if whose.container is None else {"image": whose.image}
    if listed:
        data["listed"] = True
    return _runtime_history_event(Kind.CREATED, whose, data, node=node, t_ns=t_ns, received_ns=received_ns)


def event_of(whose: Attributed, seen: RuntimeEvent, *, node: str, received_ns: int) -> Event:
    """An event of the runtime as an event of the history."""
    if seen.topic is Topic.CREATE:
        return created_event(whose, node=node, t_ns=seen.published_ns, received_ns=received_ns, listed=False)
    kind, t_ns, data = _KINDS[seen.topic], seen.published_ns, dict[str, Any]()
    if seen.topic is Topic.START:
        data = {"pid": seen.pid}
    elif seen.topic is Topic.EXIT:
        t_ns, data = seen.exited_ns, {"exit_code": seen.exit_code, "published_ns": seen.published_ns}
        if seen.is_of_exec:
            kind, data["exec_id"] = Kind.EXEC_EXITED, seen.exec_id
    if whose.container is None and kind in _SANDBOX_PHASES:
        data["phase"] = _SANDBOX_PHASES[kind]
    return _runtime_history_event(kind, whose, data, node=node, t_ns=t_ns, received_ns=received_ns)


def refused_event(whose: Attributed, refused: RefusedStart, *, node: str, received_ns: int) -> Event:
    """The exit of a container whose start was refused."""
    data = {"exit_code": refused.exit_code, "refused": refused.message}
    return _runtime_history_event(Kind.EXITED, whose, data, node=node, t_ns=refused.ended_ns, received_ns=received_ns)


def _runtime_history_event(
    kind: Kind, whose: Attributed, data: dict[str, Any], *, node: str, t_ns: int, received_ns: int
) -> Event:
    return Event(
        seq=0,
        t_ns=t_ns,
        received_ns=received_ns,
        channel=Channel.RUNTIME,
        kind=Kind.SANDBOX if "phase" in data else kind,
        node=node,
        pod_uid=whose.pod_uid,
        container=whose.container,
        instance=whose.instance,
        data={"container_id": whose.container_id} | data,
    )
