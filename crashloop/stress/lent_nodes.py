"""Which nodes of an existing cluster a stress profile gets, and how many pods they may have. Pure.

Theory of operation. A stress profile names nodes by their parts, such as `storm`. In an existing cluster no kubelet changes
for a run, so a node of the profile is one of the cluster's: one whose kubelet has the named profile, or else any other, and
the run then follows the curve that this one has. Only arms of a comparison need the named profiles.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from crashloop.cluster.provider import Survey, SurveyedNode
from crashloop.errors import UsageError
from crashloop.run.matching import Offer
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.loads import large_images
from crashloop.stress.profile import FULL, StressNode, StressProfile, pods_on


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
    found = _assigned(profile, offer, named)
    kubelets = {each.name: offer.kubelet_on(node, named(each.profile)) for each, node in found}
    pods_each = (survey.max_pods - len(found)) // len(found)
    require_room(profile, pods_each, f"{survey.max_pods} pods in the cluster leave")
    return Lent(
        profile=_on_nodes(profile, {each.name: node.name for each, node in found}, kubelets),
        kubelets={kubelet.name: kubelet for kubelet in kubelets.values()},
        cores=min(node.cores or 1 for _, node in found),
        pods_each=pods_each,
    )


def _assigned(
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
