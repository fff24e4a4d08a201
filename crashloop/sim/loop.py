"""Virtual time: actions run in the order of their planned times, and the clock jumps from one to the next."""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush

Action = Callable[[], None]
Steps = Iterator[int]
"""A procedure that takes time: it yields the nanoseconds it sleeps."""


def ignore(*_: object) -> None:
    """Nobody listens."""


class Loop:
    """A queue of actions in virtual nanoseconds."""

    def __init__(self, now_ns: int, awake: Callable[[int], int]) -> None:
        """`awake` moves a time out of a stall of the host: nothing happens while it stands still."""
        self.now = now_ns
        self._awake = awake
        self._queue: list[tuple[int, int, Action]] = []
        self._planned = 0
        self._ended = False

    def at(self, t_ns: int, action: Action) -> None:
        """Run the action at that time, or now if it is past."""
        self._planned += 1
        heappush(self._queue, (self._awake(max(t_ns, self.now)), self._planned, action))

    def after(self, delay_ns: int, action: Action) -> None:
        self.at(self.now + delay_ns, action)

    def spawn(self, steps: Steps, done: Action | None = None) -> None:
        """Run a procedure from now on, and then `done`."""

        def resume() -> None:
            for delay_ns in steps:
                self.after(delay_ns, resume)
                return
            if done is not None:
                done()

        resume()

    def stop(self) -> None:
        """End `run` after the present action."""
        self._ended = True

    def run(self, until_ns: int) -> None:
        """Run what is planned up to that time, or until `stop`."""
        queue = self._queue
        while queue and not self._ended:
            t_ns, _, action = queue[0]
            if t_ns > until_ns:
                break
            heappop(queue)
            self.now = t_ns
            action()
        if not self._ended:
            self.now = max(self.now, until_ns)
