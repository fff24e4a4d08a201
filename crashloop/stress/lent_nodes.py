"""Which nodes of an existing cluster a stress profile gets, and how many pods they may have. Pure.

Theory of operation. A stress profile names nodes by their parts, such as `storm`. In an existing cluster no kubelet changes
for a run, so a node of the profile is one of the cluster's: one whose kubelet has the named profile, or else any other, and
the run then follows the curve that this one has. Only arms of a comparison need the named profiles.

A load may be spread over many nodes. The only node of its profile then stands for a group of nodes whose kubelets have one
configuration, as far as that is known: the same version, and the same profile by declaration or the same fields that bear on
restarts. Numbers of users are those of one node, times the nodes, but for reads of the API server, which are the cluster's. The
scheduler spreads the pods of each load evenly (load/manifests.py).
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import msgspec

from crashloop.cluster.provider import Survey, SurveyedNode
from crashloop.errors import UsageError
from crashloop.report.text import counted
from crashloop.run.existing import Offer
from crashloop.slo.measurements import Lifecycle
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.loads import Canary, Demand, large_images
from crashloop.stress.plan import StressPlan
from crashloop.stress.profile import FULL, MAX_SPAWN_PER_S, Stage, StressNode, StressProfile, pods_on


class Lent(NamedTuple):
    """A stress profile on nodes of an existing cluster."""

    profile: StressProfile
    """Its nodes have the names of the cluster's, and the names of their kubelets' profiles."""
    kubelets: dict[str, KubeletProfile]
    """By their names."""
    cores: int
    """CPUs of the smallest of the nodes."""
    pods_each: int
    """The most pods on one of them."""


def lend(profile: StressProfile, survey: Survey, offer: Offer, named: Callable[[str], KubeletProfile]) -> Lent:
    """The nodes for a profile; `named` finds a kubelet profile by its name.

    Raises UsageError if the cluster has too few nodes, if an arm has no node with its kubelet profile, if the profile
    disturbs nodes, or if a stage makes more pods than the cluster takes.
    """
    require_undisturbed(profile)
    found = _assigned_nodes(profile, offer, named)
    kubelets = {each.name: offer.kubelet_on(node, named(each.profile)) for each, node in found}
    pods_each = (survey.max_pods - len(found)) // len(found)
    require_room(profile, pods_each, f"{survey.max_pods} pods in the cluster leave")
    return Lent(
        profile=_on_nodes(profile, {each.name: node.name for each, node in found}, kubelets),
        kubelets={kubelet.name: kubelet for kubelet in kubelets.values()},
        cores=min(node.cores or 1 for _, node in found),
        pods_each=pods_each,
    )


def _assigned_nodes(
    profile: StressProfile, offer: Offer, named: Callable[[str], KubeletProfile]
) -> list[tuple[StressNode, SurveyedNode]]:
    """A node for each of the profile's: first where a kubelet profile decides, then any."""
    spare = [node for node in offer.usable if node.declared is not None or node.configz is not None]
    found: dict[str, SurveyedNode] = {}
    for each in profile.nodes:
        wanted = named(each.profile)
        fitting = next((node for node in spare if offer.has(node, wanted)), None)
        if fitting is not None:
            spare.remove(fitting)
            found[each.name] = fitting
        elif each.arm:
            taken = [node.name for node in found.values() if offer.has(node, wanted)]
            in_use = (
                f'it needs a node of its own; the kubelet profile "{wanted.name}" is only on {", ".join(taken)}, in use'
            )
            why = in_use if taken else offer.why_none(wanted)
            raise UsageError(f'stress profile "{profile.name}", arm {each.arm}: {why}.')
    others = [each for each in profile.nodes if each.name not in found]
    if len(others) > len(spare):
        raise UsageError(
            f'stress profile "{profile.name}": it needs {len(profile.nodes)} nodes with a known kubelet profile; '
            f"the cluster has {len(found) + len(spare)} that can be used."
        )
    found.update((each.name, node) for each, node in zip(others, spare, strict=False))
    return [(each, found[each.name]) for each in profile.nodes]


def require_undisturbed(profile: StressProfile) -> None:
    """Raise UsageError for a profile that disturbs nodes, or needs images that no registry has."""
    changes = None
    if profile.disturbances:
        changes = "it restarts kubelets or runtimes"
    elif large_images(profile.loads.values()):
        changes = "it puts large images onto nodes (image_mib)"
    if changes is not None:
        raise UsageError(f'stress profile "{profile.name}": {changes}; an existing cluster is never changed.')


def require_room(profile: StressProfile, pods_each: int, limit: str) -> None:
    """Raise UsageError if numbers of users that the profile fixes do not fit; `full` adapts.

    `limit` begins the sentence on what leaves so many pods for each node.
    """
    for stage in profile.stages:
        for node in profile.nodes:
            pods = pods_on(profile, stage, node.name)
            fills = sum(count == FULL for count in stage.users.values())
            if pods + fills > pods_each:
                raise UsageError(
                    f'stress profile "{profile.name}", stage {stage.name}: {pods + fills} pods on node {node.name}; '
                    f"{limit} {pods_each} for each node, heartbeats left out.\n"
                    "Raise --max-pods, or the namespace's quota."
                )


def _on_nodes(profile: StressProfile, names: dict[str, str], kubelets: dict[str, KubeletProfile]) -> StressProfile:
    return msgspec.structs.replace(
        profile,
        nodes=tuple(
            msgspec.structs.replace(each, name=names[each.name], profile=kubelets[each.name].name)
            for each in profile.nodes
        ),
        loads={name: msgspec.structs.replace(load, node=names[load.node]) for name, load in profile.loads.items()},
    )


SPREAD = "--spread-over"
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
    if not (text.isascii() and text.isdecimal()) or not 2 <= int(text) <= MOST_NODES:
        raise UsageError(f"{SPREAD} {text!r}: expected 2 to {MOST_NODES} nodes, or {ALL}.")
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
    kubelet, nodes = _chosen_group(profile, offer, wanted, number)
    pods_each = _pods_each(survey, len(nodes), max_pods) - 1
    require_room(profile, pods_each, _limit_in_words(survey, pods_each + 1, max_pods))
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
        plan.load, stages=tuple(_for_all_nodes(each, plan.load, len(hosts)) for each in plan.load.stages)
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
            f'stress profile "{profile.name}": {reason}; {SPREAD} spreads the load of one node over many.\n'
            f"Leave {SPREAD} out, or choose another profile."
        )


def _chosen_group(
    profile: StressProfile, offer: Offer, wanted: KubeletProfile, number: Number
) -> tuple[KubeletProfile, list[SurveyedNode]]:
    """The kubelet of the group, and its nodes: those with the wanted profile if there are enough, else the most alike."""
    groups = _groups_of_nodes(offer, wanted)
    there = ", ".join(f"{kubelet.name} ({counted(len(nodes), 'node')})" for kubelet, nodes in groups) or "none"
    if number == ALL and len(groups) > 1:
        raise UsageError(
            f"{SPREAD} {ALL}: the nodes that can be used have several kubelet configurations: {there}.\n"
            "Name those of one with --node-selector, or give their number."
        )
    needed = 2 if number == ALL else number
    kubelet, nodes = next((each for each in groups if len(each[1]) >= needed), (wanted, []))
    if not nodes:
        raise UsageError(
            f'stress profile "{profile.name}": {SPREAD} {number} needs {needed} nodes with one kubelet configuration that is '
            f"known; those that can be used: {there}."
        )
    if len(nodes) > MOST_NODES and number == ALL:
        raise UsageError(
            f"{SPREAD} {ALL}: {len(nodes)} nodes can be used; expected at most {MOST_NODES}.\n"
            "Name fewer with --node-selector, or give their number."
        )
    return kubelet, nodes if number == ALL else nodes[:number]


def _groups_of_nodes(offer: Offer, wanted: KubeletProfile) -> list[tuple[KubeletProfile, list[SurveyedNode]]]:
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
        limit = _limit_in_words(survey, most, max_pods)
        raise UsageError(
            f"{SPREAD} {nodes}: {limit} {counted(most, 'pod')} a node; expected {LEAST_PODS} at least: a heartbeat and one of "
            "the load.\nRaise --max-pods, or the namespace's quota."
        )
    if most * nodes > MOST_PODS:
        raise UsageError(
            f"{SPREAD} {nodes}: {most} pods on each node, heartbeats included (--max-pods), are {most * nodes:,}; a run makes "
            f"{MOST_PODS:,} at the most.\nLower --max-pods to {MOST_PODS // nodes}, or spread the load over fewer nodes."
        )
    return most


def _limit_in_words(survey: Survey, pods_each: int, max_pods: int) -> str:
    """What leaves so many pods for a node, as the begin of a sentence."""
    return f"--max-pods {max_pods} leaves" if pods_each == max_pods else f"a quota of {survey.quota} more pods leaves"


def _for_all_nodes(stage: Stage, profile: StressProfile, nodes: int) -> Stage:
    users = {
        name: int(count) * (1 if isinstance(profile.loads[name], Canary) else nodes)
        for name, count in stage.users.items()
    }
    spawn_per_s = min(MAX_SPAWN_PER_S, stage.spawn_per_s * nodes)
    return msgspec.structs.replace(stage, users=users, spawn_per_s=spawn_per_s)
