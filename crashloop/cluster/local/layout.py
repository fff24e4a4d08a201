"""Where a local cluster keeps its files: pure paths below its state folder."""

from pathlib import Path

LONGEST_SOCKET_PATH = 107
"""Bytes of a Unix socket's path on Linux (sun_path, unix(7)), without the closing NUL."""


class NodeLayout:
    """Paths of one node. `index` keeps socket paths short: a node's name may have 63 characters."""

    def __init__(self, root: Path, sockets: Path, index: int) -> None:
        self.root = root
        self.kubelet_config = root / "kubelet.yaml"
        self.kubeconfig = root / "kubeconfig"
        self.kubelet_log = root / "kubelet.log"
        self.kubelet_root = sockets / f"{index}.kubelet"
        """The kubelet makes sockets below it, such as pod-resources/<number>."""
        self.certificates = root / "certificates"
        self.volume_plugins = root / "volume-plugins"
        self.pod_logs = root / "pod-logs"
        self.resolv_conf = root / "resolv.conf"
        self.runtime_config = root / "containerd.toml"
        self.runtime_log = root / "containerd.log"
        self.runtime_root = root / "containerd"
        self.runtime_state = root / "containerd-state"
        self.runtime_opt = root / "containerd-opt"
        self.runtime_socket = sockets / f"{index}.sock"
        self.cni_config = root / "cni" / "10-ptp.conflist"
        self.cni_addresses = root / "cni-addresses"
        self.certificate = root / "node.crt"
        self.key = root / "node.key"

    def folders(self) -> tuple[Path, ...]:
        """Folders that must exist before the node's processes start."""
        return (
            self.kubelet_root,
            self.certificates,
            self.volume_plugins,
            self.pod_logs,
            self.runtime_root,
            self.runtime_state,
            self.runtime_opt,
            self.cni_config.parent,
        )

    def longest_socket(self) -> Path:
        """The longest path of a socket in it: one of the kubelet's own."""
        return self.kubelet_root / "pod-resources" / "kubelet.sock"

    def bulk(self) -> tuple[Path, ...]:
        """What a node that has gone need not leave: everything but its logs and configurations."""
        return (
            self.kubelet_root,
            self.volume_plugins,
            self.pod_logs,
            self.runtime_root,
            self.runtime_state,
            self.runtime_opt,
            self.cni_addresses,
        )

    def evidence(self) -> tuple[Path, ...]:
        """Logs and configurations; no keys among them."""
        return (self.kubelet_log, self.kubelet_config, self.runtime_log, self.runtime_config, self.cni_config)


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
