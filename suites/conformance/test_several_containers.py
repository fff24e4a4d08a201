"""Several containers in a pod: each on its own curve, at the maximum and on the way to it."""

from crashloop.spec.program import HOLDS, exits_with, runs
from crashloop.spec.scenario import Container, Mode, Pod, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import ALWAYS, app, init, restarting

TWO_AT_THE_MAXIMUM = restarting(
    "two-containers-at-the-maximum",
    app(exits_with(1, times=4), name="one"),
    app(exits_with(1, times=4), name="other"),
    pod=ALWAYS,
    restarts={"one": 4, "other": 4},
)


def growing(name: str, container: Container, *, restarts: int) -> PodScenario:
    """A pod whose container climbs from 1 s while its application holds."""
    return PodScenario(
        name=f"{name}-reduced-decay",
        profile="reduced-decay",
        pod=Pod(containers=(container, app(HOLDS))),
        until=Until(restarts={container.name: restarts}, phase="Running"),
        mode=Mode.ANNOTATED,
    )


GROWING_SIDECAR = growing("growing-sidecar", init(exits_with(1, times=5), name="sidecar", policy=ALWAYS), restarts=5)
GROWING_INIT = growing("growing-init", init(runs(*[(1, 1)] * 5, (1, 0))), restarts=5)


@requirement("BACKOFF-11")
def test_each_container_waits_for_the_whole_maximum() -> Scenario:
    return TWO_AT_THE_MAXIMUM


@requirement("BACKOFF-16")
def test_delays_of_an_init_container_grow() -> Scenario:
    return GROWING_INIT


@requirement("BACKOFF-17")
def test_delays_of_a_sidecar_grow() -> Scenario:
    return GROWING_SIDECAR
