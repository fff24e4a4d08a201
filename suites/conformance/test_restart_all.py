"""RestartAllContainers (gate RestartAllContainersOnContainerExits, KEP-5532)."""

from collections.abc import Iterator

import msgspec

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.owner import StaticPod
from crashloop.spec.plan import Comparison, compared
from crashloop.spec.pod import (
    Action,
    Container,
    ContainerKind,
    Handler,
    Pod,
    Probe,
    ProbeKind,
    restart_in,
    restart_not_in,
)
from crashloop.spec.program import HOLDS, KILLED, Program, exits_with, runs
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import ALWAYS, NEVER, QUICK_WATCH_S, app, init, probed, restarting
from suites.conformance.test_jobs import ALL_AT_ONCE
from suites.conformance.test_startup_probes import KILLED_AFTER_STARTING

RESTART_ALL = (restart_in(42, action=Action.RESTART_ALL_CONTAINERS),)

BY_42_AND_0 = (*RESTART_ALL, restart_not_in(1, action=Action.RESTART_ALL_CONTAINERS))


def marking(program: Program) -> Program:
    """One whose lives leave their mark in a volume."""
    return msgspec.structs.replace(program, marks_volume=True)


EVERY_KIND = restarting(
    "restart-all-every-kind",
    init(marking(exits_with(0, after_s=0.5, times=2))),
    Container(
        name="sidecar",
        kind=ContainerKind.INIT,
        program=marking(HOLDS),
        restart_policy=ALWAYS,
        probes=(Probe(kind=ProbeKind.STARTUP, pattern="FFS", handler=Handler.HTTP),),
    ),
    app(marking(runs((6, 42))), policy=NEVER, rules=RESTART_ALL),
    app(marking(HOLDS), name="worker"),
    app(marking(runs((1, 0))), name="done", policy=NEVER),
    Container(name="debugger", kind=ContainerKind.EPHEMERAL),
    pod=NEVER,
    restarts={"setup": 1, "sidecar": 1, "app": 1, "worker": 1, "done": 1},
)
"""A container of each kind, one of them done, when "app" triggers it. What is regular waits for the probe of the sidecar."""
BY_INIT = restarting(
    "restart-all-by-init",
    init(exits_with(0, times=3), name="first"),
    init(runs((1, 42)), name="sidecar", policy=ALWAYS, rules=RESTART_ALL),
    init(runs((4, 0), (1, 42), (1, 0)), policy=NEVER, rules=RESTART_ALL),
    app(HOLDS),
    pod=NEVER,
    restarts={"first": 2, "sidecar": 2, "setup": 2},
    phase="Running",
)
"""A sidecar triggers it while the init container behind it runs, then that one."""
BY_SIDECAR = restarting(
    "restart-all-by-sidecar",
    init(runs((4, 42)), name="sidecar", policy=ALWAYS, rules=RESTART_ALL),
    app(HOLDS),
    pod=NEVER,
    restarts={"sidecar": 1, "app": 1},
)
TWICE = restarting(
    "restart-all-twice",
    app(runs((4, 42), (4, 0)), policy=NEVER, rules=BY_42_AND_0),
    app(HOLDS, name="neighbour"),
    pod=ALWAYS,
    restarts={"app": 2, "neighbour": 2},
)
ON_EXIT_0 = restarting(
    "restart-all-on-exit-0",
    app(
        exits_with(0, after_s=2.0, times=5),
        policy=NEVER,
        rules=(restart_not_in(1, action=Action.RESTART_ALL_CONTAINERS),),
    ),
    app(HOLDS, name="neighbour"),
    pod=NEVER,
    restarts={"app": 5, "neighbour": 5},
)
AGAIN_AND_AGAIN = msgspec.structs.replace(
    restarting(
        "restart-all-again-and-again",
        app(exits_with(42, times=5), policy=NEVER, rules=RESTART_ALL),
        pod=NEVER,
        restarts={"app": 5},
    ),
    profile="reduced-decay",
)
"""Delays of up to 8 s would be due: no reset is as late as each of them."""
RESTARTED_AFTERWARDS = PodScenario(
    name="restarts-after-restart-all",
    profile="stock",
    pod=Pod(
        containers=(
            app(runs((4, 42), (1, 1), (1, 1), (1, 1)), policy=NEVER, rules=(*RESTART_ALL, restart_in(1))),
            app(HOLDS, name="neighbour"),
        ),
        restart_policy=NEVER,
    ),
    until=Until(restarts={"app": 4, "neighbour": 1}, quiet_s=30, at_most_s=150),
    mode=Mode.ANNOTATED,
)
BESIDE_A_DELAY = PodScenario(
    name="restart-all-beside-a-delay",
    profile="stock",
    pod=Pod(
        containers=(
            app(runs((6, 42)), policy=NEVER, rules=RESTART_ALL),
            app(exits_with(1, after_s=0.5, times=2), name="crashing"),
        )
    ),
    until=Until(restarts={"app": 1, "crashing": 2}, at_most_s=150),
)
"""It waits for 10 s from about 2 s on, and the rule applies at 6 s."""
OVER_KUBELET_RESTARTS = PodScenario(
    name="restart-all-over-kubelet-restarts",
    profile="max-10s",
    pod=Pod(
        containers=(
            init(exits_with(0, after_s=6.0, times=3)),
            app(runs((5, 42), (5, 42)), policy=NEVER, rules=RESTART_ALL),
            app(HOLDS, name="neighbour"),
        ),
        restart_policy=NEVER,
    ),
    until=Until(restarts={"setup": 2, "app": 2, "neighbour": 2}, quiet_s=5, at_most_s=QUICK_WATCH_S),
    interventions=(
        the.after_restart(0, InterventionKind.RESTART_KUBELET),
        the.after_restart(1, InterventionKind.RESTART_KUBELET, after_s=4.0),
    ),
)
"""The kubelet goes while it removes containers, and while the init container of the next start-up runs."""
IN_A_STATIC_POD = PodScenario(
    name="restart-all-in-a-static-pod",
    profile="max-2s",
    owner=StaticPod(),
    pod=Pod(
        containers=(
            init(exits_with(0, after_s=2.0, times=2)),
            app(runs((12, 42)), policy=NEVER, rules=RESTART_ALL),
            app(runs((11.9, 42)), name="neighbour", policy=NEVER, rules=RESTART_ALL),
            Container(name="probed", restart_policy=ALWAYS, probes=(Probe(pattern="FFSFFF", handler=Handler.HTTP),)),
        ),
        restart_policy=NEVER,
    ),
    until=Until(restarts={"setup": 1, "app": 1, "neighbour": 1, "probed": 2}, at_most_s=QUICK_WATCH_S),
)
"""Two of its containers trigger it at the same time, which is one restart of all. A probe kills another one before."""
WHILE_THE_POD_ENDS = PodScenario(
    name="exits-while-the-pod-ends",
    profile="max-2s",
    pod=Pod(
        containers=(
            init(runs((14, 1)), name="sidecar", policy=ALWAYS),
            msgspec.structs.replace(
                app(runs((13, 42)), policy=NEVER, rules=RESTART_ALL),
                exit_code_on_term=KILLED,
            ),
            msgspec.structs.replace(app(runs((15, 1)), name="crashing", policy=ALWAYS), exit_code_on_term=KILLED),
            Container(name="stubborn", exit_code_on_term=KILLED),
        ),
        grace_s=18,
    ),
    until=Until(at_least_s=36),
    interventions=(the.at(8, InterventionKind.DELETE_POD),),
)
"""Its deletion gives it from 8 s to 26 s; what ignores SIGTERM goes on, and ends by itself."""


@requirement("RAC-1")
def test_every_init_sidecar_and_regular_container_starts_again() -> Iterator[Scenario]:
    yield EVERY_KIND
    yield TWICE
    yield OVER_KUBELET_RESTARTS
    yield IN_A_STATIC_POD


@requirement("PROBE-2")
def test_a_liveness_probe_restarts_a_container_of_a_static_pod() -> Scenario:
    return IN_A_STATIC_POD


@requirement("RAC-2")
def test_pod_sandbox_address_and_volumes_are_kept() -> Scenario:
    return EVERY_KIND


@requirement("RAC-3")
def test_init_containers_run_again_first() -> Iterator[Scenario]:
    yield EVERY_KIND
    yield BY_INIT
    yield OVER_KUBELET_RESTARTS
    yield IN_A_STATIC_POD


@requirement("RAC-23")
def test_the_startup_probe_of_a_sidecar_runs_again() -> Scenario:
    return EVERY_KIND


@requirement("RAC-4")
def test_each_container_counts_one_restart() -> Iterator[Scenario]:
    yield EVERY_KIND
    yield RESTARTED_AFTERWARDS


@requirement("RAC-5")
def test_the_previous_exit_of_each_container_is_shown() -> Scenario:
    return EVERY_KIND


@requirement("RAC-6")
def test_a_condition_shows_the_restart() -> Scenario:
    return EVERY_KIND


@requirement("RAC-7")
def test_an_init_container_and_a_sidecar_can_trigger_it() -> Iterator[Scenario]:
    yield BY_INIT
    yield BY_SIDECAR


@requirement("RAC-8")
def test_ephemeral_containers_are_left_alone() -> Scenario:
    return EVERY_KIND


@requirement("RAC-9")
def test_the_logs_of_the_instances_before_it_are_kept() -> Iterator[Scenario]:
    yield EVERY_KIND
    yield BY_INIT
    yield BY_SIDECAR


@requirement("RAC-10")
def test_the_first_container_starts_within_five_seconds() -> Comparison:
    """The pods of two containers."""
    return compared("restart-all-of-two-containers", BY_SIDECAR, TWICE, ON_EXIT_0)


@requirement("RAC-19")
def test_the_first_container_starts_within_fifteen_seconds_in_every_pod() -> Iterator[Scenario]:
    yield EVERY_KIND
    yield BY_INIT
    yield BY_SIDECAR
    yield TWICE
    yield ON_EXIT_0
    yield ALL_AT_ONCE
    yield AGAIN_AND_AGAIN
    yield RESTARTED_AFTERWARDS
    yield BESIDE_A_DELAY


@requirement("RAC-11")
def test_the_pod_does_not_end_meanwhile() -> Iterator[Scenario]:
    yield EVERY_KIND
    yield BY_INIT
    yield BY_SIDECAR


@requirement("RAC-15")
def test_the_pod_is_pending_meanwhile() -> Scenario:
    return EVERY_KIND


@requirement("RAC-17")
def test_no_other_pod_has_the_condition() -> Iterator[Scenario]:
    yield the.IN_MATCHES
    yield the.MAX_2S


@requirement("RAC-18")
def test_a_container_that_waits_for_its_restart_is_taken_along() -> Scenario:
    return BESIDE_A_DELAY


@requirement("X-3")
def test_restarts_wait_as_any_other() -> Scenario:
    return AGAIN_AND_AGAIN


@requirement("X-4")
def test_a_rule_applies_to_an_exit_with_0() -> Scenario:
    return ON_EXIT_0


@requirement("X-5")
def test_probes_go_on_after_restart_all_containers() -> Iterator[Scenario]:
    """In the first, the readiness probe of "shy" ticks between its exit and the restart, and its startup probe does not."""
    source = app(runs((6, 42)), policy=NEVER, rules=RESTART_ALL)
    shy = Container(
        name="shy",
        program=runs((2, 0)),
        restart_policy=NEVER,
        probes=(
            Probe(kind=ProbeKind.STARTUP, pattern="SSS", period_s=10),
            Probe(kind=ProbeKind.READINESS, pattern="FFF", handler=Handler.HTTP),
        ),
    )
    yield probed(
        "restart-all-probes", source, shy, restarts={"app": 1, "shy": 1}, pod=NEVER, at_least_s=40, at_most_s=60
    )
    ready = Probe(kind=ProbeKind.READINESS, pattern="SSS", period_s=10)
    yield probed(
        "restart-all-probes-behind-another",
        Container(name="steady", probes=(ready,), restart_policy=NEVER),
        msgspec.structs.replace(shy, probes=shy.probes[1:]),
        source,
        restarts={"app": 1, "shy": 1, "steady": 1},
        pod=NEVER,
        at_least_s=30,
    )


WITHOUT_GRACE = PodScenario(
    name="restart-all-without-grace",
    profile="max-2s",
    pod=Pod(
        containers=(
            msgspec.structs.replace(app(runs((6, 42), (3, 0)), policy=NEVER, rules=RESTART_ALL), post_start=True),
            Container(name="stubborn", program=HOLDS, exit_code_on_term=KILLED, post_start=True, pre_stop_s=14),
        ),
        restart_policy=NEVER,
        grace_s=30,
    ),
    until=Until(restarts={"stubborn": 1}, exits={"app": 2}, at_most_s=QUICK_WATCH_S),
)
"""A hook before its end would take as long as 14 s."""


@requirement("RAC-20")
def test_what_heeds_no_sigterm_is_ended_without_the_grace_period_of_its_pod() -> Scenario:
    return WITHOUT_GRACE


@requirement("RAC-21")
def test_hooks_run_again_after_a_restart_of_all() -> Scenario:
    return WITHOUT_GRACE


@requirement("RAC-22")
def test_nothing_starts_again_while_a_pod_ends() -> Scenario:
    return WHILE_THE_POD_ENDS


@requirement("OVH-24")
def test_whatever_ends_a_container_sends_it_sigterm_first() -> Iterator[Scenario]:
    yield KILLED_AFTER_STARTING
    yield IN_A_STATIC_POD
