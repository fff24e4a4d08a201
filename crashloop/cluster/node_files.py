"""Where a node keeps its files, and what its container runtime and its pod network read from them. Pure paths and texts."""

import json
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


CONTAINERD_1, CONTAINERD_2 = 2, 3
"""Versions of the configuration file of containerd 1.7 and 2."""

SNAPSHOTTER = "overlayfs"

_UNUSED_PLUGINS = (
    "io.containerd.image-verifier.v1.bindir",
    "io.containerd.internal.v1.tracing",
    "io.containerd.nri.v1.nri",
    "io.containerd.snapshotter.v1.blockfile",
    "io.containerd.snapshotter.v1.btrfs",
    "io.containerd.snapshotter.v1.devmapper",
    "io.containerd.snapshotter.v1.erofs",
    "io.containerd.snapshotter.v1.zfs",
    "io.containerd.tracing.processor.v1.otlp",
)
"""Plugins that listen, search for tools or write outside the node's folder."""


def containerd_toml(
    layout: NodeLayout, *, sandbox_image: str, runc: str, cni_plugins: str, config: int = CONTAINERD_2
) -> str:
    """containerd's configuration of that version, with every path inside the node's folder."""
    plugins = _plugins_of_1 if config == CONTAINERD_1 else _plugins_of_2
    return f"""\
version = {config}
root = {_toml_string(layout.runtime_root)}
state = {_toml_string(layout.runtime_state)}
oom_score = 0
imports = []
disabled_plugins = {json.dumps(_UNUSED_PLUGINS)}

[grpc]
  address = {_toml_string(layout.runtime_socket)}

[ttrpc]
  address = {_toml_string(f"{layout.runtime_socket}.ttrpc")}

[plugins."io.containerd.internal.v1.opt"]
  path = {_toml_string(layout.runtime_opt)}

{plugins(layout, sandbox_image=sandbox_image, runc=runc, cni_plugins=cni_plugins)}"""


def _plugins_of_2(layout: NodeLayout, *, sandbox_image: str, runc: str, cni_plugins: str) -> str:
    return f"""\
[plugins."io.containerd.metadata.v1.bolt"]
  # The node does not outlive the host.
  no_sync = true

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "{SNAPSHOTTER}"

[plugins."io.containerd.cri.v1.images".registry]
  config_path = {_toml_string(layout.registries)}

[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = {_toml_string(sandbox_image)}

[plugins."io.containerd.cri.v1.runtime"]
{_CRI_OPTIONS}
{_runc_options("io.containerd.cri.v1.runtime", runc)}
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = [{_toml_string(cni_plugins)}]
  conf_dir = {_toml_string(layout.cni_config.parent)}
"""


def _plugins_of_1(layout: NodeLayout, *, sandbox_image: str, runc: str, cni_plugins: str) -> str:
    """One plugin has everything (containerd@v1.7.35 docs/cri/config.md)."""
    cri = "io.containerd.grpc.v1.cri"
    return f"""\
[plugins."{cri}"]
  sandbox_image = {_toml_string(sandbox_image)}
{_CRI_OPTIONS}
[plugins."{cri}".containerd]
  snapshotter = "{SNAPSHOTTER}"

{_runc_options(cri, runc)}
[plugins."{cri}".registry]
  config_path = {_toml_string(layout.registries)}

[plugins."{cri}".cni]
  bin_dir = {_toml_string(cni_plugins)}
  conf_dir = {_toml_string(layout.cni_config.parent)}
"""


_CRI_OPTIONS = """\
  # Without CAP_SYS_RESOURCE a score below containerd's own cannot be set.
  restrict_oom_score_adj = true
  # A profile that is loaded into the kernel would outlive the cluster.
  disable_apparmor = true
  disable_hugetlb_controller = true
  netns_mounts_under_state_dir = true
"""


def _runc_options(plugin: str, path: str) -> str:
    return f"""\
[plugins."{plugin}".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."{plugin}".containerd.runtimes.runc.options]
  BinaryName = {_toml_string(path)}
  SystemdCgroup = false
"""


def hosts_toml(registry: str) -> str:
    """How containerd reaches a registry that speaks plain HTTP; `registry` is its host and port."""
    return f"""\
server = {_toml_string(f"http://{registry}")}

[host.{_toml_string(f"http://{registry}")}]
  capabilities = ["pull", "resolve"]
"""


def cni_conflist(*, pods: str, addresses: Path | None = None) -> str:
    """The pod network: a cable from each pod to its node, none to another node's pods. `pods` is the node's own range.

    `addresses` is the folder of those that are in use. Default: the plugin's own.
    """
    ipam = {"type": "host-local"} | ({} if addresses is None else {"dataDir": str(addresses)})
    ranges = {"ranges": [[{"subnet": pods}]], "routes": [{"dst": "0.0.0.0/0"}]}
    plugin = {"type": "ptp", "ipMasq": False, "ipam": ipam | ranges}
    return json.dumps({"cniVersion": "1.0.0", "name": "crashloop", "plugins": [plugin]}, indent=2) + "\n"


def _toml_string(value: object) -> str:
    """A TOML basic string; JSON's escapes are among TOML's."""
    return json.dumps(str(value))
