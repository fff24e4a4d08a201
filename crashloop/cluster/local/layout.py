"""Where a local cluster keeps its files: pure paths below its state folder."""

from pathlib import Path

from crashloop.cluster.node_layout import NodeLayout

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
