"""What everything simulated stands on: virtual time, the host, the recorder's tape."""

from typing import NamedTuple

from crashloop.sim.host import Host
from crashloop.sim.loop import Loop
from crashloop.sim.tape import Tape


class World(NamedTuple):
    """One simulation."""

    loop: Loop
    host: Host
    tape: Tape
