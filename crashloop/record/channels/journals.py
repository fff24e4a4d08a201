"""The journal channel: the containers' own records, read back through the pod's logs."""

from crashloop.history.event import Channel, Event
from crashloop.history.journal import Journal, journal_events, read_journal
from crashloop.kube.client import KubeApi
from crashloop.kube.errors import KubeError
from crashloop.record.channels.events import gap, now_ns
from crashloop.record.pod_recording import PodRecording
from crashloop.waiting import WaitTimeout, wait_until

COMPLETE_WITHIN_S = 5.0
"""A container that was started just now prints its journal within this time, and a runtime that was restarted answers."""


def read_journals(api: KubeApi, namespace: str, watched: PodRecording, pod_uid: str) -> list[Event]:
    """The journals of the pod's started containers. What cannot be read becomes a gap."""
    return [
        event
        for container in watched.scenario.pod.containers
        if watched.starts(container.name, pod_uid) > 0
        for event in _journal_of(api, namespace, watched, container.name, pod_uid)
    ]


def _journal_of(api: KubeApi, namespace: str, watched: PodRecording, container: str, pod_uid: str) -> list[Event]:
    newest, missing = Journal(), "its log was not read"
    expected = watched.starts(container, pod_uid)

    def is_whole() -> bool:
        nonlocal newest, missing
        try:
            newest = read_journal(api.read_log(namespace, watched.pods[pod_uid], container))
        except KubeError as error:
            missing = str(error)
            return False
        missing = f"its journal has {newest.starts} starts; {expected} were seen"
        return newest.starts >= expected

    gaps = []
    try:
        wait_until(f"the journal of {container}", is_whole, timeout_s=COMPLETE_WITHIN_S, every_s=0.2)
    except WaitTimeout:
        reason = f"container {container}: {missing}"
        gaps = [gap(Channel.JOURNAL, from_ns=0, to_ns=now_ns(), reason=reason, node=watched.node.name)]
    events = journal_events(
        newest,
        pod_uid=pod_uid,
        container=container,
        node=watched.node.name,
        received_ns=now_ns(),
    )
    return [*events, *gaps]
