"""Which times of a user's own pod are the kubelet's: delays before which nothing but its containers ended or held them. Pure.

Theory of operation. A delay is due after an exit of the container's own. A life that lasted until a probe could have failed often
enough may have been killed, and while the kubelet kills or pulls for one container it starts no other of the pod. So delays are
known whose restart was created before the first such kill was possible, and for regular containers from the first start of the
last of them on. Its start may include pulls. A restart without a known delay may be held up for as long as the pod is seen, so
it is not expected either.
"""

import math
from collections.abc import Iterator

import msgspec

from crashloop.slo.types import Lifecycle, Restart
from crashloop.spec.pod import ContainerKind
from crashloop.stress.pod_template import PodTemplate


def with_known_delays(pod: Lifecycle, template: PodTemplate) -> Lifecycle:
    """The pod without the due delays that are not known, and with the mark that images may have been pulled for its start."""
    doubtful_ns = min(_possible_kills_ns(pod, template), default=math.inf)
    restarts = tuple(
        each if _is_known(each, pod, template, doubtful_ns) else _without_delay(each) for each in pod.restarts
    )
    return msgspec.structs.replace(pod, restarts=restarts, may_pull=True)


def _is_known(restart: Restart, pod: Lifecycle, template: PodTemplate, doubtful_ns: float) -> bool:
    came_ns = math.inf if restart.came_ns is None else restart.came_ns
    return _complete_ns(pod, template, restart.container) <= restart.exited_ns and came_ns <= doubtful_ns


def _without_delay(restart: Restart) -> Restart:
    expected = None if restart.came_ns is None else restart.expected
    return msgspec.structs.replace(restart, due_s=None, due_at_most_s=None, latest_s=None, expected=expected)


def _complete_ns(pod: Lifecycle, template: PodTemplate, container: str) -> float:
    """When all containers that start beside this one had started: until then the kubelet may have pulled images for them.

    Never for a container that the template does not have.
    """
    kinds = {each.name: (each.kind is ContainerKind.INIT and not each.is_sidecar) for each in template.pod.containers}
    if kinds.get(container, False):
        return 0
    if container not in kinds:
        return math.inf
    beside = [each.name for each in template.pod.of_kind(ContainerKind.REGULAR) if each.name != container]
    return max((next(iter(pod.starts_ns.get(name, ())), math.inf) for name in beside), default=0)


def _possible_kills_ns(pod: Lifecycle, template: PodTemplate) -> Iterator[float]:
    exits_ns = {(each.container, each.number): each.exited_ns for each in pod.restarts}
    for name, soonest_s in template.killed_after_s.items():
        for number, started_ns in enumerate(pod.starts_ns.get(name, ()), start=1):
            soonest_ns = started_ns + soonest_s * 1e9
            if exits_ns.get((name, number), math.inf) >= soonest_ns:
                yield soonest_ns
