"""The plan of a local cluster: argument vectors, files, addresses, paths. Pure data; `crashloop up --plan` prints it.

Theory of operation. Each cluster has a hub: a network namespace with a bridge, in which the control plane runs. Every node is a
namespace with one cable to that bridge. One more cable leads to the host, for kubectl and the recorder. The host sees only that
cable, so its firewall and its sysctls do not affect the nodes.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import msgspec

from crashloop.cluster.local.credentials import CertificatePlan
from crashloop.cluster.node_files import CONTAINERD_2, NodeLayout
from crashloop.errors import ClusterError, PrerequisiteError

SERVICE_RANGE = "10.96.0.0/16"
SERVICE_API_ADDRESS = "10.96.0.1"
"""First address of the range: that of the Service `kubernetes`."""
API_PORT = 6443
REGISTRY_PORT = 5000
STATE_METRICS_PORT = 5001
"""Of its metrics about the cluster; those about itself are on the next."""
MOST_NODES = 200

LINK_PREFIX = "crash-"
"""Prefix of the names of crashloop's links on the host."""

_PREFIXES = (
    *(f"10.{number}" for number in range(101, 128)),
    *(f"10.{number}" for number in range(64, 96)),
    "198.18",
    "198.19",
    *(f"172.{number}" for number in range(20, 32)),
)
"""First two bytes of a cluster's network, in order of preference: seldom used at home, in offices and by Docker.

198.18.0.0/15 is for benchmarks (RFC 2544); it is free even where a VPN takes all of 10.0.0.0/8.
"""


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """The network of one cluster, <prefix>.0.0/16."""

    prefix: str

    @property
    def all(self) -> IPv4Network:
        return IPv4Network(f"{self.prefix}.0.0/16")

    @property
    def hub(self) -> str:
        """Address of the control plane, and the nodes' way to everything else."""
        return f"{self.prefix}.0.1"

    @property
    def host(self) -> str:
        """The host's own address on the bridge."""
        return f"{self.prefix}.0.2"

    @property
    def host_link(self) -> str:
        """Name of the host's end of the cable."""
        return f"{LINK_PREFIX}{self.prefix.replace('.', '-')}"

    @property
    def api_server(self) -> str:
        return f"https://{self.hub}:{API_PORT}"

    @property
    def registry(self) -> str:
        """Host and port of the cluster's image registry."""
        return f"{self.hub}:{REGISTRY_PORT}"

    def node(self, index: int) -> str:
        """Address of a node."""
        return f"{self.prefix}.0.{10 + index}"

    def pods(self, index: int) -> str:
        """Range of the pods of a node."""
        return f"{self.prefix}.{1 + index}.0/24"


def free_network(in_use: Iterable[IPv4Network | IPv4Address]) -> Network:
    """The first network that overlaps nothing in use on the host. Raises PrerequisiteError if there is none."""
    used = [IPv4Network(each) for each in in_use]
    for prefix in _PREFIXES:
        network = Network(prefix=prefix)
        if not any(network.all.overlaps(each) for each in used):
            return network
    raise PrerequisiteError(
        f"provider local: no free network among {_PREFIXES[0]}.0.0/16 and {len(_PREFIXES) - 1} others; "
        "routes or addresses of this host overlap each of them.\n"
        "See `ip route`; remove clusters that are no longer needed with `crashloop down --all`."
    )


LONGEST_SOCKET_PATH = 107
"""Bytes of a Unix socket's path on Linux (sun_path, unix(7)), without the closing NUL."""


class ClusterLayout:
    """Paths of one cluster below its state folder `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.kubeconfig = root / "kubeconfig"
        self.blueprint = root / "blueprint.json"
        self.sockets = root / "s"
        self.pki = root / "pki"
        self.control_plane = root / "control-plane"
        self.etcd_data = self.control_plane / "etcd"
        self.nodes = root / "nodes"
        self.registry = root / "registry"
        self.ca_certificate = self.pki / "ca.crt"
        self.ca_key = self.pki / "ca.key"
        self.service_account_key = self.pki / "service-account.key"

    def certificate(self, name: str) -> Path:
        return self.pki / f"{name}.crt"

    def key(self, name: str) -> Path:
        return self.pki / f"{name}.key"

    def log(self, role: str) -> Path:
        """Log of a control plane process."""
        return self.control_plane / f"{role}.log"

    def client_kubeconfig(self, name: str) -> Path:
        """Kubeconfig of a control plane process."""
        return self.control_plane / f"{name}.kubeconfig"

    def node(self, name: str, index: int) -> NodeLayout:
        return NodeLayout(self.nodes / name, self.sockets, index)

    def folders(self) -> tuple[Path, ...]:
        """Folders that must exist before anything else is written."""
        return (self.sockets, self.pki, self.control_plane, self.etcd_data, self.nodes)


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
    shortcuts: bool = True
    """Of the control plane (ClusterRequest)."""
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
