"""The next steps of a run: nodes to start and to remove, scenarios to launch, and when all of it will be. Pure.

Time is an argument, in seconds of a clock that only rises.

Theory of operation. The schedule takes the events of the run and returns the next steps; it has no effects itself. Nodes
start in the order of the plan while slots are free; after its last scenario a node gives its slot to the next. Scenarios
are launched in the order of the plan, each when its node is up and free for it: in parallel with others, or alone if it
disturbs the node, after all that do not. The first pod that the host cannot carry yet keeps the room that it will have; a
later one goes before it only beside that. If there are too many pods, all later ones wait.

The start budget decides when the host can carry the next launch. What is launched starts more later: restarts, probes by
a command, which cost less. The budget totals all starts that are due, by windows of WINDOW_S, and allows a launch where
its own fit into every window that they meet. A launch that exceeds a window by itself has that window for itself.
Launches follow each other at the pace of the budget, which follows the host: faster where cores idle, slower where none
is left, and much slower where the recorder's own calls to API server and runtime take long: there a further start delays all.
After that it comes back quickly to what the host carried, and then with caution.

The forecast plays the schedule with a clock of its own, where each scenario takes so long.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from enum import Enum, auto
from itertools import count
from typing import NamedTuple

from crashloop.spec.plan import Budgets, Plan, PlannedNode, Work
from crashloop.spec.scenario import AnyScenario, Scenario

WINDOW_S = 5.0
AT_ONCE_S = 1.0
"""Starts that soon after a launch belong to its burst."""
LOOK_AGAIN_S = 0.5
"""What did not fit is not tried again before."""
ROOMY_SHARE, FULL_SHARE = 0.25, 0.01
"""Idle share of the host's cores above which launches can follow each other faster, and below which they have to go slower."""
STEP = 1.1
FASTEST, SLOWER = 1.5, 0.8
"""Bounds of the pace by idle cores, as a multiple of the budget. A busy host costs time, but not much: its delays are excused."""
QUICK_CALL_S, LONG_CALL_S = 0.3, 1.0
"""Calls of the recorder usually take 0.1 s. Longer ones show a queue: the pace does not rise then, and falls from 1 s on."""
BACK_OFF, RECOVERY, CAUTION, SLOWEST = 1.5, 1.2, 1.03, 0.2
"""Steps of the pace then, back, and back beyond what the host carried; and its bound."""
CARRIED = 0.7
"""Share of the pace at which calls became long that the host is taken to carry, as TCP has it after a loss (RFC 5681)."""
AT_FIRST = 0.5
"""The pace of a run begins so low: what a host carries is not known before the first starts."""
ROUNDING = 1e-6


def has_own_pod(budgets: Budgets) -> bool:
    """Whether the recorder has a pod of its own (`api-control`): if there is room for it beside a heartbeat and a scenario."""
    return budgets.live_pods is None or budgets.live_pods > 2


class StartBudget:
    """Keeps all expected starts within so many per second."""

    def __init__(self, starts_per_s: float) -> None:
        self._planned_per_s = self.starts_per_s = starts_per_s
        self._has_refused = False
        self._carried_per_s = 0.0
        """Up to that pace the host was not seen to be overloaded; beyond it the pace rises with caution. 0: not known."""
        self._due: defaultdict[int, float] = defaultdict(float)
        """Starts by window."""
        self._shares: dict[str, dict[int, float]] = {}
        """What each launch, or each reservation, has of them."""
        self._opens_s = float("-inf")

    def is_open(self, now_s: float) -> bool:
        """Whether a launch can be allowed at all now."""
        return now_s >= self._opens_s

    def begin(self) -> None:
        """Launch slowly until `adapt` has seen what the host carries."""
        self.starts_per_s = AT_FIRST * self._planned_per_s

    def adapt(self, idle_share: float | None, call_s: float) -> None:
        """Follow the host by a step, after some seconds in which its cores were idle for such a share of the time.

        None: they are not known. `call_s`: what the recorder's own calls take now. Cores that idle while nothing had to wait
        for the budget do not make it larger.
        """
        per_s, planned_per_s = self.starts_per_s, self._planned_per_s
        if call_s >= LONG_CALL_S:
            if per_s > self._carried_per_s:
                self._carried_per_s = CARRIED * per_s
            per_s = max(per_s / BACK_OFF, SLOWEST * planned_per_s)
        elif call_s < QUICK_CALL_S and per_s < SLOWER * planned_per_s:
            has_room = per_s < self._carried_per_s or (idle_share or 0.0) > ROOMY_SHARE
            per_s *= RECOVERY if has_room or not self._carried_per_s else CAUTION
        elif call_s < QUICK_CALL_S and idle_share is not None:
            if idle_share < FULL_SHARE:
                per_s = max(per_s / STEP, SLOWER * planned_per_s)
            elif idle_share > ROOMY_SHARE and self._has_refused:
                per_s = min(per_s * STEP, FASTEST * planned_per_s)
        self.starts_per_s = per_s
        self._has_refused = False

    def close(self, now_s: float) -> None:
        """Nothing fits now."""
        self._has_refused = True
        self._opens_s = max(self._opens_s, now_s + LOOK_AGAIN_S)

    def allows(self, work: Iterable[Work], now_s: float) -> bool:
        """Whether a launch with this work fits now."""
        return self._fits(_starts_by_window(work, now_s))

    def take(self, name: str, work: Iterable[Work], now_s: float) -> None:
        """The launch is now."""
        work = tuple(work)
        self._share(name, _starts_by_window(work, now_s))
        burst_s = sum(each.starts for each in work if each.at_s <= AT_ONCE_S) / self.starts_per_s
        self._opens_s = max(self._opens_s, now_s + burst_s)

    def reserve(self, name: str, work: Iterable[Work], now_s: float) -> None:
        """Keep the first room that a launch will have, until it is cancelled."""
        at_s, work = now_s, tuple(work)
        while not self._fits(own := _starts_by_window(work, at_s)):
            at_s += LOOK_AGAIN_S
        self._share(name, own)

    def cancel(self, name: str) -> None:
        """The room is free for all again."""
        self._free(self._shares.pop(name))

    def ended(self, name: str, now_s: float) -> None:
        """What the launch has not started so far is not due any more."""
        share = self._shares.pop(name, {})
        self._free({window: starts for window, starts in share.items() if window > _window_of(now_s)})

    def _share(self, name: str, own: dict[int, float]) -> None:
        self._shares[name] = own
        for window, starts in own.items():
            self._due[window] += starts

    def _free(self, share: Mapping[int, float]) -> None:
        for window, starts in share.items():
            self._due[window] -= starts

    def _fits(self, own: Mapping[int, float]) -> bool:
        # Sums of fractions are not exact, and what is left of a window that was freed is not a start.
        return all(
            self._due[window] < ROUNDING or self._due[window] + starts <= self.starts_per_s * WINDOW_S + ROUNDING
            for window, starts in own.items()
        )


def _starts_by_window(work: Iterable[Work], launched_s: float) -> dict[int, float]:
    found: defaultdict[int, float] = defaultdict(float)
    for each in work:
        found[_window_of(launched_s + each.at_s)] += each.starts
    return found


def _window_of(at_s: float) -> int:
    return int(at_s // WINDOW_S)


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
        self.budget = StartBudget(plan.budgets.container_starts_per_s)
        self._work = {each.name: plan.work_of(each) for each in plan.scenarios}
        self._stages = dict.fromkeys((node.name for node in plan.nodes), NodeStage.PLANNED)
        placed = [plan.scenario(name) for name in plan.placements]
        self._waiting = [*(each for each in plan.scenarios if each.name not in plan.placements), *placed]
        self._running: dict[str, Scenario] = {}
        self._alone = {each.name for each in plan.scenarios if each.disturbs_node}
        self._to_precede = Counter(node for name, node in plan.placements.items() if name not in self._alone)
        """By node, how many scenarios that do not disturb it still wait."""
        self._beside: defaultdict[str | None, set[str]] = defaultdict(set)
        """By node, the scenarios that run there."""

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
        if not (wanted and self._nodes_change):
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
        self._waiting = [each for each in self._waiting if self._plan.placements.get(each.name) != node]
        return stranded

    def to_launch(self, now_s: float) -> tuple[Scenario, ...]:
        """The scenarios that are to be launched now, each once. `now_s` never falls."""
        launched = []
        room_for_pods, first = True, None
        for scenario in list(self._waiting):
            if not self._can_be_launched(scenario):
                continue
            if scenario.pod_spec is not None:
                room_for_pods = room_for_pods and self.budget.is_open(now_s) and self._has_room_for_a_pod()
                if not room_for_pods:
                    continue
                work = self._work[scenario.name]
                if not self.budget.allows(work, now_s):
                    if first is None:
                        first = scenario.name
                        self.budget.reserve(first, work, now_s)
                    continue
                self.budget.take(scenario.name, work, now_s)
            self._launch(scenario)
            launched.append(scenario)
        if first is not None:
            self.budget.cancel(first)
            self.budget.close(now_s)
        return tuple(launched)

    def _launch(self, scenario: Scenario) -> None:
        self._waiting.remove(scenario)
        self._running[scenario.name] = scenario
        node = self._plan.placements.get(scenario.name)
        self._beside[node].add(scenario.name)
        if node is not None and scenario.name not in self._alone:
            self._to_precede[node] -= 1

    def ended(self, scenario: str, now_s: float) -> None:
        """The scenario's history is sealed."""
        del self._running[scenario]
        self._beside[self._plan.placements.get(scenario)].discard(scenario)
        self.budget.ended(scenario, now_s)

    def _can_be_launched(self, scenario: Scenario) -> bool:
        most = self._at_once.get(type(scenario))
        if most is not None and sum(type(each) is type(scenario) for each in self._running.values()) >= most:
            return False
        node = self._plan.placements.get(scenario.name)
        if node is None:
            return True
        if self._stages[node] is not NodeStage.UP:
            return False
        beside = self._beside[node]
        if scenario.name not in self._alone:
            return self._alone.isdisjoint(beside)
        return not beside and not self._to_precede[node]

    def _has_room_for_a_pod(self) -> bool:
        return self._has_room_for_pods(1) or all(each.pod_spec is None for each in self._running.values())

    def _has_room_for_a_node(self) -> bool:
        if not self._nodes_change:
            return True
        live = self._live_nodes()
        room = self._has_room_for_pods(self._node_pods + 1)
        return live == 0 or (live < self._plan.budgets.live_nodes and room)

    def _has_room_for_pods(self, more: int) -> bool:
        most = self._plan.budgets.live_pods
        if most is None:
            return True
        pods = sum(each.pod_spec is not None for each in self._running.values()) + self._live_nodes() * self._node_pods
        return pods + has_own_pod(self._plan.budgets) + more <= most

    def _live_nodes(self) -> int:
        return sum(stage not in (NodeStage.PLANNED, NodeStage.GONE) for stage in self._stages.values())


FORECAST_STEP_S = 0.5


class Forecast(NamedTuple):
    """Begin and end of each scenario and node, in seconds."""

    scenarios: dict[str, tuple[float, float]]
    nodes: dict[str, tuple[float, float]]
    """From the request for a node until its slot is free."""

    @property
    def ends_s(self) -> float:
        """The end of the last scenario."""
        return max((end_s for _, end_s in self.scenarios.values()), default=0.0)

    def beside(self, other: "Forecast", begin_s: float) -> "Forecast":
        """With another that begins then."""

        def moved(times_s: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
            return {name: (from_s + begin_s, to_s + begin_s) for name, (from_s, to_s) in times_s.items()}

        return Forecast(self.scenarios | moved(other.scenarios), self.nodes | moved(other.nodes))


def forecast(schedule: Schedule, length_s: Mapping[str, float], *, bring_up_s: float, take_down_s: float) -> Forecast:
    """Carry a plan out by its schedule, which is used up. Raises KeyError for a scenario without a length."""
    began_s: dict[str, float] = {}
    came_s: dict[str, float] = {}
    found = Forecast({}, {})
    order = count()
    due: list[tuple[float, int, str, str]] = []

    def after(wait_s: float, what: str, name: str) -> None:
        heapq.heappush(due, (now_s + wait_s, next(order), what, name))

    now_s = 0.0
    while not schedule.is_done:
        for node in schedule.nodes_to_take_down():
            after(take_down_s, "gone", node.name)
        for node in schedule.nodes_to_bring_up():
            came_s[node.name] = now_s
            after(bring_up_s, "up", node.name)
        for scenario in schedule.to_launch(now_s):
            began_s[scenario.name] = now_s
            after(length_s[scenario.name], "ended", scenario.name)
        now_s = min([now_s + FORECAST_STEP_S, *(max(at_s, now_s) for at_s, *_ in due[:1])])
        while due and due[0][0] <= now_s:
            _, _, what, name = heapq.heappop(due)
            if what == "up":
                schedule.is_up(name)
            elif what == "gone":
                schedule.is_gone(name)
                found.nodes[name] = came_s[name], now_s
            else:
                schedule.ended(name, now_s)
                found.scenarios[name] = began_s[name], now_s
    return Forecast(found.scenarios, {name: (at_s, now_s) for name, at_s in came_s.items()} | found.nodes)
