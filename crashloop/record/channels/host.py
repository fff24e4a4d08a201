"""The host channel: stalls and clock steps of the machine, which affect the recorder and the kubelet alike.

A heartbeat in its own thread: a late beat is a stall. Once a second the kernel's counts of CPU, I/O and memory
pressure (https://docs.kernel.org/accounting/psi.html), every 10 s and when UTC was stepped a reading of both clocks.
"""

import time
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from crashloop.history.event import Event, Kind
from crashloop.record.channels.channel import Follower, Sink, recorder_event

BEAT_NS = 100_000_000
LATE_NS = 50_000_000
"""A beat that comes later than this after it was due is a stall; Linux wakes a thread of an idle host within 1 ms."""
PRESSURE_NS = 1_000_000_000
CLOCKS_NS = 10_000_000_000
STEP_NS = 50_000_000
"""A change of UTC against boot time by more is a step; NTP slews by at most 0.5 ms a second."""

_PRESSURE = {"some_us": "cpu", "io_us": "io", "memory_us": "memory"}
"""Fields of an event, and their files in /proc/pressure."""


class Heartbeat:
    """When beats are due, and which come late. Pure: the caller gives the time."""

    def __init__(self, now_ns: int) -> None:
        self.due_ns = now_ns + BEAT_NS

    def beat(self, now_ns: int) -> int | None:
        """Take the beat that was due: by how much it came late if that is a stall. The next is due on the next tick."""
        late_ns = now_ns - self.due_ns
        self.due_ns += BEAT_NS * (max(late_ns, 0) // BEAT_NS + 1)
        return late_ns if late_ns > LATE_NS else None


class Clocks(msgspec.Struct, frozen=True, kw_only=True):
    """All clocks of the host at one moment."""

    utc_ns: int
    boot_ns: int
    monotonic_ns: int

    def step_since(self, before: "Clocks") -> int | None:
        """By how much UTC was stepped since an earlier reading; None if it was not."""
        step_ns = (self.utc_ns - self.boot_ns) - (before.utc_ns - before.boot_ns)
        return step_ns if abs(step_ns) > STEP_NS else None


def read_clocks() -> Clocks:
    """All clocks as nearly at once as possible: the tightest of three readings."""
    return min((_read_clocks() for _ in range(3)), key=lambda reading: reading[0])[1]


def _read_clocks() -> tuple[int, Clocks]:
    before_ns = time.monotonic_ns()
    boot_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    utc_ns = time.time_ns()
    after_ns = time.monotonic_ns()
    return after_ns - before_ns, Clocks(utc_ns=utc_ns, boot_ns=boot_ns, monotonic_ns=(before_ns + after_ns) // 2)


def clock_event(clocks: Clocks, step_ns: int | None = None) -> Event:
    """A reading of all clocks."""
    data: dict[str, Any] = {"boot_ns": clocks.boot_ns, "monotonic_ns": clocks.monotonic_ns, "boot_id": _boot_id()}
    return recorder_event(Kind.CLOCK, clocks.utc_ns, data if step_ns is None else data | {"step_ns": step_ns})


def some_us(pressure: str) -> int:
    """The `total` of the line `some` of a pressure file, in microseconds."""
    (some,) = (line for line in pressure.splitlines() if line.startswith("some "))
    return int(some.rpartition("total=")[2])


class HostChannel(Follower):
    """Reports stalls, pressure and clocks of the host to every scenario."""

    def __init__(self, sink: Sink) -> None:
        super().__init__("host")
        self._sink = sink

    def follow(self) -> None:
        heart = Heartbeat(time.monotonic_ns())
        clocks = written = read_clocks()
        stalled_us = _stalled_us()
        while not self.stopped.wait(max(heart.due_ns - time.monotonic_ns(), 0) / 1e9):
            due_ns = heart.due_ns
            late_ns = heart.beat(time.monotonic_ns())
            if late_ns is not None:
                due_utc_ns = time.time_ns() - (time.monotonic_ns() - due_ns)
                self._sink.everyone(recorder_event(Kind.STALL, due_utc_ns, {"stalled_ns": late_ns}))
            if time.monotonic_ns() - clocks.monotonic_ns < PRESSURE_NS - BEAT_NS // 2:
                continue
            before, clocks = clocks, read_clocks()
            before_us, stalled_us = stalled_us, _stalled_us()
            grown_us = {name: grown(before_us[name], us) for name, us in stalled_us.items()}
            data = {**grown_us, "interval_ns": clocks.monotonic_ns - before.monotonic_ns}
            self._sink.everyone(recorder_event(Kind.PRESSURE, clocks.utc_ns, data))
            step_ns = clocks.step_since(before)
            if step_ns is not None or clocks.monotonic_ns - written.monotonic_ns >= CLOCKS_NS - BEAT_NS:
                written = clocks
                self._sink.everyone(clock_event(clocks, step_ns))


def grown(before: int | None, after: int | None) -> int | None:
    """The growth of a count; None without a count."""
    return None if before is None or after is None else after - before


def _stalled_us() -> dict[str, int | None]:
    """The counts since boot; None where the kernel has none."""
    return {name: _read_us(Path("/proc/pressure") / kind) for name, kind in _PRESSURE.items()}


def _read_us(path: Path) -> int | None:
    try:
        return some_us(path.read_text())
    except OSError:  # no such file, or a kernel that was started with psi=0
        return None


@cache
def _boot_id() -> str | None:
    """The boot that this host's boot time counts from; None if the kernel does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() or None
    except OSError:
        return None
