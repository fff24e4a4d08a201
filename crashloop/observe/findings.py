"""Findings about nodes, from their crash loops and from their Node objects before and after the observation."""

from collections.abc import Mapping, Sequence

from crashloop.inference.judging import NodeFinding, judge_node, unjudged
from crashloop.inference.loops import CrashLoop
from crashloop.kube.client import Json
from crashloop.observe.nodes import NOT_KNOWN, Configured, is_modelled, kubelet_version, lost_counters

TOO_OLD = "its release is older than the model covers"
NOT_SEEN_AGAIN = "whether it was booted or not Ready could not be read at the end"


def findings_of(
    nodes: Mapping[str, Json],
    loops: Mapping[str, Sequence[CrashLoop]],
    configured: Mapping[str, Configured],
    *,
    before: Mapping[str, Json],
    after: Mapping[str, Json] | None,
) -> list[NodeFinding]:
    """One finding per node, first those that can be judged. `after` is None if the nodes could not be read at the end."""
    modelled = {name: node for name, node in nodes.items() if is_modelled(kubelet_version(node))}
    judged = [
        judge_node(
            name,
            loops.get(name, ()),
            kubelet_version(node),
            configured=configured.get(name, NOT_KNOWN).curve,
            configured_by=configured.get(name, NOT_KNOWN).by,
            disturbed=NOT_SEEN_AGAIN if after is None else lost_counters(before.get(name), after.get(name)),
        )
        for name, node in modelled.items()
    ]
    beyond = [
        unjudged(name, loops.get(name, ()), kubelet_version=str(kubelet_version(node)), note=TOO_OLD)
        for name, node in nodes.items()
        if name not in modelled
    ]
    return judged + beyond
