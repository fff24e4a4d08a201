"""When the host can carry the next launch. Pure: time is an argument, in seconds of a clock that only rises."""

from collections import deque

WINDOW_S = 10.0


class StartBudget:
    """Keeps launches within so many starts per second over any WINDOW_S, and evenly spread within it.

    A launch that exceeds the budget of a window by itself has the window for itself.
    """

    def __init__(self, starts_per_s: float) -> None:
        self._starts_per_s = starts_per_s
        self._next_s = float("-inf")
        self._recent: deque[tuple[float, int]] = deque()

    def allows(self, starts: int, now_s: float) -> bool:
        """Whether a launch of so many starts can be now."""
        if starts == 0:
            return True
        while self._recent and self._recent[0][0] <= now_s - WINDOW_S:
            self._recent.popleft()
        in_window = sum(count for _, count in self._recent)
        room = self._starts_per_s * WINDOW_S - in_window
        return now_s >= self._next_s and (starts <= room or not self._recent)

    def take(self, starts: int, now_s: float) -> None:
        """A launch is now."""
        if starts:
            self._recent.append((now_s, starts))
            self._next_s = now_s + starts / self._starts_per_s
