"""Histories read back event by event, with the data as it was written."""

from collections.abc import Iterable, Iterator

import msgspec

from crashloop.history.event import Damage, Event, Numbered, read_lines

_decode = msgspec.json.Decoder(Event).decode


def read_events(lines: Iterable[bytes]) -> Iterator[Numbered[Event] | Damage]:
    """The events of a history in the order of the file, and where it is damaged."""
    return read_lines(lines, _decode)
