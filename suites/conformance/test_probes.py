"""Liveness, readiness and startup probes: which failures kill, and what follows from a kill."""

from collections.abc import Iterator
from typing import Any

import msgspec

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import (
    GRACE_PERIOD_S,
    Container,
    ContainerKind,
    Handler,
    Pod,
    Probe,
    ProbeKind,
    RestartPolicy,
    restart_in,
)
from crashloop.spec.program import HOLDS, KILLED, Program, runs
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import ALWAYS, NEVER, ON_FAILURE, QUICK_WATCH_S, QUIET_S, app
from suites.conformance.test_several_containers import SIDECAR_UNDER_NEVER

TERM = 143
HTTP = Handler.HTTP
"""For probes whose first question of a life may fail unnoted, since it may come before the server. A command costs the host many
times as much."""


def probed(
    name: str,
    *containers: Container,
    restarts: dict[str, int],
    profile: str = "max-2s",
    pod: RestartPolicy = ALWAYS,
    grace_s: int = GRACE_PERIOD_S,
    at_least_s: float = 0.0,
    at_most_s: float = QUICK_WATCH_S,
    mode: Mode = Mode.NATURAL,
) -> PodScenario:
    """A pod whose containers hold until their probes have them killed, watched until they have restarted that often."""
    return PodScenario(
        name=name,
        profile=profile,
        pod=Pod(containers=containers, restart_policy=pod, grace_s=grace_s),
        until=Until(restarts=restarts, at_least_s=at_least_s, at_most_s=at_most_s),
        mode=mode,
    )


def held(*probes: Probe, name: str = "app") -> Container:
    return Container(name=name, program=HOLDS, probes=probes)


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


FAILS_TO_START = probed(
    "startup-fails",
    held(Probe(kind=ProbeKind.STARTUP, pattern="FFF")),
    held(Probe(kind=ProbeKind.STARTUP, pattern="FFS"), name="slow"),
    restarts={"app": 2},
)


AFTER_STARTING = (
    Probe(kind=ProbeKind.STARTUP, pattern="FFFFS", failure_threshold=5),
    Probe(pattern="SFSFFF", handler=HTTP, hangs=True),
)
KILLED_AFTER_STARTING = probed("killed-after-starting", held(*AFTER_STARTING), restarts={"app": 2})
SIDECAR_KILLED_AFTER_STARTING = probed(
    "sidecar-killed-after-starting",
    Container(name="sidecar", kind=ContainerKind.INIT, restart_policy=ALWAYS, probes=AFTER_STARTING),
    held(),
    restarts={"sidecar": 2},
)
CHANGED_AFTER_STARTING = PodScenario(
    name="changed-after-starting",
    profile="max-2s",
    pod=Pod(
        containers=(
            held(AFTER_STARTING[0]),
            msgspec.structs.replace(held(AFTER_STARTING[0], name="resized"), restarts_on_resize=True),
        )
    ),
    until=Until(restarts={"app": 1, "resized": 1}, quiet_s=8, at_most_s=QUICK_WATCH_S),
    interventions=(
        the.at(14, InterventionKind.CHANGE_IMAGE, container="app"),
        the.at(14, InterventionKind.RESIZE, container="resized", cpu="20m"),
    ),
)
EXITS_WITHOUT_THE_KUBELET = PodScenario(
    name="exit-while-the-kubelet-is-away",
    profile="max-gate-off",
    pod=Pod(containers=(Container(program=runs((16, 1)), probes=AFTER_STARTING[:1]),)),
    until=Until(restarts={"app": 1}, at_least_s=33, at_most_s=QUICK_WATCH_S),
    interventions=(the.at(12, InterventionKind.RESTART_KUBELET, down_s=10.0),),
)
"""Its next life has not started before the fifth answer (kubernetes/kubernetes#141179)."""
OF_THEIR_OWN_THRESHOLDS = probed(
    "probes-of-their-own-thresholds",
    held(
        Probe(kind=ProbeKind.STARTUP, pattern="FFFFFS", failure_threshold=6),
        Probe(pattern="SS" + "FFFS" * 3 + "FFFF", failure_threshold=4, timeout_s=5, handler=HTTP),
        Probe(kind=ProbeKind.READINESS, pattern="SFSFFSS", failure_threshold=2, timeout_s=5, handler=HTTP),
    ),
    restarts={"app": 1},
)
"""Each probe has failures that are one too few for itself, and would be enough for another."""


@requirement("PROBE-2")
def test_a_request_without_an_answer_is_a_failure_in_every_life() -> Scenario:
    return KILLED_AFTER_STARTING


SUCCEEDS_IN_STARTING = probed(
    "startup-succeeds",
    Container(
        program=runs(*[(10, 1)] * 3),
        probes=tuple(
            Probe(kind=kind, pattern=pattern, timeout_s=5, failure_threshold=10)
            for kind, pattern in (
                (ProbeKind.STARTUP, "FFFFSSSSSS"),
                (ProbeKind.LIVENESS, 10 * "S"),
                (ProbeKind.READINESS, 10 * "S"),
            )
        ),
    ),
    restarts={"app": 3},
    at_least_s=50,
    at_most_s=180,
)


STARTS_WHILE_THE_RUNTIME_HANGS = msgspec.structs.replace(
    probed(
        "started-while-the-runtime-hangs",
        Container(
            program=runs((1, 1)),
            probes=(Probe(kind=ProbeKind.STARTUP, pattern=7 * "F" + 53 * "S", failure_threshold=60, handler=HTTP),),
        ),
        restarts={"app": 1},
        profile="max-11s",
        at_least_s=22,
    ),
    interventions=(the.at(5, InterventionKind.RESTART_RUNTIME, down_s=12.0, hangs=True),),
)
"""The kubelet's main loop waits for the runtime when the probe succeeds, after about 10 s, and states that only then
(kubernetes/kubernetes#117153)."""


def slow(name: str) -> Container:
    """It starts after 32 s, when even a kubelet that has just started asks its readiness probe."""
    starting = Probe(kind=ProbeKind.STARTUP, pattern=32 * "F" + 48 * "S", failure_threshold=80, handler=HTTP)
    return held(starting, Probe(kind=ProbeKind.READINESS, pattern="SSS", period_s=30), name=name)


SLOW_BUT_READY = probed("ready-behind-startup", slow("app"), slow("other"), restarts={}, at_least_s=60)
"""Two, since a question by the period alone may come soon by chance."""


@requirement("PROBE-38")
def test_a_readiness_probe_is_asked_once_the_startup_probe_has_succeeded() -> Iterator[Scenario]:
    yield SLOW_BUT_READY
    yield SUCCEEDS_IN_STARTING


STARTS_ALONE = probed("started-alone", held(Probe(kind=ProbeKind.STARTUP, pattern="FFSSS")), restarts={}, at_least_s=50)
"""Nothing else makes the kubelet look at it within a minute."""


@requirement("PROBE-39")
def test_a_container_is_ready_once_its_startup_probe_has_succeeded() -> Scenario:
    return STARTS_ALONE


@requirement("PROBE-24")
def test_a_startup_probe_kills_as_well() -> Scenario:
    return FAILS_TO_START


@requirement("OVH-3")
def test_a_startup_probe_runs_again_at_every_start() -> Iterator[Scenario]:
    """Of the last, no stall makes answers late or the pod fail; the other probes have to wait for the startup probe."""
    yield FAILS_TO_START
    yield KILLED_AFTER_STARTING
    yield SIDECAR_KILLED_AFTER_STARTING
    yield CHANGED_AFTER_STARTING
    yield EXITS_WITHOUT_THE_KUBELET
    yield SIDECAR_UNDER_NEVER
    yield STARTS_WHILE_THE_RUNTIME_HANGS
    yield SUCCEEDS_IN_STARTING


@requirement("PROBE-31")
def test_a_container_has_started_when_it_runs_and_its_startup_probe_has_succeeded() -> Iterator[Scenario]:
    yield the.MAX_2S
    yield FAILS_TO_START
    yield KILLED_AFTER_STARTING
    yield SIDECAR_KILLED_AFTER_STARTING
    yield CHANGED_AFTER_STARTING
    yield EXITS_WITHOUT_THE_KUBELET
    yield SUCCEEDS_IN_STARTING


@requirement("RULES-44")
def test_the_status_names_the_generation_that_the_kubelet_has_seen() -> Iterator[Scenario]:
    yield CHANGED_AFTER_STARTING
    yield the.MAX_2S


@requirement("PROBE-40")
def test_each_probe_goes_by_its_own_threshold() -> Scenario:
    return OF_THEIR_OWN_THRESHOLDS


def settled(name: str = "app", *, program: Program = HOLDS, **own: Any) -> Container:
    """Started and ready within 11 s; a look of the kubelet that begins anew takes up to 5 s to say so again."""
    probes = tuple(
        Probe(kind=each, pattern=40 * "S", period_s=5, timeout_s=5, handler=handler)
        for each, handler in ((ProbeKind.STARTUP, Handler.EXEC), (ProbeKind.READINESS, HTTP))
    )
    return Container(name=name, program=program, probes=probes, **own)


KUBELET_RESTARTED_BESIDE_PROBES = PodScenario(
    name="kubelet-restarted-beside-probes",
    profile="rules-off",
    pod=Pod(
        containers=(
            settled("sidecar", kind=ContainerKind.INIT, restart_policy=ALWAYS),
            settled(program=runs((45, 1))),
        )
    ),
    until=Until(restarts={"app": 1}, at_most_s=QUICK_WATCH_S),
    interventions=(the.at(28, InterventionKind.RESTART_KUBELET),),
)
"""Nothing but the sidecar runs when the application exits (kubernetes/kubernetes#136910, #137146)."""


@requirement("PROBE-36")
def test_a_restarted_kubelet_takes_nothing_back() -> Iterator[Scenario]:
    """Nor does it call ready what is not (kubernetes/kubernetes#131303)."""
    yield KUBELET_RESTARTED_BESIDE_PROBES
    unready = Probe(kind=ProbeKind.READINESS, pattern="FFF", period_s=5, timeout_s=5, handler=HTTP)
    yield PodScenario(
        name="kubelet-restarted-beside-unready",
        profile="rules-off",
        # The other one's exit has a status written, also by a kubelet that has found nothing changed.
        pod=Pod(containers=(held(unready), app(runs((24, 1)), name="other"))),
        until=Until(restarts={"other": 1}, quiet_s=2, at_most_s=QUICK_WATCH_S),
        interventions=(the.at(18, InterventionKind.RESTART_KUBELET),),
    )


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


@requirement("PROBE-41")
def test_a_probe_is_asked_once_a_period() -> Iterator[Scenario]:
    yield THIRD_FAILURE
    yield READY_AGAIN_AND_AGAIN
    yield FAILS_TO_START
