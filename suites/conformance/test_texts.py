"""Sums of the KEPs about curves, most of which were never built: each number against its own assumptions."""

from crashloop.spec.scenario import Claim, Figure, Scenario, TextScenario
from fixtures.requirements import requirement

TEN_MINUTES_S, HALF_HOUR_S = 600.0, 1800.0
REQUESTS = 5
"""API requests per restart, as KEP-5593 reckons."""


@requirement("DECAY-5")
def test_lower_initial_delays_add_three_to_seven_restarts() -> Scenario:
    def adds(initial_s: float, spelt: str) -> Claim:
        return Claim(
            says=f"an initial delay of {spelt} is said to add 3 to 7 restarts",
            figure=Figure.ADDED,
            initial_s=initial_s,
            maximum_s=300.0,
            by_s=HALF_HOUR_S,
            least=3,
            most=7,
        )

    return TextScenario(name="lower-initial-delays", claims=(adds(0.25, "250 ms"), adds(0.025, "25 ms")))


@requirement("DECAY-9")
def test_the_rapid_curve_gives_four_restarts_at_its_beginning_and_four_more_at_its_end() -> Scenario:
    begins = Claim(
        says="a curve from 250 ms is said to give 4 restarts in the first 10 s",
        figure=Figure.RESTARTS,
        initial_s=0.25,
        maximum_s=60.0,
        by_s=10.0,
        least=4,
        most=4,
    )
    ends = Claim(
        says="a maximum of 60 s is said to add 4 restarts in 300 s",
        figure=Figure.ADDED_AT_MAXIMUM,
        initial_s=0.25,
        maximum_s=60.0,
        by_s=300.0,
        least=4,
        most=4,
    )
    return TextScenario(name="rapid-curve", claims=(begins, ends))


@requirement("DECAY-10")
def test_a_sixth_delay_of_569_s_gives_as_many_restarts_as_today() -> Scenario:
    catches_up = Claim(
        says="a sixth delay of 569 s is said to add no restart within 10 min",
        figure=Figure.ADDED,
        initial_s=1.0,
        maximum_s=569.0,
        waits_s=(1.0, 2.0, 4.0, 8.0, 16.0, 569.0),
        by_s=TEN_MINUTES_S - 1,
        least=0,
        most=0,
    )
    return TextScenario(name="catch-up-delay", claims=(catches_up,))


@requirement("DECAY-11")
def test_a_flat_delay_gives_more_restarts_than_the_curve() -> Scenario:
    more = Claim(
        says="a flat delay of 5 s is said to add restarts of a container that exits every 10 s",
        figure=Figure.ADDED,
        initial_s=5.0,
        maximum_s=5.0,
        by_s=300.0,
        run_s=10.0,
        least=1,
        most=300,
    )
    return TextScenario(name="flat-delay", claims=(more,))


@requirement("DECAY-12")
def test_a_rapid_curve_is_faster_than_a_flat_delay_for_five_restarts() -> Scenario:
    crosses = Claim(
        says="a curve from 250 ms is said to wait less than 5 s five times",
        figure=Figure.WAITS_BELOW,
        initial_s=0.25,
        maximum_s=60.0,
        than_s=5.0,
        least=5,
        most=5,
    )
    return TextScenario(name="rapid-against-flat", claims=(crosses,))


@requirement("DECAY-14")
def test_a_lower_initial_delay_adds_most_of_its_restarts_at_the_beginning() -> Scenario:
    def early(initial_s: float, spelt: str) -> Claim:
        return Claim(
            says=f"most restarts that an initial delay of {spelt} adds are said to come at the beginning",
            figure=Figure.ADDED_LATE_SHARE,
            initial_s=initial_s,
            maximum_s=300.0,
            by_s=HALF_HOUR_S,
            least=0,
            most=0.5,
        )

    return TextScenario(
        name="restarts-at-the-beginning", claims=(early(0.025, "25 ms"), early(0.25, "250 ms"), early(1.0, "1 s"))
    )


@requirement("LOAD-5")
def test_a_maximum_of_one_second_adds_1550_requests_at_most() -> Scenario:
    requests = Claim(
        says="a maximum of 1 s is said to add 1550 API requests of a pod in 5 min at most",
        figure=Figure.ADDED,
        initial_s=1.0,
        maximum_s=1.0,
        by_s=300.0,
        times=REQUESTS,
        least=0,
        most=1550,
    )
    return TextScenario(name="requests-at-one-second", claims=(requests,))
