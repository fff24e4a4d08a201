"""Liveness and readiness probes: which failures kill, what follows from a kill, and what is ready."""

from collections.abc import Iterator
from typing import Any

import msgspec

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import (
    Container,
    ContainerKind,
    Handler,
    Pod,
    Probe,
    ProbeKind,
    restart_in,
)
from crashloop.spec.program import HOLDS, KILLED, runs
from crashloop.spec.scenario import PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import ALWAYS, NEVER, ON_FAILURE, QUICK_WATCH_S, QUIET_S, app, held, probed

TERM = 143
HTTP = Handler.HTTP
"""For probes whose first question of a life may fail unnoted, since it may come before the server. A command costs the host many
times as much."""


HOOKED = msgspec.structs.replace(held(Probe(pattern="FFSFFF")), pre_stop_s=1)
THIRD_FAILURE = probed("liveness-third-failure", HOOKED, restarts={"app": 2})


@requirement("PROBE-2")
def test_the_third_failure_in_a_row_kills() -> Iterator[Scenario]:
    yield THIRD_FAILURE
    over_http = Probe(pattern="FFSFFF", handler=HTTP)
    yield probed("liveness-third-failure-over-http", held(over_http), restarts={"app": 1})


@requirement("PROBE-3")
def test_a_late_answer_is_a_failure() -> Scenario:
    """Both containers answer after 1.5 s; only one kubelet's patience ends before."""
    impatient = held(Probe(pattern="SSS", answers_after_s=1.5))
    patient = held(Probe(pattern="SSS", answers_after_s=1.5, timeout_s=5), name="patient")
    return probed("liveness-late-answers", impatient, patient, restarts={"app": 1}, at_least_s=15)


@requirement("PROBE-4")
def test_repeated_kills_wait_ten_twenty_and_forty_seconds() -> Iterator[Scenario]:
    short, long = Probe(fails_after_s=2.0), Probe(fails_after_s=27.0)
    yield probed("liveness-loop-short", held(short), restarts={"app": 5}, profile="stock", at_most_s=260)
    yield probed("liveness-loop-long", held(long), restarts={"app": 8}, profile="stock", at_most_s=580)
    yield probed("liveness-loop-at-the-cap", held(short), restarts={"app": 6}, profile="max-10s", at_most_s=160)
    starting = held(Probe(kind=ProbeKind.STARTUP, pattern="FFF"))
    yield probed("startup-loop-at-the-cap", starting, restarts={"app": 5}, profile="max-10s", at_most_s=160)


@requirement("PROBE-5")
def test_only_failures_in_a_row_count() -> Scenario:
    return probed("liveness-two-of-three-fail", held(Probe(pattern="FFS")), restarts={}, at_least_s=75)


@requirement("PROBE-6")
def test_a_threshold_of_ten_tolerates_nine_failures() -> Scenario:
    probe = Probe(pattern="F" * 9 + "S" + "F" * 10, failure_threshold=10)
    return probed("liveness-tenth-failure", held(probe), restarts={"app": 1})


@requirement("PROBE-19")
def test_a_lenient_probe_finds_a_hang_later() -> Iterator[Scenario]:
    strict = Probe(fails_after_s=5.0, hangs=True, handler=HTTP)
    lenient = Probe(fails_after_s=5.0, hangs=True, timeout_s=5, failure_threshold=6)
    yield probed("liveness-hang-strict", held(strict), restarts={"app": 3}, at_most_s=90)
    yield probed("liveness-hang-lenient", held(lenient), restarts={"app": 3}, at_most_s=200)


KILLED_BY_RULE = app(HOLDS, policy=NEVER, rules=(restart_in(TERM),))


def killed_later(container: Container, after_s: float, handler: Handler) -> Container:
    return Container(
        program=HOLDS,
        restart_policy=container.restart_policy,
        rules=container.rules,
        probes=(Probe(fails_after_s=after_s, handler=handler),),
    )


KILLED_BESIDE_ANOTHER = PodScenario(
    name="liveness-kill-beside-another",
    profile="max-2s",
    pod=Pod(
        containers=(killed_later(KILLED_BY_RULE, 15, HTTP), app(HOLDS, name="neighbour")),
        restart_policy=NEVER,
    ),
    until=Until(exits={"app": 1}, quiet_s=QUIET_S, at_most_s=QUICK_WATCH_S),
)


@requirement("RULES-18")
def test_rules_do_not_apply_to_a_container_that_a_probe_kills() -> Scenario:
    return KILLED_BESIDE_ANOTHER


@requirement("X-2")
def test_a_pod_whose_only_container_a_probe_kills_goes_on_or_ends() -> Scenario:
    return PodScenario(
        name="liveness-kill-of-the-only-one",
        profile="max-2s",
        pod=Pod(containers=(killed_later(KILLED_BY_RULE, 2, Handler.EXEC),), restart_policy=NEVER),
        until=Until(exits={"app": 1}, quiet_s=QUIET_S, at_most_s=QUICK_WATCH_S),
    )


@requirement("X-9")
def test_a_clean_exit_on_a_liveness_kill_is_followed_by_a_restart() -> Scenario:
    clean = Container(program=HOLDS, probes=(Probe(fails_after_s=1.0),), exit_code_on_term=0)
    return probed("liveness-kill-with-clean-exit", clean, restarts={"app": 3}, profile="stock", pod=ON_FAILURE)


READY_AGAIN_AND_AGAIN = probed(
    "readiness-comes-and-goes",
    # No stall makes its answers late: they are to come in this order.
    held(
        Probe(
            kind=ProbeKind.READINESS,
            pattern="F" + "SF" * 4 + "SSF" * 10,
            period_s=2,
            timeout_s=5,
            success_threshold=2,
            handler=HTTP,
        ),
        name="comes",
    ),
    held(Probe(kind=ProbeKind.READINESS, pattern="SS" + "F" * 40, period_s=2, handler=HTTP), name="goes"),
    Container(
        name="crashes",
        program=runs(*[(8, 1)] * 3),
        # A command may run before the life that it asks has stamped its start; a server comes after that.
        probes=(Probe(kind=ProbeKind.READINESS, pattern="FFFF" + "S" * 40, handler=HTTP),),
    ),
    Container(
        name="sidecar",
        kind=ContainerKind.INIT,
        restart_policy=ALWAYS,
        probes=(Probe(kind=ProbeKind.READINESS, pattern="FFFF" + "S" * 40, handler=HTTP),),
    ),
    restarts={"crashes": 3},
    at_least_s=72,
)


@requirement("PROBE-25")
def test_ready_follows_the_readiness_probe() -> Scenario:
    return READY_AGAIN_AND_AGAIN


@requirement("PROBE-30")
def test_ready_follows_successes_in_a_row() -> Scenario:
    return READY_AGAIN_AND_AGAIN


@requirement("BACKOFF-2")
def test_no_restart_comes_early_because_the_container_was_ready() -> Scenario:
    return READY_AGAIN_AND_AGAIN


@requirement("RULES-37")
def test_a_container_runs_on_beside_others() -> Iterator[Scenario]:
    yield READY_AGAIN_AND_AGAIN
    yield KILLED_BESIDE_ANOTHER
    yield the.KUBELET_RESTARTED


@requirement("PROBE-26")
def test_failures_before_a_restart_do_not_count_after_it() -> Scenario:
    """The first life exits before its third answer, a success; each further one goes on to it. No stall makes answers late."""
    failing = Container(program=runs((2.0, 1)), probes=(Probe(pattern="FF" + "S" * 40, timeout_s=5),))
    return probed("liveness-third-failure-after-a-restart", failing, restarts={"app": 1}, at_least_s=25)


@requirement("PROBE-32")
def test_successes_before_a_restart_do_not_count_after_it() -> Scenario:
    """Each life is due to be ready 8 to 10 s after its start. No stall makes answers late."""
    probe = Probe(
        kind=ProbeKind.READINESS, pattern="SSS", initial_delay_s=2, period_s=2, timeout_s=5, success_threshold=4
    )
    succeeding = Container(program=runs((12, 1), (12, 1), (12, 1)), probes=(probe,))
    return probed("readiness-after-a-restart", succeeding, restarts={"app": 3}, at_least_s=60)


def stubborn(*probes: Probe, **own: Any) -> Container:
    """It ignores SIGTERM."""
    return Container(program=HOLDS, probes=probes, exit_code_on_term=KILLED, **own)


@requirement("PROBE-33")
def test_a_killed_container_has_the_grace_period_of_its_probe() -> Iterator[Scenario]:
    failing = stubborn(Probe(pattern="FFF", grace_s=4))
    yield probed("liveness-shorter-grace", failing, restarts={"app": 1}, grace_s=30)
    starting = stubborn(Probe(kind=ProbeKind.STARTUP, pattern="FFF", grace_s=8))
    yield probed("startup-longer-grace", starting, restarts={"app": 1})
    hooked = stubborn(Probe(pattern="FFF", grace_s=16), pre_stop_s=14)
    yield probed("liveness-grace-with-a-hook", hooked, restarts={"app": 1})


DELETED = PodScenario(
    name="deleted-pod-with-probe-grace",
    profile="max-2s",
    pod=Pod(
        containers=(
            stubborn(Probe(pattern="SSS", grace_s=25, handler=HTTP), Probe(kind=ProbeKind.READINESS, pattern="SSS")),
            stubborn(
                Probe(kind=ProbeKind.STARTUP, pattern=99 * "F", failure_threshold=99, handler=HTTP), name="starting"
            ),
        ),
        grace_s=9,
    ),
    until=Until(at_least_s=30),
    interventions=(the.at(5, InterventionKind.DELETE_POD, read_after_s=7.0),),
)
"""Its readiness probe runs a command: only of those it was that they ended with their pod (kubernetes/kubernetes#140882)."""

DELETED_WITH_A_SIDECAR = PodScenario(
    name="deleted-pod-with-a-probed-sidecar",
    profile="max-2s",
    pod=Pod(
        containers=(
            stubborn(
                Probe(pattern="SSS", handler=HTTP), name="sidecar", kind=ContainerKind.INIT, restart_policy=ALWAYS
            ),
            stubborn(Probe(pattern="SSS", handler=HTTP), Probe(kind=ProbeKind.READINESS, pattern="SSS", handler=HTTP)),
        ),
        grace_s=9,
    ),
    until=Until(at_least_s=30),
    interventions=DELETED.interventions,
)
"""kubernetes/kubernetes#141766."""


@requirement("PROBE-34")
def test_the_grace_period_of_a_probe_is_none_of_a_deletion() -> Scenario:
    return DELETED


@requirement("PROBE-37")
def test_only_readiness_probes_go_on_while_a_pod_ends() -> Iterator[Scenario]:
    yield DELETED
    yield DELETED_WITH_A_SIDECAR
