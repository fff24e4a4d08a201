"""Pod manifests of scenarios, in the spelling of core/v1. Pure.

The pods satisfy the Pod Security Standard "restricted", so that they run in any namespace.
"""

from typing import Any

from crashloop.pods.program import EVIDENCE_DIR, beat_command, command, probe_command
from crashloop.spec.policy import RestartPolicy
from crashloop.spec.scenario import Container, ContainerKind, PodScenario, Probe

SCENARIO_LABEL = "crashloop.dev/scenario"
RUN_LABEL = "crashloop.dev/run"

GRACE_PERIOD_S = 2
NOBODY = 65534
REQUESTS = {"cpu": "10m", "memory": "8Mi"}

HEARTBEAT = "heartbeat"
"""Name of the heartbeat container, and beginning of its pod's name."""

_EVIDENCE = "evidence"


def pod_manifest(scenario: PodScenario, *, node: str, image: str, run: str) -> dict[str, Any]:
    """The pod of a scenario, bound to a node. Ephemeral containers are left to `ephemeral_containers`."""
    pod = scenario.pod
    return _pod(
        name=scenario.name,
        labels={SCENARIO_LABEL: scenario.name, RUN_LABEL: run},
        node=node,
        restart_policy=pod.restart_policy,
        containers={
            "initContainers": [_container(each, image) for each in pod.of_kind(ContainerKind.INIT)],
            "containers": [_container(each, image) for each in pod.of_kind(ContainerKind.REGULAR)],
        },
    )


def heartbeat_manifest(*, node: str, image: str, run: str) -> dict[str, Any]:
    """The pod that writes a node's heartbeat and clock."""
    container = _program(HEARTBEAT, image, beat_command()) | {"resources": {"requests": REQUESTS}}
    return _pod(
        name=f"{HEARTBEAT}-{node}",
        labels={RUN_LABEL: run},
        node=node,
        restart_policy=RestartPolicy.ALWAYS,
        containers={"containers": [container]},
    )


def _pod(
    *, name: str, labels: dict[str, str], node: str, restart_policy: RestartPolicy, containers: dict[str, Any]
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "nodeName": node,
            "restartPolicy": restart_policy.value,
            "terminationGracePeriodSeconds": GRACE_PERIOD_S,
            "dnsPolicy": "Default",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            # A node that is not ready, as when its kubelet is restarted on purpose, must not cost the pod.
            "tolerations": [{"operator": "Exists"}],
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": NOBODY,
                "runAsGroup": NOBODY,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "volumes": [{"name": _EVIDENCE, "emptyDir": {}}],
            **containers,
        },
    }


def ephemeral_containers(scenario: PodScenario, *, image: str) -> list[dict[str, Any]]:
    """The ephemeral containers of a scenario, which can only be added to a pod that exists."""
    return [_common(each, image) for each in scenario.pod.of_kind(ContainerKind.EPHEMERAL)]


def pull_policy(image: str) -> str:
    """Never for an image that no registry has (`localhost/...`): it was put onto the nodes."""
    return "Never" if image.startswith("localhost/") else "IfNotPresent"


def _common(container: Container, image: str) -> dict[str, Any]:
    return _program(container.name, image, command(container))


def _program(name: str, image: str, program: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": pull_policy(image),
        "command": program,
        "volumeMounts": [{"name": _EVIDENCE, "mountPath": EVIDENCE_DIR}],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }


def _container(container: Container, image: str) -> dict[str, Any]:
    manifest = _common(container, image) | {"resources": {"requests": REQUESTS}}
    if container.restart_policy is not None:
        manifest["restartPolicy"] = container.restart_policy.value
    if container.rules:
        manifest["restartPolicyRules"] = [
            {
                "action": rule.action.value,
                "exitCodes": {"operator": rule.operator.value, "values": list(rule.values)},
            }
            for rule in container.rules
        ]
    if container.probe is not None:
        manifest[f"{container.probe.kind.value}Probe"] = _probe(container, container.probe)
    return manifest


def _probe(container: Container, probe: Probe) -> dict[str, Any]:
    return {
        "exec": {"command": probe_command(container, probe)},
        "periodSeconds": probe.period_s,
        "failureThreshold": probe.failure_threshold,
        "timeoutSeconds": probe.timeout_s,
    }
