"""Open models: what the rate requires, and what became of it."""

from collections.abc import Iterable
from itertools import islice

from crashloop.slo.measurements import Phase
from crashloop.stress.arrivals import Asked, asked, open_models
from crashloop.stress.assignment import Operation
from crashloop.stress.loads import AnyLoad, Burst, Churn, Demand
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
