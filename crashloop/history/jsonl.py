"""The JSON Lines form of a history: one event a line, and what may be wrong with the lines.

Reading never raises on what is in the file: each fault becomes a `Damage` with its line, and reading goes on behind
it as far as that makes sense. What a damaged history can still prove is for the judge to decide.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from crashloop.history.event import HISTORY_FORMAT, Event, Kind

_FAMILY, _, _NUMBER = HISTORY_FORMAT.partition("/")
_BEGIN, _END = Kind.BEGIN, Kind.END


class _Begin(msgspec.Struct):
    kind: str
    data: dict[str, Any] = {}


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """A fault of the file itself, at `line` (counted from 1; for a missing end the last line, 0 for an empty file)."""

    line: int
    problem: str
    cut_off: bool = False
    """The recording merely stops here: what stands before this line is whole."""


class _Placed(Protocol):
    """What the order of the lines is judged by."""

    @property
    def seq(self) -> int: ...
    @property
    def kind(self) -> Kind: ...


T = TypeVar("T", bound=_Placed)


class Numbered(NamedTuple, Generic[T]):
    """An event and the line of the history on which it stands."""

    line: int
    event: T


def to_line(event: Event) -> bytes:
    """One line of history.jsonl, with its newline."""
    return msgspec.json.encode(event) + b"\n"


def read_lines(lines: Iterable[bytes], decode: Callable[[bytes], T]) -> Iterator[Numbered[T] | Damage]:
    """The lines of a history in the order of the file, and where it is damaged. Reads one line at a time.

    `decode` makes an event of a line, or raises msgspec.DecodeError.
    """
    expected, number, ended = 0, 0, False
    for number, line in enumerate(lines, start=1):
        if ended:
            yield Damage(line=number, problem="an event follows the end event")
            return
        if number == 1 and (unsupported := _unsupported(line)) is not None:
            yield Damage(line=number, problem=unsupported)
            return
        try:
            event = decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield _unreadable(number, line, error)
            expected += 1
            continue
        kind, seq = event.kind, event.seq
        if number == 1 and kind is not _BEGIN:
            yield Damage(line=1, problem=f"the history starts with {kind!s}; a begin event was expected")
        if number > 1 and kind is _BEGIN:
            yield Damage(line=number, problem="a second recording begins here")
            return
        if seq < expected:
            yield Damage(line=number, problem=f"seq {seq} where {expected} was expected: repeated or out of order")
            continue
        if seq > expected:
            yield Damage(line=number, problem=f"seq {seq} where {expected} was expected: {seq - expected} missing")
        expected = seq + 1
        ended = kind is _END
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


def _unsupported(first: bytes) -> str | None:
    """Why this version cannot read what follows the first line; None if it can, or if that line is no begin event."""
    try:
        begin = msgspec.json.decode(first, type=_Begin)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    written = begin.data.get("format")
    if begin.kind != Kind.BEGIN or written == HISTORY_FORMAT:
        return None
    family, _, number = str(written).partition("/")
    if family == _FAMILY and number.isdigit() and int(number) > int(_NUMBER):
        return f"format {written!r} is newer than {HISTORY_FORMAT!r}, which this version reads"
    return f"format {written!r}; this version reads {HISTORY_FORMAT!r}"
