"""Predictions follow from curve, cost and limits: nothing is invented, more load costs more, and the knee is where it bends.

What crashing pods use of a control plane follows from their rates; the nearest limit is the one with the least headroom.
Crashing pods are spread over nodes as evenly as whole pods allow.
"""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.errors import UsageError
from crashloop.model.config import DEFAULT_CURVE, Curve
from crashloop.predict.costs import MEASURED, Costs, read_costs
from crashloop.predict.costs import STORED_BYTES_PER_WRITE as STORED
from crashloop.predict.limits import KUBELET_SEATS, ControlPlaneLimit, limits, tightest
from crashloop.predict.load import CrashLoad, Limit, LoadPrediction, Spread, crashing_pods, predict, share_of, spread
from crashloop.predict.text import predictions
from suites.selftest.kit.predict_kit import COSTS, ONE_SECOND


def of(pods: int, *, nodes: int = 1, curve: Curve = ONE_SECOND, costs: Costs = COSTS, **more: float) -> LoadPrediction:
    return predict(CrashLoad(nodes=nodes, pods=pods, curve=curve, **{"cores": 4.0, **more}), costs)  # type: ignore[arg-type]


def test_below_the_knee_the_curve_is_the_limit() -> None:
    found = of(4, nodes=10)
    assert (found.limit, found.restarts_per_s, found.at_most_per_s) == (Limit.CURVE, 20, 40)  # each pod once in 2 s
    assert found.at_least_per_s == pytest.approx(40 / 4.5)
    assert (found.api_requests_per_s, found.etcd_writes_per_s) == (100, 60)
    assert (found.kubelet_cores, found.runtime_cores) == pytest.approx((0.1, 0.3))
    assert (found.apiserver_cores, found.etcd_cores) == pytest.approx((0.4, 0.2))


def test_the_client_rate_limits_bound_requests_and_slow_no_restart() -> None:
    found = of(39, nodes=2, kube_api_qps=20, event_record_qps=10)
    assert (found.limit, found.restarts_per_s, found.merges_statuses) == (Limit.CURVE, 39, True)
    assert found.api_requests_per_s == pytest.approx(2 * 30)
    assert found.etcd_writes_per_s == pytest.approx(2 * 30 * 3 / 5)
    assert found.first[0].api_requests_per_s <= 2 * 30
    assert not of(4).merges_statuses


def test_the_nodes_cpu_is_the_knee() -> None:
    found = of(110)
    assert (found.limit, found.restarts_per_s, found.knee_pods) == (Limit.NODE_CPU, 20, 40)
    assert of(40).restarts_per_s == of(41).restarts_per_s == 20
    assert found.kubelet_cores + found.runtime_cores == pytest.approx(4)


def test_what_a_node_sustained_wins_over_what_costs_add_up_to() -> None:
    driven = msgspec.structs.replace(COSTS, sustained_per_s=3.0)
    assert of(110, costs=driven).restarts_per_s == 6  # measured on 2 cores, asked for 4


def test_a_lone_node_shares_its_cores_with_the_control_plane_if_that_was_measured_so() -> None:
    shared = msgspec.structs.replace(COSTS, shared_host=True)
    assert of(110, costs=shared).restarts_per_s == pytest.approx(4 / 0.23)
    assert of(110, nodes=2, costs=shared).restarts_per_s == pytest.approx(2 * 20)


def test_after_the_start_of_all_the_curve_is_gone_through() -> None:
    first = {(window.from_s, window.to_s): window for window in of(10, curve=DEFAULT_CURVE).first}
    # Restarts at 0.75 (free), 14, 39.75, 90.5, 191.25 (late by 15 s at most from 60 s on) s and so on.
    for (from_s, to_s), restarts in (((0.0, 10.0), 1), ((10.0, 30.0), 1), ((30.0, 70.0), 1)):
        window = first[(from_s, to_s)]
        assert window.restarts_per_s == pytest.approx(10 * restarts / (to_s - from_s))


def test_costs_measured_at_the_limit_do_not_count_the_waiting_twice() -> None:
    waited = msgspec.structs.replace(COSTS, overhead_s=10.6, sustained_per_s=9.0, cores=2.0)
    assert of(110, cores=2.0, costs=waited).knee_pods > 100  # 11.85 s a cycle: the waiting was taken for overhead
    told = of(110, cores=2.0, costs=msgspec.structs.replace(waited, saturated=True))
    assert (told.limit, told.restarts_per_s) == (Limit.NODE_CPU, 9.0)
    assert told.knee_pods == pytest.approx(9 * (1.25 + 0.5 + 2 / 9))


def test_the_overhead_is_that_of_the_load_and_the_knee_that_of_the_node() -> None:
    few, many = of(5, cores=2.0, costs=MEASURED), of(20, cores=2.0, costs=MEASURED)
    assert few.restarts_per_s / 5 > 1.05 * many.restarts_per_s / 20
    assert few.knee_pods == many.knee_pods


def test_costs_with_one_overhead_only_have_it_under_every_load() -> None:
    loads = tuple(msgspec.structs.replace(each, overhead_s=None) for each in MEASURED.by_load)
    earlier = msgspec.structs.replace(MEASURED, by_load=loads)
    assert of(5, cores=2.0, costs=earlier).restarts_per_s == pytest.approx(5 / (1.25 + MEASURED.overhead_s))


def test_a_load_too_large_to_simulate_tells_how_far_it_was() -> None:
    found = of(1000, cores=1000.0, containers=10)
    assert found.first[-1].to_s < 1800
    assert found.notes[-1].startswith("So many restarts that only the first ")
    assert of(40).notes[-1:] != found.notes[-1:]


def test_beyond_official_thresholds_is_reported() -> None:
    assert of(20).notes == ()
    assert of(110, nodes=5000, cores=8).notes == (
        "110 pods per node are more than the 80 that official SLOs hold for (min(110, 10 x cores)).",
        "550,000 pods are more than the 150,000 that official SLOs hold for.",
    )
    assert of(1, nodes=6000).notes == ("6,000 nodes are more than the 5,000 that official SLOs hold for.",)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("nodes", 0, "nodes is 0; expected 1 or more."),
        ("pods", -1, "pods is -1; expected 1 or more."),
        ("containers", 0, "containers is 0; expected 1 or more."),
        ("run_s", -0.5, "run_s is -0.5; expected 0 or more."),
        ("run_s", float("nan"), "run_s is nan; expected 0 or more."),
        ("cores", 0.0, "cores is 0; expected a number above zero."),
        ("kube_api_qps", float("inf"), "kube_api_qps is inf; expected a number above zero."),
    ],
)
def test_a_load_that_makes_no_sense_is_refused(field: str, value: float, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        CrashLoad(**{"nodes": 1, "pods": 1, "curve": ONE_SECOND, field: value})  # type: ignore[arg-type]
    assert str(raised.value) == message


def test_costs_come_from_a_file() -> None:
    assert read_costs(msgspec.json.encode(COSTS), name="costs.json") == COSTS


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"api_requests": 0}, "costs c.json: api_requests is 0; expected a number above zero."),
        ({"etcd_cpu_s": -1}, "costs c.json: etcd_cpu_s is -1; expected a number that is not negative."),
        ({"restarts": 0}, "costs c.json: restarts is 0; nothing was measured."),
        ({"sustained_per_s": 0}, "costs c.json: sustained_per_s is 0; expected a number above zero, or null."),
        ({"cores": "two"}, "costs c.json: cores: expected a number, not text."),
        ({"format": "crashloop.costs/9"}, "costs c.json: format 'crashloop.costs/9'; this version reads"),
    ],
)
def test_costs_that_make_no_sense_are_refused(changes: dict[str, object], message: str) -> None:
    raw = msgspec.to_builtins(COSTS) | changes
    with pytest.raises(UsageError) as raised:
        read_costs(msgspec.json.encode(raw), name="c.json")
    assert str(raised.value).startswith(message)


def test_the_default_costs_are_good_and_say_where_they_are_from() -> None:
    assert read_costs(msgspec.json.encode(MEASURED), name="default") == MEASURED
    assert "Kubernetes 1.37.1" in MEASURED.source


def test_a_load_is_shown_at_rising_numbers_of_pods_and_beside_the_default_curve() -> None:
    found = predictions(CrashLoad(nodes=3, pods=30, curve=ONE_SECOND), COSTS)
    assert [each.load.pods for each in found.predictions] == [1, 5, 10, 20, 30]
    assert (found.today.load.curve, found.today.load.pods) == (DEFAULT_CURVE, 30)
    assert found.claims


NODES, PODS = st.integers(1, 5000), st.integers(1, 110)
CURVES = st.sampled_from([ONE_SECOND, Curve(2, 2), Curve(10, 10), Curve(1, 60), DEFAULT_CURVE])


@given(NODES, PODS, CURVES)
def test_rates_keep_their_bounds(nodes: int, pods: int, curve: Curve) -> None:
    found = of(pods, nodes=nodes, curve=curve)
    assert found.restarts_per_s <= found.curve_per_s <= found.at_most_per_s
    assert found.at_least_per_s <= found.at_most_per_s
    assert found.etcd_writes_per_s <= found.api_requests_per_s


@given(NODES, st.integers(1, 109), CURVES)
def test_more_pods_never_cost_less(nodes: int, pods: int, curve: Curve) -> None:
    less, more = of(pods, nodes=nodes, curve=curve), of(pods + 1, nodes=nodes, curve=curve)
    assert less.api_requests_per_s <= more.api_requests_per_s
    assert less.knee_pods == more.knee_pods


@given(st.integers(1, 1000), PODS, CURVES)
def test_the_cluster_scales_with_its_nodes_and_a_node_does_not(nodes: int, pods: int, curve: Curve) -> None:
    one, many = of(pods, curve=curve), of(pods, nodes=nodes, curve=curve)
    assert many.restarts_per_s == pytest.approx(nodes * one.restarts_per_s)
    assert many.kubelet_cores == one.kubelet_cores


@given(PODS, CURVES)
def test_dearer_restarts_never_come_more_often(pods: int, curve: Curve) -> None:
    dear = msgspec.structs.replace(COSTS, runtime_cpu_s=1.0, api_requests=50.0)
    assert of(pods, curve=curve, costs=dear).restarts_per_s <= of(pods, curve=curve).restarts_per_s


TEN_NODES = predict(CrashLoad(nodes=10, pods=4, curve=ONE_SECOND, cores=4.0), COSTS)
"""20 restarts, 100 requests and 60 writes a second."""


def rows() -> dict[str, ControlPlaneLimit]:
    return {each.name: each for each in limits(TEN_NODES)}


def test_the_seats_of_kubelets_are_their_share_of_all() -> None:
    assert KUBELET_SEATS == 74  # of 600, 30 of 245 shares


def test_a_kubelet_has_its_own_limit() -> None:
    own = rows()["client rate of a kubelet"]
    assert (own.used, own.limit, own.share, own.headroom) == (10, 100, 0.1, 10)


def test_requests_in_flight_are_rate_times_duration() -> None:
    assert rows()["API server, in flight"].used == pytest.approx(40 * 0.003 + 60 * 0.006)


def test_each_write_is_an_fsync_at_most() -> None:
    assert rows()["etcd, writes to its log"].share == pytest.approx(60 / 500)


def test_the_database_grows_until_the_next_compaction() -> None:
    grown = rows()["etcd, growth between compactions"]
    assert grown.used == pytest.approx(60 * 300 * STORED / 2**20)


def test_every_status_goes_to_three_watches() -> None:
    assert rows()["watch events sent"].used == pytest.approx(60 / 2 * 3)


def test_the_nearest_limit_has_the_least_headroom() -> None:
    found = tightest(TEN_NODES)
    assert found.name == "etcd, writes to its log"
    assert all((each.share or 0) <= (found.share or 0) for each in limits(TEN_NODES)[1:])


def test_a_load_without_use_has_no_headroom() -> None:
    idle = ControlPlaneLimit(name="x", unit="", used=0.0, limit=5.0, how="", extrapolated=False)
    assert (idle.share, idle.headroom) == (0.0, None)


@pytest.mark.parametrize(
    ("crashing", "nodes", "found"),
    [
        (60, 500, Spread(60, 1, 0)),
        (500, 500, Spread(500, 1, 0)),
        (700, 500, Spread(500, 2, 300)),
        (5, 3, Spread(3, 2, 1)),
        (2001, 1001, Spread(1001, 2, 1)),
        (1, 1, Spread(1, 1, 0)),
    ],
)
def test_pods_are_spread(crashing: int, nodes: int, found: Spread) -> None:
    assert spread(crashing, nodes) == found


@given(st.integers(1, 100_000), st.integers(1, 5_000))
def test_no_pod_is_lost_and_none_is_added(crashing: int, nodes: int) -> None:
    found = spread(crashing, nodes)
    assert found.nodes <= nodes
    assert found.nodes * found.pods - found.one_less_on == crashing
    assert 0 <= found.one_less_on < found.nodes


def test_all_pods_crash_unless_a_share_or_a_number_is_named() -> None:
    assert crashing_pods(10, None, share=None, number=None) == 1100
    assert crashing_pods(10, 30, share="10%", number=None) == 30
    assert crashing_pods(10, 30, share=None, number=7) == 7
    assert crashing_pods(2, 3, share="0.01", number=None) == 1


@pytest.mark.parametrize("text", ["0%", "0", "101%", "-5%", "many", "10%x", "nan"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected a share of the pods above 0 % and up to 100 %, such as 10%"):
        share_of(text)


def test_more_crashing_pods_than_pods_are_refused() -> None:
    with pytest.raises(UsageError, match=r"--crashing-pods 61: the cluster has 2 x 30 pods \(--nodes, --pods\)\."):
        crashing_pods(2, 30, share=None, number=61)


def test_a_share_and_a_number_are_refused() -> None:
    with pytest.raises(UsageError, match="both name the crashing pods"):
        crashing_pods(2, 30, share="10%", number=6)
