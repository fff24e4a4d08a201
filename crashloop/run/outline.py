"""What a plan amounts to: its nodes, what runs on each, and when. Pure."""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from crashloop.run.kinds import KINDS
from crashloop.spec.assignment import REPLACE_S, TURN_S
from crashloop.spec.plan import Plan
from crashloop.spec.version import KubernetesVersion


class NodeOutline(NamedTuple):
    """A node; the times are counted from the moment at which the first nodes are up."""

    name: str
    profile: str
    scenarios: int
    begin_s: float
    end_s: float


class Outline(NamedTuple):
    """A plan in numbers."""

    nodes: tuple[NodeOutline, ...]
    requirements: int
    judgements: int
    without_node: int
    """Scenarios that need no node."""
    skipped: int
    container_starts: int
    """Sandboxes and containers that launches start."""
    expected_s: float
    """Longest expected recording, from the first pod to the last history."""


def outline(plan: Plan) -> Outline:
    """Nodes in the order in which they come up."""
    nodes = tuple(_nodes(plan))
    starts = sum(each.starts for each in plan.scenarios)
    launching_s = starts / plan.budgets.container_starts_per_s
    return Outline(
        nodes=nodes,
        requirements=len({each.requirement for each in plan.judgements}),
        judgements=len(plan.judgements),
        without_node=sum(each.node_profile is None for each in plan.scenarios),
        skipped=len(plan.skipped),
        container_starts=starts,
        expected_s=max([launching_s, *(node.end_s for node in nodes)]),
    )


def sentences(found: Outline) -> Iterator[str]:
    """For people."""
    yield (
        f"{found.judgements} verdicts on {found.requirements} requirements; {len(found.nodes)} nodes, "
        f"{found.container_starts} container starts at launch, {found.without_node} scenarios without a node."
    )
    if found.skipped:
        yield f"{found.skipped} verdicts are skipped: this provider, release or configuration lacks what they need."
    yield f"Expected time: {_minutes(found.expected_s)} at most once the first nodes are up."


def _nodes(plan: Plan) -> Iterator[NodeOutline]:
    """As in crashloop.spec.assignment: a further node comes up in the slot that is free first."""
    occupied_s = _occupied_s(plan)
    ends_s: list[float] = []
    for node in plan.nodes:
        begin_s = 0.0
        if len(ends_s) >= plan.budgets.live_nodes:
            begin_s = min(ends_s) + REPLACE_S
            ends_s.remove(min(ends_s))
        end_s = begin_s + occupied_s[node.name]
        ends_s.append(end_s)
        scenarios = sum(placed == node.name for placed in plan.placements.values())
        yield NodeOutline(node.name, node.profile, scenarios, begin_s, end_s)


def _occupied_s(plan: Plan) -> dict[str, float]:
    """By node: its longest scenario that runs beside others, then each that runs alone."""
    version = KubernetesVersion.parse(plan.kubernetes_version)
    beside: defaultdict[str, float] = defaultdict(float)
    alone: defaultdict[str, float] = defaultdict(float)
    for name, node in plan.placements.items():
        scenario = plan.scenario(name)
        taken_s = KINDS[type(scenario)].expected_s(scenario, plan.profile(scenario.node_profile or ""), version)
        if scenario.disturbs_node:
            alone[node] += TURN_S + taken_s
        else:
            beside[node] = max(beside[node], taken_s)
    return {node.name: beside[node.name] + alone[node.name] for node in plan.nodes}


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
