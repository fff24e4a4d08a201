"""Delay between restarts of a container that keeps exiting.

KEP-4603 and KEP-5593; Kubernetes documentation, "Pod Lifecycle", how Pods handle problems with containers.
"""

from collections.abc import Iterator

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container, Handler, Pod, Probe
from crashloop.spec.program import Life, Program, exits_with, runs
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import NEVER, QUICK_WATCH_S, after_restart, app, crashing, ending, long_name


@requirement("BACKOFF-1")
def test_the_delay_doubles_from_ten_seconds() -> Scenario:
    return the.STOCK_TO_THE_CAP


@requirement("BACKOFF-2")
def test_no_restart_comes_before_its_delay_has_passed() -> Iterator[Scenario]:
    yield the.MAX_2S
    yield the.STOCK
    yield the.MAX_GATE_OFF


def looked_at_when_almost_due(maximum_s: int, *, restarts: int) -> PodScenario:
    """The kubelet looks about once a second, and seldom just before a delay has passed. Here it often does."""
    program = Program((Life(run_s=0.96, times=restarts),), aims_at_s=maximum_s)
    return PodScenario(
        name=f"looked-at-when-almost-due-max-{maximum_s}s",
        profile=f"max-{maximum_s}s",
        pod=Pod(containers=(app(program),)),
        until=Until(restarts={"app": restarts}),
        mode=Mode.ANNOTATED,
    )


@requirement("BACKOFF-2")
def test_no_restart_comes_at_a_look_just_before_its_delay_has_passed() -> Iterator[Scenario]:
    yield looked_at_when_almost_due(1, restarts=20)
    yield looked_at_when_almost_due(2, restarts=10)


def left_alone_at_32_s() -> PodScenario:
    """Looks end the shorter delays, so that the watch has time for the kubelet's own timer at the last of 32 s."""
    return PodScenario(
        name="left-alone-at-32-s-reduced-decay",
        profile="reduced-decay",
        pod=Pod(containers=(app(exits_with(1, after_s=0.0, times=7)),)),
        until=Until(restarts={"app": 7}, at_most_s=QUICK_WATCH_S),
        interventions=tuple(
            after_restart(number, InterventionKind.ANNOTATE, after_s=due_s + 0.2)
            for number, due_s in ((3, 4.0), (4, 8.0), (5, 16.0))
        ),
    )


@requirement("BACKOFF-3")
def test_a_delay_ends_within_its_bound() -> Iterator[Scenario]:
    yield left_alone_at_32_s()
    yield the.STOCK_LADDER


@requirement("BACKOFF-4")
def test_the_first_restart_is_free() -> Iterator[Scenario]:
    yield from the.EVERY_CURVE


@requirement("BACKOFF-7")
def test_exit_0_is_delayed_like_a_failure() -> Scenario:
    return the.SUCCEEDING


@requirement("BACKOFF-8")
def test_on_failure_restarts_until_success() -> Scenario:
    return the.FAILS_THEN_SUCCEEDS


@requirement("BACKOFF-9")
def test_never_means_never() -> Iterator[Scenario]:
    yield ending("never-exit-1", app(runs((1, 1))), pod=NEVER, exits={"app": 1}, phase="Failed")
    yield ending("never-exit-0", app(runs((1, 0))), pod=NEVER, exits={"app": 1}, phase="Succeeded")
    failing = Container(probes=(Probe(fails_after_s=2.0, handler=Handler.HTTP),))
    yield ending("never-after-a-liveness-kill", failing, pod=NEVER, exits={"app": 1}, phase="Failed")


@requirement("BACKOFF-10")
def test_every_exit_code_is_delayed_alike() -> Scenario:
    return the.SAME_DELAY


@requirement("BACKOFF-11")
def test_each_container_has_its_own_counter() -> Scenario:
    hasty = app(exits_with(1, times=5), name=long_name("a"))
    steady = app(exits_with(1, after_s=5.0, times=3), name=long_name("b"))
    return PodScenario(
        name="two-containers-reduced-decay",
        profile="reduced-decay",
        pod=Pod(containers=(hasty, steady)),
        until=Until(restarts={hasty.name: 5, steady.name: 3}),
    )


@requirement("BACKOFF-13")
def test_the_delay_counts_from_the_exit() -> Scenario:
    return crashing("max-2s", restarts=4, run_s=5.0, name="outliving-the-delay")


@requirement("BACKOFF-16")
def test_init_containers_follow_the_same_curve() -> Scenario:
    return the.INIT


@requirement("BACKOFF-17")
def test_sidecars_follow_the_same_curve() -> Scenario:
    return the.SIDECAR


@requirement("BACKOFF-19")
def test_the_sync_frequency_changes_no_delay() -> Iterator[Scenario]:
    yield crashing("sync-5s", restarts=4, at_most_s=180)
    yield crashing("sync-2m", restarts=4, at_most_s=180)


@requirement("BACKOFF-20")
def test_looking_at_a_waiting_pod_neither_starts_it_nor_doubles_its_delay() -> Iterator[Scenario]:
    yield the.MAX_10S
    yield the.MAX_11S
    yield the.MAX_GATE_OFF
    yield the.STOCK_TO_40_S
