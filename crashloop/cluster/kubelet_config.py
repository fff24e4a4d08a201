"""A node's KubeletConfiguration: what the host requires, overlaid with the profile. The profile always wins.

Source of the fields: k8s.io/kubelet/config/v1beta1/types.go.
"""

from typing import Any

import msgspec
import yaml

from crashloop.cluster.node_layout import NodeLayout
from crashloop.spec.profile import API_VERSION, KIND, KubeletProfile, merged
from crashloop.spec.version import KubernetesVersion

KUBELET_PORT = 10250
HEALTHZ_PORT = 10248

FAILS_ON_CGROUP_V1_SINCE = (1, 35)
"""`failCgroupV1` is true by default from here on (kubernetes/kubernetes#134298, KEP-5573); older kubelets start without it.

This is the only difference between the releases 1.33 to 1.37 when a kubelet is started.
"""


class KubeletSetting(msgspec.Struct, frozen=True, kw_only=True):
    """Everything besides the profile that decides a kubelet's configuration."""

    layout: NodeLayout
    client_ca: str
    """Path of the authority that signs the clients' certificates."""
    cgroup_root: str
    cgroup_version: int
    kubernetes_version: str
    register: bool = True
    port: int = KUBELET_PORT
    healthz_port: int = HEALTHZ_PORT


def base_config(setting: KubeletSetting) -> dict[str, Any]:
    """Configuration of a kubelet that shares its host with other kubelets."""
    layout = setting.layout
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "authentication": {
            "x509": {"clientCAFile": setting.client_ca},
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(layout.certificate),
        "tlsPrivateKeyFile": str(layout.key),
        "containerRuntimeEndpoint": f"unix://{layout.runtime_socket}",
        "podLogsDir": str(layout.pod_logs),
        "staticPodPath": str(layout.static_pods),
        "volumePluginDir": str(layout.volume_plugins),
        "resolvConf": str(layout.resolv_conf),
        # Several kubelets share the host's cgroups, and none of them owns it.
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": setting.cgroup_root,
        **shared_host_config(kubernetes_version=setting.kubernetes_version, cgroup_version=setting.cgroup_version),
        "registerNode": setting.register,
        "port": setting.port,
        "healthzPort": setting.healthz_port,
        "healthzBindAddress": "127.0.0.1",
    }


def shared_host_config(*, kubernetes_version: str, cgroup_version: int) -> dict[str, Any]:
    """Settings that a kubelet of this version needs on a shared host, with any provider."""
    return {
        "enforceNodeAllocatable": [],
        # The default of -999 needs CAP_SYS_RESOURCE, which a container often lacks.
        "oomScoreAdj": 1,
        "failSwapOn": False,
        **_cgroup_v1(kubernetes_version, cgroup_version),
        # A shortage on the host is not under test: a node evicts late and never removes an image.
        "evictionHard": {
            "memory.available": "50Mi",
            "nodefs.available": "1%",
            "nodefs.inodesFree": "1%",
            "imagefs.available": "1%",
        },
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "makeIPTablesUtilChains": False,
    }


def _cgroup_v1(kubernetes_version: str, cgroup_version: int) -> dict[str, Any]:
    fails_by_default = KubernetesVersion.parse(kubernetes_version).release >= FAILS_ON_CGROUP_V1_SINCE
    return {"failCgroupV1": False} if cgroup_version == 1 and fails_by_default else {}


def kubelet_config(setting: KubeletSetting, profile: dict[str, Any]) -> dict[str, Any]:
    """The whole configuration of a kubelet."""
    return merged(base_config(setting), profile)


def drop_in_files(profile: KubeletProfile) -> dict[str, str]:
    """Text by name of the files of a drop-in directory; the kubelet takes them in the order of their names."""
    head = {"apiVersion": API_VERSION, "kind": KIND}
    return {f"{number:02}.conf": as_yaml(head | each) for number, each in enumerate(profile.drop_ins)}


def as_yaml(config: dict[str, Any]) -> str:
    """The configuration file's text."""
    return yaml.safe_dump(config, sort_keys=False)
