"""Open models: what the rate requires, and what became of it.

When requests of open models are due.
Reads of a canary are taken from the operations of the load.
"""

from collections.abc import Iterable
from itertools import islice, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.slo.measurements import ApiRead, Phase
from crashloop.stress.arrivals import Asked, asked, open_models, reads_of
from crashloop.stress.assignment import UNSERVED, Operation
from crashloop.stress.loads import AnyLoad, Burst, Canary, Churn, Demand
from crashloop.stress.phases import Measurement
from crashloop.stress.pods import arrivals_ns
from crashloop.stress.profile import Stage
from suites.selftest.kit.histories import ns
from suites.selftest.kit.stress_kit import arrivals

CHURN = Churn(node="storm", rate_per_s=1, in_flight=4)


def stage(from_s: float, to_s: float, *, came_s: float | None = None, users: int = 1, index: int = 0) -> Measurement:
    return Measurement(
        index=index,
        stage=Stage(name="storm", duration_s=to_s - from_s, users={"healthy": users}),
        phase=Phase(name="storm", from_ns=ns(from_s), to_ns=ns(to_s)),
        users=users,
        whole=True,
        came_ns=None if came_s is None else ns(came_s),
    )


def of_stage(load: AnyLoad, operations: Iterable[Operation], measured: Measurement) -> Asked:
    (found,) = asked({"healthy": load}, operations, [measured])
    return found


def test_what_is_logged_of_an_open_model_that_keeps_up_is_all_that_is_intended() -> None:
    (found,) = open_models({"healthy": CHURN}, arrivals(range(5, 66)), [stage(5, 65, came_s=3)])
    assert (found.intended, found.made, found.dropped, found.failed) == (61, 61, 0, 0)


def test_arrivals_that_were_never_tried_are_intended_all_the_same() -> None:
    (found,) = open_models({"healthy": CHURN}, arrivals(range(5, 25)), [stage(5, 65, came_s=3)])
    assert (found.intended, found.made, found.dropped, found.failed) == (60, 20, 0, 0)


def test_a_load_of_which_nothing_came_is_reported() -> None:
    (found,) = open_models({"healthy": CHURN}, [], [stage(5, 65, users=2)])
    assert (found.load, found.intended, found.made, found.late_p99_s) == ("healthy", 120, 0, None)


def test_where_nothing_tells_when_it_was_on_what_was_logged_is_intended() -> None:
    (found,) = open_models({"healthy": CHURN}, arrivals(range(5, 25)))
    assert found.intended == 20
    assert open_models({"healthy": CHURN}, []) == ()


def test_requests_that_were_on_their_way_at_the_end_of_a_stage_need_not_be_logged() -> None:
    churn = of_stage(CHURN, arrivals(range(5, 60)), stage(5, 65))
    assert (churn.by_rate, churn.logged, churn.least) == (60, 55, 56)
    many = of_stage(Churn(node="storm", rate_per_s=1, in_flight=60), arrivals(range(5, 36)), stage(5, 65))
    assert (many.by_rate, many.logged, many.least) == (60, 31, 30)


def test_a_burst_is_counted_from_the_coming_of_its_user() -> None:
    demand = Demand(node="storm", rate_per_s=2, bursts=(Burst(after_s=10, for_s=10, rate_per_s=20),), in_flight=1)
    # The demand began at 3 s, so that the burst is from 13 to 23 s.
    due = list(islice(arrivals_ns(demand, ns(3)), 500))
    operations = [Operation(load="healthy", what="request", intended_ns=t_ns, sent_ns=t_ns) for t_ns in due]
    found = of_stage(demand, operations, stage(4, 64, came_s=2))
    assert found.by_rate == found.logged == sum(1 for t_ns in due if ns(4) <= t_ns < ns(64))
    assert 180 <= sum(1 for t_ns in due if ns(13) <= t_ns < ns(23)) <= 220
    without_burst = [each for each in operations if not ns(13) <= each.sent_ns < ns(23)]
    missing = of_stage(demand, without_burst, stage(4, 64, came_s=2))
    assert missing.logged < missing.least <= missing.by_rate == found.by_rate


def test_requests_that_are_given_up_were_tried() -> None:
    demand = Demand(node="storm", rate_per_s=2)
    due = list(islice(arrivals_ns(demand, ns(3)), 200))
    given_up = [Operation(load="healthy", what="unanswered", intended_ns=t, sent_ns=ns(70), error="x") for t in due]
    (found,) = open_models({"healthy": demand}, given_up, [stage(4, 64, came_s=2)])
    assert (found.intended, found.made, found.failed) == (200, 0, 200)


SECOND_NS = 1_000_000_000


@given(st.floats(0.01, 50))
def test_arrivals_of_pods_are_due_by_the_rate_alone(rate: float) -> None:
    due = list(islice(arrivals_ns(Churn(node="n", rate_per_s=rate), 1000), 5))
    assert due == pytest.approx([1000 + number * 1e9 / rate for number in range(1, 6)], abs=2)


def times_s(load: Demand, to_s: float) -> list[float]:
    return [t_ns / 1e9 for t_ns in takewhile(lambda t_ns: t_ns < to_s * 1e9, arrivals_ns(load, 0))]


def test_loads_with_one_seed_have_the_same_requests_whatever_serves_them() -> None:
    one, other = Demand(node="a", rate_per_s=3, cpu_limit="50m"), Demand(node="b", rate_per_s=3, probe=None)
    assert times_s(one, 50) == times_s(other, 50)
    assert times_s(one, 50) != times_s(Demand(node="a", rate_per_s=3, seed=2), 50)


def test_requests_before_a_burst_are_those_without_it() -> None:
    burst = Burst(after_s=20, for_s=10, rate_per_s=30)
    calm, load = Demand(node="a", rate_per_s=2), Demand(node="a", rate_per_s=2, bursts=(burst,))
    assert times_s(calm, 20) == times_s(load, 20)


@given(st.integers(1, 50))
def test_a_poisson_process_keeps_its_rates(seed: int) -> None:
    """Within five standard deviations."""
    bursts = (Burst(after_s=100, for_s=50, rate_per_s=40), Burst(after_s=300, for_s=100, rate_per_s=0))
    due = times_s(Demand(node="n", rate_per_s=4, bursts=bursts, seed=seed), 500)
    pieces = ((0, 100, 400), (100, 150, 2000), (150, 300, 600), (300, 400, 0), (400, 500, 400))
    for from_s, to_s, expected in pieces:
        assert abs(sum(1 for each in due if from_s <= each < to_s) - expected) <= 5 * expected**0.5


LOADS: dict[str, AnyLoad] = {"canary": Canary(node="n"), "web": Demand(node="n", rate_per_s=1)}


def operation(
    load: str, what: str, *, error: str = "", intended_ns: int | None = 1_000_000_000, code: int = 0
) -> Operation:
    return Operation(
        load=load,
        what=what,
        pod="p",
        intended_ns=intended_ns,
        sent_ns=1_500_000_000,
        took_ns=250_000_000,
        error=error,
        code=code,
    )


def test_the_latency_of_a_read_begins_when_it_was_intended() -> None:
    assert list(reads_of(LOADS, [operation("canary", "get")])) == [
        ApiRead(kind="get", intended_ns=1_000_000_000, took_s=0.75)
    ]


def test_refused_and_dropped_reads_have_failed() -> None:
    found = list(reads_of(LOADS, [operation("canary", "list", error="503"), operation("canary", "dropped")]))
    assert [(each.kind, each.failed, each.took_s) for each in found] == [("list", True, 0.75), ("", True, 10.0)]


def test_other_operations_are_no_reads() -> None:
    assert list(reads_of(LOADS, [operation("canary", "create"), operation("web", "dropped")])) == []


@pytest.mark.parametrize("code", UNSERVED)
def test_a_streaming_list_that_is_not_served_has_not_failed(code: int) -> None:
    asked = operation("canary", "watch-list", error="Invalid", intended_ns=None, code=code)
    assert list(reads_of(LOADS, [asked])) == [
        ApiRead(kind="watch-list", intended_ns=1_500_000_000, took_s=0.25, unserved=code)
    ]


def test_any_other_streaming_list_without_its_end_has_failed() -> None:
    answers = [operation("canary", "watch-list", error="late", code=code) for code in (0, 200, 503)]
    assert {(each.failed, each.unserved) for each in reads_of(LOADS, answers)} == {(True, 0)}
    assert [each.failed for each in reads_of(LOADS, [operation("canary", "watch-list", code=200)])] == [False]
    assert [each.failed for each in reads_of(LOADS, [operation("canary", "get", error="Invalid", code=422)])] == [True]
