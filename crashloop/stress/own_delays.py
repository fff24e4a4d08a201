"""Which times of a user's own pod are the kubelet's: delays before which nothing but its containers ended or held them. Pure.

Theory of operation. A delay is due after an exit of the container's own. A life that lasted until a probe could have failed often
enough may have been killed, and while the kubelet kills or pulls for one container it starts no other of the pod. So delays are
known up to the first such life, and for regular containers from the first start of the last of them on. Its start may include
pulls.
"""

import math
from collections.abc import Iterator

import msgspec

from crashloop.slo.types import Lifecycle
from crashloop.spec.pod import ContainerKind
from crashloop.stress.pod_template import PodTemplate


def with_known_delays(pod: Lifecycle, template: PodTemplate) -> Lifecycle:
    """The pod without the due delays that are not known, and with the mark that images may have been pulled for its start."""
    restarts = tuple(
        each
        if _is_complete_ns(pod, template, each.container) <= each.exited_ns < _doubtful_ns(pod, template)
        else msgspec.structs.replace(each, due_s=None, due_at_most_s=None, latest_s=None)
        for each in pod.restarts
    )
    return msgspec.structs.replace(pod, restarts=restarts, may_pull=True)


def _is_complete_ns(pod: Lifecycle, template: PodTemplate, container: str) -> float:
    """When all containers that start beside this one had started: until then the kubelet may have pulled images for them."""
    of = template.pod
    if of.container(container).kind is ContainerKind.INIT and not of.container(container).is_sidecar:
        return 0
    beside = [each.name for each in of.of_kind(ContainerKind.REGULAR) if each.name != container]
    return max((pod.starts_ns.get(name, (math.inf,))[0] for name in beside), default=0)


def _doubtful_ns(pod: Lifecycle, template: PodTemplate) -> float:
    """From when on a kill is possible; infinity if none was in time."""
    return min(_possible_kills_ns(pod, template), default=math.inf)


def _possible_kills_ns(pod: Lifecycle, template: PodTemplate) -> Iterator[float]:
    exits_ns = {(each.container, each.number): each.exited_ns for each in pod.restarts}
    for name, soonest_s in template.killed_after_s.items():
        for number, started_ns in enumerate(pod.starts_ns.get(name, ()), start=1):
            soonest_ns = started_ns + soonest_s * 1e9
            if exits_ns.get((name, number), math.inf) >= soonest_ns:
                yield soonest_ns
