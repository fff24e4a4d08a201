"""Runs of a load in steps follow each other, each with the steps that the one before names."""

from collections.abc import Callable

import msgspec
import pytest

from crashloop.report.stress.results import StressResults
from crashloop.slo.types import SloVerdict
from crashloop.stress.judging import judge_run
from crashloop.stress.narrowing import narrowing, worst_code
from crashloop.stress.run import StressOptions
from crashloop.verdict import ExitCode, Outcome
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


def test_each_run_has_the_steps_that_the_one_before_names(judged: StressResults) -> None:
    asked, run = runs_of(naming(judged, 20, 25, 30), naming(judged, 25, 26, 27), naming(judged))
    assert [found for found, _ in narrowing(OPTIONS, 4, run)] == ["run 1", "run 2", "run 3"]
    assert [each.steps for each in asked] == [(), (20, 25, 30), (25, 26, 27)]
    assert [each.run_dir for each in asked] == ["runs/knee", "runs/knee-2", "runs/knee-3"]


def test_no_more_runs_than_wanted_follow(judged: StressResults) -> None:
    for more in (0, 1):
        asked, run = runs_of(naming(judged, 20, 25, 30), naming(judged, 25, 26, 27))
        assert len(list(narrowing(OPTIONS, more, run))) == len(asked) == more + 1


def test_nothing_follows_an_interrupted_run(judged: StressResults) -> None:
    interrupted = msgspec.structs.replace(naming(judged, 20, 25, 30), exit_code=ExitCode.INTERRUPTED)
    asked, run = runs_of(interrupted)
    assert len(list(narrowing(OPTIONS, 4, run))) == len(asked) == 1


@pytest.mark.parametrize(
    ("codes", "worst"), [((0, 0), 0), ((0, 3), 3), ((1, 3), 1), ((3, 70, 1), 70), ((130, 1), 130)], ids=str
)
def test_the_exit_code_is_that_of_the_worst_run(codes: tuple[int, ...], worst: int) -> None:
    assert worst_code(codes) == worst
