"""Reading history lines: what is whole comes back as it was written, and each fault names its line."""

from collections.abc import Callable

import msgspec
import pytest

from crashloop.history.event import Damage, Event, Numbered, to_line
from suites.selftest.kit.cases import CRASHING, good, renamed
from suites.selftest.kit.histories import History
from suites.selftest.kit.history_lines import read_events

Lines = list[bytes]
LAST = len(good().lines())


def damage(lines: Lines) -> list[tuple[int, str]]:
    return [(each.line, each.problem) for each in read_events(lines) if isinstance(each, Damage)]


def test_events_survive_the_file() -> None:
    events = good().events()
    read = list(read_events(good().lines()))
    assert read == [Numbered(number, event) for number, event in enumerate(events, start=1)]


def test_a_line_is_one_event_and_ends_with_a_newline() -> None:
    event = good().events()[0]
    line = to_line(event)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert msgspec.json.decode(line, type=Event) == event


def test_whole_lines_are_undamaged() -> None:
    assert damage(good().lines()) == []


def replaced(number: int, text: bytes) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines[: number - 1], text, *lines[number:]]


def dropped(number: int) -> Callable[[Lines], Lines]:
    return lambda lines: lines[: number - 1] + lines[number:]


def doubled(number: int) -> Callable[[Lines], Lines]:
    return lambda lines: lines[:number] + lines[number - 1 :]


def swapped(number: int) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines[: number - 1], lines[number], lines[number - 1], *lines[number + 1 :]]


TWICE = "seq {0} where {1} was expected: repeated or out of order"


@pytest.mark.parametrize(
    ("damaged", "problems"),
    [
        pytest.param(lambda _: [], [(0, "the history is empty")], id="empty"),
        pytest.param(
            lambda lines: lines[:-1],
            [(LAST - 1, "no end event: the recording stopped before it was sealed")],
            id="no-end",
        ),
        pytest.param(
            lambda lines: [*lines[:9], lines[9][:20]],
            [(10, "the last line is cut off"), (10, "no end event: the recording stopped before it was sealed")],
            id="cut-off",
        ),
        pytest.param(
            replaced(5, b"oops\n"), [(5, "not JSON (JSON is malformed: invalid character (byte 0))")], id="not-json"
        ),
        pytest.param(
            replaced(5, b'{"seq":4}\n'),
            [(5, "not an event (Object missing required field `t_ns`)")],
            id="not-an-event",
        ),
        pytest.param(
            replaced(5, b"\xff\xfe\n"), [(5, "not JSON (JSON is malformed: invalid character (byte 0))")], id="not-text"
        ),
        pytest.param(dropped(5), [(5, "seq 5 where 4 was expected: 1 missing")], id="line-missing"),
        pytest.param(doubled(5), [(6, TWICE.format(4, 5))], id="line-twice"),
        pytest.param(
            swapped(5),
            [(5, "seq 5 where 4 was expected: 1 missing"), (6, TWICE.format(4, 6))],
            id="lines-swapped",
        ),
        pytest.param(
            dropped(1),
            [
                (1, "the history starts with clock; a begin event was expected"),
                (1, "seq 1 where 0 was expected: 1 missing"),
            ],
            id="no-begin",
        ),
        pytest.param(
            lambda lines: lines[:-1] + lines, [(LAST, "a second recording begins here")], id="two-recordings-unsealed"
        ),
        pytest.param(lambda lines: lines + lines, [(LAST + 1, "an event follows the end event")], id="two-recordings"),
        pytest.param(
            lambda lines: [lines[0].replace(b"crashloop.history/1", b"crashloop.history/2"), *lines[1:]],
            [(1, "format 'crashloop.history/2' is newer than 'crashloop.history/1', which this version reads")],
            id="newer-format",
        ),
        pytest.param(
            lambda lines: [lines[0].replace(b"crashloop.history/1", b"something else"), *lines[1:]],
            [(1, "format 'something else'; this version reads 'crashloop.history/1'")],
            id="other-format",
        ),
    ],
)
def test_each_fault_is_reported_with_its_line(
    damaged: Callable[[Lines], Lines], problems: list[tuple[int, str]]
) -> None:
    assert damage(damaged(good().lines())) == problems


def test_a_recording_that_was_cut_off_is_whole_up_to_there() -> None:
    lines = good().lines()
    cut = [each for each in read_events([*lines[:9], lines[9][:20]]) if isinstance(each, Damage)]
    assert [each.cut_off for each in cut] == [True, True]
    assert sum(isinstance(each, Numbered) for each in read_events([*lines[:9], lines[9][:20]])) == 9


def test_histories_of_two_scenarios_are_two_histories() -> None:
    other = History(renamed(CRASHING, "other")).ends(1).lines()
    assert damage(good().lines() + other)[0][1] == "an event follows the end event"
