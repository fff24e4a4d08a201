"""Exited instances that garbage collection removed while the next one was created and did not run yet.

Once a minute the kubelet keeps one instance of each container that does not run. One that was created and has not started
counts as such, so the exited one before it is removed: from then on the kubelet knows of no exit of that container.
Source: pkg/kubelet/kuberuntime/kuberuntime_gc.go@v1.37.1 evictableContainers; pkg/kubelet/kubelet.go, ContainerGCPeriod.
"""

from collections.abc import Sequence
from itertools import pairwise

from crashloop.history.instances import Instance
from crashloop.history.stamps import Fact

PERIOD_NS = 59_000_000_000
"""A kubelet that removes exited instances more often than once a minute, and a second for stamps, does it by another rule."""
PASS_NS = 10_000_000_000
"""From the list of what does not run to the last removal: one container after the other."""


def collected_early(instances: Sequence[Instance]) -> dict[int, Fact]:
    """The removal of each such instance of one container, by its ordinal."""
    found: dict[int, Fact] = {}
    last_ns = -PERIOD_NS
    for instance, following in pairwise(instances):
        removed_ns = _removed_while_created(instance, following)
        if instance.removed is not None and removed_ns is not None and removed_ns - last_ns >= PERIOD_NS:
            found[instance.ordinal], last_ns = instance.removed, removed_ns
    return found


def _removed_while_created(instance: Instance, following: Instance) -> int | None:
    removed, created, started, exited = instance.removed, following.created, following.started, following.exit
    if removed is None or created is None or started is None:
        return None
    if removed.utc_ns is None or created.utc_ns is None or started.utc_ns is None:
        return None
    # Once the next one has exited too, the older one is removed at any time, and nothing follows from that.
    gone_ns = started.utc_ns + PASS_NS if exited is None or exited.utc_ns is None else exited.utc_ns
    ends_ns = min(started.utc_ns + PASS_NS, gone_ns)
    return removed.utc_ns if created.utc_ns + created.resolution_ns < removed.utc_ns < ends_ns else None
