"""The plan of a run: which scenarios run on which nodes, in which waves. A pure function of what was selected."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from crashloop.errors import UsageError
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import Scenario

PLAN_FORMAT = "crashloop.plan/1"


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """What the host can carry at once; `crashloop doctor` measures it."""

    container_starts_per_s: float = 3.0
    live_nodes: int = 12
    live_pods: int | None = None
    """Pods at once, with one for each node's heartbeat; None: no limit."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A requirement that is to be judged on a scenario."""

    requirement: str
    scenario: str


class Skip(msgspec.Struct, frozen=True, kw_only=True):
    """A judgement that was selected but cannot be made here; `reason` names the missing capability, gate or version."""

    requirement: str
    scenario: str
    profile: str
    reason: str


class PlannedNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node and the profile its kubelet runs with."""

    name: str
    profile: str


class Wave(msgspec.Struct, frozen=True, kw_only=True):
    """Scenarios that run side by side. `placements` maps scenario to node; its order is the order of launch."""

    nodes: tuple[PlannedNode, ...]
    placements: dict[str, str]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """plan.json."""

    format: str = PLAN_FORMAT
    suite: str
    provider: str
    kubernetes_version: str
    scope: str
    feature_gates: dict[str, bool] = {}
    """Gates of the control plane that differ from the release's defaults."""
    budgets: Budgets = Budgets()
    profiles: tuple[KubeletProfile, ...]
    scenarios: tuple[Scenario, ...]
    judgements: tuple[Judgement, ...]
    skipped: tuple[Skip, ...] = ()
    waves: tuple[Wave, ...]

    def scenario(self, name: str) -> Scenario:
        """The scenario of that name. Raises KeyError."""
        for scenario in self.scenarios:
            if scenario.name == name:
                return scenario
        raise KeyError(name)

    def profile(self, name: str) -> KubeletProfile:
        """The profile of that name. Raises KeyError."""
        for profile in self.profiles:
            if profile.name == name:
                return profile
        raise KeyError(name)


def plan_waves(
    scenarios: tuple[Scenario, ...],
    budgets: Budgets,
    durations_s: Mapping[str, float] | None = None,
    nodes: Mapping[str, str] | None = None,
) -> tuple[Wave, ...]:
    """Place every scenario: one node a profile and wave, a further one for each scenario that disturbs its node.

    Long scenarios, by their expected durations or else their longest watch, are launched first, so that the run lasts
    little longer than its longest scenario. What exceeds a budget goes into a further wave. `nodes` maps profiles to
    nodes that are there already; one node can stand for several profiles.
    """
    expected_s = {each.name: _watch_s(each) for each in scenarios} | dict(durations_s or {})
    longest_first = sorted(scenarios, key=lambda scenario: (-expected_s[scenario.name], scenario.name))
    waves: list[_Draft] = []
    for scenario in longest_first:
        if scenario.node_profile is None:
            continue
        own = scenario.disturbs_node
        known = (nodes or {}).get(scenario.node_profile, scenario.node_profile)
        node = f"{scenario.node_profile}-{scenario.name}" if own else known
        wave = next((each for each in waves if each.has_room(node, budgets)), None)
        if wave is None:
            waves.append(wave := _Draft({}, {}))
        wave.nodes.setdefault(node, scenario.node_profile)
        wave.placements[scenario.name] = node
    return tuple(
        Wave(
            nodes=tuple(PlannedNode(name=name, profile=profile) for name, profile in each.nodes.items()),
            placements=each.placements,
        )
        for each in waves
    )


class _Draft(NamedTuple):
    """A wave that is being filled: profile by node, node by scenario."""

    nodes: dict[str, str]
    placements: dict[str, str]

    def has_room(self, node: str, budgets: Budgets) -> bool:
        """Whether one more scenario fits, on that node."""
        nodes = len(self.nodes) + (node not in self.nodes)
        pods = len(self.placements) + 1 + nodes
        return nodes <= budgets.live_nodes and (budgets.live_pods is None or pods <= budgets.live_pods)


def _watch_s(scenario: Scenario) -> float:
    return scenario.longest_s


def unique_scenarios(scenarios: tuple[Scenario, ...]) -> tuple[Scenario, ...]:
    """Each scenario once. Raises UsageError if two different ones share a name."""
    by_name: dict[str, Scenario] = {}
    for scenario in scenarios:
        if by_name.setdefault(scenario.name, scenario) != scenario:
            raise UsageError(f"scenario {scenario.name!r} is declared twice with different content.")
    return tuple(by_name.values())
