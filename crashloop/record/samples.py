"""Metrics, read once: what the kubelet states of itself in numbers, and kube-state-metrics of a scenario's pods."""

from collections.abc import Callable, Collection

import msgspec

from crashloop.cluster.provider import Cluster
from crashloop.errors import CrashloopError
from crashloop.history.event import Channel, Event, Kind
from crashloop.history.payload import SampleData, Series
from crashloop.kube.client import KubeApi
from crashloop.record.channels.events import now_ns, received_event
from crashloop.slo.exposition import Exposition


def sample_event(api: KubeApi, node: str, families: tuple[str, ...]) -> Event:
    """The present values of these families, or why they cannot be read."""
    data = _read(lambda: api.get_raw(f"/api/v1/nodes/{node}/proxy/metrics"), families)
    return received_event(Channel.KUBELET, Kind.SAMPLE, now_ns(), msgspec.to_builtins(data), node=node)


def state_sample_event(cluster: Cluster, families: tuple[str, ...], uids: Collection[str]) -> Event:
    """The present values of these families of kube-state-metrics about these pods, or why they cannot be read."""
    data = _read(lambda: cluster.state_metrics(list(uids)[-1]), families)
    of_pods = tuple(each for each in data.series if each.labels.get("uid") in uids)
    data = msgspec.structs.replace(data, series=of_pods)
    return received_event(Channel.API, Kind.SAMPLE, now_ns(), msgspec.to_builtins(data))


def _read(text: Callable[[], bytes], families: tuple[str, ...]) -> SampleData:
    try:
        found = Exposition(families).read(text())
        return SampleData(
            series=tuple(Series(name=key.name, labels=key.labels, value=value) for _, key, value in found)
        )
    except (CrashloopError, ValueError) as error:
        return SampleData(unread=" ".join(str(error).split()))
