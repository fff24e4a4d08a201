"""The reduced initial delay (gate ReduceDefaultCrashLoopBackOffDecay, KEP-4603), and that every curve doubles."""

from collections.abc import Iterator

from crashloop.spec.scenario import Scenario
from fixtures.requirements import requirement
from suites.conformance import scenarios as the


@requirement("DECAY-1")
def test_the_reduced_curve_doubles_from_one_second() -> Scenario:
    return the.REDUCED_DECAY


@requirement("DECAY-15")
def test_below_the_maximum_every_curve_doubles() -> Iterator[Scenario]:
    yield the.REDUCED_DECAY
    yield the.REDUCED_DECAY_MAX_4S
    yield the.STOCK_TO_THE_CAP
