"""The Kubernetes Events about the pods of the run, as the watch delivers them.

The kubelet sends no more than 25 Events about a pod at once and one in 5 min after that, and counts equal ones together
(client-go tools/record/events_cache.go@v0.37.1).
"""

import logging
import re

import msgspec

from crashloop.history.event import Channel, Event, Kind
from crashloop.kube.client import Collection, KubeApi
from crashloop.kube.errors import ApiRefusal
from crashloop.kube.watch import Changed, Listed, Metadata, Watch
from crashloop.record.channels.events import Sink, received_event
from crashloop.record.channels.watch_channel import WatchChannel

OF_A_CONTAINER = re.compile(r"^spec\.(?:initContainers|containers|ephemeralContainers)\{(?P<name>.+)\}$")
"""`involvedObject.fieldPath` of an Event about a container: pkg/kubelet/container/ref.go@v1.37.1."""

log = logging.getLogger(__name__)


class _Involved(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    uid: str = ""
    field_path: str = ""


class _Source(msgspec.Struct, frozen=True):
    component: str = ""


class EventObject(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The needed fields of an Event (core/v1)."""

    metadata: Metadata
    involved_object: _Involved = _Involved()
    reason: str = ""
    message: str = ""
    type: str = ""
    count: int | None = None
    source: _Source = _Source()
    reporting_component: str = ""


class KubernetesEventsChannel(WatchChannel[EventObject]):
    """Follows all Events about pods of the run's namespace."""

    def __init__(self, api: KubeApi, namespace: str, sink: Sink) -> None:
        about_pods = Collection("events", namespace, {"fieldSelector": "involvedObject.kind=Pod"})
        super().__init__(Channel.EVENTS, Watch(api, about_pods, EventObject), sink)
        self._known: dict[str, str] = {}
        """Resource version last seen, by the uid of the Event."""

    def follow(self) -> None:
        try:
            super().follow()
        except ApiRefusal as refused:
            log.warning("no Kubernetes Events are shown: %s", refused)

    def take_list(self, listed: Listed[EventObject]) -> None:
        for each in listed.objects:
            self._take(each, listed.received_ns)

    def take_change(self, change: Changed[EventObject]) -> None:
        if change.type != "DELETED":  # an Event is deleted an hour after it came
            self._take(change.object, change.received_ns)

    def _take(self, said: EventObject, received_ns: int) -> None:
        uid, version = said.metadata.uid, said.metadata.resource_version
        if self._known.get(uid) != version:
            self._known[uid] = version
            self._sink.pod(said.involved_object.name, _event(said, received_ns))


def _event(said: EventObject, received_ns: int) -> Event:
    named = OF_A_CONTAINER.match(said.involved_object.field_path)
    data = {
        "reason": said.reason,
        "message": said.message,
        "type": said.type,
        "count": said.count or 1,
        "reporter": said.source.component or said.reporting_component,
    }
    uid, container = said.involved_object.uid, named["name"] if named else None
    return received_event(Channel.EVENTS, Kind.KUBERNETES_EVENT, received_ns, data, pod_uid=uid, container=container)
