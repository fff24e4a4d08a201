"""When the delay starts over: after a run of ten minutes, and only then.

KEP-5593, "Refactor and flat rate to recovery threshold".
"""

from collections.abc import Iterator

from crashloop.spec.program import runs
from crashloop.spec.scenario import Mode, Pod, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import app

TO_THE_CAP = ((1, 1), (1, 1), (1, 1))


def long_run(seconds: float) -> PodScenario:
    """At the cap of 20 s, a life of that length and two short ones, so that the delays after it show the counter."""
    return PodScenario(
        name=f"runs-{seconds:g}s-max-20s",
        profile="max-20s",
        pod=Pod(containers=(app(runs(*TO_THE_CAP, (seconds, 1), (1, 1))),)),
        until=Until(restarts={"app": 5}, at_most_s=seconds + 180),
        mode=Mode.ANNOTATED,
    )


@requirement("RESET-1")
def test_a_run_of_more_than_ten_minutes_resets_the_delay() -> Scenario:
    return long_run(610)


@requirement("RESET-2")
def test_twice_the_maximum_is_not_enough_to_reset() -> Scenario:
    return long_run(45)


@requirement("RESET-3")
def test_five_minutes_are_not_enough_to_reset() -> Scenario:
    return long_run(310)


@requirement("RESET-4")
def test_a_run_of_less_than_ten_minutes_does_not_reset_the_delay() -> Iterator[Scenario]:
    yield long_run(560)
    yield long_run(590)
