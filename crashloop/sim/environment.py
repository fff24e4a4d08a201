"""What everything simulated on a node stands on: virtual time, and the host."""

from typing import NamedTuple

from crashloop.sim.host import SimulatedHost
from crashloop.sim.loop import Loop


class World(NamedTuple):
    """One simulation."""

    loop: Loop
    host: SimulatedHost
