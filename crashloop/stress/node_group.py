"""A load that is spread over many nodes of an existing cluster: which nodes, and how many pods. Pure.

Theory of operation. The only node of a stress profile stands for a group of nodes whose kubelets have one configuration, as far
as that is known: the same version, and the same profile by declaration or the same fields that bear on restarts. Numbers of
users are those of one node, times the nodes, but for reads of the API server, which are the cluster's. The scheduler spreads
the pods of each load evenly (load/manifests.py).
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import msgspec

from crashloop.cluster.provider import Survey, SurveyedNode
from crashloop.errors import UsageError
from crashloop.report.text import counted
from crashloop.run.matching import Offer
from crashloop.slo.measurements import Lifecycle
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.lent_nodes import require_room, require_undisturbed
from crashloop.stress.loads import Canary, Demand
from crashloop.stress.plan import StressPlan
from crashloop.stress.profile import MAX_SPAWN_PER_S, Stage, StressProfile, pods_on

OPTION = "--spread-over"
MOST_NODES = 500
"""A node has a heartbeat, whose log is followed by a thread."""
MOST_PODS = 5_000
"""Of a run at a time, heartbeats included: so many the watch of the load was tried with."""
LEAST_PODS = 2
"""On a node: its heartbeat, and one of the load."""
ALL: Literal["all"] = "all"

Number = int | Literal["all"]
"""Of nodes; all: those that can be used."""


class Group(NamedTuple):
    """A stress profile on a group of nodes."""

    profile: StressProfile
    """Its node has their kubelet profile; its numbers are those of one node."""
    kubelet: KubeletProfile
    hosts: dict[str, str]
    """The label kubernetes.io/hostname by the name of the Node object."""
    cores: int
    """CPUs of the smallest of the nodes."""
    pods_each: int
    """The most pods of the load on one of them."""


def number_of(text: str) -> Number:
    """The value of the option. Raises UsageError."""
    if text == ALL:
        return ALL
    if not text.isdecimal() or not 2 <= int(text) <= MOST_NODES:
        raise UsageError(f"{OPTION} {text!r}: expected 2 to {MOST_NODES} nodes, or {ALL}.")
    return int(text)


def group_for(
    profile: StressProfile,
    survey: Survey,
    offer: Offer,
    named: Callable[[str], KubeletProfile],
    number: Number,
    *,
    max_pods: int,
) -> Group:
    """The group for a profile; `named` finds a kubelet profile by its name, `max_pods` is the most on a node.

    Raises UsageError for a profile that is about certain nodes, for too few nodes with one kubelet configuration, and for more
    pods than a run makes or the cluster takes.
    """
    _require_spreadable(profile)
    wanted = named(profile.nodes[0].profile)
    kubelet, nodes = _chosen(profile, offer, wanted, number)
    pods_each = _pods_each(survey, len(nodes), max_pods) - 1
    require_room(profile, pods_each, _limit(survey, pods_each + 1, max_pods))
    node = msgspec.structs.replace(profile.nodes[0], profile=kubelet.name)
    return Group(
        profile=msgspec.structs.replace(profile, nodes=(node,)),
        kubelet=kubelet,
        hosts={each.name: each.hostname or "" for each in nodes},
        cores=min(each.cores or 1 for each in nodes),
        pods_each=pods_each,
    )


def spread_out(plan: StressPlan, hosts: dict[str, str]) -> StressPlan:
    """The plan of a load for one node, on all of these."""
    load = msgspec.structs.replace(
        plan.load, stages=tuple(_times(each, plan.load, len(hosts)) for each in plan.load.stages)
    )
    return msgspec.structs.replace(plan, load=load, spread=hosts)


def open_files_of(plan: StressPlan) -> int:
    """Histories and heartbeats of a run at a time: those of the stage with the most pods, and those just ended."""
    most = max(sum(pods_on(plan.load, stage, node.name) for node in plan.load.nodes) for stage in plan.load.stages)
    return 2 * most + len(plan.taken)


def pooled(plan: StressPlan, lifecycles: Sequence[Lifecycle]) -> tuple[Lifecycle, ...]:
    """The pods by the nodes of the profile: those of a group belong to the one that stands for it."""
    if not plan.spread:
        return tuple(lifecycles)
    (node,) = plan.load.nodes
    return tuple(msgspec.structs.replace(each, node=node.name) for each in lifecycles)


def _require_spreadable(profile: StressProfile) -> None:
    require_undisturbed(profile)
    reason = None
    if any(node.arm for node in profile.nodes):
        reason = "it compares arms, each of them one node"
    elif len(profile.nodes) != 1:
        reason = f"it has {len(profile.nodes)} nodes, each with a load of its own"
    servers = [name for name, load in profile.loads.items() if isinstance(load, Demand)]
    if reason is None and servers:
        reason = f"its load {servers[0]} sends requests to servers of certain nodes"
    if reason is not None:
        raise UsageError(
            f'stress profile "{profile.name}": {reason}; {OPTION} spreads the load of one node over many.\n'
            f"Leave {OPTION} out, or choose another profile."
        )


def _chosen(
    profile: StressProfile, offer: Offer, wanted: KubeletProfile, number: Number
) -> tuple[KubeletProfile, list[SurveyedNode]]:
    """The kubelet of the group, and its nodes: those with the wanted profile if there are enough, else the most alike."""
    groups = _groups(offer, wanted)
    there = ", ".join(f"{kubelet.name} ({counted(len(nodes), 'node')})" for kubelet, nodes in groups) or "none"
    if number == ALL and len(groups) > 1:
        raise UsageError(
            f"{OPTION} {ALL}: the nodes that can be used have several kubelet configurations: {there}.\n"
            "Name those of one with --node-selector, or give their number."
        )
    needed = 2 if number == ALL else number
    kubelet, nodes = next((each for each in groups if len(each[1]) >= needed), (wanted, []))
    if not nodes:
        raise UsageError(
            f'stress profile "{profile.name}": {OPTION} {number} needs {needed} nodes with one kubelet configuration that is '
            f"known; those that can be used: {there}."
        )
    if len(nodes) > MOST_NODES and number == ALL:
        raise UsageError(
            f"{OPTION} {ALL}: {len(nodes)} nodes can be used; expected at most {MOST_NODES}.\n"
            "Name fewer with --node-selector, or give their number."
        )
    return kubelet, nodes if number == ALL else nodes[:number]


def _groups(offer: Offer, wanted: KubeletProfile) -> list[tuple[KubeletProfile, list[SurveyedNode]]]:
    """The usable nodes by kubelet: first those that have the wanted profile, then by their number."""
    found: dict[bytes, tuple[KubeletProfile, list[SurveyedNode]]] = {}
    for node in offer.usable:
        if node.hostname is not None and (node.declared is not None or node.configz is not None):
            kubelet = offer.kubelet_on(node, wanted)
            alike = msgspec.json.encode(msgspec.structs.replace(kubelet, name=""), order="sorted")
            found.setdefault(alike, (kubelet, []))[1].append(node)
    return sorted(found.values(), key=lambda each: (not offer.has(each[1][0], wanted), -len(each[1])))


def _pods_each(survey: Survey, nodes: int, max_pods: int) -> int:
    """The most pods on a node, its heartbeat included."""
    most = max_pods if survey.quota is None else min(max_pods, survey.quota // nodes)
    if most < LEAST_PODS:
        limit = _limit(survey, most, max_pods)
        raise UsageError(
            f"{OPTION} {nodes}: {limit} {counted(most, 'pod')} a node; expected {LEAST_PODS} at least: a heartbeat and one of "
            "the load.\nRaise --max-pods, or the namespace's quota."
        )
    if most * nodes > MOST_PODS:
        raise UsageError(
            f"{OPTION} {nodes}: {most} pods on each node, heartbeats included (--max-pods), are {most * nodes:,}; a run makes "
            f"{MOST_PODS:,} at the most.\nLower --max-pods to {MOST_PODS // nodes}, or spread the load over fewer nodes."
        )
    return most


def _limit(survey: Survey, pods_each: int, max_pods: int) -> str:
    """What leaves so many pods for a node, as the begin of a sentence."""
    return f"--max-pods {max_pods} leaves" if pods_each == max_pods else f"a quota of {survey.quota} more pods leaves"


def _times(stage: Stage, profile: StressProfile, nodes: int) -> Stage:
    users = {
        name: int(count) * (1 if isinstance(profile.loads[name], Canary) else nodes)
        for name, count in stage.users.items()
    }
    spawn_per_s = min(MAX_SPAWN_PER_S, stage.spawn_per_s * nodes)
    return msgspec.structs.replace(stage, users=users, spawn_per_s=spawn_per_s)
