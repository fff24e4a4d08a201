"""The prediction of a stage is that of `crashloop predict` for its crashing pods, or there is none."""

import msgspec
import pytest

from crashloop.model.config import Curve
from crashloop.predict.costs import MEASURED
from crashloop.predict.load import CrashLoad, predict, settled_per_s
from crashloop.spec.pod import Action, Operator, RestartPolicy, RestartRule
from crashloop.stress.costing import predicted_per_s
from crashloop.stress.loads import AnyLoad, Crash
from crashloop.stress.profile import Stage
from suites.selftest.kit.stress_kit import CRASHERS, HEALTHY, MAX_1S, STOCK, plan

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
