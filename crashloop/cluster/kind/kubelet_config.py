"""Patch of a node's KubeletConfiguration, merged over the one from kubeadm and `kind` (RFC 7386). Pure.

The profile's fragment is merged last and word for word, nulls included, and its drop-in files on top: a node has no directory of
them.
"""

from typing import Any

from crashloop.cluster.kind.plan import Blueprint, Init, NodePlan
from crashloop.cluster.kubelet_config import shared_host_config
from crashloop.spec.profile import merged


def kubelet_patch(blueprint: Blueprint, node: NodePlan) -> dict[str, Any]:
    """The patch over the configuration that kubeadm writes for a node."""
    base = {
        **shared_host_config(kubernetes_version=node.kubelet_version, cgroup_version=blueprint.cgroup_version),
        **_init(blueprint.image.init),
        "resolvConf": "/crashloop/resolv.conf",
        "logging": {"verbosity": 2},
    }
    if node.profile is None:
        return base
    # Only the control plane's own pods come from files.
    return merged({**base, "staticPodPath": None}, node.profile.merged)


def _init(init: Init) -> dict[str, Any]:
    if init is Init.SYSTEMD:
        return {}
    return {"cgroupDriver": "cgroupfs", "cgroupRoot": "/"}
