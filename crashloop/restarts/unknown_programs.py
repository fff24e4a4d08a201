"""Which delays of a user's own pod are the kubelet's: those before which nothing but its containers ended or held them.

Theory of operation. A delay is due after an exit of the container's own. A life that lasted until a probe could have failed often
enough may have been killed, and while the kubelet kills or pulls for one container it starts no other of the pod. So delays are
known whose restart was created before the first such kill was possible, and for regular containers from the first start of the
last of them on. A restart without a known delay may be held up for as long as the pod is seen.
"""

import math

from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.restarts.case import Case
from crashloop.restarts.lives import may_be_killed, ran
from crashloop.spec.pod import ContainerKind


def is_delay_known(case: Case, pod: PodHistory, container: str, exited: Instance, following: Instance | None) -> bool:
    """Whether the model's delay after an exit is the kubelet's; always so where every program is known."""
    if all(each.program.known for each in case.scenario.pod.containers):
        return True
    came_ns = math.inf if following is None or following.begun_ns is None else following.begun_ns
    return _complete_ns(case, pod, container) <= (exited.exit_ns or 0) and came_ns <= _possible_kill_ns(case, pod)


def _complete_ns(case: Case, pod: PodHistory, container: str) -> float:
    """When all containers that start beside this one had started: until then the kubelet may have pulled images for them."""
    own = case.scenario.pod.container(container)
    if own.kind is ContainerKind.INIT and not own.is_sidecar:
        return 0
    beside = (each for each in case.scenario.pod.of_kind(ContainerKind.REGULAR) if each.name != container)
    first_ns = (next((one.start_ns for one in ran(pod, each.name)), None) for each in beside)
    return max((math.inf if each is None else each for each in first_ns), default=0)


def _possible_kill_ns(case: Case, pod: PodHistory) -> float:
    """When a probe or a hook can have ended a container of the pod for the first time."""
    return min(
        (
            (life.start_ns or 0) + (spec.killed_after_s or 0.0) * 1e9
            for spec in case.scenario.pod.containers
            for life in ran(pod, spec.name)
            if may_be_killed(case, spec.name, life)
        ),
        default=math.inf,
    )
