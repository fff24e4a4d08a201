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
from crashloop.record.channels.host import grown

WARM = 10
"""Beats after which the clocks are known well enough; a young heartbeat passes each of them on."""
_WINDOW = 60
_LATE_NS = 50_000_000
_CLOCK_EVERY_NS = 10_000_000_000

_BEAT = re.compile(
    rb"crashloop/1 beat (\d{1,10})\.(\d\d) (-?\d{1,9}) (\d{1,18}|-)(?: (\d{1,18}|-) (\d{1,18}|-) ([0-9a-f-]{1,36}))?",
    re.ASCII,
)


class Beat(msgspec.Struct, frozen=True, kw_only=True):
    """One line of beat.sh."""

    boot_ns: int
    late_ns: int
    stalled_us: int | None
    """The kernel's count of CPU pressure since boot; None where it has none."""
    io_us: int | None = None
    memory_us: int | None = None
    boot_id: str | None = None
    """The boot that `boot_ns` counts from; `-` if the container cannot see it."""


def read_beat(line: bytes) -> Beat | None:
    """The beat in a line of the log; None for anything else."""
    match = _BEAT.fullmatch(line.strip())
    if match is None:
        return None
    seconds, centiseconds, late, stalled, io, memory, boot_id = match.groups()
    return Beat(
        boot_ns=(int(seconds) * 100 + int(centiseconds)) * 10_000_000,
        late_ns=int(late) * 10_000_000,
        stalled_us=_count(stalled),
        io_us=_count(io),
        memory_us=_count(memory),
        boot_id=None if boot_id is None else boot_id.decode(),
    )


def _count(text: bytes | None) -> int | None:
    return None if text is None or text == b"-" else int(text)


class NodeClock:
    """The beats of one node, one after the other."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._offsets_ns: deque[int] = deque(maxlen=_WINDOW)
        self._last: Beat | None = None
        self._written_ns = 0

    @property
    def is_warm(self) -> bool:
        return len(self._offsets_ns) >= WARM

    def take(self, beat: Beat, received_ns: int) -> list[Event]:
        """The events of a beat; none for one that was reported before."""
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
        if beat.boot_ns - self._written_ns >= _CLOCK_EVERY_NS:
            self._written_ns = beat.boot_ns
            events += self.reading()
        return events

    def reading(self) -> list[Event]:
        """Both clocks at the last beat; nothing before it is warm."""
        if self._last is None or not self.is_warm:
            return []
        boot_ns = self._last.boot_ns
        data = {"boot_ns": boot_ns, "boot_id": self._last.boot_id}
        return [recorder_event(Kind.CLOCK, self._utc_ns(boot_ns), data, node=self._node)]

    def _utc_ns(self, boot_ns: int) -> int:
        return boot_ns + min(self._offsets_ns)

    def _pressure(self, before: Beat, beat: Beat) -> Event:
        data = {
            "some_us": grown(before.stalled_us, beat.stalled_us),
            "io_us": grown(before.io_us, beat.io_us),
            "memory_us": grown(before.memory_us, beat.memory_us),
            "interval_ns": beat.boot_ns - before.boot_ns,
        }
        return recorder_event(Kind.PRESSURE, self._utc_ns(beat.boot_ns), data, node=self._node)
