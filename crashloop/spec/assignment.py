"""Which scenario runs on which node, and in which order nodes come up and scenarios are launched. Pure.

Theory of operation. Scenarios of a profile that do not disturb their node share one node, side by side, or several if they
are many: a kubelet writes the statuses and Events of its pods one after the other. Each that disturbs its node (a restarted
kubelet, a restarted runtime) runs there alone, before or after others. Both are tasks of a length. A slot is room for one
node at a time. On a node, parallel scenarios precede disturbing ones. Tasks go to slots as in list scheduling, longest
first. A task joins the node of its profile that ends last, if that does not prolong the run: it lasts as long as its longest
node, and as long as all that it starts takes at the budget. Otherwise a further node is started, in the slot that is free
first; the CPU time of that is lost for other starts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from crashloop.spec.plan import Budgets, PlannedNode
from crashloop.spec.profile import node_name
from crashloop.spec.scenario import Scenario

TURN_S = 5.0
"""Planned time to read out one scenario and to launch the next on the same node."""
REPLACE_S = 10.0
"""Planned time to take a node down and to bring another up in its slot."""
MOST_BESIDE = 60
"""Scenarios that share one node: beside 100, statuses came up to 10 s late on two busy processors."""


class NodeTask(NamedTuple):
    """Scenarios that run side by side on a node, or one that runs alone there."""

    home: str
    profile: str
    scenarios: tuple[str, ...]
    alone: bool
    length_s: float


def node_tasks(
    scenarios: Iterable[Scenario], length_s: Mapping[str, float], nodes: Mapping[str, str]
) -> Iterator[NodeTask]:
    """The tasks of scenarios that need a node. `length_s` by scenario; `nodes`: the home of a profile that is not its own."""

    def key(scenario: Scenario) -> tuple[str, str]:
        profile = scenario.node_profile or ""
        return nodes.get(profile) or node_name(profile), scenario.name if scenario.disturbs_node else ""

    placed = sorted(
        (each for each in scenarios if each.node_profile is not None), key=lambda each: (key(each), each.name)
    )
    for (home, alone), group in groupby(placed, key=key):
        members = tuple(group)
        shares = -(-len(members) // MOST_BESIDE)
        for share in (members[first::shares] for first in range(shares)):
            names = tuple(each.name for each in share)
            profile = members[0].node_profile or ""
            yield NodeTask(home, profile, names, bool(alone), max(length_s[name] for name in names))


class OccupiedNode:
    """A node with its tasks, and when it is needed."""

    def __init__(self, name: str, task: NodeTask, begin_s: float) -> None:
        self.name, self.profile = name, task.profile
        self.home = task.home
        self.tasks = [task]
        self.begin_s = begin_s
        self.end_s = begin_s + task.length_s

    def can_have(self, task: NodeTask) -> bool:
        """Whether a task does not share the node side by side with another that does."""
        return task.alone or all(each.alone for each in self.tasks)

    def end_with(self, task: NodeTask) -> float:
        return self.end_s + TURN_S + task.length_s

    def join(self, task: NodeTask) -> None:
        self.end_s = self.end_with(task)
        self.tasks.append(task)

    def tails_s(self, length_s: Mapping[str, float]) -> Iterator[tuple[str, float]]:
        """Each scenario with the seconds from its launch until the node's last scenario ends, if nothing waits."""
        rest_s = 0.0
        for task in sorted(self.tasks, key=lambda task: (not task.alone, task.length_s, task.scenarios)):
            for name in task.scenarios:
                yield name, length_s[name] + rest_s
            rest_s += TURN_S + task.length_s


class Slots:
    """Room for `live_nodes` nodes at a time, or for any number (None). Holds the last node of each slot."""

    def __init__(self, live_nodes: int | None) -> None:
        self.nodes: list[OccupiedNode] = []
        self._live_nodes = live_nodes

    @property
    def free_s(self) -> float:
        """When a further node can come up."""
        freed = self._freed()
        return 0.0 if freed is None else freed.end_s + REPLACE_S

    def come_up(self, name: str, task: NodeTask) -> OccupiedNode:
        """Let a further node come up for a task, in the slot that is free first."""
        node, freed = OccupiedNode(name, task, self.free_s), self._freed()
        if freed is not None:
            self.nodes.remove(freed)
        self.nodes.append(node)
        return node

    def _freed(self) -> OccupiedNode | None:
        """The node in whose slot a further one comes up; None: a slot is free now."""
        if self._live_nodes is None or len(self.nodes) < self._live_nodes:
            return None
        return min(self.nodes, key=lambda node: node.end_s)


class Assignment(NamedTuple):
    """What `Plan.nodes` and `Plan.placements` are to be."""

    nodes: tuple[PlannedNode, ...]
    placements: dict[str, str]


def assign(
    scenarios: Sequence[Scenario],
    budgets: Budgets,
    durations_s: Mapping[str, float] | None = None,
    nodes: Mapping[str, str] | None = None,
    *,
    starting_s: float = 0.0,
    nodes_change: bool = True,
) -> Assignment:
    """Place every scenario that needs a node.

    `durations_s` are the expected durations of scenarios; the default is the longest time that each is watched. `nodes`
    maps profiles to nodes that exist already; one node can serve several profiles. `starting_s` is how long the host takes
    for all that they start. Without `nodes_change` all nodes are up from the start to the end: then scenarios that disturb
    share nodes within `budgets.live_nodes` even if that takes longer. A scenario with a control plane for itself has a node
    of its own name there.
    """
    apart = {each.name: each for each in scenarios if each.control_plane is not None and each.node_profile is not None}
    scenarios = [each for each in scenarios if each.control_plane is None]
    length_s = {each.name: each.longest_s for each in scenarios} | dict(durations_s or {})
    tasks = sorted(node_tasks(scenarios, length_s, nodes or {}), key=lambda task: (-task.length_s, task.scenarios))
    yard = _Yard(
        live_nodes=budgets.live_nodes,
        nodes_change=nodes_change,
        starting_s=starting_s,
        homes=[task.home for task in tasks],
        given=frozenset((nodes or {}).values()),
    )
    for task in tasks:
        yard.place(task)
    tails = {name: tail for node in yard.nodes for name, tail in node.tails_s(length_s)}
    return Assignment(
        nodes=(
            *(
                PlannedNode(name=node.name, profile=node.profile)
                for node in sorted(yard.nodes, key=lambda node: (node.begin_s, node.begin_s - node.end_s))
            ),
            *(PlannedNode(name=name, profile=each.node_profile or "") for name, each in apart.items()),
        ),
        placements={
            name: node
            for _, name, node in sorted(
                (-tails[name], name, node.name) for node in yard.nodes for task in node.tasks for name in task.scenarios
            )
        }
        | {name: name for name in apart},
    )


class _Yard:
    """The slots while tasks are placed. The last node of each slot is the one that can take a further task."""

    def __init__(
        self, *, live_nodes: int, nodes_change: bool, starting_s: float, homes: Sequence[str], given: frozenset[str]
    ) -> None:
        self.nodes: list[OccupiedNode] = []
        self._slots = Slots(live_nodes if nodes_change else None)
        self._live_nodes = live_nodes
        self._nodes_change = nodes_change
        self._starting_s = starting_s
        self._homes = set(homes)
        self._homeless = set(homes)
        """Homes that have no node so far."""
        self._given = given

    def place(self, task: NodeTask) -> None:
        """Let the task join a node, or have a further one."""
        further_s = self._slots.free_s
        longest_s = max((node.end_s for node in self._slots.nodes), default=0.0)
        of_home = sorted((node for node in self._open_to(task)), key=lambda node: node.end_s)
        ends_s = max(longest_s, self._starting_s, further_s + task.length_s)
        fitting = [node for node in of_home if node.can_have(task) and node.end_with(task) <= ends_s]
        if fitting:
            fitting[-1].join(task)
        elif of_home and self._must_join(task.home):
            of_home[0].join(task)
        else:
            self._homeless.discard(task.home)
            self.nodes.append(self._slots.come_up(self._name(task.home), task))

    def _open_to(self, task: NodeTask) -> list[OccupiedNode]:
        """The nodes that the task could join."""
        return [
            node for node in (self.nodes if task.home in self._given else self._slots.nodes) if node.home == task.home
        ]

    def _must_join(self, home: str) -> bool:
        """Whether a home that has a node gets no further one."""
        if home in self._given:
            return True
        return not self._nodes_change and len(self._slots.nodes) + len(self._homeless) >= self._live_nodes

    def _name(self, home: str) -> str:
        """The home's own name for its first node, then numbered ones that are no other home's."""
        names = (home, *(f"{home}-{number}" for number in range(2, len(self.nodes) + len(self._homes) + 3)))
        taken = {node.name for node in self.nodes} | (self._homes - {home})
        return next(name for name in names if name not in taken)
