"""A kubelet's effective configuration, and whether it matches the node's profile."""

import logging
from collections.abc import Callable
from typing import Any

import msgspec

from crashloop.history.event import Channel, Event, Kind
from crashloop.kube.client import KubeApi
from crashloop.kube.errors import KubeError
from crashloop.kube.kubelet import effective_config
from crashloop.record.channels.events import now_ns, received_event
from crashloop.record.channels.kubelet_log import KubeletProcess
from crashloop.record.channels.node_restarts import NodeSign
from crashloop.spec.profile import KubeletProfile, matches_profile
from crashloop.waiting import WaitTimeout, wait_until

KUBELET_ANSWERS_S = 30.0

log = logging.getLogger(__name__)


def node_event(
    node: str,
    profile: KubeletProfile,
    configz: dict[str, Any] | None,
    process: KubeletProcess | None,
    *,
    declared: bool = False,
    sign: NodeSign | None = None,
) -> Event:
    """What is known of a node's kubelet."""
    read_ns = now_ns()
    data: dict[str, Any] = {
        "kubelet_pid": process.pid if process else None,
        "kubelet_started_ns": process.started_ns if process else None,
        "configz": configz,
        "gates": None if configz is None else configz.get("featureGates") or {},
        "matches_profile": None if configz is None else matches_profile(configz, profile),
    }
    if declared:
        data["declared"] = True
    if sign is not None:
        data |= msgspec.to_builtins(sign)
    return received_event(Channel.KUBELET, Kind.NODE, read_ns, data, node=node)


def awaited_configz(api: KubeApi, node: str, *, is_over: Callable[[], bool] = lambda: False) -> dict[str, Any] | None:
    """The effective configuration of a kubelet that was just restarted.

    None, with a warning, if it does not answer in time, or before `is_over` holds.
    """

    def answer() -> dict[str, Any] | None:
        if is_over():
            raise WaitTimeout(f"the recording ended before the kubelet of {node} answered with its configuration.")
        return effective_config(api, api.node(node))

    try:
        return wait_until(
            f"the kubelet of {node} to answer with its configuration",
            answer,
            timeout_s=KUBELET_ANSWERS_S,
            every_s=0.5,
            not_yet=KubeError,
        )
    except WaitTimeout as error:
        log.warning("%s", error)
        return None


def read_configz(api: KubeApi, node: str) -> dict[str, Any] | None:
    """The effective configuration; None if the kubelet does not show it, with its reason in the log."""
    try:
        return effective_config(api, api.node(node))
    except KubeError as error:
        log.warning("node %s: its configuration cannot be read: %s", node, error)
        return None
