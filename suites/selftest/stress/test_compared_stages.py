"""A run directory with two mixes is judged by rows that compare them, and by the prediction of each.

The prediction of a stage is that of `crashloop predict` for its crashing pods, or there is none.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from crashloop.model.config import Curve
from crashloop.predict.costs import MEASURED, SOURCES, Source
from crashloop.predict.load import CrashLoad, predict, settled_per_s
from crashloop.report.stress.results import StressResults
from crashloop.spec.pod import Action, Operator, RestartPolicy, RestartRule
from crashloop.stress.costing import predicted_per_s
from crashloop.stress.judging import judge_run
from crashloop.stress.loads import AnyLoad, Crash
from crashloop.stress.profile import Slos, Stage, loaded_in
from crashloop.verdict import Outcome
from suites.selftest.kit.stress_kit import CRASHERS, HEALTHY, MAX_1S, STOCK, Folder, crashing, plan

ROWS = """
description: made up
slos:
  - id: as-often
    sli: {kind: relative, of: {kind: rate, of: restarts}, unit: restarts/s, to: {mix: plain}}
    target: {at_most: 1.5, unit: times}
    phase: storm
    mixes: [rules]
    definition: restarts of one mix against the other
    source: made up
  - id: predicted
    sli: {kind: relative, of: {kind: rate, of: restarts}, unit: restarts/s, to: prediction, by: percent}
    target: {at_most: 15, unit: "%"}
    phase: storm
    mixes: [rules]
    definition: restarts against their prediction
    source: made up
"""
PLAIN = Stage(name="storm", mix="plain", duration_s=40, users={"crashers": 1}, settle_s=5)


def judged(folder: Path, *, cycle_s: float, started: datetime | None = None) -> StressResults:
    """One pod per mix: plain restarts every 2.8 s, the other every `cycle_s`."""
    (folder / "own.yaml").write_text(ROWS, encoding="utf-8")
    loads = {"crashers": CRASHERS, "ruled": CRASHERS}
    stages = (PLAIN, msgspec.structs.replace(PLAIN, mix="rules", users={"ruled": 1}))
    slos = Slos(files=(str(folder / "own.yaml"),))
    run = Folder(folder / "run", plan(loads=loads, stages=stages, slos=slos))
    run.marks(
        *((index, what, 50 * index + at, 1) for index in range(2) for what, at in (("measure", 5), ("drain", 45)))
    )
    run.write(run.pod("crashers-0-0", *crashing(0.5, 0.5, *([2.3] * 17)), ends_s=48.0))
    run.write(run.pod("ruled-0-0", *crashing(50.5, 0.5, *([cycle_s - 0.5] * round(48 / cycle_s))), ends_s=99.0))
    times = [*range(0, 101, 5)]
    quiet: Mapping[tuple[str, tuple[tuple[str, str], ...]], Sequence[float]] = {
        ("host_cpu_seconds_total", (("mode", "busy"),)): [0.4 * at for at in times],
        ("host_cpu_seconds_total", (("mode", "idle"),)): [1.6 * at for at in times],
        ("component_cpu_seconds_total", (("component", "runtime"),)): [0.3 * at for at in times],
    }
    run.scrape("processes", times, quiet)
    if started is not None:
        run.run.write(run.run.run_json, msgspec.structs.replace(run.run.info(), started=started))
    return judge_run(run.run)


@pytest.mark.parametrize(
    ("cycle_s", "alike", "predicted"), [(2.8, Outcome.PASS, Outcome.PASS), (1.6, Outcome.FAIL, Outcome.FAIL)]
)
def test_stages_are_compared_with_each_other_and_with_their_prediction(
    tmp_path: Path, cycle_s: float, alike: Outcome, predicted: Outcome
) -> None:
    found = {each.slo: each for each in judged(tmp_path, cycle_s=cycle_s).verdicts}
    assert {name: found[name].outcome for name in ("as-often", "predicted")} == {
        "as-often": alike,
        "predicted": predicted,
    }
    assert "in phase storm, plain." in found["as-often"].sentence
    assert "restarts/s predicted." in found["predicted"].sentence


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.profile)
def test_a_run_that_the_default_costs_are_from_is_not_judged_by_them(tmp_path: Path, source: Source) -> None:
    found = {each.slo: each for each in judged(tmp_path, cycle_s=2.8, started=source.started).verdicts}
    assert {name: found[name].outcome for name in ("as-often", "predicted")} == {
        "as-often": Outcome.PASS,
        "predicted": Outcome.INCONCLUSIVE,
    }
    assert (
        "nothing predicts its restarts: the default costs of crashloop predict are from this run, which would be judged by "
        "itself."
    ) in found["predicted"].sentence


HOSTS = {"base": "node-1", "treat": "node-2"}


@pytest.mark.parametrize(
    ("exchanged", "host"), [(None, "node-2"), (("base", "treat"), "node-1")], ids=["own-places", "changed-places"]
)
def test_a_stage_loads_the_hosts_that_its_nodes_have_in_it(exchanged: tuple[str, str] | None, host: str) -> None:
    loads = {"of-treat": msgspec.structs.replace(CRASHERS, node="treat"), "idle": CRASHERS}
    stage = Stage(name="storm", duration_s=10, users={"of-treat": 2, "idle": 0}, exchanged=exchanged)
    assert list(loaded_in(stage, loads, HOSTS)) == [host]


LOWEST = Curve(initial_s=1.0, maximum_s=1.0)
STAGE = Stage(name="storm", duration_s=60, users={"healthy": 1, "crashers": 4}, settle_s=5)


def test_it_is_that_of_the_command() -> None:
    load = CrashLoad(nodes=1, pods=4, curve=LOWEST, run_s=0.5, cores=2.0)
    assert predicted_per_s(plan(), STAGE) == pytest.approx(predict(load, MEASURED).restarts_per_s)


@pytest.mark.parametrize("pods", [1, 20, 110])
def test_the_rate_alone_is_that_of_the_whole_prediction(pods: int) -> None:
    load = CrashLoad(nodes=3, pods=pods, curve=LOWEST)
    assert settled_per_s(load, MEASURED) == pytest.approx(predict(load, MEASURED).restarts_per_s)


def test_pods_that_stay_down_are_not_among_them() -> None:
    half = msgspec.structs.replace(CRASHERS, succeeding=0.5, restart_policy=RestartPolicy.ON_FAILURE)
    found = predicted_per_s(plan(loads={"healthy": HEALTHY, "crashers": half}), STAGE)
    fewer = msgspec.structs.replace(STAGE, users={"crashers": 2})
    assert found is not None
    assert found == predicted_per_s(plan(), fewer)


ALL = RestartRule(action=Action.RESTART_ALL_CONTAINERS, operator=Operator.IN, values=(88,))


@pytest.mark.parametrize(
    "loads",
    [
        {"healthy": HEALTHY, "crashers": HEALTHY},
        {"healthy": CRASHERS, "crashers": CRASHERS},
        {"healthy": HEALTHY, "crashers": Crash(node="storm", exit_code=88, rule=ALL)},
    ],
    ids=["nothing-crashes", "two-loads", "restarts-all"],
)
def test_other_loads_have_none(loads: dict[str, AnyLoad]) -> None:
    assert predicted_per_s(plan(loads=loads), STAGE) is None


def test_delays_that_still_grow_have_none() -> None:
    assert predicted_per_s(plan(STOCK), STAGE) is None
    settled = msgspec.structs.replace(STAGE, settle_s=600)
    assert predicted_per_s(plan(STOCK), settled) is not None
    assert predicted_per_s(plan(MAX_1S), msgspec.structs.replace(STAGE, settle_s=0)) is None
