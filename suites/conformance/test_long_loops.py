"""Loops that go on: forty restarts at the smallest maximum, and the default curve to its cap with nobody looking."""

from crashloop.spec.scenario import Scenario
from fixtures.requirements import requirement
from suites.conformance.scenarios import crashing

FORTY_RESTARTS = crashing("max-1s", restarts=40, name="forty-restarts", at_most_s=260)
UNTOUCHED_TO_THE_CAP = crashing("stock", restarts=7, name="untouched-to-the-cap", at_most_s=950)


@requirement("CAP-4")
def test_forty_restarts_are_each_a_second_apart() -> Scenario:
    return FORTY_RESTARTS


@requirement("M4")
def test_1_second_stays_1_second_for_forty_restarts() -> Scenario:
    return FORTY_RESTARTS


@requirement("RULES-22")
def test_forty_restarts_are_counted() -> Scenario:
    return FORTY_RESTARTS


@requirement("BACKOFF-3")
def test_long_delays_end_by_the_kubelets_own_timer() -> Scenario:
    return UNTOUCHED_TO_THE_CAP
