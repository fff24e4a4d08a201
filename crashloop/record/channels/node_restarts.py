"""Detects a restart of a node or kubelet through the API: the Node object, and the Kubernetes Events of a kubelet's start."""

from datetime import datetime
from typing import Any

import msgspec

from crashloop.kube.client import Json, KubeApi
from crashloop.kube.errors import KubeError

_EVENTS = "/api/v1/namespaces/default/events"
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
        return sign_of(api.node(node), kubelet_started_ns=_started_ns(api, node))
    except KubeError as error:
        return NodeSign(boot_id=None, ready_since=None, kubelet_started_ns=None, unread=" ".join(str(error).split()))


def sign_of(node: Json, *, kubelet_started_ns: int | None) -> NodeSign:
    """What a Node object says."""
    status = node["status"]
    ready: dict[str, Any] = next((each for each in status.get("conditions", ()) if each["type"] == "Ready"), {})
    since = ready.get("lastTransitionTime") if ready.get("status") == "True" else None
    return NodeSign(boot_id=status["nodeInfo"]["bootID"], ready_since=since, kubelet_started_ns=kubelet_started_ns)


def _started_ns(api: KubeApi, node: str) -> int | None:
    about = f"involvedObject.kind=Node,involvedObject.name={node},reason=Starting,source=kubelet"
    events = api.call("list the starts of a kubelet", "GET", _EVENTS, query={"fieldSelector": about})["items"]
    return max(filter(None, map(_last_ns, events)), default=None)


def _last_ns(event: Json) -> int | None:
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
