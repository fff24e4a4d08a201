"""How long a failed request to the API server is repeated.

Theory of operation. An API server that is away comes back, so a request without an answer, or with one of 5xx, is repeated for
long. A refusal (4xx) says the same again: it is repeated only for a short while, since a quota counts pods a little longer than
they exist, and an API server that has just started may know no user.
"""

import time
from collections.abc import Callable

from crashloop.stress.assignment import Operation

_PASSING = (408, 409, 429)
"""Answers that are no refusal: too slow, at the same time as another request, too many requests."""


class Patience:
    """With the requests for one object, from its making on."""

    def __init__(self, *, away_s: float, refused_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._away_s = away_s
        self._refused_s = refused_s
        self._clock = clock
        self._began_s = clock()
        self._refused_at_s: float | None = None
        """When the first of the refusals came that nothing has interrupted."""

    @property
    def left_s(self) -> float:
        """For an answer that comes late."""
        return max(0.0, self._began_s + self._away_s - self._clock())

    def ends_with(self, failed: Operation) -> float | None:
        """The limit in seconds that is over with this failed request; None if it is worth repeating."""
        now_s = self._clock()
        if not _is_refusal(failed.code):
            self._refused_at_s = None
        elif self._refused_at_s is None:
            self._refused_at_s = now_s
        if self._refused_at_s is not None and now_s - self._refused_at_s >= self._refused_s:
            return self._refused_s
        return self._away_s if now_s - self._began_s >= self._away_s else None


def _is_refusal(code: int) -> bool:
    return 400 <= code < 500 and code not in _PASSING
