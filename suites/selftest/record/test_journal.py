"""A journal is read whatever became of its log: whole stamps count, and what is wrong is reported, never raised."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.history.event import Channel, Clock, Kind
from crashloop.history.journal import Journal, Stamp, StampKind, journal_events, read_journal

LOG = """\
crashloop/1 start 0 100.00
crashloop/1 exit 0 101.05 1
crashloop/1 start 1 101.06
crashloop/1 exit 1 102.00 143
crashloop/1 start 2 112.50
"""
LINES = LOG.splitlines(keepends=True)


def lives(journal: Journal) -> list[tuple[str, int]]:
    return [(stamp.kind.value, stamp.life) for stamp in journal.stamps]


WHOLE = lives(read_journal(LOG))


def test_a_whole_journal_is_read_in_its_order() -> None:
    journal = read_journal(LOG)
    assert journal.damage == ()
    assert journal.starts == 3
    assert journal.stamps[1] == Stamp(
        kind=StampKind.EXIT, life=0, boot_ns=101_050_000_000, exit_code=1, line="crashloop/1 exit 0 101.05 1"
    )


def test_an_empty_log_is_an_empty_journal() -> None:
    assert read_journal("") == Journal()


def test_a_line_that_is_cut_off_is_reported_and_not_counted() -> None:
    journal = read_journal(LOG[:-4])
    assert lives(journal) == WHOLE[:-1]
    assert journal.damage == ("cut off: 'crashloop/1 start 2 112'",)


def test_a_stamp_behind_one_that_was_cut_off_counts() -> None:
    journal = read_journal(LOG.replace("102.00 143\n", "102."))
    assert lives(journal) == [("start", 0), ("exit", 0), ("start", 1), ("start", 2)]
    assert journal.damage == ("not a stamp: 'crashloop/1 exit 1 102.'",)


def test_repeated_stamps_count_once() -> None:
    journal = read_journal(LOG + LINES[0])
    assert lives(journal) == WHOLE
    assert journal.damage == ("repeated: 'crashloop/1 start 0 100.00'",)


def test_of_two_stamps_that_contradict_each_other_the_first_counts() -> None:
    journal = read_journal(LOG + "crashloop/1 exit 1 102.00 0\n")
    assert lives(journal) == WHOLE
    assert journal.damage == ("contradicts 'crashloop/1 exit 1 102.00 143': 'crashloop/1 exit 1 102.00 0'",)


def test_the_start_of_a_life_that_is_missing_is_reported() -> None:
    assert read_journal("".join(LINES[:2] + LINES[3:])).damage == ("the start of life 1 is missing",)


def test_a_missing_exit_is_no_damage() -> None:
    journal = read_journal("".join(LINES[:3] + LINES[4:]))
    assert journal.damage == ()


def test_boot_time_that_runs_backwards_is_reported() -> None:
    (problem,) = read_journal(LOG.replace("112.50", "99.00")).damage
    assert problem == (
        "boot time runs backwards: 'crashloop/1 start 2 99.00' stands behind 'crashloop/1 exit 1 102.00 143'"
    )


def test_a_foreign_line_is_reported() -> None:
    assert read_journal("sh: out of memory\n" + LOG).damage == ("not a stamp: 'sh: out of memory'",)


@given(st.text())
def test_any_text_is_read_without_an_error(log: str) -> None:
    read_journal(log)


@given(st.integers(min_value=0, max_value=len(LOG)))
def test_a_journal_that_is_cut_off_anywhere_keeps_every_whole_line(length: int) -> None:
    assert lives(read_journal(LOG[:length])) == WHOLE[: LOG[:length].count("\n")]


@given(st.lists(st.sampled_from(LINES), max_size=12))
def test_lines_in_any_number_and_order_count_once_each(lines: list[str]) -> None:
    found = lives(read_journal("".join(lines)))
    assert len(found) == len(set(found))
    assert set(found) == {WHOLE[LINES.index(line)] for line in lines}


@given(st.integers(min_value=0, max_value=len(LOG) - 1), st.characters().filter(lambda each: each not in "0123456789"))
def test_a_character_that_was_changed_never_makes_a_stamp_of_its_own(position: int, character: str) -> None:
    changed = read_journal(LOG[:position] + character + LOG[position + 1 :])
    assert set(changed.stamps) <= set(read_journal(LOG).stamps)


def test_stamps_become_events_by_boot_time_and_damage_becomes_a_gap() -> None:
    start, end, hole = journal_events(
        read_journal("crashloop/1 start 0 7.01\ncrashloop/1 exit 0 8.00 3\ncrash"),
        pod_uid="uid",
        container="app",
        node="node",
        received_ns=9,
    )
    assert (start.channel, start.kind, start.clock, start.t_ns, start.resolution_ns, start.instance) == (
        Channel.JOURNAL,
        Kind.STARTED,
        Clock.BOOT,
        7_010_000_000,
        10_000_000,
        0,
    )
    assert end.data == {"line": "crashloop/1 exit 0 8.00 3", "exit_code": 3}
    assert (hole.kind, hole.t_ns, hole.container) == (Kind.GAP, 9, "app")
    assert hole.data == {"channel": "journal", "from_ns": 0, "reason": "cut off: 'crash'", "lost": True}


def test_an_exit_may_say_that_its_life_has_left_its_name() -> None:
    journal = read_journal("crashloop/1 start 0 7.01\ncrashloop/1 exit 0 8.00 3 told\n")
    assert journal.damage == ()
    *_, end = journal_events(journal, pod_uid="uid-1", container="app", node="n", received_ns=9)
    assert end.data == {"line": "crashloop/1 exit 0 8.00 3 told", "exit_code": 3, "told": True}
    assert read_journal("crashloop/1 start 0 7.01 told\n").stamps == ()


BOOT_ID = "3f2a0c1e-5b7d-4c1a-9a53-0d7c1f2e4b6a"


@pytest.mark.parametrize("boot_id", [BOOT_ID, "-"], ids=["known", "unknown"])
def test_a_start_tells_of_the_boot_that_its_time_counts_from(boot_id: str) -> None:
    journal = read_journal(f"crashloop/1 start 0 7.01 {boot_id}\ncrashloop/1 exit 0 8.00 3\n")
    assert journal.damage == ()
    start, end = journal_events(journal, pod_uid="u", container="app", node=None, received_ns=9)
    assert start.data["boot_id"] == boot_id
    assert "boot_id" not in end.data


def test_an_exit_has_no_boot_of_its_own() -> None:
    assert read_journal(f"crashloop/1 exit 0 8.00 3 {BOOT_ID}\n").stamps == ()


def test_a_note_says_what_a_life_has_found() -> None:
    note, damaged = "crashloop/1 note 0 100.01 root fresh", "crashloop/1 note 0 100.01 root"
    journal = read_journal(f"{LINES[0]}{note}\n{LINES[1]}{damaged}\n")
    assert lives(journal) == [("start", 0), ("note", 0), ("exit", 0)]
    assert journal.damage == (f"not a stamp: {damaged!r}",)
    event = journal_events(journal, pod_uid="uid", container="app", node="node", received_ns=9)[1]
    assert (event.kind, event.instance) == (Kind.NOTED, 0)
    assert event.data == {"line": note, "name": "root", "value": "fresh"}
