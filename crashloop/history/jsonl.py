"""The JSON Lines form of a history: one event a line, and what may be wrong with the lines.

Reading never raises on what is in the file: each fault becomes a `Damage` with its line, and reading goes on behind
it as far as that makes sense. What a damaged history can still prove is for the judge to decide.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from crashloop.history.event import HISTORY_FORMAT, Event, Kind

_FAMILY, _, _NUMBER = HISTORY_FORMAT.partition("/")


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """A fault of the file itself, at `line` (counted from 1; for a missing end the last line, 0 for an empty file)."""

    line: int
    problem: str
    cut_off: bool = False
    """The recording merely stops here: what stands before this line is whole."""


class Numbered(NamedTuple):
    """An event and the line of the history on which it stands."""

    line: int
    event: Event


def to_line(event: Event) -> bytes:
    """One line of history.jsonl, with its newline."""
    return msgspec.json.encode(event) + b"\n"


def read_events(lines: Iterable[bytes]) -> Iterator[Numbered | Damage]:
    """The events of a history in the order of the file, and where it is damaged. Reads one line at a time."""
    decode = msgspec.json.Decoder(Event).decode
    expected, number, ended = 0, 0, False
    for number, line in enumerate(lines, start=1):
        if ended:
            yield Damage(line=number, problem="an event follows the end event")
            return
        try:
            event = decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield _unreadable(number, line, error)
            expected += 1
            continue
        if number == 1 and event.kind is not Kind.BEGIN:
            yield Damage(line=1, problem=f"the history starts with {event.kind!s}; a begin event was expected")
        if event.kind is Kind.BEGIN:
            fatal = "a second recording begins here" if number > 1 else _unsupported(event.data)
            if fatal:
                yield Damage(line=number, problem=fatal)
                return
        if event.seq < expected:
            yield Damage(
                line=number, problem=f"seq {event.seq} where {expected} was expected: repeated or out of order"
            )
            continue
        if event.seq > expected:
            missing = event.seq - expected
            yield Damage(line=number, problem=f"seq {event.seq} where {expected} was expected: {missing} missing")
        expected = event.seq + 1
        ended = event.kind is Kind.END
        yield Numbered(number, event)
    if not ended:
        problem = "no end event: the recording stopped before it was sealed" if number else "the history is empty"
        yield Damage(line=number, problem=problem, cut_off=True)


def _unreadable(number: int, line: bytes, error: Exception) -> Damage:
    if not line.endswith(b"\n"):
        return Damage(line=number, problem="the last line is cut off", cut_off=True)
    if isinstance(error, msgspec.ValidationError):
        return Damage(line=number, problem=f"not an event ({error})")
    return Damage(line=number, problem=f"not JSON ({error})")


def _unsupported(begin: dict[str, Any]) -> str | None:
    """Why this version cannot read what follows; None if it can."""
    written = begin.get("format")
    if written == HISTORY_FORMAT:
        return None
    family, _, number = str(written).partition("/")
    if family == _FAMILY and number.isdigit() and int(number) > int(_NUMBER):
        return f"format {written!r} is newer than {HISTORY_FORMAT!r}, which this version reads"
    return f"format {written!r}; this version reads {HISTORY_FORMAT!r}"
