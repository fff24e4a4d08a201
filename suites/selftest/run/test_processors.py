"""Much evidence is judged on all processors, and the results are those of one."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from crashloop import processors
from crashloop.processors import WORTH_SHARING_BYTES, are_worth_sharing, available_processors, on_all_processors
from crashloop.run.analysis import analyze
from crashloop.spec.plan import Judgement
from crashloop.stress.judging import judge_run
from suites.selftest.kit.cases import CRASHING, good, renamed
from suites.selftest.kit.run_dirs import ASKED, a_run, record
from suites.selftest.kit.stress_kit import example_run


def test_large_histories_are_worth_it_and_small_or_missing_ones_are_not(tmp_path: Path) -> None:
    small, large = tmp_path / "small.jsonl", tmp_path / "large.jsonl"
    small.write_bytes(b"{}")
    with large.open("wb") as file:
        file.truncate(WORTH_SHARING_BYTES - 2)
    assert are_worth_sharing([small, large])
    assert not are_worth_sharing([large, tmp_path / "none.jsonl"])


def where(items: Sequence[str]) -> list[tuple[str, int]]:
    """Each item, with the process that had it."""
    return [(each, os.getpid()) for each in items]


def numbers(items: Sequence[str]) -> list[int]:
    return [int(each) for each in items]


@pytest.mark.parametrize("processors", [1, 2, 3])
def test_items_are_dealt_in_turn_and_come_back_in_order(processors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)))
    assert available_processors() == processors
    found = on_all_processors(where, "abcde")
    assert [each for each, _ in found] == ["a", "b", "c", "d", "e"]
    assert {each for each, process in found if process == os.getpid()} == set("abcde"[::processors])


def test_there_may_be_fewer_items_than_processors() -> None:
    assert on_all_processors(numbers, ("1",)) == [1]
    assert on_all_processors(numbers, ()) == []


@pytest.mark.parametrize("items", [("b", "1"), ("1", "b")], ids=["here", "elsewhere"])
def test_what_the_work_raises_is_raised_here(items: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    with pytest.raises(ValueError, match="'b'"):
        on_all_processors(numbers, items)


def test_a_conformance_run_has_the_same_results_on_one_processor_and_on_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = a_run(tmp_path, ASKED, Judgement(requirement="BACKOFF-4", scenario="other"))
    record(run, good())
    record(run, good(renamed(CRASHING, "other")))
    on_one = analyze(run)
    monkeypatch.setattr(processors, "WORTH_SHARING_BYTES", 1)
    assert analyze(run) == on_one


def test_a_stress_run_has_the_same_results_on_one_processor_and_on_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = example_run(tmp_path / "run").run
    on_one = judge_run(run, keeps_lifecycles=False)
    monkeypatch.setattr(processors, "WORTH_SHARING_BYTES", 1)
    assert judge_run(run, keeps_lifecycles=False) == on_one
