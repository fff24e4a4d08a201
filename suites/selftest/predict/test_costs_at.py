"""Costs of a restart depend on load and delay where a costs file has them, and are the same everywhere where it has not."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.errors import UsageError
from crashloop.model.config import DEFAULT_CURVE
from crashloop.predict.costs import COSTED, Costs, CostsAt, costs_at, read_costs
from crashloop.predict.load import CrashLoad, predict
from crashloop.predict.text import by_load_rows, costs_in_words
from suites.selftest.kit.predict_kit import COSTS, ONE_SECOND


def at(restarts_per_s: float, api_requests: float, *, maximum_s: float = 1.0, **more: object) -> CostsAt:
    base = {name: getattr(COSTS, name) for name in COSTED} | {"api_requests": api_requests}
    row = {"restarts_per_s": restarts_per_s, "maximum_s": maximum_s, "restarts": 100} | base | more
    return msgspec.convert(row, CostsAt)


def with_loads(*rows: CostsAt) -> Costs:
    return msgspec.structs.replace(COSTS, by_load=rows)


TWO = with_loads(at(8.0, 6.0), at(2.0, 8.0))


@pytest.mark.parametrize(("rate", "requests"), [(0.1, 8.0), (2.0, 8.0), (5.0, 7.0), (8.0, 6.0), (100.0, 6.0)])
def test_between_two_rates_costs_are_linear_and_outside_those_of_the_nearest(rate: float, requests: float) -> None:
    assert costs_at(TWO, rate, 1.0).api_requests == requests


@given(st.floats(0, 100))
def test_costs_without_loads_are_the_same_everywhere(rate: float) -> None:
    assert costs_at(COSTS, rate, 300.0) is COSTS


@pytest.mark.parametrize(
    ("delay_s", "requests"),
    [(0.0, 7.0), (1.0, 7.0), (30.5, 7.5), (60.0, 8.0), (180.0, 10.0), (300.0, 12.0), (600.0, 12.0)],
)
def test_between_two_delays_costs_are_linear_and_outside_those_of_the_nearest(delay_s: float, requests: float) -> None:
    known = with_loads(*TWO.by_load, at(1.4, 8.0, maximum_s=60.0), at(0.1, 12.0, maximum_s=300.0))
    assert costs_at(known, 5.0, delay_s).api_requests == pytest.approx(requests)


def test_an_overhead_is_that_of_the_rate_wherever_it_is_known() -> None:
    known = with_loads(at(2.0, 8.0, overhead_s=0.8), at(8.0, 6.0, overhead_s=1.2), at(0.1, 12.0, maximum_s=300.0))
    assert costs_at(known, 5.0, 300.0).overhead_s == pytest.approx(1.0)
    assert costs_at(with_loads(at(8.0, 6.0)), 5.0, 1.0).overhead_s == COSTS.overhead_s


def test_a_window_costs_what_its_restarts_cost_and_not_those_at_the_maximum() -> None:
    known = with_loads(at(2.0, 6.0), at(0.1, 12.0, maximum_s=300.0))
    found = predict(CrashLoad(nodes=1, pods=4, curve=DEFAULT_CURVE, cores=4.0), known)
    requests = [each.api_requests_per_s / each.restarts_per_s for each in found.first]
    assert requests[0] == pytest.approx(6.0)  # restarts without a delay
    assert requests[-1] == pytest.approx(12.0)
    assert requests == sorted(requests)


def test_a_prediction_uses_the_costs_of_its_load() -> None:
    few, many = (predict(CrashLoad(nodes=1, pods=pods, curve=ONE_SECOND, cores=4.0), TWO) for pods in (2, 16))
    assert few.api_requests_per_s == pytest.approx(few.restarts_per_s * 8.0)
    assert many.api_requests_per_s == pytest.approx(many.restarts_per_s * 6.0)
    assert many.first[-1].api_requests_per_s < many.first[-1].restarts_per_s * 6.1


def test_each_cost_is_shown_with_its_interval() -> None:
    known = with_loads(at(8.0, 6.0, intervals={"api_requests": (5.5, 6.5), "kubelet_cpu_s": (0.04, 0.06)}))
    timed = with_loads(at(8.0, 6.0, overhead_s=0.9, intervals={"overhead_s": (0.8, 1.1)}))
    (row,), (with_overhead,) = by_load_rows(known), by_load_rows(timed)
    assert (row[-1], with_overhead[-1]) == ("–", "0.9 (0.8 to 1.1)")
    assert row[:6] == ("8", "1 s", "100", "6 (5.5 to 6.5)", "3", "50 (40 to 60)")
    assert "5 (4 to 6) API requests" in costs_in_words(
        msgspec.structs.replace(COSTS, intervals={"api_requests": (4, 6)})
    )


@pytest.mark.parametrize("wrong", [{"restarts_per_s": 0}, {"maximum_s": -1}, {"etcd_cpu_s": -0.1}])
def test_loads_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    row = msgspec.structs.replace(at(8.0, 6.0), **wrong)
    with pytest.raises(UsageError, match=f"by_load: {next(iter(wrong))} is "):
        read_costs(msgspec.json.encode(with_loads(row)), name="costs.json")
