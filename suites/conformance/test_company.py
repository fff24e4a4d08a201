"""Containers in company: sidecars beside init containers and applications that crash, and what is done beside what goes on.

Watched for longer than the scope quick allows: there, other scenarios show each kind of container by itself.
"""

from collections.abc import Iterator

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container, ContainerKind, Pod, Probe, ProbeKind, restart_in
from crashloop.spec.program import HOLDS, exits_with, out_of_memory, runs
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import ALWAYS, NEVER, ON_FAILURE, QUIET_S, after_restart, app, at, growing, init

AT_MOST_S = 150.0

BY_RULE = growing(
    "climbing-by-rule",
    app(exits_with(42, times=5), policy=NEVER, rules=(restart_in(42),)),
    app(runs((1, 1)), name="failed", policy=NEVER),
    pod=NEVER,
    restarts={"app": 5},
    at_most_s=AT_MOST_S,
)
ON_FAILURES = growing(
    "climbing-on-failure",
    app(exits_with(1, times=5)),
    app(out_of_memory(times=5), name="greedy", memory_limit="32Mi"),
    app(runs((1, 0)), name="done"),
    pod=ON_FAILURE,
    restarts={"app": 5, "greedy": 5},
    quiet_s=QUIET_S,
    at_most_s=AT_MOST_S,
)
SIDECAR_BESIDE_ALL = PodScenario(
    name="sidecar-beside-init-and-app-stock",
    profile="stock",
    pod=Pod(
        containers=(
            init(runs((0, 0)), name="first"),
            init(exits_with(1, times=4), name="sidecar", policy=ALWAYS),
            init(runs((1, 1), (20, 0))),
            app(exits_with(1, times=3)),
        )
    ),
    until=Until(restarts={"sidecar": 4, "app": 3}, at_most_s=AT_MOST_S),
    mode=Mode.ANNOTATED,
)
"""The sidecar's first delay passes while the second init container runs, that of the application while the sidecar is down."""


def sidecar(probe: Probe, *, name: str = "sidecar") -> Container:
    return Container(name=name, kind=ContainerKind.INIT, restart_policy=ALWAYS, probes=(probe,))


def probed(name: str, *sidecars: Container, restarts: dict[str, int]) -> PodScenario:
    """A pod that is never restarted whose sidecars are, by their probes."""
    return PodScenario(
        name=name,
        profile="max-2s",
        pod=Pod(containers=(*sidecars, app(HOLDS)), restart_policy=NEVER),
        until=Until(restarts=restarts, at_most_s=AT_MOST_S),
    )


SIDECAR_LIVENESS = probed("sidecar-liveness", sidecar(Probe(pattern="FFSFFF")), restarts={"sidecar": 1})


@requirement("RULES-16")
def test_restarts_by_rule_climb_like_any_other() -> Scenario:
    return BY_RULE


@requirement("BACKOFF-8")
def test_delays_grow_under_on_failure() -> Scenario:
    return ON_FAILURES


@requirement("BACKOFF-25")
def test_delays_grow_when_memory_runs_out() -> Scenario:
    return ON_FAILURES


@requirement("RULES-32")
def test_the_reason_is_stated_when_memory_runs_out_again_and_again() -> Scenario:
    return ON_FAILURES


@requirement("BACKOFF-17")
def test_a_sidecar_is_restarted_while_an_init_container_runs() -> Scenario:
    return SIDECAR_BESIDE_ALL


@requirement("RULES-1")
def test_what_is_done_stays_done_beside_restarts() -> Iterator[Scenario]:
    yield SIDECAR_BESIDE_ALL
    yield ON_FAILURES


@requirement("BACKOFF-11")
def test_an_application_is_restarted_while_its_sidecar_is_down() -> Scenario:
    return SIDECAR_BESIDE_ALL


@requirement("PROBE-2")
def test_a_liveness_probe_restarts_a_sidecar() -> Scenario:
    return SIDECAR_LIVENESS


STARTUP_FAILS = probed(
    "sidecar-startup-fails",
    sidecar(Probe(kind=ProbeKind.STARTUP, pattern="FFS"), name="slow"),
    sidecar(Probe(kind=ProbeKind.STARTUP, pattern="FFF")),
    restarts={"sidecar": 2},
)
"""The second sidecar waits for the first, and the application for ever."""


@requirement("PROBE-24")
def test_a_startup_probe_restarts_a_sidecar() -> Scenario:
    return STARTUP_FAILS


@requirement("RULES-29")
def test_a_startup_probe_of_a_sidecar_holds_back_what_stands_behind_it() -> Scenario:
    return STARTUP_FAILS


@requirement("RULES-2")
def test_the_policy_of_a_container_decides_after_a_liveness_kill() -> Iterator[Scenario]:
    failing = (Probe(fails_after_s=4.0),)
    yield PodScenario(
        name="liveness-kill-under-own-never",
        profile="max-2s",
        pod=Pod(containers=(Container(restart_policy=NEVER, probes=failing), app(HOLDS, name="neighbour"))),
        until=Until(exits={"app": 1}, quiet_s=QUIET_S, at_most_s=AT_MOST_S),
    )
    yield PodScenario(
        name="liveness-kill-under-own-always",
        profile="max-2s",
        pod=Pod(containers=(Container(restart_policy=ALWAYS, probes=failing),), restart_policy=NEVER),
        until=Until(restarts={"app": 2}, at_most_s=AT_MOST_S),
    )


@requirement("PROBE-28")
def test_a_restarted_kubelet_goes_on_asking_and_restarting() -> Scenario:
    """The sidecar's startup probe has succeeded before the kubelet goes (kubernetes/kubernetes#136910)."""
    return PodScenario(
        name="kubelet-away-from-probes",
        profile="stock",
        pod=Pod(
            containers=(
                sidecar(Probe(kind=ProbeKind.STARTUP, pattern="SSS")),
                Container(probes=(Probe(pattern="SSS"),)),
                app(runs((30, 1)), name="crashing"),
            )
        ),
        until=Until(restarts={"crashing": 1}, at_least_s=50.0, at_most_s=80.0),
        interventions=(at(8, InterventionKind.RESTART_KUBELET, down_s=8.0),),
    )


@requirement("PROBE-29")
def test_a_probe_waits_for_its_initial_delay_in_every_life() -> Scenario:
    return PodScenario(
        name="initial-delay-in-each-life",
        profile="max-2s",
        pod=Pod(
            containers=(
                Container(
                    program=exits_with(1, after_s=12.0, times=2), probes=(Probe(pattern="SSS", initial_delay_s=8),)
                ),
            )
        ),
        until=Until(restarts={"app": 2}, at_most_s=AT_MOST_S),
    )


@requirement("RULES-12")
def test_a_restarted_kubelet_does_not_run_a_completed_init_container_again() -> Scenario:
    return PodScenario(
        name="init-done-before-kubelet-restart",
        profile="max-2s",
        pod=Pod(
            containers=(
                init(runs((1, 42), (0, 0)), policy=NEVER, rules=(restart_in(42),)),
                app(exits_with(1, times=4)),
            )
        ),
        until=Until(restarts={"app": 4}, at_most_s=AT_MOST_S),
        interventions=(after_restart(2, InterventionKind.RESTART_KUBELET, after_s=0.3),),
    )
