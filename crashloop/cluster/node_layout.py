"""Where a node keeps its files: pure paths."""

from pathlib import Path


class NodeLayout:
    """Paths of one node. `index` keeps socket paths short: a node's name may have 63 characters."""

    def __init__(self, root: Path, sockets: Path, index: int) -> None:
        self.root = root
        self.kubelet_program = root / "kubelet"
        """A link to a kubelet with another name."""
        self.kubelet_config = root / "kubelet.yaml"
        self.drop_ins = root / "kubelet.conf.d"
        """One folder a profile."""
        self.kubeconfig = root / "kubeconfig"
        self.kubelet_log = root / "kubelet.log"
        self.kubelet_root = sockets / f"{index}.kubelet"
        """The kubelet makes sockets below it, such as pod-resources/<number>."""
        self.certificates = root / "certificates"
        self.volume_plugins = root / "volume-plugins"
        self.pod_logs = root / "pod-logs"
        self.static_pods = root / "static-pods"
        """The kubelet makes a pod of each file in it."""
        self.resolv_conf = root / "resolv.conf"
        self.runtime_config = root / "containerd.toml"
        self.registries = root / "registries"
        """A folder for each registry that its runtime knows (containerd's config_path)."""
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
            self.static_pods,
            self.runtime_root,
            self.runtime_state,
            self.runtime_opt,
            self.cni_config.parent,
        )

    def longest_socket(self) -> Path:
        """The longest path of a socket in it: one of the kubelet's own."""
        return self.kubelet_root / "pod-resources" / "kubelet.sock"

    def bulk(self) -> tuple[Path, ...]:
        """Folders to delete with a node: everything but its logs and configurations."""
        return (
            self.kubelet_root,
            self.volume_plugins,
            self.pod_logs,
            self.static_pods,
            self.runtime_root,
            self.runtime_state,
            self.runtime_opt,
            self.cni_addresses,
        )

    def evidence(self) -> tuple[Path, ...]:
        """Logs and configurations; no keys among them."""
        return (self.kubelet_log, self.kubelet_config, self.runtime_log, self.runtime_config, self.cni_config)
