"""Much evidence is judged on all processors, and the results are those of one."""

import os
from pathlib import Path

import pytest

from crashloop import processors
from crashloop.processors import WORTH_SHARING_BYTES, are_worth_sharing, available_processors, dealt, on_all_processors
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


def test_items_are_dealt_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {4, 7})
    assert available_processors() == 2
    assert dealt("abcde") == ["ace", "bd"]
    assert dealt("a") == ["a"]
    assert dealt("") == []


def test_results_come_in_the_order_of_the_items() -> None:
    assert list(on_all_processors(abs, (-3, 1, -2))) == [3, 1, 2]


def test_what_the_work_raises_is_raised_here() -> None:
    with pytest.raises(ValueError, match="'b'"):
        list(on_all_processors(int, ("1", "b")))


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
