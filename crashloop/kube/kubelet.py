"""Reads the effective configuration of a node's kubelet, with the least permission that works.

Theory of operation. A direct request to a kubelet since 1.33 needs only the permission nodes/configz
(KubeletFineGrainedAuthz, KEP-2862; pkg/kubelet/server/auth.go@v1.37.1). It also needs a reachable port and a certificate
signed by the cluster's authority: the credentials are sent to no other server. A request through the API server needs
nodes/proxy, which also permits running commands in every container of the node.
"""

from collections.abc import Callable
from typing import Any

from crashloop.kube.client import Json, KubeApi
from crashloop.kube.errors import KubeError

KUBELET_PORT = 10250

Way = Callable[[KubeApi, Json], dict[str, Any]]


class ConfigzRefused(KubeError):
    """Neither way led to the configuration; the message names both."""


class ConfigzReader:
    """Reads kubelets' effective KubeletConfiguration, first by the way that worked last. Thread-safe."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api
        self._ways: tuple[str, ...] = tuple(_WAYS)

    def config(self, node: Json) -> dict[str, Any]:
        """The configuration of a Node object's kubelet. Raises ConfigzRefused."""
        name, refusals = node["metadata"]["name"], []
        for way in self._ways:
            try:
                found = _WAYS[way](self._api, node)
            except KubeError as error:
                refusals.append(f"{way}: {' '.join(str(error).split())}")
            else:
                self._ways = (way, *(other for other in _WAYS if other != way))
                return found
        raise ConfigzRefused("\n".join((f"node {name}: its kubelet's configuration cannot be read.", *refusals)))


def effective_config(api: KubeApi, node: Json) -> dict[str, Any]:
    """The effective KubeletConfiguration of one kubelet. Raises ConfigzRefused."""
    return ConfigzReader(api).config(node)


def _directly(api: KubeApi, node: Json) -> dict[str, Any]:
    status = node["status"]
    address = next((each["address"] for each in status.get("addresses", ()) if each["type"] == "InternalIP"), None)
    if address is None:
        raise ConfigzRefused("the Node object has no InternalIP.")
    host = f"[{address}]" if ":" in address else address
    port = status.get("daemonEndpoints", {}).get("kubeletEndpoint", {}).get("Port", KUBELET_PORT)
    effective: dict[str, Any] = api.ask_kubelet(f"https://{host}:{port}", "/configz")["kubeletconfig"]
    return effective


def _through_proxy(api: KubeApi, node: Json) -> dict[str, Any]:
    return api.configz(node["metadata"]["name"])


_WAYS: dict[str, Way] = {
    "directly (permission nodes/configz)": _directly,
    "through the API server (permission nodes/proxy)": _through_proxy,
}
"""The way with the lesser permission comes first."""
