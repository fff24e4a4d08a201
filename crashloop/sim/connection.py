"""A node's connection to its control plane: while there is none, nothing is stated, and nothing of the API is heard."""

from crashloop.sim.environment import World
from crashloop.sim.loop import Action

HEARS_MS = (200, 25_000)
"""From the return of the control plane until the kubelet hears of what it has missed: TCP sends again ever more seldom."""


class Connection:
    """Whether the kubelet and the API server reach each other."""

    def __init__(self, world: World) -> None:
        self._loop, self._host = world
        self._waiting: list[Action] = []
        self.since_ns: int | None = None
        """Since when they do not; None while they do."""

    @property
    def lost(self) -> bool:
        return self.since_ns is not None

    def cut(self) -> None:
        self.since_ns = self._loop.now

    def restore(self) -> None:
        self.since_ns = None
        waiting, self._waiting = self._waiting, []
        for action in waiting:
            action()

    def once_restored(self, action: Action) -> None:
        """Do it now, or as soon as they reach each other again."""
        if self.lost:
            self._waiting.append(action)
        else:
            action()

    def once_heard(self, action: Action) -> None:
        """Do it when the kubelet has heard of it."""
        self.once_restored(lambda: self._loop.after(self._host.takes_ms(HEARS_MS), action))
