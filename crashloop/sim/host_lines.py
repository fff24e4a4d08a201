"""What the recorder notes about the host of the simulated node: clocks, stalls, pressure, waits for a CPU, control containers."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from crashloop.history.event import Channel, Kind
from crashloop.sim.behaviour import S
from crashloop.sim.host import HostSpan, SimulatedHost

CLOCK_PERIOD_NS = 10 * S
CONTROL_PERIOD_NS = 2 * S
SMALL_PRESSURE_US = 900
"""What a calm host shows as well."""

Line = tuple[int, Kind, dict[str, Any], int | None]
"""Time, kind, data, and when it was in hand if later; in nanoseconds."""


def host_lines(host: SimulatedHost, begin_ns: int, end_ns: int, boot_ns: Callable[[int], int]) -> Iterator[Line]:
    """All of a history, kind after kind. `boot_ns` is the host's boot-time clock at a UTC time."""
    for t_ns in (*range(begin_ns, end_ns, CLOCK_PERIOD_NS), end_ns):
        yield t_ns, Kind.CLOCK, {"boot_ns": boot_ns(t_ns), "monotonic_ns": boot_ns(t_ns)}, None
    for stall in host.stalls:
        if stall.to_ns <= end_ns:
            yield stall.from_ns, Kind.STALL, {"stalled_ns": stall.to_ns - stall.from_ns}, stall.to_ns
    yield from _felt(host, begin_ns, end_ns)
    if host.model.controls and Channel.RUNTIME not in host.model.missing:
        yield from _controls(host, begin_ns, end_ns)


def _felt(host: SimulatedHost, begin_ns: int, end_ns: int) -> Iterator[Line]:
    """The kernel's figures, once a second."""
    model = host.model
    waits, pressed, blocked = Overlap(host.starved), Overlap([*host.starved, *host.stalls]), Overlap(host.blocked)
    last_ns = begin_ns
    for t_ns in map(host.awake, range(begin_ns + S, end_ns, S)):
        if t_ns <= last_ns or t_ns > end_ns:
            continue
        spent_ns = t_ns - last_ns
        pressure: dict[str, Any] = {"some_us": None, "io_us": None, "memory_us": None}
        if model.pressure:
            felt_ns = min(spent_ns, pressed.within_ns(last_ns, t_ns) + int(model.extra_pressure * spent_ns))
            io_us = blocked.within_ns(last_ns, t_ns) // 1_000
            pressure = {"some_us": felt_ns // 1_000 + SMALL_PRESSURE_US, "io_us": io_us, "memory_us": 0}
        yield t_ns, Kind.PRESSURE, {**pressure, "interval_ns": spent_ns}, None
        if model.run_queues:
            waited_us = waits.within_ns(last_ns, t_ns) // 1_000
            yield t_ns, Kind.CPU_WAIT, {"waited_us": waited_us, "interval_ns": spent_ns}, None
        last_ns = t_ns


def _controls(host: SimulatedHost, begin_ns: int, end_ns: int) -> Iterator[Line]:
    """Containers that the recorder has the runtime create, one after the other."""
    t_ns = begin_ns
    while True:
        create_ns, list_ns = host.takes_ms(host.model.create_ms), host.takes_ms(host.model.relist_ms)
        t_ns = host.awake(t_ns + create_ns + list_ns)
        if t_ns >= end_ns:
            return
        yield t_ns, Kind.CONTROL, {"create_ns": create_ns, "list_ns": list_ns}, None
        t_ns += CONTROL_PERIOD_NS


class Overlap:
    """Spans, merged; says how much of them falls into an interval. Intervals are queried in order of time."""

    def __init__(self, spans: Iterable[HostSpan]) -> None:
        self._merged: list[tuple[int, int]] = []
        for from_ns, to_ns in sorted((span.from_ns, span.to_ns) for span in spans):
            if self._merged and from_ns <= self._merged[-1][1]:
                self._merged[-1] = (self._merged[-1][0], max(self._merged[-1][1], to_ns))
            else:
                self._merged.append((from_ns, to_ns))
        self._first = 0

    def within_ns(self, from_ns: int, to_ns: int) -> int:
        """Nanoseconds of the spans in the interval."""
        while self._first < len(self._merged) and self._merged[self._first][1] <= from_ns:
            self._first += 1
        total = 0
        for span in self._merged[self._first :]:
            if span[0] >= to_ns:
                break
            total += min(span[1], to_ns) - max(span[0], from_ns)
        return total
