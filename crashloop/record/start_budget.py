"""When the host can carry the next launch. Pure: time is an argument, in seconds of a clock that only rises.

Theory of operation. What is launched starts more containers later: restarts, exec probes. The budget totals all starts that
are due, by windows of WINDOW_S, and allows a launch where its own starts fit into every window that they meet. A launch that
exceeds a window by itself has that window for itself. Launches follow each other at the pace of the budget.
"""

from collections import Counter
from collections.abc import Iterable

WINDOW_S = 5.0
AT_ONCE_S = 1.0
"""Starts that soon after a launch belong to its burst."""
LOOK_AGAIN_S = 0.5
"""What did not fit is not tried again before."""


class StartBudget:
    """Keeps all expected starts within so many per second."""

    def __init__(self, starts_per_s: float) -> None:
        self._pace_s = 1 / starts_per_s
        self._per_window = starts_per_s * WINDOW_S
        self._due: Counter[int] = Counter()
        """Starts by window."""
        self._shares: dict[str, Counter[int]] = {}
        """What each launch, or each reservation, has of them."""
        self._opens_s = float("-inf")

    def is_open(self, now_s: float) -> bool:
        """Whether a launch can be allowed at all now."""
        return now_s >= self._opens_s

    def close(self, now_s: float) -> None:
        """Nothing fits now."""
        self._opens_s = max(self._opens_s, now_s + LOOK_AGAIN_S)

    def allows(self, starts_s: Iterable[float], now_s: float) -> bool:
        """Whether a launch whose starts come so many seconds after it fits now."""
        return self._fits(_by_window(starts_s, now_s))

    def take(self, name: str, starts_s: tuple[float, ...], now_s: float) -> None:
        """The launch is now."""
        self._share(name, _by_window(starts_s, now_s))
        burst_s = sum(each <= AT_ONCE_S for each in starts_s) * self._pace_s
        self._opens_s = max(self._opens_s, now_s + burst_s)

    def reserve(self, name: str, starts_s: tuple[float, ...], now_s: float) -> None:
        """Keep the first room that a launch will have, until it is cancelled."""
        at_s = now_s
        while not self._fits(own := _by_window(starts_s, at_s)):
            at_s += LOOK_AGAIN_S
        self._share(name, own)

    def cancel(self, name: str) -> None:
        """The room is free for all again."""
        self._due.subtract(self._shares.pop(name))

    def ended(self, name: str, now_s: float) -> None:
        """What the launch has not started so far is not due any more."""
        share = self._shares.pop(name, Counter())
        self._due.subtract({window: starts for window, starts in share.items() if window > _window(now_s)})

    def _share(self, name: str, own: Counter[int]) -> None:
        self._shares[name] = own
        self._due.update(own)

    def _fits(self, own: Counter[int]) -> bool:
        return all(
            self._due[window] == 0 or self._due[window] + starts <= self._per_window for window, starts in own.items()
        )


def _by_window(starts_s: Iterable[float], launched_s: float) -> Counter[int]:
    return Counter(_window(launched_s + each) for each in starts_s)


def _window(at_s: float) -> int:
    return int(at_s // WINDOW_S)
