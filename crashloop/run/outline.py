"""What a plan amounts to: its nodes, what runs on each, and when. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from crashloop.run.kinds import KINDS
from crashloop.spec.occupation import Slots, jobs_of
from crashloop.spec.plan import Plan
from crashloop.spec.scenario import Scenario
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
    """Each node from the slot that is free first to the end of its last scenario."""
    version = KubernetesVersion.parse(plan.kubernetes_version)
    slots = Slots(plan.budgets.live_nodes)
    for planned in plan.nodes:
        scenarios = [plan.scenario(name) for name, node in plan.placements.items() if node == planned.name]
        length_s = {each.name: _expected_s(plan, each, version) for each in scenarios}
        first, *others = jobs_of(scenarios, length_s, {each.node_profile or "": planned.name for each in scenarios})
        node = slots.come_up(planned.name, first)
        for job in others:
            node.join(job)
        yield NodeOutline(planned.name, planned.profile, len(scenarios), node.begin_s, node.end_s)


def _expected_s(plan: Plan, scenario: Scenario, version: KubernetesVersion) -> float:
    return KINDS[type(scenario)].expected_s(scenario, plan.profile(scenario.node_profile or ""), version)


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
