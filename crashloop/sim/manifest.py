"""The pod object as the API server stores it. pkg/api/pod/util.go@v1.37.1 dropDisabledPodFields."""

from typing import Any

import msgspec

from crashloop.sim.behaviour import Behaviour
from crashloop.sim.config import RULES
from crashloop.sim.pod import SimPod, stamp
from crashloop.spec.pod import Container, ContainerKind, Pod

_LISTS = {
    ContainerKind.INIT: "initContainers",
    ContainerKind.REGULAR: "containers",
    ContainerKind.EPHEMERAL: "ephemeralContainers",
}


def stored_pod(pod: Pod, gates: dict[str, bool], behaviour: Behaviour) -> Pod:
    """What the API server keeps of a pod with these gates of its own; it drops what belongs to a gate that is off."""
    if gates.get(RULES, True) or behaviour.api_keeps_rules_when_off:
        return pod
    return msgspec.structs.replace(pod, containers=tuple(map(_dropped, pod.containers)))


def _dropped(container: Container) -> Container:
    kept = container.restart_policy if container.is_sidecar else None
    return msgspec.structs.replace(container, restart_policy=kept, rules=())


def manifest(pod: SimPod) -> dict[str, Any]:
    """Metadata, spec and first status of a pod."""
    spec: dict[str, Any] = {"restartPolicy": pod.spec.restart_policy.value}
    for container in pod.spec.containers:
        spec.setdefault(_LISTS[container.kind], []).append(_container(container, pod.images[container.name]))
    metadata = {"name": pod.name, "namespace": "default", "uid": pod.uid, "creationTimestamp": stamp(pod.created_ns)}
    return {
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def _container(container: Container, image: str) -> dict[str, Any]:
    out: dict[str, Any] = {"name": container.name, "image": image}
    if container.restart_policy is not None:
        out["restartPolicy"] = container.restart_policy.value
    if container.rules:
        out["restartPolicyRules"] = [
            {
                "action": rule.action.value,
                "exitCodes": {"operator": rule.operator.value, "values": list(rule.values)},
            }
            for rule in container.rules
        ]
    return out
