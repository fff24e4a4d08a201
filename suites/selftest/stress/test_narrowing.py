"""Runs of a load in steps follow each other, each with the steps that the one before names."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from crashloop.errors import UsageError
from crashloop.report.stress.results import StressResults
from crashloop.slo.measurements import SloVerdict
from crashloop.stress.judging import judge_run
from crashloop.stress.run import StressOptions, check_narrowing, narrowing, worst_code
from crashloop.verdict import Outcome
from suites.selftest.kit.stress_kit import example_run

OPTIONS = StressOptions(profile="knee", run_dir="runs/knee")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> StressResults:
    return judge_run(example_run(tmp_path_factory.mktemp("example")).run)


def naming(results: StressResults, *steps: int) -> StressResults:
    verdict = SloVerdict(
        slo="highest-rate", outcome=Outcome.PASS, mode="report", sentence="", target=0.0, unit="", narrower=steps
    )
    return msgspec.structs.replace(results, verdicts=(*results.verdicts, verdict))


def runs_of(
    *results: StressResults,
) -> tuple[list[StressOptions], Callable[[StressOptions], tuple[str, StressResults]]]:
    """What is run, and a run that has the results in turn."""
    asked: list[StressOptions] = []

    def run(options: StressOptions) -> tuple[str, StressResults]:
        asked.append(options)
        return f"run {len(asked)}", results[len(asked) - 1]

    return asked, run


def all_of(
    more: int, run: Callable[[StressOptions], tuple[str, StressResults]], *, stopped: bool = False
) -> tuple[list[str], list[str]]:
    """The runs, and what was said."""
    said: list[str] = []
    return [found for found, _ in narrowing(OPTIONS, more, run, say=said.append, stopped=lambda: stopped)], said


def test_each_run_has_the_steps_that_the_one_before_names(judged: StressResults) -> None:
    asked, run = runs_of(naming(judged, 20, 25, 30), naming(judged, 25, 26, 27), naming(judged))
    found, said = all_of(4, run)
    assert found == ["run 1", "run 2", "run 3"]
    assert said == ["No further run: the verdict on the highest rate names no steps that narrow it."]
    assert [each.steps for each in asked] == [(), (20, 25, 30), (25, 26, 27)]
    assert [each.run_dir for each in asked] == ["runs/knee", "runs/knee-2", "runs/knee-3"]


def test_no_more_runs_than_wanted_follow(judged: StressResults) -> None:
    for more in (0, 1):
        asked, run = runs_of(naming(judged, 20, 25, 30), naming(judged, 25, 26, 27))
        found, said = all_of(more, run)
        assert (len(found), len(asked), said) == (more + 1, more + 1, [])


def test_nothing_follows_an_interruption(judged: StressResults) -> None:
    """In the judgement of a run as well, which its results do not show."""
    asked, run = runs_of(naming(judged, 20, 25, 30))
    assert all_of(4, run, stopped=True) == (["run 1"], [])
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (StressOptions(profile="quick"), '--narrow: the stages of stress profile "quick" are no steps'),
        (StressOptions(profile="knee", keep=True), "--narrow 2: with --keep the cluster of each run stays"),
        (StressOptions(profile="knee", listen="127.0.0.1"), "--narrow 2: with --listen the workers leave"),
    ],
    ids=["no steps", "keep", "listen"],
)
def test_what_leaves_no_place_for_further_runs_is_refused(options: StressOptions, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        check_narrowing(options, 2)


def test_a_folder_that_a_further_run_would_take_is_refused_before_the_first_one(tmp_path: Path) -> None:
    options = StressOptions(profile="knee", run_dir=str(tmp_path / "run"))
    check_narrowing(options, 2)
    (tmp_path / "run-3").mkdir()
    with pytest.raises(UsageError, match="run-3 exists; further runs take numbers behind --run-dir"):
        check_narrowing(options, 2)
    check_narrowing(options, 1)


@pytest.mark.parametrize(
    ("codes", "worst"),
    [((0, 0), 0), ((0, 3), 3), ((1, 3), 1), ((3, 70, 1), 1), ((3, 70), 70), ((130, 1), 130)],
    ids=str,
)
def test_the_exit_code_is_that_of_the_worst_run(codes: tuple[int, ...], worst: int) -> None:
    assert worst_code(codes) == worst
