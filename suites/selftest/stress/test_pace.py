"""When requests of open models are due."""

from itertools import islice, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.stress.loads import Burst, Churn, Demand
from crashloop.stress.pods import arrivals_ns

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
