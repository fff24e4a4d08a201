"""The channels that follow a watch: pod statuses, and the Kubernetes Events about the pods of the run.

Losses of a watch's connection stand in every history. The kubelet sends no more than 25 Events about a pod at once and one in
5 min after that, and counts equal ones together (client-go tools/record/events_cache.go@v0.37.1).
"""

import logging
import re
from collections.abc import Callable
from queue import Empty, Queue
from typing import Generic

import msgspec

from crashloop.history.event import Channel, Event, Kind
from crashloop.kube.answers import ApiRefusal, KubeError
from crashloop.kube.client import Collection, KubeApi
from crashloop.kube.watch import Changed, Listed, Metadata, PodObject, PodWatch, Watch, Watched, WatchGap
from crashloop.pods.manifest import API_CONTROL, api_control_manifest
from crashloop.record.channels.channel import Follower, Sink, Stopwatch, gap, now_ns, received_event, recorder_event
from crashloop.record.event_router import EventRouter, PodRecording
from crashloop.yaml_text import Json

API_CONTROL_EVERY_S = 1.0
API_CONTROL_WITHIN_S = 30.0
API_CONTROL_ANNOTATION = "crashloop.dev/number"


class WatchChannel(Follower, Generic[Watched]):
    """A subclass takes what the watch delivers."""

    def __init__(self, channel: Channel, watch: Watch[Watched], sink: Sink) -> None:
        super().__init__(channel.value)
        self._channel = channel
        self._watch = watch
        self._sink = sink

    def stop(self) -> None:
        self._watch.stop()
        super().stop()

    def follow(self) -> None:
        for item in self._watch.items():
            if isinstance(item, WatchGap):
                self._sink.everyone(
                    gap(self._channel, from_ns=item.from_ns, to_ns=item.to_ns, reason=item.reason, lost=item.lost)
                )
            elif isinstance(item, Listed):
                self.take_list(item)
            else:
                self.take_change(item)

    def take_list(self, listed: Listed[Watched]) -> None:
        raise NotImplementedError

    def take_change(self, change: Changed[Watched]) -> None:
        raise NotImplementedError


def api_event(kind: Kind, pod_uid: str | None, received_ns: int, **data: object) -> Event:
    """A statement of the API about a pod, or about the scenario's Job, stamped with our clock."""
    return received_event(Channel.API, kind, received_ns, data, pod_uid=pod_uid)


class ApiChannel(WatchChannel[PodObject]):
    """Follows all pods of the run's namespace."""

    def __init__(self, api: KubeApi, namespace: str, *, label_selector: str, session: EventRouter) -> None:
        super().__init__(Channel.API, PodWatch(api, namespace, label_selector=label_selector), session)
        self._session = session
        self._present: dict[str, Metadata] = {}
        """By the uid of the object."""
        self._controls: Queue[tuple[str, int]] = Queue()
        """What the watch has brought of the recorder's own patches: its number and when."""

    def control_came_ns(self, number: str) -> int | None:
        """When the watch brought the recorder's patch of that number; None if it does not for `API_CONTROL_WITHIN_S`."""
        try:
            while True:
                came, received_ns = self._controls.get(timeout=API_CONTROL_WITHIN_S)
                if came == number:
                    return received_ns
        except Empty:
            return None

    def broken_since(self) -> tuple[int, str] | None:
        """Since when the API server is not heard, and why; None while it is."""
        return self._watch.broken_since()

    def take_list(self, listed: Listed[PodObject]) -> None:
        uids = {pod.metadata.uid for pod in listed.objects}
        for uid in self._present.keys() - uids:
            self._gone(uid, None, listed.received_ns)
        for pod in listed.objects:
            self._take_pod(pod, listed.received_ns)

    def take_change(self, change: Changed[PodObject]) -> None:
        self._take_pod(change.object, change.received_ns)
        if change.type == "DELETED" and change.object.metadata.uid in self._present:
            self._gone(change.object.metadata.uid, change.object.metadata.resource_version, change.received_ns)

    def _take_pod(self, pod: PodObject, received_ns: int) -> None:
        about = pod.metadata
        if about.name == API_CONTROL:
            self._controls.put((about.annotations.get(API_CONTROL_ANNOTATION, ""), received_ns))
            return
        if about.is_mirror and about.uid not in self._present:
            self._session.pod(about.name, _mirror_event(about, "created", received_ns))
        self._present[about.uid] = about
        take_pod(self._session, pod, received_ns)

    def _gone(self, uid: str, resource_version: str | None, received_ns: int) -> None:
        about = self._present.pop(uid)
        if about.is_mirror:
            event = _mirror_event(about, "deleted", received_ns)
        else:
            event = api_event(Kind.DELETED, uid, received_ns, resource_version=resource_version)
        self._session.pod(about.name, event)


class ApiControlChannel(Follower):
    """Reports for how long a patch of a pod that no node has is on its way until the watch of the pods has brought it."""

    def __init__(
        self, api: KubeApi, namespace: str, run: str, came_ns: Callable[[str], int | None], sink: Sink
    ) -> None:
        """`came_ns` waits for the watch to bring the patch of that number, and says when it came; None: it did not."""
        super().__init__("api-control")
        self._api = api
        self._namespace = namespace
        self._manifest = api_control_manifest(run)
        self._came_ns = came_ns
        self._sink = sink
        self.stopwatch = Stopwatch()

    def follow(self) -> None:
        try:
            self._api.create_pod(self._namespace, self._manifest)
        except KubeError as refused:
            log.warning("the API server's own time is not measured, so late statuses have more excuses: %s", refused)
            return
        number = 0
        while not self.stopped.wait(API_CONTROL_EVERY_S):
            number += 1
            with self.stopwatch.running():
                self._report(str(number))
        try:
            self._api.delete_pod(self._namespace, API_CONTROL, grace_s=0)
        except KubeError:
            return  # it goes with the namespace, or with the run's label

    def _report(self, number: str) -> None:
        began_ns, patch = now_ns(), {"metadata": {"annotations": {API_CONTROL_ANNOTATION: number}}}
        try:
            self._api.patch_pod(self._namespace, API_CONTROL, patch)
        except KubeError:
            return  # that nothing is reported says so
        came_ns = self._came_ns(number)
        if came_ns is not None:
            self._sink.everyone(recorder_event(Kind.API_CONTROL, came_ns, {"took_ns": max(0, came_ns - began_ns)}))


def _mirror_event(about: Metadata, phase: str, received_ns: int) -> Event:
    """A mirror pod came or went; its static pod may live on."""
    return api_event(Kind.MIRROR, about.pod_uid, received_ns, phase=phase, mirror_uid=about.uid)


def take_pod(session: EventRouter, pod: PodObject, received_ns: int) -> None:
    """Record what a pod object says of its status."""
    if (watched := session.met(pod)) is not None:
        take_status(watched, pod, received_ns)


def take_status(watched: PodRecording, pod: PodObject, received_ns: int) -> None:
    """Record the status of a pod of that scenario."""
    about, version, uid = pod.metadata, pod.metadata.resource_version, pod.metadata.pod_uid
    event = api_event(Kind.STATUS, uid, received_ns, resource_version=version, status=pod.status, **_deletion(about))
    watched.take_status(event, uid, pod.status, version)


def _deletion(about: Metadata) -> Json:
    if about.deletion_timestamp is None or about.is_mirror:  # the deletion of a picture is not the pod's
        return {}
    return {"deletion": {"timestamp": about.deletion_timestamp, "grace_s": about.deletion_grace_period_seconds}}


def take_answer(session: EventRouter, answer: Json) -> None:
    """Record the status in a pod that the API server has answered with."""
    take_pod(session, msgspec.json.decode(msgspec.json.encode(answer), type=PodObject), now_ns())


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
            self._sink.pod(said.involved_object.name, _event_about_pod(said, received_ns))


def _event_about_pod(said: EventObject, received_ns: int) -> Event:
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
