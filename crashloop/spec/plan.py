"""The plan of a run: which requirements are judged on which scenarios or comparisons, and which scenarios run on which nodes.

`crashloop.spec.assignment` places the scenarios that were selected. A comparison is judged as a whole: its scenarios' histories
lead to one verdict.
"""

from typing import NamedTuple

import msgspec

from crashloop.errors import UsageError
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import Scenario


class Comparison(msgspec.Struct, frozen=True, tag="comparison"):
    """What a requirement compares, as a test yields it. The order counts where a checker says so."""

    name: str
    """Unique among the scenarios and comparisons of a plan; lower-case letters, digits and dashes."""
    scenarios: tuple[Scenario, ...]
    """At least two, of different names."""

    @property
    def compared(self) -> tuple[str, ...]:
        """Names of its scenarios."""
        return tuple(each.name for each in self.scenarios)

    @property
    def subject(self) -> str:
        """The judged kubelet profiles."""
        return ", ".join(dict.fromkeys(each.subject for each in self.scenarios))

    @property
    def longest_s(self) -> float:
        """Seconds after which the last of its scenarios has ended in any case."""
        return max(each.longest_s for each in self.scenarios)


def compared(name: str, *scenarios: Scenario) -> Comparison:
    """The comparison of these scenarios."""
    return Comparison(name, scenarios)


Judgeable = Scenario | Comparison
"""What a requirement is judged on: both have name, subject, longest_s, scenarios and compared."""


PLAN_FORMAT = "crashloop.plan/1"


PROBE_STARTS = 0.35
"""What a probe by a command costs beside the start of a container. Measured: `runc exec` took 21 ms of CPU, `create`, `start` and
`delete` 42 ms; and it needs no sandbox, no sync, no network and no status."""
REQUEST_STARTS = 0.02
"""Likewise what a probe over HTTP costs. Measured: server and shell in the container took 2.1 ms of CPU where starting and
ending a process takes 0.97 ms, so 0.008 of a start; the rest is for kubelet, connection and log, and was not measured."""


class Work(NamedTuple):
    """A process that a scenario makes its node start."""

    at_s: float
    """Seconds after the launch of the scenario."""
    starts: float
    """What it costs, in starts of a container."""


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """What the host can carry at once; `crashloop doctor` measures it."""

    container_starts_per_s: float = 6.0
    """Starts of sandboxes and containers per second, over some seconds; probes count as PROBE_STARTS or REQUEST_STARTS."""
    live_nodes: int = 12
    live_pods: int | None = None
    """Pods at once, with one for each node's heartbeat; None: no limit."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A requirement that is to be judged on a scenario, or on a comparison of several."""

    requirement: str
    scenario: str
    """Name of the scenario, or of the comparison."""
    compared: tuple[str, ...] = ()
    """Names of the scenarios that a comparison compares; empty for a judgement on one scenario."""

    @property
    def histories(self) -> tuple[str, ...]:
        """Names of the scenarios whose histories it takes."""
        return self.compared or (self.scenario,)


class Skip(msgspec.Struct, frozen=True, kw_only=True):
    """A judgement that was selected but cannot be made here; `reason` names the missing capability, gate or version."""

    requirement: str
    scenario: str
    """Name of the scenario, or of the comparison."""
    profile: str
    reason: str


class PlannedNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node and the profile its kubelet runs with."""

    name: str
    profile: str


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The head of plan.json, the same for every suite."""

    format: str = PLAN_FORMAT
    suite: str
    provider: str
    kubernetes_version: str
    scope: str
    """Scope of the conformance suite, or name of the load."""
    profiles: tuple[KubeletProfile, ...]
    nodes: tuple[PlannedNode, ...] = ()
    """In the order in which they come up."""

    def profile(self, name: str) -> KubeletProfile:
        """The profile of that name. Raises KeyError."""
        for profile in self.profiles:
            if profile.name == name:
                return profile
        raise KeyError(name)


class Plan(RunPlan, frozen=True, kw_only=True):
    """plan.json of a conformance run. Beyond `budgets.live_nodes`, a node comes up when another has served its last scenario."""

    feature_gates: dict[str, bool] = {}
    """Gates of the control plane that differ from the release's defaults."""
    budgets: Budgets = Budgets()
    scenarios: tuple[Scenario, ...]
    judgements: tuple[Judgement, ...]
    skipped: tuple[Skip, ...] = ()
    placements: dict[str, str] = {}
    """Node by scenario, in the order of launch. A scenario that is missing here needs no node."""
    starts_s: dict[str, tuple[float, ...]] = {}
    """By scenario, when starts are expected, in seconds after its launch. One that is missing here has all at its launch."""
    probes_s: dict[str, tuple[float, ...]] = {}
    """Likewise, probes by a command. One that is missing here has none."""
    requests_s: dict[str, tuple[float, ...]] = {}
    """Likewise, probes over HTTP."""

    def scenario(self, name: str) -> Scenario:
        """The scenario of that name. Raises KeyError."""
        for scenario in self.scenarios:
            if scenario.name == name:
                return scenario
        raise KeyError(name)

    def gates_for(self, scenario: Scenario) -> dict[str, bool]:
        """Gates of the control plane of a scenario that differ from the release's defaults."""
        return self.feature_gates | scenario.own_gates

    def shared(self) -> "Plan":
        """The part of the scenarios that share the run's control plane."""
        return self._part(tuple(each for each in self.scenarios if each.control_plane is None), self.feature_gates)

    def apart(self) -> tuple["Plan", ...]:
        """A part for each scenario that has a control plane for itself."""
        lone = (each for each in self.scenarios if each.control_plane is not None)
        return tuple(self._part((each,), self.gates_for(each)) for each in lone)

    def _part(self, scenarios: tuple[Scenario, ...], feature_gates: dict[str, bool]) -> "Plan":
        names = {each.name for each in scenarios}
        placements = {name: node for name, node in self.placements.items() if name in names}
        nodes = tuple(each for each in self.nodes if each.name in placements.values())
        return msgspec.structs.replace(
            self, scenarios=scenarios, feature_gates=feature_gates, nodes=nodes, placements=placements
        )

    def work_of(self, scenario: Scenario) -> tuple[Work, ...]:
        """What the host is expected to carry for it, in no order."""
        starts_s = self.starts_s.get(scenario.name) or (0.0,) * scenario.starts
        kinds = (
            (starts_s, 1.0),
            (self.probes_s.get(scenario.name, ()), PROBE_STARTS),
            (self.requests_s.get(scenario.name, ()), REQUEST_STARTS),
        )
        return tuple(Work(at_s, cost) for times_s, cost in kinds for at_s in times_s)

    @property
    def launching_s(self) -> float:
        """Seconds that the budget needs for everything that is expected to start."""
        work = sum(each.starts for scenario in self.scenarios for each in self.work_of(scenario))
        return work / self.budgets.container_starts_per_s

    def histories_of(self, judged: str) -> tuple[str, ...]:
        """Names of the scenarios whose histories the judgements on a scenario or comparison of that name take."""
        return next((each.histories for each in self.judgements if each.scenario == judged), (judged,))


def unique_scenarios(scenarios: tuple[Scenario, ...]) -> tuple[Scenario, ...]:
    """Each scenario once. Raises UsageError if two different ones share a name."""
    by_name: dict[str, Scenario] = {}
    for scenario in scenarios:
        if by_name.setdefault(scenario.name, scenario) != scenario:
            raise UsageError(f"scenario {scenario.name!r} is declared twice with different content.")
    return tuple(by_name.values())
