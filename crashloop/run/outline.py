"""What a plan amounts to: its nodes, what runs on each, and when. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from crashloop.cluster.provider import Capability
from crashloop.record.schedule import Forecast, forecast
from crashloop.record.stage import schedule_of
from crashloop.run.courses import courses_of
from crashloop.spec.assignment import REPLACE_S
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
    """Starts of sandboxes and containers, exec probes included."""
    expected_s: float
    """Longest expected recording, from the first pod to the last history."""


def outline(plan: Plan, capabilities: frozenset[Capability]) -> Outline:
    """Nodes in the order in which they come up, on a provider that can do so much."""
    version = KubernetesVersion.parse(plan.kubernetes_version)
    lengths_s = {name: course.latest_s for name, course in courses_of(plan.scenarios, plan.profile, version).items()}

    def of(part: Plan) -> Forecast:
        return forecast(schedule_of(part, capabilities), lengths_s, bring_up_s=REPLACE_S, take_down_s=0.0)

    played, begin_s = of(plan.shared()), 0.0
    for lone in map(of, plan.apart()):
        played = played.beside(lone, begin_s)
        begin_s += lone.ends_s
    return Outline(
        nodes=tuple(_nodes(plan, played)),
        requirements=len({each.requirement for each in plan.judgements}),
        judgements=len(plan.judgements),
        without_node=sum(each.node_profile is None for each in plan.scenarios),
        skipped=len(plan.skipped),
        container_starts=sum(len(plan.starts_of(each)) for each in plan.scenarios),
        expected_s=max(played.ends_s - REPLACE_S, 0.0),
    )


def sentences(found: Outline) -> Iterator[str]:
    """For people."""
    yield (
        f"{found.judgements} verdicts on {found.requirements} requirements; {len(found.nodes)} nodes, "
        f"{found.container_starts} container starts, {found.without_node} scenarios without a node."
    )
    if found.skipped:
        yield f"{found.skipped} verdicts are skipped: this provider, release or configuration lacks what they need."
    yield f"Expected time: {_minutes(found.expected_s)} at most once the first nodes are up."


def _nodes(plan: Plan, played: Forecast) -> Iterator[NodeOutline]:
    """Each node from the moment at which it is up to the end of its last scenario."""
    for planned in plan.nodes:
        ends_s = [played.scenarios[name][1] for name, node in plan.placements.items() if node == planned.name]
        begin_s, _ = played.nodes[planned.name]
        yield NodeOutline(planned.name, planned.profile, len(ends_s), begin_s, max(ends_s) - REPLACE_S)


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
