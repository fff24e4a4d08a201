"""A simulated node: restarts come as curve, lateness and CPU allow; where the closed form is exact the two agree."""

from itertools import islice

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashloop.model.config import DEFAULT_CURVE, Curve
from crashloop.model.restart_counts import delays_s, restarts_by
from crashloop.predict.load import CrashLoad, LoadPrediction, mean_wait_s, node_of, overhead_s, predict
from crashloop.predict.simulation import Simulated, SimulatedNode, simulate
from suites.selftest.kit.predict_kit import COSTS, ONE_SECOND


def played(
    containers: int = 1,
    *,
    curve: Curve = ONE_SECOND,
    run_s: float = 0.0,
    places: int = 2,
    until_s: float = 100,
    **more: float,
) -> Simulated:
    node = SimulatedNode(
        containers=containers,
        curve=curve,
        run_s=run_s,
        places=places,
        service_s=more.get("service_s", 0.1),
        find_s=more.get("find_s", 0.5),
    )
    return simulate(node, until_s=until_s)


def test_the_first_restart_is_free_and_the_others_wait_for_their_delay() -> None:
    found = played(curve=Curve(10.0, 40.0), run_s=2.0, until_s=200)
    exits_s = np.concatenate(([2.0], np.array(found.started_s[:-1]) + 2.0))
    waits_s = np.array(found.created_s) - exits_s
    assert waits_s[0] == pytest.approx(0.5)
    for wait_s, due_s in zip(waits_s[1:], (10, 20, 40, 40, 40), strict=False):
        assert due_s + 0.5 <= wait_s <= 1.5 * due_s + 0.5
    assert found.late_s[1] == pytest.approx(waits_s[1] - 10)
    assert (np.array(found.started_s) - np.array(found.created_s)).tolist() == pytest.approx(
        [0.1] * len(found.started_s)
    )


def test_a_window_has_the_mean_delay_of_its_restarts() -> None:
    found = played(curve=Curve(10.0, 40.0), until_s=200)
    first, settled = found.window(0.0, 2.0), found.window(100.0, 200.0)
    assert (first.mean_delay_s, settled.mean_delay_s) == (0.0, 40.0)
    assert 0.0 < found.window(0.0, 30.0).mean_delay_s < 10.0
    assert found.window(2.0, 5.0).mean_delay_s == 0.0  # no restart


def test_lateness_by_jitter_is_thirty_seconds_at_the_most() -> None:
    found = played(400, curve=Curve(300.0, 300.0), places=400, until_s=700, find_s=0.0)
    late_s = found.late_s[400:]
    assert min(late_s) >= 0
    assert 29 < max(late_s) <= 30
    assert np.mean(late_s) == pytest.approx(15, rel=0.05)


def test_restarts_queue_first_come_first_served_where_places_are_few() -> None:
    found = played(5, places=1, service_s=1.0, find_s=0.0, until_s=5)
    assert found.created_s[:5] == [0, 1, 2, 3, 4]
    assert found.late_s[:5] == [0, 1, 2, 3, 4]
    assert sorted(found.created_s) == found.created_s


def test_the_same_node_gives_the_same_restarts() -> None:
    one, other = played(20), played(20)
    assert one.started_s == other.started_s


def test_a_simulation_that_ends_early_says_up_to_when_it_is_complete() -> None:
    node = SimulatedNode(containers=10, curve=ONE_SECOND, run_s=0, places=1, service_s=0.1, find_s=0.1)
    whole, cut = simulate(node, until_s=100), simulate(node, until_s=100, most=200)
    assert whole.until_s == 100
    assert cut.until_s < 40
    assert cut.window(0, cut.until_s) == whole.window(0, cut.until_s)


def test_a_window_without_restarts_has_no_lateness() -> None:
    window = played(curve=Curve(50.0, 50.0)).window(2, 40)
    assert (window.restarts_per_s, window.lateness_p50_s, window.lateness_p99_s) == (0, None, None)


def of(pods: int, *, nodes: int = 2, curve: Curve = ONE_SECOND, **more: float) -> LoadPrediction:
    return predict(CrashLoad(nodes=nodes, pods=pods, curve=curve, **{"cores": 4.0, **more}), COSTS)  # type: ignore[arg-type]


SHORT = st.sampled_from([ONE_SECOND, Curve(2, 2), Curve(10, 10), Curve(1, 8)])
RUNS = st.sampled_from([0.0, 0.5, 2.0])
CORES = st.sampled_from([1.0, 2.0, 4.0, 8.0])


@settings(max_examples=40, deadline=None)
@given(SHORT, RUNS, CORES, st.floats(0.05, 0.7))
def test_below_the_knee_simulation_and_closed_form_agree(
    curve: Curve, run_s: float, cores: float, share: float
) -> None:
    pods = max(1, int(share * of(1, curve=curve, run_s=run_s, cores=cores).knee_pods))
    found = of(pods, curve=curve, run_s=run_s, cores=cores)
    assert found.first[-1].restarts_per_s == pytest.approx(found.curve_per_s, rel=0.1)
    assert not found.is_bound


@settings(max_examples=40, deadline=None)
@given(SHORT, RUNS, CORES, st.floats(1.5, 6.0))
def test_above_the_knee_the_simulated_rate_is_what_the_cpu_gives(
    curve: Curve, run_s: float, cores: float, share: float
) -> None:
    pods = int(share * of(1, curve=curve, run_s=run_s, cores=cores).knee_pods) + 1
    found = of(pods, curve=curve, run_s=run_s, cores=cores)
    assert found.first[-1].restarts_per_s == pytest.approx(found.ceiling_per_s, rel=0.05)
    assert found.is_bound


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 5000), st.integers(1, 110), SHORT)
def test_nodes_scale_linearly_and_lateness_not_at_all(nodes: int, pods: int, curve: Curve) -> None:
    one, many = of(pods, nodes=1, curve=curve), of(pods, nodes=nodes, curve=curve)
    assert many.lateness_p99_s == one.lateness_p99_s
    for mine, alone in zip(many.first, one.first, strict=True):
        assert mine.restarts_per_s == pytest.approx(nodes * alone.restarts_per_s)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 109), SHORT)
def test_more_pods_are_never_less_late(pods: int, curve: Curve) -> None:
    less, more = of(pods, curve=curve), of(2 * pods, curve=curve)
    assert less.lateness_p50_s is not None
    assert more.lateness_p50_s is not None
    assert less.lateness_p50_s <= 1.1 * more.lateness_p50_s


def test_the_whole_default_curve_agrees_with_the_closed_form() -> None:
    load = CrashLoad(nodes=2, pods=100, curve=DEFAULT_CURVE, cores=64.0)
    waits_s = [mean_wait_s(delay_s, overhead_s(load, COSTS)) for delay_s in islice(delays_s(DEFAULT_CURVE), 50)]
    for window in predict(load, COSTS).first:
        restarts = restarts_by(iter(waits_s), window.to_s) - restarts_by(iter(waits_s), window.from_s)
        assert window.restarts_per_s == pytest.approx(200 * restarts / (window.to_s - window.from_s), rel=0.1), window


def test_a_restart_on_a_free_cpu_takes_as_long_as_was_measured() -> None:
    costs = msgspec.structs.replace(COSTS, overhead_s=0.9)
    node = node_of(CrashLoad(nodes=2, pods=1, curve=ONE_SECOND, cores=4.0), costs)
    assert node.find_s + node.service_s == pytest.approx(0.9)
    found = simulate(node, until_s=10)
    assert found.started_s[0] == pytest.approx(0.9)
