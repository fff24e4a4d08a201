"""How often a container restarts within a time.

KEP-4603, "Front loaded decay curve methodology"; KEP-5593, "Risks and Mitigations".
"""

from collections.abc import Iterator

from crashloop.spec.pod import Pod
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import app

FIVE_MINUTES_S, HALF_AN_HOUR_S = 300.0, 1800.0
START_S = 15.0
"""From the pod's creation to its first start, at the most that is waited for."""


def counting(
    name: str, profile: str, *, exits: int, for_s: float, run_s: float = 0.0, mode: Mode = Mode.NATURAL
) -> PodScenario:
    """A container that exits after `run_s` again and again, watched until `for_s` seconds after its first start."""
    return PodScenario(
        name=f"{name}-{profile}",
        profile=profile,
        pod=Pod(containers=(app(exits_with(1, after_s=run_s, times=exits)),)),
        until=Until(at_least_s=for_s + START_S, at_most_s=for_s + START_S + 5.0),
        mode=mode,
    )


@requirement("DECAY-2")
def test_the_default_curve_allows_three_restarts_in_70_seconds() -> Scenario:
    return counting("counted-for-70s", "stock", exits=6, for_s=70.0)


@requirement("DECAY-3")
def test_the_reduced_curve_allows_six_restarts_in_70_seconds() -> Scenario:
    return counting("counted-for-70s", "reduced-decay", exits=8, for_s=70.0)


@requirement("DECAY-6")
def test_a_container_that_exits_every_10_seconds_restarts_ten_times_in_half_an_hour() -> Scenario:
    return counting("counted-for-30min", "stock", exits=14, for_s=HALF_AN_HOUR_S, run_s=10.0)


@requirement("DECAY-7")
def test_lives_of_almost_ten_minutes_are_restarted_twice_in_half_an_hour() -> Scenario:
    return PodScenario(
        name="runs-596s-stock",
        profile="stock",
        pod=Pod(containers=(app(exits_with(1, after_s=596.0, times=3)),)),
        until=Until(restarts={"app": 3}, at_most_s=1950),
        mode=Mode.ANNOTATED,
    )


@requirement("DECAY-8")
def test_at_the_maximum_restarts_come_at_a_constant_rate() -> Scenario:
    return counting("counted-for-220s", "max-20s", exits=20, for_s=220.0, mode=Mode.ANNOTATED)


@requirement("DECAY-13")
def test_a_maximum_of_one_second_adds_no_more_restarts_than_fit() -> Scenario:
    return counting("counted-for-5min", "max-1s", exits=320, for_s=FIVE_MINUTES_S)


@requirement("CAP-8")
def test_a_lower_maximum_leads_to_more_restarts() -> Iterator[Scenario]:
    yield counting("counted-for-5min", "stock", exits=10, for_s=FIVE_MINUTES_S)
    yield counting("counted-for-5min", "max-60s", exits=12, for_s=FIVE_MINUTES_S)
    yield counting("counted-for-5min", "max-20s", exits=24, for_s=FIVE_MINUTES_S)
    yield counting("counted-for-5min", "max-2s", exits=160, for_s=FIVE_MINUTES_S)
