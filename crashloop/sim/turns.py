"""Turns of the pods of a node, where a faulty kubelet works on one pod at a time."""

from crashloop.sim.behaviour import S
from crashloop.sim.loop import Steps

LOOK_NS = S // 50


class Turns:
    """A lock that all pods of a node share."""

    def __init__(self) -> None:
        self._taken = False

    def one_at_a_time(self, steps: Steps) -> Steps:
        """The procedure, begun when no other one is under way."""
        while self._taken:
            yield LOOK_NS
        self._taken = True
        yield from steps
        self._taken = False
