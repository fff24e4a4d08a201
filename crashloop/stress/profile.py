"""Stress profiles: nodes, loads and stages, as written in manifests/stress, and which host a node is in a stage. Pure data.

A stage begins on nodes without load, starts its users at a rate, measures for its duration after all of them started and
settled, and stops them again. So no stage begins with the remains of another.

The arms of a comparison may change places from round to round. In another placement of a load other nodes that are alike have its
parts: a difference between two loads may be one of their nodes, and runs of the same loads in several placements show which it
is.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal, TypeVar

import msgspec

from crashloop.errors import UsageError
from crashloop.stress.loads import AnyLoad, Load

STRESS_FORMAT = "crashloop.stress/1"

PODS_PER_NODE = 110
PODS_PER_CORE = 10
"""Official precondition of the scalability SLOs: min(110, 10 x cores) pods a node (kubernetes/community,
sig-scalability/configs-and-limits/thresholds.md)."""

MAX_SPAWN_PER_S = 100.0
"""The most users that start per second."""
BOTH = "both"
"""Arm of a stage that loads the nodes of both arms at once."""
FULL: Final = "full"
Count = int | Literal["full"]
"""Users of a load; `full` fills the load's node up to the official number of pods."""


class StressNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A node and the name of its kubelet profile in manifests/kubelet."""

    name: str
    profile: str
    arm: Literal["", "baseline", "treatment"] = ""
    """Its part in a comparison."""


class Stage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One load for some time."""

    name: str
    """Such as baseline, storm, recovery; blocks of a comparison share a name."""
    duration_s: float
    users: dict[str, Count] = {}
    """Users by load."""
    spawn_per_s: float = 5.0
    """Users that start per second."""
    settle_s: float = 5.0
    """Time from the last user's start to the begin of the measurement."""
    arm: Literal["", "baseline", "treatment", "both"] = ""
    mix: str = ""
    """Distinguishes stages of one name, such as `25 % succeeding`; arms are compared within it."""
    washout_s: float = 0.0
    """Time without load before its users start."""
    exchanged: tuple[str, str] | None = None
    """The two nodes with an arm, if they have each other's host in this stage: both kubelets are restarted before it. A design
    that alternates sets it."""

    @property
    def label(self) -> str:
        """For people: name and mix."""
        return f"{self.name}, {self.mix}" if self.mix else self.name

    def __post_init__(self) -> None:
        if not 0 < self.duration_s <= 7200:
            raise ValueError(f"duration_s is {self.duration_s:g}; expected more than 0 and at most 7200")
        if not 0.1 <= self.spawn_per_s <= MAX_SPAWN_PER_S:
            raise ValueError(f"spawn_per_s is {self.spawn_per_s:g}; expected 0.1 to {MAX_SPAWN_PER_S:g}")
        for name, value in (("settle_s", self.settle_s), ("washout_s", self.washout_s)):
            if not 0 <= value <= 600:
                raise ValueError(f"{name} is {value:g}; expected 0 to 600")


class ComparisonDesign(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How two arms are compared."""

    primary: tuple[str, ...] = ()
    """The questions of the run: figures (crashloop.stress.comparing) that share one probability of a false alarm."""
    margin: float = 0.05
    """Differences below this share of the baseline are as good as none."""
    alternates: bool = False
    """Rounds alternate the order of the arms: A/B/B/A."""
    changes_places: bool = True
    """With `alternates`: every other two rounds the arms change places too. Each of the two kubelets is restarted with the
    profile of the other's node. A provider that cannot do that keeps the places."""

    def __post_init__(self) -> None:
        if not 0 < self.margin < 1:
            raise ValueError(f"margin is {self.margin:g}; expected more than 0 and less than 1")


class Disturbance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A planned disturbance of the cluster during the load."""

    after_s: float
    """Seconds after the load began."""
    action: Literal["restart-kubelet", "kill-kubelet", "restart-runtime"]
    node: str
    down_s: float = 0.0
    """How long the kubelet stays down."""


class Slos(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The judged rows."""

    files: tuple[str, ...] = ("official", "restarts", "node")
    """Names of manifests/slo, or paths."""
    without: tuple[str, ...] = ()
    """Ids of rows without samples from this load."""
    report: tuple[str, ...] = ()
    """Ids of rows that are only reported, against their file; `*` for all."""


class StressProfile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of manifests/stress."""

    format: str = STRESS_FORMAT
    name: str = ""
    """The file's name, without its ending."""
    description: str = ""
    """The comment at the top of the file."""
    nodes: tuple[StressNode, ...]
    loads: dict[str, AnyLoad]
    stages: tuple[Stage, ...]
    rounds: int = 1
    """Repetitions of all stages, and so of the pairs of a comparison."""
    comparison: ComparisonDesign = ComparisonDesign()
    slos: Slos = Slos()
    scrape_every_s: float = 5.0
    scrape_nodes: int = 8
    """The most nodes whose metrics are scraped: of more, a sample of so many. The arms of a comparison always are."""
    scrape_seed: int = 1
    """It chooses the sample."""
    workers: int = 0
    """Workers of Locust besides its master; 0: one process is both."""
    max_pods: int = 250
    """maxPods of the nodes' kubelets."""
    shortcuts: bool = True
    """Whether the control plane of a cluster of the run's own may come up sooner than in production (ClusterRequest). Latencies
    of the API are not judged there."""
    disturbances: tuple[Disturbance, ...] = ()

    def each_stage(self) -> Iterator[Stage]:
        """The stages of all rounds, in order."""
        for number in range(self.rounds):
            yield from alternated(self, number) if self.comparison.alternates else self.stages

    def node(self, name: str) -> StressNode:
        """The node of that name. Raises KeyError."""
        return {each.name: each for each in self.nodes}[name]


def alternated(profile: StressProfile, number: int) -> Iterator[Stage]:
    """The stages of a round: its pairs of arms in the order A/B or B/A, on their own or on each other's hosts.

    Orders follow 0 1 0 1, places 0 1 1 0: over four rounds each order meets each place once.
    """
    arms = {node.arm: node.name for node in profile.nodes}
    exchanges = profile.comparison.changes_places and number % 4 in (1, 2)
    exchanged = (arms["baseline"], arms["treatment"]) if exchanges else None
    stages = list(profile.stages)
    for at, (one, other) in enumerate(pairwise(profile.stages)):
        if number % 2 and one.mix == other.mix and (one.arm, other.arm) == ("baseline", "treatment"):
            stages[at : at + 2] = other, one
    for each in stages:
        yield msgspec.structs.replace(each, exchanged=exchanged)


def official_pods(cores: int) -> int:
    """The most pods on a node for which the official SLOs hold."""
    return min(PODS_PER_NODE, PODS_PER_CORE * cores)


def resolved(profile: StressProfile, *, cores: int, at_most: int = PODS_PER_NODE) -> StressProfile:
    """The profile with a number of users for every `full`; a full node has `at_most` pods."""
    most = min(official_pods(cores), at_most)
    stages = tuple(
        msgspec.structs.replace(stage, users=_numbers_of_users(profile, stage, most)) for stage in profile.stages
    )
    return msgspec.structs.replace(profile, stages=stages)


def pods_on(profile: StressProfile, stage: Stage, node: str) -> int:
    """The most pods on a node in a stage of a resolved profile."""
    return sum(
        int(count) * profile.loads[name].pods_each
        for name, count in stage.users.items()
        if profile.loads[name].node == node and count != FULL
    )


def _numbers_of_users(profile: StressProfile, stage: Stage, most: int) -> dict[str, Count]:
    users: dict[str, Count] = {}
    for name, count in stage.users.items():
        load = profile.loads[name]
        left = most - pods_on(profile, stage, load.node)
        users[name] = max(1, left // load.pods_each) if count == FULL else count
    return users


def host_of(node: str, stage: Stage, hosts: Mapping[str, str]) -> str:
    """Name of the Node object for a node of the profile in a stage; `hosts` are those of the beginning."""
    return hosts_in(stage, hosts)[node]


def hosts_in(stage: Stage | None, hosts: Mapping[str, str]) -> dict[str, str]:
    """Name of the Node object for each node of the profile in a stage."""
    if stage is None or stage.exchanged is None:
        return dict(hosts)
    one, other = stage.exchanged
    return {**hosts, one: hosts[other], other: hosts[one]}


def loaded_in(stage: Stage, loads: Mapping[str, AnyLoad], hosts: Mapping[str, str]) -> dict[str, None]:
    """Names of the Node objects on which a stage has users."""
    there = hosts_in(stage, hosts)
    return dict.fromkeys(there[loads[name].node] for name, count in stage.users.items() if count)


def changes_places(stages: Sequence[Stage], index: int) -> bool:
    """Whether arms have to change places before a stage."""
    before = stages[index - 1].exchanged if index else None
    return index < len(stages) and stages[index].exchanged != before


PLACEMENT = "--placement"

_OnNode = TypeVar("_OnNode", bound=Load | Disturbance)


def placed(profile: StressProfile, number: int) -> StressProfile:
    """The profile with each load and disturbance `number` nodes further, among the nodes that are alike.

    Nodes are alike if they have one kubelet profile and no arm; after the last of them comes the first. Raises UsageError for
    a number that moves nothing, unless it is 0.
    """
    if not number:
        return profile
    moved = {
        name: alike[(at + number) % len(alike)] for alike in _nodes_alike(profile) for at, name in enumerate(alike)
    }
    if not moved:
        raise UsageError(
            f'{PLACEMENT} {number}: stress profile "{profile.name}" has no two nodes with the same kubelet profile, so its loads '
            f"have one placement.\nLeave {PLACEMENT} out, or choose another profile, such as demand."
        )
    if all(name == moved[name] for name in moved):
        raise UsageError(
            f'{PLACEMENT} {number}: stress profile "{profile.name}" has {len(moved)} nodes with the same kubelet profile, so '
            f"each load is on its own node again.\nExpected 1 to {len(moved) - 1}."
        )
    return msgspec.structs.replace(
        profile,
        loads={name: _on_moved_node(load, moved) for name, load in profile.loads.items()},
        disturbances=tuple(_on_moved_node(each, moved) for each in profile.disturbances),
    )


def _nodes_alike(profile: StressProfile) -> list[list[str]]:
    names: dict[str, list[str]] = {}
    for node in profile.nodes:
        if not node.arm:
            names.setdefault(node.profile, []).append(node.name)
    return [alike for alike in names.values() if len(alike) > 1]


def _on_moved_node(each: _OnNode, moved: dict[str, str]) -> _OnNode:
    return msgspec.structs.replace(each, node=moved.get(each.node, each.node))
