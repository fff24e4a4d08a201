"""The environment of the simulation: virtual time, the host, the recorder."""

from typing import NamedTuple

from crashloop.sim.host import SimulatedHost
from crashloop.sim.loop import Loop
from crashloop.sim.recorder import Tape


class World(NamedTuple):
    """One simulation."""

    loop: Loop
    host: SimulatedHost
    tape: Tape
