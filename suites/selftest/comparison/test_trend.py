"""Figures over many runs: equal runs depart rarely, a jump and a drift are found, and few runs are not judged."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.comparison.trend import (
    Departure,
    Trend,
    TrendLine,
    TrendPoint,
    line_of,
    sparkline,
    trend_document,
    trend_of,
    trend_of_conformance,
    trend_of_stress,
)
from crashloop.errors import UsageError
from crashloop.report.document import Table
from crashloop.report.results import Results
from crashloop.report.stress.results import Comparison
from crashloop.run.analysis import publish
from crashloop.rundir import RunDir
from crashloop.slo.compare import Effect, EffectReading
from crashloop.slo.measurements import Interval
from suites.selftest.kit.comparison_example import NEWER, ON_KIND, crashloop, judged
from suites.selftest.kit.report_example import INFO
from suites.selftest.kit.stress_comparison_example import stage, stress_run

STEADY = (10.0, 10.3, 9.8, 10.1, 9.9, 10.2, 10.0, 9.7, 10.1, 10.0)


def line(*values: float) -> TrendLine:
    return line_of("lateness_p50_s", [TrendPoint(f"run-{number}", value) for number, value in enumerate(values)])


def test_equal_runs_are_steady() -> None:
    found = line(*STEADY)
    assert found.departure is Departure.NONE
    assert (found.median, found.newest) == (10.0, 10.0)
    assert found.scatter_share == pytest.approx(0.0148, abs=0.001)


@pytest.mark.parametrize("newest", [12.0, 8.0])
def test_a_newest_run_far_off_is_a_jump(newest: float) -> None:
    assert line(*STEADY, newest).departure is Departure.JUMP


@pytest.mark.parametrize("by", [0.5, -0.5])
def test_five_runs_that_are_a_little_off_are_a_drift(by: float) -> None:
    assert line(*STEADY, *(10.0 + by + each for each in (0.0, 0.1, -0.1, 0.05, 0.0))).departure is Departure.DRIFT


def test_a_drift_needs_all_of_the_newest_on_one_side() -> None:
    assert line(*STEADY, 10.5, 10.5, 9.9, 10.5, 10.5).departure is Departure.NONE


def test_one_bad_run_among_those_before_hides_nothing() -> None:
    assert line(*STEADY[:5], 100.0, *STEADY[5:], 12.0).departure is Departure.JUMP


def test_few_runs_are_not_judged() -> None:
    assert line(*STEADY[:7], 99.0).departure is Departure.UNKNOWN
    assert line(*STEADY[:8], 99.0).departure is Departure.JUMP
    assert (line(5.0).scatter, line(5.0).median) == (None, 5.0)


def test_equal_values_have_a_scatter_of_a_hundredth() -> None:
    same = [3.0] * 9
    assert line(*same, 3.05).departure is Departure.NONE
    assert line(*same, 3.5).departure is Departure.JUMP
    assert line(*[0.0] * 9, 1.0).departure is Departure.JUMP  # of runs without a FAIL, the first with one


def test_normal_runs_without_a_change_depart_in_about_one_of_a_hundred_figures() -> None:
    generator = np.random.default_rng(1)
    for runs in (9, 12, 15, 20):
        found = [line(*generator.normal(100, 5, runs).tolist()).departure for _ in range(1000)]
        assert sum(each is not Departure.NONE for each in found) <= 20


def test_a_drift_by_three_scatters_is_found() -> None:
    generator = np.random.default_rng(2)
    found = [line(*generator.normal(100, 5, 15), *generator.normal(115, 5, 5)).departure for _ in range(200)]
    assert sum(each in (Departure.DRIFT, Departure.JUMP) for each in found) >= 160


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_every_line_has_a_bar_for_each_of_its_newest_points(values: list[float]) -> None:
    assert len(sparkline(line(*values))) == min(len(values), 20)


def many(results: Results, number: int) -> list[Results]:
    """The same run, day after day, newest first."""
    return [
        msgspec.structs.replace(
            results,
            run=f"runs/{day}",
            started=results.started + timedelta(days=day),
            finished=results.finished + timedelta(days=day),
        )
        for day in reversed(range(number))
    ]


def of_conformance(*runs: Results) -> Trend:
    return trend_of(trend_of_conformance(judged(each)) for each in runs)


def test_runs_are_grouped_by_what_makes_them_equal_in_the_order_of_their_begin() -> None:
    trend = of_conformance(*many(NEWER, 3), ON_KIND)
    assert [len(each.runs) for each in trend.groups] == [1, 3]
    assert trend.groups[1].runs == ("runs/0", "runs/1", "runs/2")


def test_a_conformance_run_has_its_outcomes_its_lateness_and_its_duration() -> None:
    (group,) = of_conformance(NEWER).groups
    figures = {each.figure: each.newest for each in group.lines}
    assert figures["duration_s"] == (NEWER.finished - NEWER.started).total_seconds()
    assert figures["FAIL, ERROR or INCONCLUSIVE"] == 4
    assert "lateness_p50_s" in figures


def test_a_stress_run_has_the_figures_of_stages_that_crash() -> None:
    run = stress_run(
        stages=(stage("baseline"), *(stage(crashing_pods=2, figures={"restarts_per_s": x}) for x in (4, 6)))
    )
    figures = trend_of_stress(run).figures
    assert figures == {"FAIL, ERROR or INCONCLUSIVE": 0, "storm: restarts_per_s": 5}


def effect(what: str = "CPU of the kubelet per restart", **changes: Any) -> Effect:
    """A primary effect of a comparison that read nothing from it."""
    shown: dict[str, Any] = {
        "what": what,
        "statistic": "mean",
        "unit": "CPU s/restart",
        "reading": EffectReading.UNDECIDED,
        "sentence": "",
        "pairs": 10,
        "samples": (10, 10),
        "primary": True,
        "ratio": 1.01,
        "ratio_interval": Interval(0.99, 1.03),
    }
    return Effect(**(shown | changes))


def compared(*effects: Effect, treatment: str = "max-1s", mix: str = "") -> dict[str, float]:
    """The figures of a trend from a run without stages."""
    comparison = Comparison(mix=mix, baseline="max-1s", treatment=treatment, effects=effects)
    figures = dict(trend_of_stress(stress_run(stages=(), comparisons=(comparison,))).figures)
    figures.pop("FAIL, ERROR or INCONCLUSIVE")
    return figures


def test_of_equal_kubelets_the_primary_effects_are_figures_with_their_intervals() -> None:
    assert compared(
        effect(), effect("memory of the kubelet", primary=False), effect("lateness", ratio=1.0), mix="m"
    ) == {
        "A/A, m, CPU of the kubelet per restart: log_ratio_percent": pytest.approx(0.995, abs=0.001),
        "A/A, m, CPU of the kubelet per restart: half_interval_percent": pytest.approx(1.980, abs=0.001),
        "A/A, m, lateness: log_ratio_percent": 0.0,
        "A/A, m, lateness: half_interval_percent": pytest.approx(1.980, abs=0.001),
    }


def test_an_effect_without_numbers_and_one_of_another_kubelet_are_no_scatter() -> None:
    assert compared(effect(ratio=None, ratio_interval=None)) == {}
    assert compared(effect(ratio_interval=Interval(0.0, 1.5))) == {}
    assert compared(effect(), treatment="max-1s-own-kubelet") == {}


def test_the_scatter_of_figures_around_0_is_in_their_own_unit() -> None:
    runs = [
        msgspec.structs.replace(
            run, run=f"runs/{day}", figures={"storm: restarts_per_s": 5 + ratio, "A/A: log_ratio_percent": ratio}
        )
        for day, ratio in enumerate((-0.5, 0.0, 0.5))
        for run in (trend_of_stress(stress_run()),)
    ]
    (table, *_) = trend_document(trend_of(runs)).sections[0].blocks
    assert isinstance(table, Table)
    assert [row.cells[5].words for row in table.rows] == ["14.8 %", "± 0.74"]


def test_an_alarm_comes_first_and_makes_the_exit_code_1() -> None:
    runs = many(NEWER, 10)
    slow = msgspec.structs.replace(runs[0], finished=runs[0].finished + timedelta(hours=1))
    document = trend_document(of_conformance(slow, *runs[1:]))
    (table, *_) = document.sections[0].blocks
    assert document.exit_code == 1
    assert document.headline.sentence == "1 departure from the runs before."
    assert isinstance(table, Table)
    assert table.rows[0].cells[1].words == "duration_s"


def test_steady_runs_and_too_few_of_them_have_exit_code_0() -> None:
    assert trend_document(of_conformance(*many(NEWER, 10))).headline.label == "STEADY"
    few = trend_document(of_conformance(*many(NEWER, 3)))
    assert (few.headline.label, few.exit_code) == ("TOO FEW RUNS", 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for each in many(NEWER, 9):
        publish(RunDir.create(tmp_path / each.run, INFO), each)
    RunDir.create(tmp_path / "runs" / "interrupted", INFO)
    (tmp_path / "runs" / "latest").symlink_to("8")
    return tmp_path / "runs"


def test_the_command_follows_the_judged_runs_of_a_folder(folder: Path) -> None:
    result = crashloop("trend", "--json", folder)
    found = json.loads(result.stdout)
    assert (result.exit_code, found["format"], len(found["groups"])) == (0, "crashloop.trend/1", 1)
    assert len(found["groups"][0]["runs"]) == 9
    assert "interrupted: was not judged yet, and is left out" in result.stderr


def test_a_damaged_run_is_named_and_left_out(folder: Path) -> None:
    (folder / "4" / "results.json").write_text("{", encoding="utf-8")
    (folder / "5" / "run.json").write_text("[]", encoding="utf-8")
    for folders in ([folder], sorted(folder.iterdir())):
        result = crashloop("trend", "--json", *folders)
        assert result.exit_code == 0
        assert json.loads(result.stdout)["groups"][0]["runs"] == [f"runs/{day}" for day in (0, 1, 2, 3, 6, 7, 8)]
        assert "4: is left out; " in result.stderr
        assert "5: is left out; " in result.stderr


def test_a_run_that_is_damaged_is_refused_alone(folder: Path) -> None:
    (folder / "4" / "results.json").write_text("{", encoding="utf-8")
    result = crashloop("trend", folder / "4")
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).startswith(f"{folder / '4'}: holds no judged run.")


def test_a_folder_without_judged_runs_is_refused(tmp_path: Path) -> None:
    result = crashloop("trend", tmp_path)
    assert isinstance(result.exception, UsageError)
    assert "holds no judged run" in str(result.exception)
