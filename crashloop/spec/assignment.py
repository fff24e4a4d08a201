"""Which scenario runs on which node, and in which order nodes come up and scenarios are launched. Pure.

Theory of operation. Jobs (crashloop.spec.occupation) go to slots as in list scheduling, longest first. A job joins the
node of its profile that ends last, if that does not prolong the run; otherwise a further node is started for it, in the
slot that is free first.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from crashloop.spec.occupation import Job, OccupiedNode, Slots, jobs_of
from crashloop.spec.plan import Budgets, PlannedNode
from crashloop.spec.scenario import Scenario


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
    even if that takes longer. A scenario with a control plane for itself has a node of its own name there.
    """
    apart = {each.name: each for each in scenarios if each.control_plane is not None and each.node_profile is not None}
    scenarios = [each for each in scenarios if each.control_plane is None]
    length_s = {each.name: each.longest_s for each in scenarios} | dict(durations_s or {})
    jobs = sorted(jobs_of(scenarios, length_s, nodes or {}), key=lambda job: (-job.length_s, job.scenarios))
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
                (-tails[name], name, node.name) for node in yard.nodes for job in node.jobs for name in job.scenarios
            )
        }
        | {name: name for name in apart},
    )


class _Yard:
    """The slots while jobs are placed. The last node of each slot is the one that can take a further job."""

    def __init__(
        self, *, live_nodes: int, nodes_change: bool, launching_s: float, homes: Sequence[str], given: frozenset[str]
    ) -> None:
        self.nodes: list[OccupiedNode] = []
        self._slots = Slots(live_nodes if nodes_change else None)
        self._live_nodes = live_nodes
        self._nodes_change = nodes_change
        self._launching_s = launching_s
        self._homes = set(homes)
        self._homeless = set(homes)
        """Homes that have no node so far."""
        self._given = given

    def place(self, job: Job) -> None:
        """Let the job join a node, or have a further one."""
        further_s = self._slots.free_s
        # What is launched last begins late, by the time that the launches take.
        longest_s = max((node.end_s for node in self._slots.nodes), default=0.0) - self._launching_s
        of_home = sorted((node for node in self._open_to(job)), key=lambda node: node.end_s)
        fitting = [node for node in of_home if node.end_with(job) <= max(longest_s, further_s + job.length_s)]
        if fitting:
            fitting[-1].join(job)
        elif of_home and self._must_join(job.home):
            of_home[0].join(job)
        else:
            self._homeless.discard(job.home)
            self.nodes.append(self._slots.come_up(self._name(job.home), job))

    def _open_to(self, job: Job) -> list[OccupiedNode]:
        """The nodes that the job could join."""
        return [
            node for node in (self.nodes if job.home in self._given else self._slots.nodes) if node.home == job.home
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
