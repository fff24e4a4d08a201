"""A moment as one channel stamped it, with the line of the history on which it stands."""

import msgspec

from crashloop.history.clock import Clocks
from crashloop.history.event import Channel, Clock, Event


class Fact(msgspec.Struct, frozen=True, gc=False):
    """When something happened, who says so and where that is written."""

    line: int
    channel: Channel
    own_ns: int
    """By the clock of the channel: UTC for the runtime, boot time for the journal."""
    utc_ns: int | None
    """By UTC; None if the channel's clock could not be brought to UTC."""
    resolution_ns: int = 1


def fact_of(line: int, event: Event, clocks: Clocks | None = None) -> Fact:
    """The moment of an event. Boot time becomes UTC by `clocks`, and has no UTC without them."""
    if event.clock is Clock.UTC:
        utc_ns: int | None = event.t_ns
    else:
        utc_ns = clocks.utc_ns(event.t_ns) if clocks else None
    return Fact(line, event.channel, event.t_ns, utc_ns, event.resolution_ns)


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """The time from one fact to a later one."""

    seconds: float
    resolution_s: float
    """The true span may be longer by up to this much: both stamps are rounded down."""
    lines: tuple[int, int]
    channel: str
    """The channel of both facts, or both joined by +."""


def span(earlier: Fact | None, later: Fact | None) -> Span | None:
    """The time between two facts, by the channel's own clock if they share it; None if either or a common clock is missing."""
    if earlier is None or later is None:
        return None
    if earlier.channel is later.channel:
        difference_ns, channel = later.own_ns - earlier.own_ns, earlier.channel.value
        resolution_ns = max(earlier.resolution_ns, later.resolution_ns)
    elif earlier.utc_ns is not None and later.utc_ns is not None:
        difference_ns, channel = later.utc_ns - earlier.utc_ns, f"{earlier.channel.value}+{later.channel.value}"
        resolution_ns = earlier.resolution_ns + later.resolution_ns
    else:
        return None
    return Span(
        seconds=difference_ns / 1e9,
        resolution_s=resolution_ns / 1e9 if resolution_ns > 1 else 0.0,
        lines=(earlier.line, later.line),
        channel=channel,
    )
