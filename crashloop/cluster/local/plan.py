"""The plan of a local cluster: argument vectors, files, addresses. Pure data; `crashloop up --plan` prints it."""

from pathlib import Path

import msgspec

from crashloop.cluster.local.credentials import CertificatePlan
from crashloop.cluster.local.layout import ClusterLayout, Network
from crashloop.cluster.node_files import CONTAINERD_2
from crashloop.errors import ClusterError


class Programs(msgspec.Struct, frozen=True, kw_only=True):
    """Paths of the programs that a cluster runs."""

    etcd: str
    kube_apiserver: str
    kube_controller_manager: str
    kube_scheduler: str
    kubelet: str
    containerd: str
    containerd_config: int = CONTAINERD_2
    """Version of its configuration file."""
    shim_dir: str
    """Folder with containerd-shim-runc-v2."""
    ctr: str
    runc: str
    cni_dir: str
    """Folder with the plugins ptp, host-local and loopback."""


class Images(msgspec.Struct, frozen=True, kw_only=True):
    """The archive that every node imports, and the names of what is in it."""

    archive: str
    program: str
    sandbox: str


class FilePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A text file."""

    path: str
    text: str


class LinkPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A symbolic link."""

    path: str
    target: str


class ProcessPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A long-lived process of the hub or a node, in the namespaces of the same or, for a candidate, of another node."""

    role: str
    node: str
    """`hub`, or a node's name."""
    namespace: str
    """Whose namespaces it runs in."""
    argv: tuple[str, ...]
    log: str
    search_path: tuple[str, ...] = ()
    """Folders in front of PATH."""


class ControlPlanePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The hub: etcd and kube-apiserver first, the other two once the API server is ready."""

    network: Network
    folders: tuple[str, ...]
    certificates: tuple[CertificatePlan, ...]
    files: tuple[FilePlan, ...]
    first: tuple[ProcessPlan, ...]
    once_ready: tuple[ProcessPlan, ...]


class NodePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A node: its runtime, the import of the images, its kubelet."""

    name: str
    index: int
    profile: str
    network: Network
    cgroup: str
    """Path of the kubelet's cgroup root below each hierarchy's mount point."""
    folders: tuple[str, ...]
    certificate: CertificatePlan
    files: tuple[FilePlan, ...]
    address: str
    kubelet_port: int
    runtime: ProcessPlan
    runtime_socket: str
    pod_logs: str | None = None
    chosen_runtime: str | None = None
    """Name of its container runtime where that is not the cluster's."""
    import_images: tuple[str, ...]
    links: tuple[LinkPlan, ...] = ()
    kubelet: ProcessPlan


class Blueprint(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a cluster was made from; written to its state folder, so that another process can attach to it."""

    cluster: str
    state_folder: str
    kubernetes_version: str
    kubelet_version: str
    """Version of `programs.kubelet`, which the user may have given."""
    programs: Programs
    images: Images
    network: Network
    cgroup_version: int
    feature_gates: dict[str, bool] = {}
    """Gates of the control plane."""
    nodes: tuple[NodePlan, ...] = ()

    @property
    def layout(self) -> ClusterLayout:
        return ClusterLayout(Path(self.state_folder))

    def node(self, name: str) -> NodePlan:
        """The plan of a node that it has. Raises ClusterError for another name."""
        for node in self.nodes:
            if node.name == name:
                return node
        known = ", ".join(node.name for node in self.nodes) or "none"
        raise ClusterError(f"cluster {self.cluster}: no node {name!r}; there are: {known}.")
