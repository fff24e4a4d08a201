"""Converts the heartbeats of a node that is not this host to this host's clock. Pure.

Theory of operation. A heartbeat pod on the node writes its beats in time since boot, which is also the journals' clock, and
its log arrives a little later. The least difference between our UTC at receipt and its boot time, over the last minute,
converts one into the other: its error is the shortest transfer time, some milliseconds, and makes times late rather than
early. The node's own UTC is not used, so it may be wrong.
"""

import re
from collections import deque

import msgspec

from crashloop.history.event import Event, Kind
from crashloop.record.channels.events import recorder_event

WARM = 10
"""Beats after which the clocks are known well enough; a young heartbeat tells each of them."""
_WINDOW = 60
_LATE_NS = 50_000_000
_CLOCK_EVERY_NS = 10_000_000_000

_BEAT = re.compile(rb"crashloop/1 beat (\d{1,10})\.(\d\d) (-?\d{1,9}) (\d{1,18}|-)", re.ASCII)


class Beat(msgspec.Struct, frozen=True, kw_only=True):
    """One line of beat.sh."""

    boot_ns: int
    late_ns: int
    stalled_us: int | None
    """The kernel's count of CPU pressure since boot; None where it has none."""


def read_beat(line: bytes) -> Beat | None:
    """The beat that a line of the log tells; None for anything else."""
    match = _BEAT.fullmatch(line.strip())
    if match is None:
        return None
    seconds, centiseconds, late, stalled = match.groups()
    return Beat(
        boot_ns=(int(seconds) * 100 + int(centiseconds)) * 10_000_000,
        late_ns=int(late) * 10_000_000,
        stalled_us=None if stalled == b"-" else int(stalled),
    )


class NodeClock:
    """The beats of one node, one after the other."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._offsets_ns: deque[int] = deque(maxlen=_WINDOW)
        self._last: Beat | None = None
        self._told_ns = 0

    @property
    def is_warm(self) -> bool:
        return len(self._offsets_ns) >= WARM

    def take(self, beat: Beat, received_ns: int) -> list[Event]:
        """The events that a beat amounts to; none for one that was told before."""
        before = self._last
        if before is not None and beat.boot_ns <= before.boot_ns:
            return []
        self._last = beat
        self._offsets_ns.append(received_ns - beat.boot_ns)
        if before is None or not self.is_warm:
            return []
        events = [self._pressure(before, beat)]
        if beat.late_ns > _LATE_NS:
            stalled = {"stalled_ns": beat.late_ns}
            events.insert(
                0, recorder_event(Kind.STALL, self._utc_ns(beat.boot_ns - beat.late_ns), stalled, node=self._node)
            )
        if beat.boot_ns - self._told_ns >= _CLOCK_EVERY_NS:
            self._told_ns = beat.boot_ns
            events += self.reading()
        return events

    def reading(self) -> list[Event]:
        """Both clocks at the last beat; nothing before it is warm."""
        if self._last is None or not self.is_warm:
            return []
        boot_ns = self._last.boot_ns
        return [recorder_event(Kind.CLOCK, self._utc_ns(boot_ns), {"boot_ns": boot_ns}, node=self._node)]

    def _utc_ns(self, boot_ns: int) -> int:
        return boot_ns + min(self._offsets_ns)

    def _pressure(self, before: Beat, beat: Beat) -> Event:
        counted = before.stalled_us is not None and beat.stalled_us is not None
        pressed_us = (beat.stalled_us or 0) - (before.stalled_us or 0) if counted else None
        data = {"some_us": pressed_us, "interval_ns": beat.boot_ns - before.boot_ns}
        return recorder_event(Kind.PRESSURE, self._utc_ns(beat.boot_ns), data, node=self._node)
