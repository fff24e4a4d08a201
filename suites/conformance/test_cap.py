"""The maximum of the delay, and how nodes differ in it.

KEP-5593, "Per node config" and "Conflict resolution".
"""

from collections.abc import Iterator

from crashloop.spec.scenario import Mode, Scenario
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import crashing


@requirement("CAP-1")
def test_delays_stop_growing_at_five_minutes() -> Scenario:
    return the.STOCK_TO_THE_CAP


@requirement("CAP-2")
def test_a_configured_maximum_caps_the_curve() -> Scenario:
    return crashing("max-20s", restarts=6, mode=Mode.ANNOTATED, name="capped", at_most_s=180)


@requirement("CAP-3")
def test_a_maximum_below_the_initial_delay_lowers_it() -> Iterator[Scenario]:
    yield the.MAX_1S
    yield the.MAX_2S


@requirement("CAP-4")
def test_nothing_restarts_more_often_than_once_a_second() -> Scenario:
    return the.MAX_1S


@requirement("CAP-6")
def test_a_maximum_of_eleven_seconds_keeps_the_initial_ten() -> Scenario:
    return the.MAX_11S


@requirement("CAP-7")
def test_each_node_follows_its_own_configuration() -> Iterator[Scenario]:
    yield the.STOCK
    yield the.MAX_2S
    yield the.MAX_10S
