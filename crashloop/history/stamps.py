"""A moment as one channel stamped it, with the line of the history on which it stands."""

from collections.abc import Iterable

import msgspec

from crashloop.history.clock import Clocks
from crashloop.history.event import Channel, Clock
from crashloop.history.lines import Line

_UTC = Clock.UTC


class Fact(msgspec.Struct, frozen=True, gc=False):
    """When something happened, who says so and where that is written."""

    line: int
    channel: Channel
    own_ns: int
    """By the clock of the channel: UTC for the runtime, boot time for the journal."""
    utc_ns: int | None
    """By UTC; None if the channel's clock could not be brought to UTC."""
    resolution_ns: int = 1


def fact_of(number: int, line: Line, clocks: Clocks | None = None) -> Fact:
    """The moment of a line. Boot time becomes UTC by `clocks`, and has no UTC without them."""
    if line.clock is _UTC:
        return Fact(number, line.channel, line.t_ns, line.t_ns, line.resolution_ns)
    utc_ns = clocks.utc_ns(line.t_ns) if clocks else None
    return Fact(number, line.channel, line.t_ns, utc_ns, line.resolution_ns)


class Span(msgspec.Struct, frozen=True, gc=False):
    """The time from one fact to a later one."""

    ns: int
    step_ns: int
    """Both stamps are rounded down, so the true span is less than `ns` plus this; 0 where they are exact."""
    lines: tuple[int, int]
    channel: str
    """The channel of both facts, or both joined by +."""

    @property
    def seconds(self) -> float:
        return self.ns / 1e9

    @property
    def longest_ns(self) -> int:
        """The longest that the true span can be, in whole nanoseconds."""
        return self.ns + max(self.step_ns - 1, 0)


def span(earlier: Fact | None, later: Fact | None) -> Span | None:
    """The time between two facts, by the channel's own clock if they share it; None if either or a common clock is missing."""
    if earlier is None or later is None:
        return None
    if earlier.channel is later.channel:
        step_ns = max(earlier.resolution_ns, later.resolution_ns)
        return Span(
            later.own_ns - earlier.own_ns,
            step_ns if step_ns > 1 else 0,
            (earlier.line, later.line),
            earlier.channel.value,
        )
    if earlier.utc_ns is None or later.utc_ns is None:
        return None
    return Span(
        later.utc_ns - earlier.utc_ns,
        earlier.resolution_ns + later.resolution_ns,
        (earlier.line, later.line),
        f"{earlier.channel.value}+{later.channel.value}",
    )


def joined(spans_ns: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same times, each from its begin to its end, as spans apart from each other, in order."""
    found: list[tuple[int, int]] = []
    for begin_ns, end_ns in sorted(spans_ns):
        if found and begin_ns <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end_ns)
        else:
            found.append((begin_ns, end_ns))
    return tuple(found)


def overlap_ns(times_ns: Iterable[tuple[int, int]], from_ns: int, to_ns: int) -> int:
    """How much of these times, each from its begin to its end, lies within an interval."""
    return sum(max(0, min(end_ns, to_ns) - max(begin_ns, from_ns)) for begin_ns, end_ns in times_ns)
