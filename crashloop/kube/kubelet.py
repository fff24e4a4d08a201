"""What the API states of a node's kubelet: its effective configuration, with the least permission that works, and its restarts.

Theory of operation. A direct request to a kubelet since 1.33 needs only the permission nodes/configz
(KubeletFineGrainedAuthz, KEP-2862; pkg/kubelet/server/auth.go@v1.37.1). It also needs a reachable port and a certificate
signed by the cluster's authority: the credentials are sent to no other server. A request through the API server needs
nodes/proxy, which also permits running commands in every container of the node.

A restart of a node or of its kubelet shows in the Node object, and in the Kubernetes Events of a kubelet's start.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from crashloop.kube.answers import KubeError
from crashloop.kube.client import KubeApi
from crashloop.yaml_text import Json

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


def _configz_directly(api: KubeApi, node: Json) -> dict[str, Any]:
    status = node["status"]
    address = next((each["address"] for each in status.get("addresses", ()) if each["type"] == "InternalIP"), None)
    if address is None:
        raise ConfigzRefused("the Node object has no InternalIP.")
    host = f"[{address}]" if ":" in address else address
    port = status.get("daemonEndpoints", {}).get("kubeletEndpoint", {}).get("Port", KUBELET_PORT)
    effective: dict[str, Any] = api.ask_kubelet(f"https://{host}:{port}", "/configz")["kubeletconfig"]
    return effective


def _configz_through_proxy(api: KubeApi, node: Json) -> dict[str, Any]:
    return api.configz(node["metadata"]["name"])


_WAYS: dict[str, Way] = {
    "directly (permission nodes/configz)": _configz_directly,
    "through the API server (permission nodes/proxy)": _configz_through_proxy,
}
"""The way with the lesser permission comes first."""


_NODE_EVENTS = "/api/v1/namespaces/default/events"
"""Kubernetes Events about nodes, which are in no namespace, go into `default`."""


class NodeSign(msgspec.Struct, frozen=True, kw_only=True):
    """What changes when a node or its kubelet restarts."""

    boot_id: str | None
    ready_since: str | None
    """None while the node is not Ready."""
    kubelet_started_ns: int | None
    """The newest start in a Kubernetes Event, in whole seconds; they are kept for an hour. None: none is known."""
    unread: str | None = None
    """Why none of this could be read; None if it was."""


def read_sign(api: KubeApi, node: str) -> NodeSign:
    """What is to be seen of a node now."""
    try:
        return sign_of(api.node(node), kubelet_started_ns=_last_kubelet_start_ns(api, node))
    except KubeError as error:
        return NodeSign(boot_id=None, ready_since=None, kubelet_started_ns=None, unread=" ".join(str(error).split()))


def sign_of(node: Json, *, kubelet_started_ns: int | None) -> NodeSign:
    """What a Node object says."""
    status = node["status"]
    ready: dict[str, Any] = next((each for each in status.get("conditions", ()) if each["type"] == "Ready"), {})
    since = ready.get("lastTransitionTime") if ready.get("status") == "True" else None
    return NodeSign(boot_id=status["nodeInfo"]["bootID"], ready_since=since, kubelet_started_ns=kubelet_started_ns)


def _last_kubelet_start_ns(api: KubeApi, node: str) -> int | None:
    about = f"involvedObject.kind=Node,involvedObject.name={node},reason=Starting,source=kubelet"
    events = api.call("list the starts of a kubelet", "GET", _NODE_EVENTS, query={"fieldSelector": about})["items"]
    return max(filter(None, map(_kubernetes_event_ns, events)), default=None)


def _kubernetes_event_ns(event: Json) -> int | None:
    moment = event.get("lastTimestamp") or event.get("eventTime")
    return None if moment is None else int(datetime.fromisoformat(moment).timestamp()) * 1_000_000_000


def news(before: dict[str, Any], sign: NodeSign | None) -> NodeSign | None:
    """A sign that says something else than the `data` of a node's event; None if it does not, or there is none.

    A start whose Kubernetes Event is no longer kept is carried on; so is everything where nothing could be read.
    """
    if sign is None:
        return None
    if sign.unread is not None:
        sign = msgspec.structs.replace(sign, boot_id=before.get("boot_id"), ready_since=before.get("ready_since"))
    if sign.kubelet_started_ns is None:
        sign = msgspec.structs.replace(sign, kubelet_started_ns=before["kubelet_started_ns"])
    signs = msgspec.to_builtins(sign)
    return sign if any(before.get(name) != value for name, value in signs.items()) else None
