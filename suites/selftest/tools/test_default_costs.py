"""The default costs of predictions are those of the published runs, and only of runs that have them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from crashloop.model.config import Curve
from crashloop.predict.costs import COSTED, MEASURED, MEASURED_FILE, SOURCES
from crashloop.predict.load import CrashLoad, predict
from crashloop.report.stress.results import StageResult, StressResults
from tools.default_costs import BENCHMARK, LONG, LOWEST, RESTING, UnfitRunError, default_costs, stage_of, text_of

Change = Callable[[StressResults], StressResults]


def read(name: str) -> StressResults:
    return msgspec.json.decode((BENCHMARK / f"{name}.slo.json").read_bytes(), type=StressResults)


def changed(folder: Path, name: str, change: Change) -> Path:
    """The published runs, one of them changed."""
    for each in (LOWEST, LONG, RESTING):
        shutil.copy(BENCHMARK / f"{each}.slo.json", folder)
    (folder / f"{name}.slo.json").write_bytes(msgspec.json.encode(change(read(name))))
    return folder


def test_they_follow_from_the_published_runs() -> None:
    assert MEASURED_FILE.read_text(encoding="utf-8") == text_of(default_costs(BENCHMARK)), (
        "run `python -m tools.default_costs --write`"
    )


def test_the_costs_at_the_lowest_maximum_are_word_for_word_those_of_the_costs_json_beside_the_page() -> None:
    published = msgspec.json.decode((BENCHMARK / f"{LOWEST}.costs.json").read_bytes())["by_load"]
    lowest = [msgspec.to_builtins(each) for each in MEASURED.by_load if each.maximum_s == 1]
    assert [{name: each[name] for name in COSTED} for each in lowest] == [
        {name: each[name] for name in COSTED} for each in published
    ]


def test_every_load_has_an_interval_around_each_of_its_costs() -> None:
    for at in MEASURED.by_load:
        named = (*COSTED, "overhead_s") if at.overhead_s is not None else COSTED
        for name in named:
            lower, upper = at.intervals[name]
            assert lower <= getattr(at, name) <= upper, (at.maximum_s, name)


def test_the_loads_reach_from_the_lowest_maximum_to_the_default_one() -> None:
    assert {each.maximum_s for each in MEASURED.by_load} == {1, 60, 300}
    assert [each.profile for each in SOURCES] == [LOWEST, LONG, RESTING]


def test_what_nodes_use_at_rest_is_no_cost_of_a_restart() -> None:
    """Without it the API server and etcd do as much for a restart at 300 s as for one at 1 s, within the intervals."""
    settled, quick = MEASURED.by_load[-1], MEASURED.by_load[0]
    for name in ("apiserver_cpu_s", "etcd_cpu_s"):
        lower, upper = settled.intervals[name]
        assert lower <= getattr(quick, name) <= upper, name


def test_an_overhead_is_unknown_where_each_pod_restarted_a_few_times() -> None:
    assert {each.maximum_s for each in MEASURED.by_load if each.overhead_s is not None} == {1}


def test_they_give_the_rates_of_the_run_that_they_are_from() -> None:
    for at in MEASURED.by_load:
        pods = stage_of(at, read(LOWEST if at.overhead_s is not None else LONG)).crashing_pods
        load = CrashLoad(nodes=1, pods=pods, curve=Curve(min(10.0, at.maximum_s), at.maximum_s), cores=MEASURED.cores)
        exact = 0.001 if at.overhead_s is not None else 0.06
        assert predict(load, MEASURED).restarts_per_s == pytest.approx(at.restarts_per_s, rel=exact)


def without_costs(run: StressResults) -> StressResults:
    return msgspec.structs.replace(run, costs=None)


def of_longer_lives(run: StressResults) -> StressResults:
    assert run.costs is not None
    source = run.costs.source.replace("runs 0 s", "runs 2 s")
    return msgspec.structs.replace(run, costs=msgspec.structs.replace(run.costs, source=source))


def under_load_only(run: StressResults) -> StressResults:
    return msgspec.structs.replace(run, stages=tuple(each for each in run.stages if each.crashing_pods))


def with_a_rest(run: StressResults) -> StressResults:
    return msgspec.structs.replace(run, stages=(*run.stages, StageResult(name="baseline", from_s=0, to_s=60)))


def restarting_throughout(run: StressResults) -> StressResults:
    stages = (msgspec.structs.replace(each, figures={**each.figures, "restarts_per_s": 0.1}) for each in run.stages)
    return msgspec.structs.replace(run, stages=tuple(stages))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (LONG, without_costs, "at-the-cap: no costs by load; expected those of a host below its limit."),
        (
            LONG,
            of_longer_lives,
            "at-the-cap: costs of 'load at-the-cap, stage storm, delays of 300 s (110 x a pod with 1 ",
        ),
        (LOWEST, under_load_only, "knee: no stage without crashing pods; expected one, whose use is subtracted."),
        (
            LONG,
            with_a_rest,
            "at-the-cap: a stage without crashing pods, whose use is subtracted already; expected none.",
        ),
        (
            RESTING,
            restarting_throughout,
            "settled: pods restarted in every stage; expected one in which all of them waited.",
        ),
    ],
    ids=["no-costs", "longer-lives", "no-rest", "rest", "no-waiting"],
)
def test_a_run_that_has_none_is_refused(name: str, change: Change, message: str, tmp_path: Path) -> None:
    with pytest.raises(UnfitRunError) as raised:
        default_costs(changed(tmp_path, name, change))
    assert str(raised.value).startswith(message)
