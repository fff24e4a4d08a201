"""The moments of a history: as a channel stamped them, with their lines; and its two clocks, UTC and boot time, brought together.

Readings of both clocks at once bring them together.
"""

from bisect import bisect_left, bisect_right
from itertools import pairwise

import msgspec

READING_JITTER_NS = 10_000_000
"""Two readings of one offset may differ by so much: the recorder can be interrupted between its two clock reads."""
MAX_SLEW = 0.001
"""A clock that is disciplined (NTP) runs off by at most 500 ppm; twice that is not yet called a step."""


class ClockStep(msgspec.Struct, frozen=True, kw_only=True):
    """The wall clock jumped by `step_ns` at some time from `from_ns` to `to_ns` (UTC; seen on history line `line`).

    `from_ns` is the lesser of the two readings: after a jump back by more than the readings are apart that is the later one.
    """

    line: int
    from_ns: int
    to_ns: int
    step_ns: int


class Clocks:
    """Readings of UTC and boot time, in the order of boot time."""

    def __init__(self, readings: list[tuple[int, int, int]]) -> None:
        """Take readings as (line, UTC ns, boot ns)."""
        in_order = sorted(readings, key=lambda reading: reading[2])
        self._boot_ns = [boot_ns for _, _, boot_ns in in_order]
        self._offset_ns = [utc_ns - boot_ns for _, utc_ns, boot_ns in in_order]
        self.steps = _steps(in_order)
        changes = [after - before for before, after in pairwise(self._offset_ns)]
        spent = [after - before for before, after in pairwise(self._boot_ns)]
        self._slewed_ns = [0 if _is_step(by, ns) else by for by, ns in zip(changes, spent, strict=True)]

    def utc_ns(self, boot_ns: int) -> int | None:
        """The UTC time of a moment of boot time, by the nearest reading; None without any."""
        if not self._boot_ns:
            return None
        after = bisect_left(self._boot_ns, boot_ns)
        candidates = [index for index in (after - 1, after) if 0 <= index < len(self._boot_ns)]
        nearest = min(candidates, key=lambda index: abs(self._boot_ns[index] - boot_ns))
        return boot_ns + self._offset_ns[nearest]

    def drift_ns(self, from_boot_ns: int, to_boot_ns: int) -> int:
        """By how much UTC was slewed against boot time meanwhile, between the readings around it; steps do not count."""
        first = max(bisect_right(self._boot_ns, from_boot_ns) - 1, 0)
        last = min(bisect_left(self._boot_ns, to_boot_ns), len(self._boot_ns) - 1)
        return abs(sum(self._slewed_ns[first:last]))

    def step_within_ns(self, from_ns: int, to_ns: int) -> int:
        """How far the wall clock jumped in that time, all jumps added up without their sign; 0 if it did not."""
        return sum(abs(step.step_ns) for step in self.steps if step.from_ns <= to_ns and step.to_ns >= from_ns)


def _steps(readings: list[tuple[int, int, int]]) -> tuple[ClockStep, ...]:
    found = []
    for (_, utc_before, boot_before), (line, utc_after, boot_after) in pairwise(readings):
        step_ns = (utc_after - boot_after) - (utc_before - boot_before)
        if _is_step(step_ns, boot_after - boot_before):
            from_ns, to_ns = min(utc_before, utc_after), max(utc_before, utc_after)
            # A clock that jumps back shows the time before the jump once more.
            to_ns = max(to_ns, utc_before + (boot_after - boot_before))
            found.append(ClockStep(line=line, from_ns=from_ns, to_ns=to_ns, step_ns=step_ns))
    return tuple(found)


def _is_step(changed_ns: int, spent_ns: int) -> bool:
    """Whether UTC has moved against boot time by more than readings and slewing can."""
    return abs(changed_ns) > READING_JITTER_NS + MAX_SLEW * spent_ns
