"""However a history is damaged: no traceback, and no PASS but from what is still whole and enough."""

from collections.abc import Callable

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crashloop.checks.judge import judge
from crashloop.history.event import Event, to_line
from crashloop.history.reduction import read_recording
from crashloop.verdict import Outcome
from suites.selftest.kit.cases import CRASHING, good, question, renamed

Lines = list[bytes]
EVENTS = good().events()
LINES = good().lines()
OTHER = good(renamed(CRASHING, "other")).lines()
ALL = (
    "cap",
    "delays",
    "effective-config",
    "first-restart-free",
    "in-place",
    "last-exit",
    "never-early",
    "never-late",
    "pod-phase",
    "restart-count",
    "restart-decision",
    "starts-once",
)
"""Checkers that a good history of CRASHING satisfies."""

places = st.integers(0, len(LINES) - 1)
noise = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"", b"null", b"[]", b"{}", b"\x00", b'{"seq":1}', b'{"seq":', b"0" * 500, b"\xff"]),
)
values = st.one_of(
    st.none(),
    st.integers(-(2**80), 2**80),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.booleans(),
)


def cut(at: int) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines[:at], *([lines[at][: len(lines[at]) // 2]] if at < len(lines) else [])]


def without(at: int, count: int) -> Callable[[Lines], Lines]:
    return lambda lines: lines[:at] + lines[at + count :]


def with_noise(at: int, what: bytes) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines[:at], what + b"\n", *lines[at:]]


def overwritten(at: int, what: bytes) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines[:at], what + b"\n", *lines[at + 1 :]]


def bit_flipped(at: int, position: int, bit: int) -> Callable[[Lines], Lines]:
    def damage(lines: Lines) -> Lines:
        if at >= len(lines) or len(lines[at]) < 2:
            return lines
        line = bytearray(lines[at])
        line[position % (len(line) - 1)] ^= 1 << bit
        return [*lines[:at], bytes(line), *lines[at + 1 :]]

    return damage


def twice(at: int, count: int) -> Callable[[Lines], Lines]:
    return lambda lines: lines[: at + count] + lines[at:]


def moved(at: int, to: int) -> Callable[[Lines], Lines]:
    def damage(lines: Lines) -> Lines:
        rest = lines[:at] + lines[at + 1 :]
        return [*rest[:to], *lines[at : at + 1], *rest[to:]]

    return damage


def joined(at: int) -> Callable[[Lines], Lines]:
    return lambda lines: lines[:at] + OTHER[at:]


def replaced(at: int, field: str, value: object) -> Callable[[Lines], Lines]:
    """A line that is still JSON, with one field of the event or of its data changed."""

    def damage(lines: Lines) -> Lines:
        if at >= len(lines):
            return lines
        try:
            event = msgspec.json.decode(lines[at])
        except (msgspec.DecodeError, UnicodeDecodeError):
            return lines
        if not isinstance(event, dict):
            return lines
        if field in event:
            event[field] = value
        else:
            event["data"] = (
                {**(event.get("data") or {}), field: value} if isinstance(event.get("data", {}), dict) else value
            )
        return [*lines[:at], msgspec.json.encode(event) + b"\n", *lines[at + 1 :]]

    return damage


FIELDS = sorted({*Event.__struct_fields__} | {field for event in EVENTS for field in event.data})
damages = st.one_of(
    st.builds(cut, places),
    st.builds(without, places, st.integers(1, 9)),
    st.builds(with_noise, places, noise),
    st.builds(overwritten, places, noise),
    st.builds(bit_flipped, places, st.integers(0, 400), st.integers(0, 7)),
    st.builds(twice, places, st.integers(1, 9)),
    st.builds(moved, places, places),
    st.builds(joined, places),
    st.builds(replaced, places, st.sampled_from(FIELDS), values),
)


def outcome(lines: Lines, *checkers: str) -> tuple[Outcome, tuple[str, ...]]:
    asked = msgspec.structs.replace(question(good(), *checkers), recording=read_recording(lines))
    verdict = judge(asked)
    return verdict.outcome, verdict.findings


def still_whole(lines: Lines) -> bool:
    """Whether all lines are there in their order, each an event; only values within them may have changed."""
    recording = read_recording(lines)
    return recording.damage == () and recording.events == len(LINES)


def test_the_undamaged_history_passes() -> None:
    assert outcome(LINES, *ALL) == (Outcome.PASS, ())


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(damages, min_size=1, max_size=3))
def test_a_damaged_history_passes_only_if_it_is_whole(inflicted: list[Callable[[Lines], Lines]]) -> None:
    lines = LINES
    for damage in inflicted:
        lines = damage(lines)
    result, findings = outcome(lines, *ALL)
    assert not any("crashed" in finding for finding in findings)
    if lines != LINES and not still_whole(lines):
        assert result is not Outcome.PASS
        assert findings


@settings(max_examples=60, deadline=None)
@given(places)
def test_a_history_cut_off_anywhere_does_not_pass(at: int) -> None:
    result, findings = outcome(cut(at)(LINES), *ALL)
    assert result in (Outcome.INCONCLUSIVE, Outcome.ERROR)
    assert not any("crashed" in finding for finding in findings)


@settings(max_examples=100, deadline=None)
@given(st.sets(places, min_size=1, max_size=40))
def test_events_that_were_never_written_do_not_accuse_by_their_absence(missing: set[int]) -> None:
    """A recorder that lost events without noticing: seq without holes. Wrong accusations would be possible; crashes not."""
    kept = [event for event in EVENTS if event.seq not in missing]
    lines = [to_line(msgspec.structs.replace(event, seq=seq)) for seq, event in enumerate(kept)]
    assert not any("crashed" in finding for finding in outcome(lines, *ALL)[1])
