"""What the host did to us: stalls of the recorder's heartbeat and CPU pressure, as far as they cover an interval."""

from array import array
from bisect import bisect_left, bisect_right
from itertools import pairwise

BEAT_NS = 1_000_000_000
"""The heartbeat reports once a second (`pressure`), late by no more than the stalls it reports."""
MAX_SILENCE_NS = 3 * BEAT_NS
"""Time between two reports, beyond the stalls in it, in which the heartbeat counts as silent."""


class HostRecord:
    """Heartbeat and pressure over a recording."""

    def __init__(self) -> None:
        self._beat_ns, self._some_us = array("q"), array("q")
        self._stall_ns, self._stalled_ns = array("q"), array("q")
        self._missed_before_ns = array("q")

    def add_pressure(self, t_ns: int, some_us: int | None) -> None:
        """Take a report of the heartbeat: `some_us` of CPU stall in the second before `t_ns`."""
        self._beat_ns.append(t_ns)
        self._some_us.append(some_us or 0)

    def add_stall(self, due_ns: int, stalled_ns: int) -> None:
        """Take a beat that was due at `due_ns` and came `stalled_ns` late."""
        before = self._missed_before_ns[-1] + self._stalled_ns[-1] if self._stall_ns else 0
        self._missed_before_ns.append(before)
        self._stall_ns.append(due_ns)
        self._stalled_ns.append(stalled_ns)

    def stalled_s(self, from_ns: int, to_ns: int) -> float:
        """Seconds of stall of the host from `from_ns` to `to_ns`.

        The larger of what the heartbeat missed and what the kernel counted as CPU pressure: they see the same stalls.
        """
        return max(self._missed_ns(from_ns, to_ns) / 1e9, self._pressed_us(from_ns, to_ns) / 1e6)

    def untold_s(self, from_ns: int, to_ns: int) -> float:
        """Seconds at the end of that time after the last report: the host may have been stalled in them."""
        return max(0, to_ns - max(self._beat_ns[-1], from_ns)) / 1e9 if self._beat_ns else 0.0

    def covers(self, from_ns: int, to_ns: int) -> bool:
        """Whether the heartbeat was alive all the time from `from_ns` to `to_ns`."""
        first = bisect_right(self._beat_ns, from_ns) - 1
        last = bisect_left(self._beat_ns, to_ns)
        inside = list(self._beat_ns[max(first, 0) : last + 1])
        if not inside:
            return False
        beats = [min(inside[0], from_ns + BEAT_NS)] if first < 0 and inside[0] <= from_ns + MAX_SILENCE_NS else []
        beats += inside
        if beats[0] > from_ns + BEAT_NS:
            return False
        if beats[-1] < to_ns:
            beats.append(to_ns)
        return all(
            after - before - self._missed_ns(before, after) <= MAX_SILENCE_NS for before, after in pairwise(beats)
        )

    def _missed_ns(self, from_ns: int, to_ns: int) -> int:
        """Overlap of the stalls with the interval; stalls follow one another."""
        return max(0, self._missed_until_ns(to_ns) - self._missed_until_ns(from_ns))

    def _missed_until_ns(self, t_ns: int) -> int:
        last = bisect_right(self._stall_ns, t_ns) - 1
        if last < 0:
            return 0
        return self._missed_before_ns[last] + min(self._stalled_ns[last], t_ns - self._stall_ns[last])

    def _pressed_us(self, from_ns: int, to_ns: int) -> int:
        """Pressure of every second that touches the interval: within a second it may all have been at its edge."""
        first, last = bisect_right(self._beat_ns, from_ns), bisect_left(self._beat_ns, to_ns)
        return sum(self._some_us[first : last + 1])
