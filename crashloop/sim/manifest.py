"""The pod object as the API server stores it."""

from datetime import UTC, datetime
from typing import Any

from crashloop.sim.behaviour import S
from crashloop.sim.pod import SimPod
from crashloop.spec.pod import Container, ContainerKind

_LISTS = {
    ContainerKind.INIT: "initContainers",
    ContainerKind.REGULAR: "containers",
    ContainerKind.EPHEMERAL: "ephemeralContainers",
}


def manifest(pod: SimPod) -> dict[str, Any]:
    """Metadata, spec and first status of a pod."""
    spec: dict[str, Any] = {"restartPolicy": pod.spec.restart_policy.value}
    for container in pod.spec.containers:
        spec.setdefault(_LISTS[container.kind], []).append(_container(container, pod.images[container.name]))
    created = datetime.fromtimestamp(pod.created_ns // S, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "metadata": {"name": pod.name, "namespace": "default", "uid": pod.uid, "creationTimestamp": created},
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
