"""The configuration that `kind` makes a cluster from (kind.x-k8s.io/v1alpha4), and the files that its nodes see. Pure texts."""

from pathlib import Path
from textwrap import indent
from typing import Any

import yaml

from crashloop.cluster.kind.kubelet_config import kubelet_patch
from crashloop.cluster.kind.plan import Blueprint, NodePlan
from crashloop.cluster.runtime_config import cni_conflist
from crashloop.resources import MANIFESTS
from crashloop.spec.profile import PROFILE_LABEL, node_name
from crashloop.spec.version import KubernetesVersion

KIND_MANIFESTS = MANIFESTS / "kind"
SHARED = "/crashloop"
"""Where a node sees its folder, read-only."""
PATCHES = "patches"
STORAGE = "storage.yaml"
"""Only on the control plane, instead of kind's own storage (pkg/cluster/internal/create/actions/installstorage)."""
CNI = "10-crashloop.conflist"
ARGUMENTS_ARE_A_LIST_SINCE = (1, 36)
"""From here on `kind` writes kubeadm.k8s.io/v1beta4 (pkg/cluster/internal/kubeadm/config.go of sigs.k8s.io/kind@v0.33.0)."""


def cluster_config(blueprint: Blueprint) -> str:
    """Input of `kind create cluster --config`."""
    config: dict[str, Any] = yaml.safe_load((KIND_MANIFESTS / "cluster.yaml").read_text())
    patches: list[dict[str, Any]] = yaml.safe_load((KIND_MANIFESTS / "kubeadm.yaml").read_text())
    config["name"] = blueprint.kind_name
    config["kubeadmConfigPatches"] = [_yaml(_with_arguments(patch, blueprint)) for patch in patches]
    config["nodes"] = [_node(blueprint, node) for node in blueprint.nodes]
    return _yaml(config)


def node_files(blueprint: Blueprint, node: NodePlan) -> dict[str, str]:
    """Files in a node's folder: path below it -> text."""
    storage = {} if node.profile else {STORAGE: (KIND_MANIFESTS / STORAGE).read_text()}
    return {
        # kubeadm merges it over the kubelet's configuration: the target's name, then how (kubeadm patches).
        f"{PATCHES}/kubeletconfiguration+merge.yaml": _yaml(kubelet_patch(blueprint, node)),
        "resolv.conf": "# Pods of this cluster have no name service.\n",
        CNI: cni_conflist(pods=f"10.244.{node.index}.0/24"),
        **storage,
    }


def describe(blueprint: Blueprint) -> str:
    """The plan of a cluster as a text for people: the configuration that `kind` reads, and the files of every node."""
    parts = [f"# kind create cluster --name {blueprint.kind_name}\n\n{indent(cluster_config(blueprint), '    ')}"]
    for node in blueprint.nodes:
        for path, text in node_files(blueprint, node).items():
            parts.append(f"## file {blueprint.layout.node(node.name) / path}\n\n{indent(text, '    ')}")
    return "\n".join(parts)


def _node(blueprint: Blueprint, node: NodePlan) -> dict[str, Any]:
    folder = blueprint.layout.node(node.name)
    mounts = [(folder, SHARED), (folder / CNI, f"/etc/cni/net.d/{CNI}")]
    if node.kubelet is not None:
        mounts.append((Path(node.kubelet), "/usr/bin/kubelet"))
    joins = node is not blueprint.control_plane
    if not joins:
        mounts.append((folder / STORAGE, "/kind/manifests/default-storage.yaml"))
    kubeadm: dict[str, Any] = {
        "kind": "JoinConfiguration" if joins else "InitConfiguration",
        "patches": {"directory": f"{SHARED}/{PATCHES}"},
    }
    if joins:
        kubeadm["nodeRegistration"] = {"name": node.name}
    return {
        "role": "worker" if joins else "control-plane",
        "image": blueprint.image.name,
        "labels": {} if node.profile is None else {PROFILE_LABEL: node_name(node.profile.name)},
        "extraMounts": [{"hostPath": str(here), "containerPath": there, "readOnly": True} for here, there in mounts],
        "kubeadmConfigPatches": [_yaml(kubeadm)],
    }


def _with_arguments(patch: dict[str, Any], blueprint: Blueprint) -> dict[str, Any]:
    """The patch with its `extraArgs` in the shape of the version's kubeadm, and the gates of the control plane."""
    if patch["kind"] != "ClusterConfiguration":
        return patch
    gates = ",".join(f"{name}={str(on).lower()}" for name, on in sorted(blueprint.feature_gates.items()))
    result: dict[str, Any] = {"kind": patch["kind"]}
    for component in ("apiServer", "controllerManager", "scheduler"):
        arguments = patch.get(component, {}).get("extraArgs", {}) | ({"feature-gates": gates} if gates else {})
        if arguments:
            result[component] = {"extraArgs": _arguments(arguments, blueprint)}
    result["etcd"] = {"local": {"extraArgs": _arguments(patch["etcd"]["local"]["extraArgs"], blueprint)}}
    return result


def _arguments(arguments: dict[str, str], blueprint: Blueprint) -> dict[str, str] | list[dict[str, str]]:
    release = KubernetesVersion.parse(blueprint.image.kubernetes_version).release
    if release < ARGUMENTS_ARE_A_LIST_SINCE:
        return arguments
    return [{"name": name, "value": value} for name, value in arguments.items()]


class _Dumper(yaml.SafeDumper):
    """Writes multi-line strings as YAML blocks, so that embedded documents stay readable."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)


def _yaml(value: Any) -> str:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=1000)
