"""The kubelet's metrics, read once: what it states of itself in numbers."""

import msgspec

from crashloop.history.event import Channel, Event, Kind
from crashloop.history.payload import SampleData, Series
from crashloop.kube.client import KubeApi
from crashloop.kube.errors import KubeError
from crashloop.record.channels.events import now_ns, received_event
from crashloop.slo.exposition import Exposition


def sample_event(api: KubeApi, node: str, families: tuple[str, ...]) -> Event:
    """The present values of these families, or why they cannot be read."""
    try:
        answer = api.get_raw(f"/api/v1/nodes/{node}/proxy/metrics")
        found = [
            Series(name=key.name, labels=key.labels, value=value) for _, key, value in Exposition(families).read(answer)
        ]
        data = SampleData(series=tuple(found))
    except (KubeError, ValueError) as error:
        data = SampleData(unread=" ".join(str(error).split()))
    return received_event(Channel.KUBELET, Kind.SAMPLE, now_ns(), msgspec.to_builtins(data), node=node)
