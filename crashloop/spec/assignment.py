"""Which scenario runs on which node, and in which order nodes come up and scenarios are launched. Pure.

Theory of operation. Scenarios of a profile that do not disturb their node share one node, side by side. Each that
disturbs it (a restarted kubelet, a restarted runtime) runs there alone, before or after others. Both are jobs of a
length; jobs go to slots as in list scheduling, longest first: a slot is room for one node at a time. A job joins the
node of its profile that ends last, if that does not prolong the run; otherwise a further node is started for it, in the
slot that is free first. On a node, parallel scenarios precede disturbing ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from crashloop.spec.plan import Budgets, PlannedNode
from crashloop.spec.scenario import Scenario

TURN_S = 5.0
"""Planned time to read out one scenario and to launch the next on the same node."""
REPLACE_S = 10.0
"""Planned time to take a node down and to bring another up in its slot."""


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
    nodes_change: bool = True,
) -> Assignment:
    """Place every scenario that needs a node.

    `durations_s` are the expected durations of scenarios; the default is the longest time that each is watched. `nodes`
    maps profiles to nodes that exist already; one node can serve several profiles. Without `nodes_change` all
    nodes are up from the start to the end: then scenarios that disturb share nodes within `budgets.live_nodes`
    even if that takes longer.
    """
    length_s = {each.name: each.longest_s for each in scenarios} | dict(durations_s or {})
    jobs = sorted(_jobs(scenarios, length_s, nodes or {}), key=lambda job: (-job.length_s, job.scenarios))
    launching_s = sum(each.starts for each in scenarios) / budgets.container_starts_per_s
    yard = _Yard(
        live_nodes=budgets.live_nodes,
        nodes_change=nodes_change,
        launching_s=launching_s,
        homes=[job.home for job in jobs],
        given=frozenset((nodes or {}).values()),
    )
    for job in jobs:
        yard.place(job)
    tails = {name: tail for node in yard.nodes for name, tail in node.tails_s(length_s)}
    return Assignment(
        nodes=tuple(
            PlannedNode(name=node.name, profile=node.profile)
            for node in sorted(yard.nodes, key=lambda node: (node.begin_s, node.begin_s - node.end_s))
        ),
        placements={
            name: node
            for _, name, node in sorted(
                (-tails[name], name, node.name) for node in yard.nodes for job in node.jobs for name in job.scenarios
            )
        },
    )


class _Job(NamedTuple):
    """Scenarios that run side by side on a node, or one that runs alone there."""

    home: str
    profile: str
    scenarios: tuple[str, ...]
    alone: bool
    length_s: float


def _jobs(scenarios: Sequence[Scenario], length_s: Mapping[str, float], nodes: Mapping[str, str]) -> Iterator[_Job]:
    def key(scenario: Scenario) -> tuple[str, str]:
        profile = scenario.node_profile or ""
        return nodes.get(profile, profile), scenario.name if scenario.disturbs_node else ""

    placed = sorted(
        (each for each in scenarios if each.node_profile is not None), key=lambda each: (key(each), each.name)
    )
    for (home, alone), group in groupby(placed, key=key):
        members = tuple(group)
        names = tuple(each.name for each in members)
        profile = members[0].node_profile or ""
        yield _Job(home, profile, names, bool(alone), max(length_s[name] for name in names))


class _Node:
    """A node with its jobs, and when it is needed."""

    def __init__(self, name: str, job: _Job, begin_s: float) -> None:
        self.name, self.profile = name, job.profile
        self.home = job.home
        self.jobs = [job]
        self.begin_s = begin_s
        self.end_s = begin_s + job.length_s

    def end_with(self, job: _Job) -> float:
        return self.end_s + TURN_S + job.length_s

    def join(self, job: _Job) -> None:
        self.end_s = self.end_with(job)
        self.jobs.append(job)

    def tails_s(self, length_s: Mapping[str, float]) -> Iterator[tuple[str, float]]:
        """Each scenario with the seconds from its launch until the node's last scenario ends, if nothing waits."""
        rest_s = 0.0
        for job in sorted(self.jobs, key=lambda job: (not job.alone, job.length_s, job.scenarios)):
            for name in job.scenarios:
                yield name, length_s[name] + rest_s
            rest_s += TURN_S + job.length_s


class _Yard:
    """The slots while jobs are placed. The last node of each slot is the one that can take a further job."""

    def __init__(
        self, *, live_nodes: int, nodes_change: bool, launching_s: float, homes: Sequence[str], given: frozenset[str]
    ) -> None:
        self.nodes: list[_Node] = []
        self._slots: list[_Node] = []
        self._live_nodes = live_nodes
        self._nodes_change = nodes_change
        self._launching_s = launching_s
        self._homes = set(homes)
        self._homeless = set(homes)
        """Homes that have no node so far."""
        self._given = given

    def place(self, job: _Job) -> None:
        """Let the job join a node, or have a further one."""
        slot = self._free_first()
        further_s = 0.0 if slot is None else slot.end_s + REPLACE_S
        # What is launched last begins late, by the time that the launches take.
        longest_s = max((node.end_s for node in self._slots), default=0.0) - self._launching_s
        of_home = sorted((node for node in self._open_to(job)), key=lambda node: node.end_s)
        fitting = [node for node in of_home if node.end_with(job) <= max(longest_s, further_s + job.length_s)]
        if fitting:
            fitting[-1].join(job)
        elif of_home and self._must_join(job.home):
            of_home[0].join(job)
        else:
            self._come_up(_Node(self._name(job.home), job, further_s), slot)

    def _free_first(self) -> _Node | None:
        """The node in whose slot a further one would come up; None: a slot is free now."""
        free = len(self._slots) < self._live_nodes or not self._nodes_change
        return None if free else min(self._slots, key=lambda node: node.end_s)

    def _open_to(self, job: _Job) -> list[_Node]:
        """The nodes that the job could join."""
        return [node for node in (self.nodes if job.home in self._given else self._slots) if node.home == job.home]

    def _must_join(self, home: str) -> bool:
        """Whether a home that has a node gets no further one."""
        if home in self._given:
            return True
        return not self._nodes_change and len(self._slots) + len(self._homeless) >= self._live_nodes

    def _come_up(self, node: _Node, instead_of: _Node | None) -> None:
        self._homeless.discard(node.home)
        if instead_of is not None:
            self._slots.remove(instead_of)
        self._slots.append(node)
        self.nodes.append(node)

    def _name(self, home: str) -> str:
        """The home's own name for its first node, then numbered ones that are no other home's."""
        names = (home, *(f"{home}-{number}" for number in range(2, len(self.nodes) + len(self._homes) + 3)))
        taken = {node.name for node in self.nodes} | (self._homes - {home})
        return next(name for name in names if name not in taken)
