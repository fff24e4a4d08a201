"""Configuration files of a node's container runtime and of its pod network. Pure texts."""

import json
from pathlib import Path

from crashloop.cluster.node_layout import NodeLayout

CONTAINERD_1, CONTAINERD_2 = 2, 3
"""Versions of the configuration file of containerd 1.7 and 2."""

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
root = {_text(layout.runtime_root)}
state = {_text(layout.runtime_state)}
oom_score = 0
imports = []
disabled_plugins = {json.dumps(_UNUSED_PLUGINS)}

[grpc]
  address = {_text(layout.runtime_socket)}

[ttrpc]
  address = {_text(f"{layout.runtime_socket}.ttrpc")}

[plugins."io.containerd.internal.v1.opt"]
  path = {_text(layout.runtime_opt)}

{plugins(layout, sandbox_image=sandbox_image, runc=runc, cni_plugins=cni_plugins)}"""


def _plugins_of_2(layout: NodeLayout, *, sandbox_image: str, runc: str, cni_plugins: str) -> str:
    return f"""\
[plugins."io.containerd.metadata.v1.bolt"]
  # The node does not outlive the host.
  no_sync = true

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"

[plugins."io.containerd.cri.v1.images".registry]
  config_path = {_text(layout.registries)}

[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = {_text(sandbox_image)}

[plugins."io.containerd.cri.v1.runtime"]
{_RESTRAINT}
{_runc("io.containerd.cri.v1.runtime", runc)}
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = [{_text(cni_plugins)}]
  conf_dir = {_text(layout.cni_config.parent)}
"""


def _plugins_of_1(layout: NodeLayout, *, sandbox_image: str, runc: str, cni_plugins: str) -> str:
    """One plugin has everything (containerd@v1.7.35 docs/cri/config.md)."""
    cri = "io.containerd.grpc.v1.cri"
    return f"""\
[plugins."{cri}"]
  sandbox_image = {_text(sandbox_image)}
{_RESTRAINT}
[plugins."{cri}".containerd]
  snapshotter = "overlayfs"

{_runc(cri, runc)}
[plugins."{cri}".registry]
  config_path = {_text(layout.registries)}

[plugins."{cri}".cni]
  bin_dir = {_text(cni_plugins)}
  conf_dir = {_text(layout.cni_config.parent)}
"""


_RESTRAINT = """\
  # Without CAP_SYS_RESOURCE a score below containerd's own cannot be set.
  restrict_oom_score_adj = true
  # A profile that is loaded into the kernel would outlive the cluster.
  disable_apparmor = true
  disable_hugetlb_controller = true
  netns_mounts_under_state_dir = true
"""


def _runc(plugin: str, path: str) -> str:
    return f"""\
[plugins."{plugin}".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."{plugin}".containerd.runtimes.runc.options]
  BinaryName = {_text(path)}
  SystemdCgroup = false
"""


def hosts_toml(registry: str) -> str:
    """How containerd reaches a registry that speaks plain HTTP; `registry` is its host and port."""
    return f"""\
server = {_text(f"http://{registry}")}

[host.{_text(f"http://{registry}")}]
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


def _text(value: object) -> str:
    """A TOML basic string; JSON's escapes are among TOML's."""
    return json.dumps(str(value))
