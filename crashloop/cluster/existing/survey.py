"""Survey of an existing cluster's nodes: their configuration, and which of them can be used."""

import logging
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from crashloop.cluster.existing.connection import connect, require_permissions
from crashloop.cluster.existing.quota import pods_in_quota
from crashloop.cluster.provider import Capability, ExistingOptions, Survey, SurveyedNode
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.kube.client import Json, KubeApi
from crashloop.kube.errors import ApiRefusal
from crashloop.kube.kubelet import ConfigzReader, ConfigzRefused
from crashloop.pods.manifest import HOSTNAME_LABEL
from crashloop.spec.version import KubernetesVersion

ALWAYS = frozenset({Capability.NODES_CHANGE})
"""The nodes in use change with the scenarios that need them; every node in use has its heartbeat pod."""
DEFAULT_PROFILE = "stock"
BAD_REQUEST = 400
AT_ONCE = 8
"""Kubelets whose configuration is read concurrently."""
_REPELS = ("NoSchedule", "NoExecute")

PROXY_RISK = (
    "nodes/configz is enough for kubelets since 1.33 that can be reached and whose certificates the cluster has signed "
    "(manifests/rbac/configz.yaml).\n"
    "nodes/proxy works everywhere, but also permits running commands in every container of the node "
    "(manifests/rbac/configz-through-proxy.yaml).\n"
    "Or leave --read-configz out, and declare what the nodes have with --node-profile NODE=PROFILE."
)

log = logging.getLogger(__name__)


def survey(options: ExistingOptions, loads: Iterable[str] = ()) -> Survey:
    """The cluster as it is now; `loads` are the kinds of object that a stress run makes.

    Raises UsageError and PrerequisiteError as `connect` does, and for missing permissions, too low a quota, and unknown or
    unusable nodes.
    """
    api, version = connect(options.kubeconfig, options.context)
    try:
        require_permissions(api, options, tuple(loads))
        objects = _chosen(api, options.node_selector)
        _require_known(options, objects)
        nodes = tuple(_surveyed(each, options) for each in sorted(objects, key=_name))
        if options.read_configz:
            nodes = _with_configz(api, {_name(each): each for each in objects}, nodes)
        quota = pods_in_quota(api, options)
    finally:
        api.close()
    if all(node.unusable is not None for node in nodes):
        reasons = "\n".join(f"node {node.name}: {node.unusable}." for node in nodes)
        raise PrerequisiteError(f"cluster at {api.server}: none of its nodes can be used.\n{reasons}".rstrip())
    return Survey(
        kubernetes_version=str(KubernetesVersion.parse(version)),
        nodes=nodes,
        max_pods=options.max_pods if quota is None else min(options.max_pods, quota),
        quota=quota,
        capabilities=capabilities(options),
    )


def capabilities(options: ExistingOptions) -> frozenset[Capability]:
    """Capabilities that need no access to nodes."""
    return ALWAYS | ({Capability.CONFIGZ} if options.read_configz else frozenset())


def why_unusable(node: Json, *, declared: bool = False) -> str | None:
    """Why a node cannot be used, in a few words. A node that was declared by name is used despite its taints."""
    conditions = {each["type"]: each for each in node["status"].get("conditions", ())}
    ready = conditions.get("Ready", {})
    if ready.get("status") != "True":
        return f"not Ready ({ready.get('reason', 'its kubelet reported no reason')})"
    labels = node["metadata"].get("labels", {})
    if labels.get("kubernetes.io/os", "linux") != "linux":
        return f"runs {labels['kubernetes.io/os']}, not linux"
    if node["spec"].get("unschedulable"):
        return "cordoned"
    taints = [each["key"] for each in node["spec"].get("taints", ()) if each["effect"] in _REPELS]
    return f"tainted ({', '.join(taints)})" if taints and not declared else None


def _chosen(api: KubeApi, selector: str) -> list[Json]:
    """The nodes with the labels of --node-selector. Raises UsageError for a selector that is not valid, or that no node has."""
    try:
        found = api.nodes(label_selector=selector)
    except ApiRefusal as error:
        if error.code != BAD_REQUEST or not selector:
            raise
        raise UsageError(f"--node-selector {selector!r}: {error}") from error
    if not found and selector:
        raise UsageError(f"--node-selector {selector!r}: no node of the cluster has these labels.")
    return found


def _surveyed(node: Json, options: ExistingOptions) -> SurveyedNode:
    declared = options.node_profiles.get(_name(node))
    unusable = why_unusable(node, declared=declared is not None)
    if declared is None and not options.node_profiles and not options.read_configz:
        declared = DEFAULT_PROFILE
    return SurveyedNode(
        name=_name(node),
        kubelet_version=str(KubernetesVersion.parse(node["status"]["nodeInfo"]["kubeletVersion"])),
        declared=declared,
        cores=_cores(node),
        hostname=node["metadata"].get("labels", {}).get(HOSTNAME_LABEL),
        unusable=unusable,
    )


def _cores(node: Json) -> int | None:
    """Whole CPUs: `4`, or `3920m` where something is reserved; None without a capacity."""
    cpu = str(node["status"].get("capacity", {}).get("cpu", ""))
    whole = int(cpu.removesuffix("m")) // 1000 if cpu.endswith("m") else int(cpu or 0)
    return whole or None


def _with_configz(api: KubeApi, found: dict[str, Json], nodes: tuple[SurveyedNode, ...]) -> tuple[SurveyedNode, ...]:
    """The nodes with their kubelets' configuration; a node without one cannot be used. Raises UsageError if all lack it."""
    usable = [node.name for node in nodes if node.unusable is None]
    kubelets = ConfigzReader(api)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="configz") as pool:
        answers = dict(zip(usable, pool.map(lambda name: _asked(kubelets, found[name]), usable), strict=True))
    silent = {name: answer for name, answer in answers.items() if isinstance(answer, ConfigzRefused)}
    if silent and len(silent) == len(answers):
        error = next(iter(silent.values()))
        raise UsageError(f"--read-configz: {error}\n{PROXY_RISK}") from error
    for error in silent.values():
        log.warning("%s", error)
    return tuple(_answered(node, answers.get(node.name)) for node in nodes)


def _asked(kubelets: ConfigzReader, node: Json) -> Json | ConfigzRefused:
    try:
        return kubelets.config(node)
    except ConfigzRefused as error:
        return error


def _answered(node: SurveyedNode, answer: Json | ConfigzRefused | None) -> SurveyedNode:
    if isinstance(answer, ConfigzRefused):
        return msgspec.structs.replace(node, unusable="its kubelet's configuration cannot be read")
    return node if answer is None else msgspec.structs.replace(node, configz=answer)


def _require_known(options: ExistingOptions, nodes: list[Json]) -> None:
    known = sorted(map(_name, nodes))
    labelled = " with the labels of --node-selector" if options.node_selector else ""
    for name in options.node_profiles:
        if name not in known:
            raise UsageError(
                f"--node-profile {name}=...: the cluster has no node {name!r}{labelled}; its nodes{labelled}: {', '.join(known)}."
            )


def _name(node: Json) -> str:
    name: str = node["metadata"]["name"]
    return name
