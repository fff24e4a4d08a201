"""The reduced initial delay (gate ReduceDefaultCrashLoopBackOffDecay, KEP-4603)."""

from crashloop.spec.scenario import Scenario
from fixtures.requirements import requirement
from suites.conformance import scenarios as the


@requirement("DECAY-1")
def test_the_reduced_curve_doubles_from_one_second() -> Scenario:
    return the.REDUCED_DECAY
