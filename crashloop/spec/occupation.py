"""From when to when each node is needed. Pure.

Theory of operation. Scenarios of a profile that do not disturb their node share one node, side by side. Each that
disturbs it (a restarted kubelet, a restarted runtime) runs there alone, before or after others. Both are jobs of a
length. A slot is room for one node at a time. On a node, parallel scenarios precede disturbing ones.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from crashloop.spec.profile import node_name
from crashloop.spec.scenario import Scenario

TURN_S = 5.0
"""Planned time to read out one scenario and to launch the next on the same node."""
REPLACE_S = 10.0
"""Planned time to take a node down and to bring another up in its slot."""


class Job(NamedTuple):
    """Scenarios that run side by side on a node, or one that runs alone there."""

    home: str
    profile: str
    scenarios: tuple[str, ...]
    alone: bool
    length_s: float


def jobs_of(scenarios: Iterable[Scenario], length_s: Mapping[str, float], nodes: Mapping[str, str]) -> Iterator[Job]:
    """The jobs of scenarios that need a node. `length_s` by scenario; `nodes`: the home of a profile that is not its own."""

    def key(scenario: Scenario) -> tuple[str, str]:
        profile = scenario.node_profile or ""
        return nodes.get(profile) or node_name(profile), scenario.name if scenario.disturbs_node else ""

    placed = sorted(
        (each for each in scenarios if each.node_profile is not None), key=lambda each: (key(each), each.name)
    )
    for (home, alone), group in groupby(placed, key=key):
        members = tuple(group)
        names = tuple(each.name for each in members)
        profile = members[0].node_profile or ""
        yield Job(home, profile, names, bool(alone), max(length_s[name] for name in names))


class OccupiedNode:
    """A node with its jobs, and when it is needed."""

    def __init__(self, name: str, job: Job, begin_s: float) -> None:
        self.name, self.profile = name, job.profile
        self.home = job.home
        self.jobs = [job]
        self.begin_s = begin_s
        self.end_s = begin_s + job.length_s

    def end_with(self, job: Job) -> float:
        return self.end_s + TURN_S + job.length_s

    def join(self, job: Job) -> None:
        self.end_s = self.end_with(job)
        self.jobs.append(job)

    def tails_s(self, length_s: Mapping[str, float]) -> Iterator[tuple[str, float]]:
        """Each scenario with the seconds from its launch until the node's last scenario ends, if nothing waits."""
        rest_s = 0.0
        for job in sorted(self.jobs, key=lambda job: (not job.alone, job.length_s, job.scenarios)):
            for name in job.scenarios:
                yield name, length_s[name] + rest_s
            rest_s += TURN_S + job.length_s


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

    def come_up(self, name: str, job: Job) -> OccupiedNode:
        """Let a further node come up for a job, in the slot that is free first."""
        node, freed = OccupiedNode(name, job, self.free_s), self._freed()
        if freed is not None:
            self.nodes.remove(freed)
        self.nodes.append(node)
        return node

    def _freed(self) -> OccupiedNode | None:
        """The node in whose slot a further one comes up; None: a slot is free now."""
        if self._live_nodes is None or len(self.nodes) < self._live_nodes:
            return None
        return min(self.nodes, key=lambda node: node.end_s)
