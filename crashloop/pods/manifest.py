"""Pods of scenarios in the spelling of core/v1, the ConfigMaps and Secrets that they name, and the objects that make them. Pure.

The pods satisfy the Pod Security Standard "restricted", so that they run in any namespace; those with a host_port do not.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from types import MappingProxyType
from typing import Any

from crashloop.pods.program import (
    EVIDENCE_DIR,
    MEMORY_DIR,
    beat_command,
    command,
    hook_command,
    probe_command,
    served_probes,
)
from crashloop.spec.dependency import PASSWORD_KEY, ConfigKind, ConfigObject, Variable
from crashloop.spec.pod import GRACE_PERIOD_S, Container, ContainerKind, Handler, Probe, QosClass, RestartPolicy
from crashloop.spec.profile import PROFILE_LABEL, node_name
from crashloop.spec.scenario import PodScenario

RESOURCES = {ConfigKind.CONFIG_MAP: "configmaps", ConfigKind.SECRET: "secrets"}
_DATA = {ConfigKind.CONFIG_MAP: "data", ConfigKind.SECRET: "stringData"}


def stored_name(scenario: str, name: str) -> str:
    """Unique in the namespace of a run."""
    return f"{scenario}-{name}"


def config_manifest(
    scenario: str, each: ConfigObject, data: dict[str, str], *, labels: dict[str, str]
) -> dict[str, Any]:
    """The object of a scenario with these data; as a patch it changes them."""
    return {
        "apiVersion": "v1",
        "kind": each.kind.value,
        "metadata": {"name": stored_name(scenario, each.name), "labels": labels},
        _DATA[each.kind]: data,
    }


def pull_secret_manifest(
    scenario: str, each: ConfigObject, data: dict[str, str], *, labels: dict[str, str], registry: str
) -> dict[str, Any]:
    """The same of an object that is a pull secret: a login at the registry with its password."""
    user, password = "crashloop", data[PASSWORD_KEY]
    login = {"username": user, "password": password, "auth": base64.b64encode(f"{user}:{password}".encode()).decode()}
    docker = {".dockerconfigjson": json.dumps({"auths": {registry: login}})}
    return {**config_manifest(scenario, each, docker, labels=labels), "type": "kubernetes.io/dockerconfigjson"}


SCENARIO_LABEL = "crashloop.dev/scenario"
RUN_LABEL = "crashloop.dev/run"
HOSTNAME_LABEL = "kubernetes.io/hostname"
ANY_NODE = {"kubernetes.io/os": "linux"}
"""A label that each node has, so that a kubelet which restarts has to find it again (kubernetes/kubernetes#100467)."""

NOBODY = 65534
PROBE_PORT = 8080
"""Where program.sh answers probes over HTTP in the first container of a pod; each further one has the next port."""
REQUESTS = {"cpu": "10m", "memory": "8Mi"}
_GUARANTEED = {"cpu": "200m", "memory": "32Mi"}
"""Enough for a container to start without being throttled for long, and little enough for a node that others use."""
_RESOURCES: dict[QosClass, dict[str, Any]] = {
    QosClass.BURSTABLE: {"requests": REQUESTS},
    QosClass.GUARANTEED: {"requests": _GUARANTEED, "limits": _GUARANTEED},
    QosClass.BEST_EFFORT: {},
}

HEARTBEAT = "heartbeat"
"""Name of the heartbeat container, and beginning of its pod's name."""

FOLDERS_DIR = "/folders"
"""Where ConfigMaps and Secrets are mounted, each in a folder of its name."""
_EVIDENCE = "evidence"
_MEMORY = "memory"
_IN_MEMORY: dict[str, Any] = {"name": _MEMORY, "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}


def pod_manifest(
    scenario: PodScenario,
    *,
    node: str,
    image: str,
    run: str,
    images: Mapping[str, str] = MappingProxyType({}),
    last_words: bool = False,
) -> dict[str, Any]:
    """The pod of a scenario, on a node. Ephemeral containers are left to `ephemeral_containers`.

    `image` is that of containers without one of the registry; `images` are the names of those, by container.
    `last_words`: whether its lives leave texts for the kubelet to state, as those that the recorder judges do.
    """
    pod = scenario.pod
    chosen = {HOSTNAME_LABEL: node, PROFILE_LABEL: node_name(scenario.profile)}
    where = {"nodeSelector": chosen} if scenario.by_scheduler else None
    secrets = [{"name": stored_name(scenario.name, each)} for each in scenario.pull_secrets]

    def of(kind: ContainerKind) -> list[dict[str, Any]]:
        return [
            _container(each, scenario, images.get(each.name, image), last_words=last_words)
            for each in pod.of_kind(kind)
        ]

    return _pod(
        name=scenario.name,
        labels={SCENARIO_LABEL: scenario.name, RUN_LABEL: run},
        where=where or {"nodeName": node, "nodeSelector": ANY_NODE},
        restart_policy=pod.restart_policy,
        containers={
            "initContainers": of(ContainerKind.INIT),
            "containers": of(ContainerKind.REGULAR),
            **({"imagePullSecrets": secrets} if secrets else {}),
        },
        grace_s=pod.grace_s,
        deadline_s=pod.active_deadline_s,
        volumes=list(_volumes(scenario)),
    )


def _volumes(scenario: PodScenario) -> Iterator[dict[str, Any]]:
    """The volumes of a pod beside that of the journals."""
    containers = scenario.pod.containers
    if any(each.program.marks_volume for each in containers):
        yield _IN_MEMORY
    for each in scenario.objects:
        if any(each.name in container.folders for container in containers):
            stored = stored_name(scenario.name, each.name)
            source = {
                ConfigKind.CONFIG_MAP: {"configMap": {"name": stored}},
                ConfigKind.SECRET: {"secret": {"secretName": stored}},
            }
            yield {"name": each.name, **source[each.kind]}


def heartbeat_manifest(*, node: str, image: str, run: str) -> dict[str, Any]:
    """The pod that writes a node's heartbeat and clock."""
    container = _program(HEARTBEAT, image, beat_command()) | {"resources": {"requests": REQUESTS}}
    return _pod(
        name=f"{HEARTBEAT}-{node}",
        labels={RUN_LABEL: run},
        where={"nodeName": node},
        restart_policy=RestartPolicy.ALWAYS,
        containers={"containers": [container]},
    )


API_CONTROL = "api-control"
"""Name of the pod whose patches show what API server and watch take."""


def api_control_manifest(run: str) -> dict[str, Any]:
    """The pod that no node ever has, so that only the recorder writes it. What follows the run's pods brings it."""
    return _pod(
        name=API_CONTROL,
        labels={RUN_LABEL: run, SCENARIO_LABEL: API_CONTROL},
        where={"schedulingGates": [{"name": "crashloop.dev/never"}]},
        restart_policy=RestartPolicy.NEVER,
        containers={"containers": [_program(API_CONTROL, "none", ["true"]) | {"resources": {"requests": REQUESTS}}]},
    )


def _pod(
    *,
    name: str,
    labels: dict[str, str],
    where: dict[str, Any],
    restart_policy: RestartPolicy,
    containers: dict[str, Any],
    volumes: Sequence[dict[str, Any]] = (),
    deadline_s: int | None = None,
    grace_s: int = GRACE_PERIOD_S,
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            **where,
            **({} if deadline_s is None else {"activeDeadlineSeconds": deadline_s}),
            "restartPolicy": restart_policy.value,
            "terminationGracePeriodSeconds": grace_s,
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
            "volumes": [{"name": _EVIDENCE, "emptyDir": {}}, *volumes],
            **containers,
        },
    }


def ephemeral_containers(scenario: PodScenario, *, image: str) -> list[dict[str, Any]]:
    """The ephemeral containers of a scenario, which can only be added to a pod that exists."""
    return [_common(each, image, last_words=True) for each in scenario.pod.of_kind(ContainerKind.EPHEMERAL)]


def pull_policy(image: str) -> str:
    """Never for an image that no registry has (`localhost/...`): it was put onto the nodes."""
    return "Never" if image.startswith("localhost/") else "IfNotPresent"


def _common(container: Container, image: str, *, last_words: bool) -> dict[str, Any]:
    return _program(container.name, image, command(container, last_words=last_words))


def _program(name: str, image: str, program: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": pull_policy(image),
        "command": program,
        "volumeMounts": [{"name": _EVIDENCE, "mountPath": EVIDENCE_DIR}],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }


def _container(container: Container, scenario: PodScenario, image: str, *, last_words: bool) -> dict[str, Any]:
    limits = {} if container.memory_limit is None else {"limits": {"memory": container.memory_limit}}
    manifest = _common(container, image, last_words=last_words) | {"resources": _RESOURCES[scenario.pod.qos] | limits}
    mounted = [{"name": _MEMORY, "mountPath": MEMORY_DIR}] if container.program.marks_volume else []
    mounted += ({"name": name, "mountPath": f"{FOLDERS_DIR}/{name}"} for name in container.folders)
    manifest["volumeMounts"] = [*manifest["volumeMounts"], *mounted]
    if container.image is not None:
        manifest["imagePullPolicy"] = container.image.policy.value
    if container.env:
        manifest["env"] = [_variable(each, scenario) for each in container.env]
    hooks = {"postStart": hook_command(container)} if container.post_start else {}
    hooks |= {"preStop": ["sleep", str(container.pre_stop_s)]} if container.pre_stop_s else {}
    if hooks:
        manifest["lifecycle"] = {name: {"exec": {"command": command}} for name, command in hooks.items()}
    if container.restarts_on_resize:
        manifest["resizePolicy"] = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
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
    if scenario.pod.host_port and container is scenario.pod.of_kind(ContainerKind.REGULAR)[0]:
        manifest["ports"] = [{"containerPort": scenario.pod.host_port, "hostPort": scenario.pod.host_port}]
    port = PROBE_PORT + scenario.pod.containers.index(container)
    for probe in container.probes:
        manifest[f"{probe.kind.value}Probe"] = _probe(container, probe, port)
    served = served_probes(container, port)
    if served:
        own = [{"name": name, "value": value} for name, value in served.items()]
        manifest["env"] = [*manifest.get("env", ()), *own]
    return manifest


def _variable(variable: Variable, scenario: PodScenario) -> dict[str, Any]:
    kind = next(each.kind for each in scenario.objects if each.name == variable.object)
    field = {ConfigKind.CONFIG_MAP: "configMapKeyRef", ConfigKind.SECRET: "secretKeyRef"}[kind]
    source = {field: {"name": stored_name(scenario.name, variable.object), "key": variable.name}}
    return {"name": variable.name, "valueFrom": source}


def _probe(container: Container, probe: Probe, port: int) -> dict[str, Any]:
    asks: dict[Handler, dict[str, Any]] = {
        Handler.EXEC: {"exec": {"command": probe_command(container, probe)}},
        Handler.HTTP: {"httpGet": {"port": port, "path": f"/cgi-bin/{probe.kind}"}},
    }
    initial_delay = {"initialDelaySeconds": probe.initial_delay_s} if probe.initial_delay_s else {}
    successes = {"successThreshold": probe.success_threshold} if probe.success_threshold > 1 else {}
    grace = {} if probe.grace_s is None else {"terminationGracePeriodSeconds": probe.grace_s}
    return (
        asks[probe.handler]
        | initial_delay
        | successes
        | grace
        | {
            "periodSeconds": probe.period_s,
            "failureThreshold": probe.failure_threshold,
            "timeoutSeconds": probe.timeout_s,
        }
    )


def job_manifest(
    scenario: PodScenario, *, node: str, image: str, run: str, images: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """A Job of the scenario's name that makes its pod on a node. Raises ValueError if the scenario has no Job.

    `image` is that of containers without one of the registry; `images` are the names of those, by container.
    """
    job = scenario.job
    if job is None:
        raise ValueError(f"scenario {scenario.name!r} has no Job")
    pod = pod_manifest(scenario, node=node, image=image, run=run, images=images, last_words=True)
    labels = pod["metadata"]["labels"]
    of = {} if job.fails_on_container is None else {"containerName": job.fails_on_container}
    on_codes = {"operator": "In", "values": sorted(job.fails_on), **of}
    policy = {"podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": on_codes}]}} if job.fails_on else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": scenario.name, "labels": labels},
        "spec": {
            "completions": job.parallelism,
            "parallelism": job.parallelism,
            "backoffLimit": job.backoff_limit,
            **({"completionMode": "Indexed"} if scenario.is_uneven else {}),
            # So that nothing goes on if nobody deletes it.
            "activeDeadlineSeconds": ceil(scenario.longest_s),
            "template": {"metadata": {"labels": labels}, "spec": pod["spec"]},
            **policy,
        },
    }


def deployment_manifest(scenario: PodScenario, *, node: str, image: str, run: str) -> dict[str, Any]:
    """A Deployment of the scenario's name with one replica of its pod on a node."""
    pod = pod_manifest(scenario, node=node, image=image, run=run, last_words=True)
    labels = pod["metadata"]["labels"]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": scenario.name, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {SCENARIO_LABEL: scenario.name}},
            "template": {"metadata": {"labels": labels}, "spec": pod["spec"]},
        },
    }


REVISION_ANNOTATION = "crashloop.dev/revision"


def static_pod_manifest(
    scenario: PodScenario, *, node: str, namespace: str, image: str, run: str, revision: int
) -> dict[str, Any]:
    """The pod of a scenario as a file of its node. Another revision is another pod: its uid is a hash of the manifest."""
    pod = pod_manifest(scenario, node=node, image=image, run=run, last_words=True)
    pod["metadata"] |= {"namespace": namespace, "annotations": {REVISION_ANNOTATION: str(revision)}}
    return pod
