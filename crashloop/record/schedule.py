"""The next steps of a run: nodes to start and to remove, scenarios to launch. Pure.

Theory of operation. The schedule takes the events of the run and returns the next steps; it has no effects itself. Nodes
start in the order of the plan while slots are free; after its last scenario a node gives its slot to the next. Scenarios
are launched in the order of the plan, each when its node is up and free for it: in parallel with others, or alone if it
disturbs the node, after all that do not. The first pod that the host cannot carry yet keeps the room that it will have; a
later one goes before it only beside that. If there are too many pods, all later ones wait.
"""

from collections.abc import Mapping
from enum import Enum, auto

from crashloop.record.start_budget import StartBudget
from crashloop.spec.plan import Plan, PlannedNode
from crashloop.spec.scenario import AnyScenario, Scenario


class NodeStage(Enum):
    """How far a node has come."""

    PLANNED = auto()
    COMING = auto()
    UP = auto()
    GOING = auto()
    GONE = auto()


class Schedule:
    """Which scenarios wait and run, and which nodes are up."""

    def __init__(
        self, plan: Plan, *, at_once: Mapping[type[AnyScenario], int], node_pods: int, nodes_change: bool = True
    ) -> None:
        """`at_once` bounds how many scenarios of a kind run at the same time; `node_pods` are pods that each node takes.

        Without `nodes_change` all nodes come up at the beginning and stay.
        """
        self._plan = plan
        self._at_once = at_once
        self._node_pods = node_pods
        self._nodes_change = nodes_change
        self._budget = StartBudget(plan.budgets.container_starts_per_s)
        self._stages = dict.fromkeys((node.name for node in plan.nodes), NodeStage.PLANNED)
        placed = [plan.scenario(name) for name in plan.placements]
        self._waiting = [*(each for each in plan.scenarios if each.name not in plan.placements), *placed]
        self._running: dict[str, Scenario] = {}

    @property
    def is_done(self) -> bool:
        """Whether every scenario has ended and no node is on its way."""
        moving = {NodeStage.COMING, NodeStage.GOING}
        return not self._waiting and not self._running and moving.isdisjoint(self._stages.values())

    def nodes_to_bring_up(self) -> tuple[PlannedNode, ...]:
        """The nodes for which there is room now, each once."""
        coming = []
        for node in self._plan.nodes:
            if self._stages[node.name] is NodeStage.PLANNED:
                if not self._has_room_for_a_node():
                    break
                self._stages[node.name] = NodeStage.COMING
                coming.append(node)
        return tuple(coming)

    def nodes_to_take_down(self) -> tuple[PlannedNode, ...]:
        """Nodes that have served their last scenario while others wait for their room, each once."""
        wanted = list(self._stages.values()).count(NodeStage.PLANNED)
        if not self._nodes_change:
            return ()
        needed = {self._plan.placements.get(each.name) for each in (*self._waiting, *self._running.values())}
        going = [
            node for node in self._plan.nodes if self._stages[node.name] is NodeStage.UP and node.name not in needed
        ][:wanted]
        self._stages.update((node.name, NodeStage.GOING) for node in going)
        return tuple(going)

    def is_up(self, node: str) -> None:
        """The node is Ready and can be used."""
        self._stages[node] = NodeStage.UP

    def is_gone(self, node: str) -> None:
        """The node has left its slot."""
        self._stages[node] = NodeStage.GONE

    def did_not_come_up(self, node: str) -> tuple[Scenario, ...]:
        """The scenarios that can never be launched, since their node is missing."""
        self._stages[node] = NodeStage.GONE
        stranded = tuple(each for each in self._waiting if self._plan.placements.get(each.name) == node)
        self._waiting = [each for each in self._waiting if each not in stranded]
        return stranded

    def to_launch(self, now_s: float) -> tuple[Scenario, ...]:
        """The scenarios that are to be launched now, each once. `now_s` never falls."""
        launched = []
        room_for_pods, first = True, None
        for scenario in list(self._waiting):
            if not self._can_be_launched(scenario):
                continue
            if scenario.pod_spec is not None:
                room_for_pods = room_for_pods and self._budget.is_open(now_s) and self._has_room_for_a_pod()
                if not room_for_pods:
                    continue
                starts_s = self._plan.starts_of(scenario)
                if not self._budget.allows(starts_s, now_s):
                    if first is None:
                        first = scenario.name
                        self._budget.reserve(first, starts_s, now_s)
                    continue
                self._budget.take(scenario.name, starts_s, now_s)
            self._waiting.remove(scenario)
            self._running[scenario.name] = scenario
            launched.append(scenario)
        if first is not None:
            self._budget.cancel(first)
            self._budget.close(now_s)
        return tuple(launched)

    def ended(self, scenario: str, now_s: float) -> None:
        """The scenario's history is sealed."""
        del self._running[scenario]
        self._budget.ended(scenario, now_s)

    def _can_be_launched(self, scenario: Scenario) -> bool:
        most = self._at_once.get(type(scenario))
        if most is not None and sum(type(each) is type(scenario) for each in self._running.values()) >= most:
            return False
        node = self._plan.placements.get(scenario.name)
        if node is None:
            return True
        if self._stages[node] is not NodeStage.UP:
            return False
        beside = [each for each in self._running.values() if self._plan.placements.get(each.name) == node]
        if not scenario.disturbs_node:
            return not any(each.disturbs_node for each in beside)
        first = any(not each.disturbs_node and self._plan.placements.get(each.name) == node for each in self._waiting)
        return not beside and not first

    def _has_room_for_a_pod(self) -> bool:
        return self._has_room_for_pods(1) or all(each.pod_spec is None for each in self._running.values())

    def _has_room_for_a_node(self) -> bool:
        if not self._nodes_change:
            return True
        live = self._live_nodes()
        room = self._has_room_for_pods(self._node_pods + 1)
        return live == 0 or (live < self._plan.budgets.live_nodes and room)

    def _has_room_for_pods(self, more: int) -> bool:
        pods = sum(each.pod_spec is not None for each in self._running.values()) + self._live_nodes() * self._node_pods
        most = self._plan.budgets.live_pods
        return most is None or pods + more <= most

    def _live_nodes(self) -> int:
        return sum(stage not in (NodeStage.PLANNED, NodeStage.GONE) for stage in self._stages.values())
