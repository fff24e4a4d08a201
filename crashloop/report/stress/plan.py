"""The planned load of a stress run, for its report."""

import msgspec

from crashloop.slo.scrapes import NodeSample


class PlannedLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One load."""

    name: str
    kind: str
    node: str
    user: str
    """One user of it, in words."""
    users: str
    """Numbers by stage, in words."""


class PlannedStage(msgspec.Struct, frozen=True, kw_only=True):
    """One stage, rounds spelled out."""

    label: str
    """Name and mix."""
    arm: str = ""
    duration_s: float
    measured_s: float | None = None
    """Duration of its measurement; None: not measured."""
    users: dict[str, int]
    """By load."""
    spawn_per_s: float
    settle_s: float

    @property
    def users_text(self) -> str:
        """`1 healthy, 110 crashers`."""
        return ", ".join(f"{count} {name}" for name, count in self.users.items())


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was decided before the load began."""

    loads: tuple[PlannedLoad, ...]
    stages: tuple[PlannedStage, ...]
    rounds: int = 1
    scrape_every_s: float
    workers: int = 0
    """Of the load generator, besides its master; 0: one process."""
    are_workers_elsewhere: bool = False
    host_cores: int
    disturbances: tuple[str, ...] = ()
    """In words."""
    sample: NodeSample | None = None
    """The nodes whose metrics were scraped; None: all of them."""
    scraped_nodes: tuple[str, ...] = ()
    """Names of their Node objects, if that was not all of them."""
