"""Startup probes, and what waits for them: other probes, and what counts as started and ready, over kubelet restarts too."""

from collections.abc import Iterator
from typing import Any

import msgspec

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container, ContainerKind, Handler, Pod, Probe, ProbeKind, restart_in
from crashloop.spec.program import HOLDS, Program, exits_with, runs
from crashloop.spec.scenario import PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import ALWAYS, NEVER, ON_FAILURE, QUICK_WATCH_S, app, held, probed
from suites.conformance.test_probes import HTTP, READY_AGAIN_AND_AGAIN, THIRD_FAILURE
from suites.conformance.test_several_containers import SIDECAR_UNDER_NEVER

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


KUBELET_RESTARTED_BESIDE_CHANGES = PodScenario(
    name="kubelet-restarted-beside-changes",
    profile="max-2s",
    pod=Pod(
        containers=(
            Container(name="hooked", post_start=True),
            app(runs((26, 3)), name="ruled", policy=NEVER, rules=(restart_in(3),)),
            Container(name="resized", restarts_on_resize=True),
            app(HOLDS, name="changed"),
            app(runs((2, 0)), name="done", policy=ON_FAILURE),
            held(
                Probe(pattern=60 * "S", timeout_s=5, handler=HTTP),
                Probe(kind=ProbeKind.READINESS, pattern=60 * "S", timeout_s=5, handler=HTTP),
                name="probed",
            ),
            Container(
                name="crashing",
                program=exits_with(1, times=7),
                probes=(
                    Probe(pattern=60 * "S", timeout_s=5, handler=HTTP),
                    Probe(kind=ProbeKind.READINESS, pattern=60 * "S", timeout_s=5, handler=HTTP),
                ),
            ),
            Container(name="debug", kind=ContainerKind.EPHEMERAL),
        ),
    ),
    until=Until(restarts={"ruled": 1, "resized": 1, "changed": 1, "crashing": 7}, quiet_s=4, at_most_s=QUICK_WATCH_S),
    interventions=(
        the.at(5, InterventionKind.CHANGE_IMAGE, container="changed"),
        the.at(5, InterventionKind.RESIZE, container="resized", cpu="20m"),
        the.at(14, InterventionKind.RESTART_KUBELET),
    ),
)
"""What was changed before, is not changed again; what holds, holds on (kubernetes/kubernetes#63814)."""


@requirement("RULES-37")
def test_a_restarted_kubelet_ends_nothing_for_a_change_that_is_done() -> Scenario:
    return KUBELET_RESTARTED_BESIDE_CHANGES


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


@requirement("PROBE-41")
def test_a_probe_is_asked_once_a_period() -> Iterator[Scenario]:
    yield THIRD_FAILURE
    yield READY_AGAIN_AND_AGAIN
    yield FAILS_TO_START
