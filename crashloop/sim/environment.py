"""The environment of the simulation on a node: virtual time, and the host."""

from typing import NamedTuple

from crashloop.sim.host import SimulatedHost
from crashloop.sim.loop import Loop


class World(NamedTuple):
    """One simulation."""

    loop: Loop
    host: SimulatedHost
