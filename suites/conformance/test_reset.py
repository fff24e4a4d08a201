"""When the delay starts over: after a run of ten minutes, and only then.

KEP-5593, "Refactor and flat rate to recovery threshold".
"""

from collections.abc import Iterator

from crashloop.spec.pod import Container, Pod, Probe, ProbeKind
from crashloop.spec.program import runs
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import app

TO_THE_CAP = ((1, 1), (1, 1), (1, 1))
LONGER_AND_LONGER = (1, 1, 1, 1, 30, 1, 60, 1, 90, 1, 120, 1)


def long_run(
    seconds: float,
    profile: str = "max-20s",
    *,
    exit_code: int = 1,
    probes: tuple[Probe, ...] = (),
    name: str = "runs",
) -> PodScenario:
    """At the cap, a life of that length and two short ones, so that the delays after it show the counter."""
    container = Container(program=runs(*TO_THE_CAP, (seconds, exit_code), (1, 1)), probes=probes)
    return PodScenario(
        name=f"{name}-{seconds:g}s-{profile}",
        profile=profile,
        pod=Pod(containers=(container,)),
        until=Until(restarts={"app": 5}, at_most_s=seconds + 180),
        mode=Mode.ANNOTATED,
    )


@requirement("RESET-1")
def test_a_run_of_more_than_ten_minutes_resets_the_delay() -> Scenario:
    return long_run(610)


@requirement("RESET-2")
def test_twice_the_maximum_is_not_enough_to_reset() -> Iterator[Scenario]:
    yield long_run(45)
    yield long_run(5, "reduced-decay-max-2s")


@requirement("RESET-3")
def test_five_minutes_are_not_enough_to_reset() -> Scenario:
    return long_run(310)


@requirement("RESET-4")
def test_a_run_of_less_than_ten_minutes_does_not_reset_the_delay() -> Iterator[Scenario]:
    yield long_run(560)
    yield long_run(590)


@requirement("RESET-5")
def test_less_than_ten_minutes_do_not_reset_the_default_maximum() -> Scenario:
    return PodScenario(
        name="runs-400s-stock",
        profile="stock",
        pod=Pod(containers=(app(runs(*[(1, 1)] * 7, (400, 1), (1, 1))),)),
        until=Until(restarts={"app": 9}, at_most_s=1900),
        mode=Mode.ANNOTATED,
    )


@requirement("RESET-6")
def test_the_reset_depends_on_the_running_time_alone() -> Iterator[Scenario]:
    unready = Probe(kind=ProbeKind.READINESS, pattern="FFF", period_s=10)
    yield long_run(610)
    yield long_run(610, exit_code=0, name="succeeds-after")
    yield long_run(610, probes=(unready,), name="unready-for")


@requirement("RESET-7")
def test_running_time_is_not_taken_off_the_delay() -> Scenario:
    return PodScenario(
        name="runs-200s-stock",
        profile="stock",
        pod=Pod(containers=(app(runs((1, 1), (1, 1), (1, 1), (200, 1))),)),
        until=Until(restarts={"app": 4}, at_most_s=380),
        mode=Mode.ANNOTATED,
    )


@requirement("RESET-8")
def test_the_wait_after_a_run_is_no_running_time() -> Iterator[Scenario]:
    yield long_run(560)
    yield long_run(590)
    yield long_run(610)


@requirement("RESET-9")
def test_short_runs_never_lead_away_from_the_maximum() -> Scenario:
    return PodScenario(
        name="stays-at-the-maximum-max-20s",
        profile="max-20s",
        pod=Pod(containers=(app(runs(*((run_s, 1) for run_s in LONGER_AND_LONGER))),)),
        until=Until(restarts={"app": len(LONGER_AND_LONGER)}, at_most_s=780),
        mode=Mode.ANNOTATED,
    )
