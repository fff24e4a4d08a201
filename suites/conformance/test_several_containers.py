"""Several containers in a pod: each on its own curve, at the maximum and on the way to it."""

from collections.abc import Iterator

from crashloop.spec.pod import Container, ContainerKind, Handler, Pod, Probe, ProbeKind
from crashloop.spec.program import HOLDS, exits_with, runs
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import ALWAYS, NEVER, ON_FAILURE, app, growing, init, long_name, restarting

ONE, OTHER, THIRD = map(long_name, "abc")
THREE_AT_THE_MAXIMUM = restarting(
    "three-containers-at-the-maximum",
    app(exits_with(1, times=3), name=ONE),
    app(exits_with(1, times=3), name=OTHER),
    app(exits_with(1, times=2), name=THIRD),
    pod=ALWAYS,
    restarts={ONE: 3, OTHER: 3, THIRD: 2},
)
GROWING_SIDECAR = growing(
    "growing-sidecar",
    init(exits_with(1, times=5), name="sidecar", policy=ALWAYS),
    init(exits_with(1, after_s=2, times=4), name="other", policy=ALWAYS),
    app(runs((6, 1), (1, 137), (1, 143), (1, 255), (1, 2))),
    pod=ALWAYS,
    restarts={"sidecar": 5, "other": 4, "app": 4},
    phase="Running",
)
"""Another sidecar and its application climb as well, some seconds behind it, so that each waits while the others exit."""
GROWING_INIT = growing(
    "growing-init",
    init(runs((3, 1), *[(0, 1)] * 4), name="sidecar", policy=ALWAYS),
    init(runs(*[(1, 1)] * 5, (1, 0))),
    app(exits_with(1, times=1)),
    pod=ON_FAILURE,
    restarts={"sidecar": 5, "setup": 5, "app": 1},
    phase="Running",
)
"""It is due while the sidecar before it waits.

Its application stands at the same place among its own kind, and begins with a counter of its own.
"""
SIDECAR_UNDER_NEVER = restarting(
    "sidecar-of-a-never-pod",
    Container(
        name="sidecar",
        kind=ContainerKind.INIT,
        program=exits_with(1, after_s=7, times=3),
        restart_policy=ALWAYS,
        probes=(
            Probe(kind=ProbeKind.STARTUP, pattern=10 * "F" + 40 * "S", failure_threshold=50, handler=Handler.HTTP),
        ),
    ),
    Container(program=HOLDS, probes=(Probe(kind=ProbeKind.READINESS, pattern="SSS", handler=Handler.HTTP),)),
    pod=NEVER,
    restarts={"sidecar": 3},
    phase="Running",
)
"""It exits before its startup probe can succeed, until it holds, and its application has a probe as well
(kubernetes/kubernetes#132826)."""


def climbing(name: str, container: Container, *, restarts: int) -> PodScenario:
    """A pod whose container climbs from 10 s on the default curve while its application holds."""
    return PodScenario(
        name=f"{name}-stock",
        profile="stock",
        pod=Pod(containers=(container, app(HOLDS))),
        until=Until(restarts={container.name: restarts}, phase="Running", at_most_s=260),
        mode=Mode.ANNOTATED,
    )


CLIMBING_SIDECAR = climbing("climbing-sidecar", init(exits_with(1, times=5), name="sidecar", policy=ALWAYS), restarts=5)
CLIMBING_INIT = climbing("climbing-init", init(runs(*[(1, 1)] * 5, (1, 0))), restarts=5)
CROWD = PodScenario(
    name="crowd-max-2s",
    profile="max-2s",
    pod=Pod(
        containers=tuple(app(exits_with(1, after_s=number, times=4), name=f"app-{number}") for number in range(1, 7))
    ),
    until=Until(restarts={f"app-{number}": 4 for number in range(1, 7)}, at_most_s=180),
)
"""Six containers that restart side by side, each after a run of its own length."""


@requirement("BACKOFF-11")
def test_each_container_waits_for_the_whole_maximum() -> Scenario:
    return THREE_AT_THE_MAXIMUM


@requirement("BACKOFF-16")
def test_delays_of_an_init_container_grow() -> Scenario:
    return GROWING_INIT


@requirement("BACKOFF-17")
def test_delays_of_a_sidecar_grow() -> Scenario:
    return GROWING_SIDECAR


@requirement("BACKOFF-16")
def test_an_init_container_climbs_the_default_curve() -> Scenario:
    return CLIMBING_INIT


@requirement("BACKOFF-17")
def test_a_sidecar_climbs_the_default_curve() -> Scenario:
    return CLIMBING_SIDECAR


@requirement("BACKOFF-17")
def test_sidecars_that_wait_together_climb_each_for_itself() -> Scenario:
    """There is a time at which all four have exited and none has restarted."""
    sidecars = [init(exits_with(1, after_s=6, times=3), name=f"sidecar-{number}", policy=ALWAYS) for number in range(4)]
    return PodScenario(
        name="four-crashing-sidecars-stock",
        profile="stock",
        pod=Pod(containers=(*sidecars, app(HOLDS))),
        until=Until(restarts={each.name: 3 for each in sidecars}, at_most_s=150),
        mode=Mode.ANNOTATED,
    )


@requirement("ALT-4")
def test_a_busy_node_changes_no_delay() -> Scenario:
    return CROWD


@requirement("RULES-29")
def test_every_container_starts_once_those_before_it_let_it() -> Iterator[Scenario]:
    yield GROWING_INIT
    yield GROWING_SIDECAR
    yield SIDECAR_UNDER_NEVER
    yield THREE_AT_THE_MAXIMUM


@requirement("RULES-27")
def test_a_sidecar_of_a_pod_that_never_restarts_is_restarted_and_counted() -> Scenario:
    return SIDECAR_UNDER_NEVER
