"""What is read once, at the end of a scenario: the journals of its containers, the names of their log files, and metrics.

The journals are the containers' own records, read back through the pod's logs. Metrics are what the kubelet states of itself
in numbers, and kube-state-metrics of the scenario's pods.
"""

from collections.abc import Callable, Collection
from pathlib import Path

import msgspec

from crashloop.cluster.provider import Cluster
from crashloop.errors import CrashloopError
from crashloop.history.event import Channel, Event, Kind
from crashloop.history.journal import Journal, journal_events, read_journal
from crashloop.history.payload import SampleData, Series
from crashloop.kube.answers import KubeError
from crashloop.kube.client import KubeApi
from crashloop.record.channels.channel import gap, now_ns, received_event
from crashloop.record.event_router import PodRecording
from crashloop.slo.exposition import Exposition
from crashloop.waiting import WaitTimeout, wait_until

COMPLETE_WITHIN_S = 5.0
"""A container that was started just now prints its journal within this time, and a runtime that was restarted answers."""


def read_journals(api: KubeApi, namespace: str, watched: PodRecording, pod_uid: str) -> list[Event]:
    """The journals of the pod's started containers. What cannot be read becomes a gap."""
    return [
        event
        for container in watched.scenario.pod.containers
        if watched.starts(container.name, pod_uid) > 0 and not container.program.is_refused
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


def log_files(namespace: str, watched: PodRecording, pod_uid: str) -> list[Event]:
    """The numbers of the logs of each container, if the folders of the node can be listed and the pod has one."""
    if watched.node.pod_logs is None:
        return []
    folder = Path(watched.node.pod_logs) / f"{namespace}_{watched.pods[pod_uid]}_{pod_uid}"
    if not folder.is_dir():
        return []
    logs = {each.name: _log_numbers(each) for each in sorted(folder.iterdir()) if each.is_dir()}
    node = watched.node.name
    return [received_event(Channel.KUBELET, Kind.LOG_FILES, now_ns(), {"logs": logs}, node=node, pod_uid=pod_uid)]


def _log_numbers(folder: Path) -> list[int]:
    """Rotated parts of a log have names such as `0.log.20260101-000000` and do not count."""
    return sorted(int(each.stem) for each in folder.glob("*.log") if each.stem.isdecimal())


def sample_event(api: KubeApi, node: str, families: tuple[str, ...]) -> Event:
    """The present values of these families, or why they cannot be read."""
    data = _sample_of(lambda: api.get_raw(f"/api/v1/nodes/{node}/proxy/metrics"), families)
    return received_event(Channel.KUBELET, Kind.SAMPLE, now_ns(), msgspec.to_builtins(data), node=node)


def state_sample_event(cluster: Cluster, families: tuple[str, ...], uids: Collection[str]) -> Event:
    """The present values of these families of kube-state-metrics about these pods, or why they cannot be read."""
    data = _sample_of(lambda: cluster.state_metrics(list(uids)[-1]), families)
    of_pods = tuple(each for each in data.series if each.labels.get("uid") in uids)
    data = msgspec.structs.replace(data, series=of_pods)
    return received_event(Channel.API, Kind.SAMPLE, now_ns(), msgspec.to_builtins(data))


def _sample_of(text: Callable[[], bytes], families: tuple[str, ...]) -> SampleData:
    try:
        found = Exposition(families).read(text())
        return SampleData(
            series=tuple(Series(name=key.name, labels=key.labels, value=value) for _, key, value in found)
        )
    except (CrashloopError, ValueError) as error:
        return SampleData(unread=" ".join(str(error).split()))
