"""The plan of a kind cluster: its nodes, how their services are operated, and the texts that `kind` and the nodes read. Pure.

The blueprint is written to the state folder, so that another process can attach to the cluster. The configuration that `kind`
makes a cluster from is kind.x-k8s.io/v1alpha4. A node's KubeletConfiguration is a patch, merged over the one from kubeadm and
`kind` (RFC 7386): the profile's fragment is merged last and word for word, nulls included, and its drop-in files on top: a node
has no directory of them.
"""

from enum import StrEnum
from pathlib import Path
from textwrap import indent
from typing import Any

import msgspec
import yaml

from crashloop.cluster.kind.kind_file import KindFile
from crashloop.cluster.kubelets import KubeletProgram, shared_host_config
from crashloop.cluster.node_files import cni_conflist
from crashloop.resources import MANIFESTS
from crashloop.spec.control_plane import component_flags
from crashloop.spec.profile import PROFILE_LABEL, KubeletProfile, merged, node_name
from crashloop.spec.version import KubernetesVersion
from crashloop.yaml_text import block_yaml

CONTROL_PLANE = "control-plane"


class Init(StrEnum):
    """The init system of a node."""

    SYSTEMD = "systemd"
    """kind's own images."""
    SERVICE = "service"
    """The script `node/service` of crashloop's own image."""


class NodeImage(msgspec.Struct, frozen=True, kw_only=True):
    """A node image that Docker has."""

    name: str
    kubernetes_version: str
    init: Init
    has_program_image: bool
    """Whether the image of container programs is baked in."""


class NodePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A node: a Docker container, known to Kubernetes by another name."""

    name: str
    """Name of the Node object."""
    container: str
    """Name that `kind` gives to the container."""
    index: int
    profile: KubeletProfile | None
    """None for the control plane's node, which carries no scenario."""
    kubelet: str | None = None
    """Path on this host of a kubelet that replaces the image's."""
    kubelet_version: str

    @property
    def label(self) -> str:
        """For messages."""
        return self.name if self.profile is None else f"{self.name} (profile {self.profile.name})"


class Blueprint(msgspec.Struct, frozen=True, kw_only=True):
    """blueprint.json."""

    cluster: str
    state_folder: str
    kind: str
    """Path of the program `kind`."""
    docker: dict[str, str]
    """Environment variables that select the Docker daemon."""
    image: NodeImage
    program_image: str
    program_archive: str
    cgroup_version: int
    feature_gates: dict[str, bool] = {}
    """Gates of the control plane."""
    kind_file: KindFile = KindFile()
    """The user's own, under the nodes of this one."""
    nodes: tuple[NodePlan, ...] = ()
    """The control plane's node comes first."""

    @property
    def kind_name(self) -> str:
        """The cluster's name as `kind` knows it, and the name of its network."""
        return kind_name(self.cluster)

    @property
    def layout(self) -> "Layout":
        return Layout(Path(self.state_folder))

    @property
    def control_plane(self) -> NodePlan:
        return self.nodes[0]

    @property
    def workers(self) -> tuple[NodePlan, ...]:
        return self.nodes[1:]


IMAGES_OWN = "kubelet"
"""Path that stands for the kubelet of the node image."""


def mounted(kubelet: KubeletProgram) -> str | None:
    """Path on this host of the kubelet that replaces the node image's, or None."""
    return None if kubelet.path == IMAGES_OWN else kubelet.path


def kind_name(cluster: str) -> str:
    """A cluster's name as `kind` knows it."""
    return f"crashloop-{cluster}"


def container_names(cluster: str, workers: int) -> tuple[str, ...]:
    """Names that `kind` gives to the containers of a control plane and workers, in the order of its configuration.

    Source: MakeNodeNamer in pkg/cluster/internal/providers/common/namer.go of sigs.k8s.io/kind@v0.33.0.
    """
    stem = kind_name(cluster)
    numbers = ("", *(str(number) for number in range(2, workers + 1)))[:workers]
    return (f"{stem}-{CONTROL_PLANE}", *(f"{stem}-worker{number}" for number in numbers))


class Layout:
    """Paths of one cluster below its state folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.kubeconfig = root / "kubeconfig"
        self.blueprint = root / "blueprint.json"
        self.config = root / "kind.yaml"
        self.nodes = root / "nodes"

    def node(self, name: str) -> Path:
        """Folder that a node sees as /crashloop."""
        return self.nodes / name

    def kubelet_log(self, name: str) -> Path:
        """The kubelet's log, written by a follower if the node's files cannot be read from here."""
        return self.root / f"{name}.kubelet.log"


KUBELET = "kubelet"
RUNTIME = "containerd"


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """Shell commands in a node; `{service}` is filled in."""

    start: str
    stop: str
    """Ends the service with SIGTERM; returns once it has ended, and it stays down."""
    kill: str
    """The same with SIGKILL."""
    exits: str
    """Prints the exit code of every time that the service ended by itself, one per line."""
    follow_log: str
    """Prints the service's log and follows it."""
    log: str
    """Prints the service's log."""
    log_file: str | None
    """Path in the node of the service's log, where it is a file."""

    def argv(self, command: str, service: str) -> tuple[str, ...]:
        """One of the commands for a service."""
        return ("sh", "-c", command.format(service=service))


DIALECTS = {
    Init.SERVICE: Dialect(
        start="/kind/service start {service}",
        stop="/kind/service stop {service}",
        kill="/kind/service kill {service}",
        exits="/kind/service exits {service}",
        follow_log="exec tail -n +1 -F /var/log/{service}.log",
        log="exec cat /var/log/{service}.log",
        log_file="/var/log/{service}.log",
    ),
    Init.SYSTEMD: Dialect(
        start="systemctl start {service}",
        stop="systemctl stop {service}",
        # The unit would restart itself a second later; stopping it prevents that.
        kill="systemctl kill --kill-whom=main --signal=KILL {service}; systemctl stop {service}",
        exits="journalctl --unit={service} --output=cat"
        " | sed -n 's/.*Main process exited, code=exited, status=\\([0-9]*\\).*/\\1/p'",
        follow_log="exec journalctl --unit={service} --output=cat --lines=all --follow",
        log="exec journalctl --unit={service} --output=cat",
        log_file=None,
    ),
}


def kubelet_patch(blueprint: Blueprint, node: NodePlan) -> dict[str, Any]:
    """The patch over the configuration that kubeadm writes for a node."""
    base = {
        **shared_host_config(kubernetes_version=node.kubelet_version, cgroup_version=blueprint.cgroup_version),
        **_init_settings(blueprint.image.init),
        "resolvConf": "/crashloop/resolv.conf",
        "logging": {"verbosity": 2},
    }
    if node.profile is None:
        return base
    # Only the control plane's own pods come from files.
    return merged({**base, "staticPodPath": None}, node.profile.merged)


def _init_settings(init: Init) -> dict[str, Any]:
    if init is Init.SYSTEMD:
        return {}
    return {"cgroupDriver": "cgroupfs", "cgroupRoot": "/"}


KIND_MANIFESTS = MANIFESTS / "kind"
SHARED = "/crashloop"
"""Where a node sees its folder, read-only."""
PATCHES = "patches"
STORAGE = "storage.yaml"
"""Only on the control plane, instead of kind's own storage (pkg/cluster/internal/create/actions/installstorage)."""
CNI = "10-crashloop.conflist"
KUBEADM_COMPONENTS = {
    "apiServer": "kube-apiserver",
    "controllerManager": "kube-controller-manager",
    "scheduler": "kube-scheduler",
}
ARGUMENTS_ARE_A_LIST_SINCE = (1, 36)
"""From here on `kind` writes kubeadm.k8s.io/v1beta4 (pkg/cluster/internal/kubeadm/config.go of sigs.k8s.io/kind@v0.33.0)."""


def cluster_config(blueprint: Blueprint) -> str:
    """Input of `kind create cluster --config`."""
    config: dict[str, Any] = yaml.safe_load((KIND_MANIFESTS / "cluster.yaml").read_text())
    patches: list[dict[str, Any]] = yaml.safe_load((KIND_MANIFESTS / "kubeadm.yaml").read_text())
    config["name"] = blueprint.kind_name
    config["kubeadmConfigPatches"] = [block_yaml(_with_arguments(patch, blueprint)) for patch in patches]
    config["nodes"] = [_node_entry(blueprint, node) for node in blueprint.nodes]
    return block_yaml(blueprint.kind_file.under(config))


def node_files(blueprint: Blueprint, node: NodePlan) -> dict[str, str]:
    """Files in a node's folder: path below it -> text."""
    storage = {} if node.profile else {STORAGE: (KIND_MANIFESTS / STORAGE).read_text()}
    return {
        # kubeadm merges it over the kubelet's configuration: the target's name, then how (kubeadm patches).
        f"{PATCHES}/kubeletconfiguration+merge.yaml": block_yaml(kubelet_patch(blueprint, node)),
        "resolv.conf": "# Pods of this cluster have no name service.\n",
        CNI: cni_conflist(pods=blueprint.kind_file.pods_of(node.index)),
        **storage,
    }


def describe(blueprint: Blueprint) -> str:
    """The plan of a cluster as a text for people: the configuration that `kind` reads, and the files of every node."""
    parts = [f"# kind create cluster --name {blueprint.kind_name}\n\n{indent(cluster_config(blueprint), '    ')}"]
    for node in blueprint.nodes:
        for path, text in node_files(blueprint, node).items():
            parts.append(f"## file {blueprint.layout.node(node.name) / path}\n\n{indent(text, '    ')}")
    return "\n".join(parts)


def _node_entry(blueprint: Blueprint, node: NodePlan) -> dict[str, Any]:
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
        "kubeadmConfigPatches": [block_yaml(kubeadm)],
    }


def _with_arguments(patch: dict[str, Any], blueprint: Blueprint) -> dict[str, Any]:
    """The patch with its `extraArgs` in the shape of the version's kubeadm, and the gates of the control plane."""
    if patch["kind"] != "ClusterConfiguration":
        return patch
    result: dict[str, Any] = {"kind": patch["kind"]}
    for component, program in KUBEADM_COMPONENTS.items():
        arguments = patch.get(component, {}).get("extraArgs", {}) | component_flags(program, blueprint.feature_gates)
        if arguments:
            result[component] = {"extraArgs": _argument_shape(arguments, blueprint)}
    result["etcd"] = {"local": {"extraArgs": _argument_shape(patch["etcd"]["local"]["extraArgs"], blueprint)}}
    return result


def _argument_shape(arguments: dict[str, str], blueprint: Blueprint) -> dict[str, str] | list[dict[str, str]]:
    release = KubernetesVersion.parse(blueprint.image.kubernetes_version).release
    if release < ARGUMENTS_ARE_A_LIST_SINCE:
        return arguments
    return [{"name": name, "value": value} for name, value in arguments.items()]
