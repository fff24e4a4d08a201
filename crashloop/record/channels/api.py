"""The API channel: pod statuses as the watch delivers them."""

import msgspec

from crashloop.history.event import Channel, Event, Kind
from crashloop.kube.client import Json, KubeApi
from crashloop.kube.watch import Changed, Listed, Metadata, PodObject, PodWatch
from crashloop.record.channels.events import now_ns, received_event
from crashloop.record.channels.watch_channel import WatchChannel
from crashloop.record.event_router import EventRouter
from crashloop.record.pod_recording import PodRecording


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
        if change.type == "DELETED":
            self._gone(change.object.metadata.uid, change.object.metadata.resource_version, change.received_ns)

    def _take_pod(self, pod: PodObject, received_ns: int) -> None:
        about = pod.metadata
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
