"""What becomes of a pod whose sandbox is killed."""

from collections.abc import Iterator

import msgspec

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container, ContainerKind, Handler, Pod, Probe, ProbeKind, RestartPolicy, restart_in
from crashloop.spec.program import HOLDS, exits_with, out_of_memory, runs
from crashloop.spec.scenario import Mode, PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import ALWAYS, NEVER, ON_FAILURE, QUICK_WATCH_S, QUIET_S, after_restart, app, at, init


def killed_during_a_delay(
    name: str, *containers: Container, at_most_s: float, of: str = "app", restarts: int = 3
) -> PodScenario:
    """The sandbox is killed while a container waits for its third restart."""
    return PodScenario(
        name=name,
        profile="stock",
        pod=Pod(containers=containers),
        until=Until(restarts={of: restarts}, at_most_s=at_most_s),
        mode=Mode.ANNOTATED,
        interventions=(after_restart(2, InterventionKind.KILL_SANDBOX, of=of, after_s=5),),
    )


@requirement("X-1")
def test_a_pod_under_never_goes_on_or_ends_without_its_sandbox() -> Scenario:
    kill = at(5, InterventionKind.KILL_SANDBOX)
    return PodScenario(
        name="sandbox-killed-under-never",
        profile="max-2s",
        pod=Pod(containers=(app(HOLDS, policy=ALWAYS),), restart_policy=NEVER),
        until=Until(exits={"app": 1}, quiet_s=QUIET_S, at_most_s=QUICK_WATCH_S),
        interventions=(kill,),
    )


@requirement("X-15")
def test_a_container_that_a_rule_restarts_after_success_goes_on_without_its_sandbox() -> Scenario:
    return PodScenario(
        name="sandbox-killed-after-success",
        profile="stock",
        pod=Pod(containers=(app(exits_with(0, times=2), policy=ON_FAILURE, rules=(restart_in(0),)),)),
        until=Until(restarts={"app": 2}, at_most_s=120),
        mode=Mode.ANNOTATED,
        interventions=(after_restart(1, InterventionKind.KILL_SANDBOX, after_s=4),),
    )


@requirement("RULES-30")
def test_what_has_succeeded_does_not_run_again_in_another_sandbox() -> Scenario:
    return PodScenario(
        name="sandbox-killed-under-on-failure",
        profile="max-2s",
        pod=Pod(containers=(app(runs((1, 0)), name="done"), app(HOLDS)), restart_policy=ON_FAILURE),
        until=Until(exits={"done": 1}, restarts={"app": 1}, quiet_s=QUIET_S, at_most_s=QUICK_WATCH_S),
        interventions=(after_restart(0, InterventionKind.KILL_SANDBOX, of="done", after_s=6),),
    )


@requirement("RULES-31")
def test_what_has_ended_under_never_does_not_run_again_in_another_sandbox() -> Scenario:
    return PodScenario(
        name="sandbox-killed-beside-never",
        profile="max-2s",
        pod=Pod(containers=(app(runs((1, 0), (20, 0)), name="done", policy=NEVER), app(HOLDS))),
        until=Until(exits={"done": 1}, restarts={"app": 1}, quiet_s=QUIET_S, at_most_s=120),
        interventions=(after_restart(0, InterventionKind.KILL_SANDBOX, of="done", after_s=6),),
    )


@requirement("RESET-11")
def test_a_container_that_waits_keeps_its_delay_without_its_sandbox() -> Iterator[Scenario]:
    yield killed_during_a_delay("sandbox-killed-during-a-delay", app(exits_with(1, times=3)), at_most_s=QUICK_WATCH_S)
    yield killed_during_a_delay(
        "sandbox-killed-under-a-sidecar",
        init(HOLDS, name="sidecar", policy=ALWAYS),
        app(exits_with(0, times=3), policy=ALWAYS),
        at_most_s=150,
    )
    yield killed_during_a_delay(
        "sandbox-killed-during-an-init-delay",
        init(runs((1, 1), (1, 1), (1, 1), (1, 1), (1, 0))),
        app(HOLDS),
        at_most_s=150,
        of="setup",
        restarts=4,
    )


def anew(name: str, *inits: Container, policy: RestartPolicy = ALWAYS) -> PodScenario:
    """The sandbox is killed while the application behind init containers runs."""
    return PodScenario(
        name=name,
        profile="max-2s",
        pod=Pod(containers=(*inits, app(HOLDS)), restart_policy=policy),
        until=Until(restarts={"app": 1}, quiet_s=2, at_most_s=QUICK_WATCH_S),
        interventions=(after_restart(0, InterventionKind.KILL_SANDBOX, of=inits[-1].name, after_s=4),),
    )


BEHIND_INIT = anew("sandbox-killed-behind-init", init(runs((2, 0), (6, 0))), init(runs((1, 0), (1, 0)), name="second"))
BEHIND_A_SIDECAR = anew(
    "sandbox-killed-behind-sidecar-and-init",
    init(HOLDS, name="sidecar", policy=ALWAYS),
    init(runs((1, 0), (3, 0))),
    policy=ON_FAILURE,
)
WITHOUT_A_KUBELET = msgspec.structs.replace(
    anew("sandbox-killed-without-a-kubelet", init(runs((1, 0), (3, 0))), init(runs((1, 0), (1, 0)), name="second")),
    profile="max-11s",
    interventions=(
        after_restart(0, InterventionKind.RESTART_KUBELET, of="second", after_s=3, down_s=4, wait=False),
        after_restart(0, InterventionKind.KILL_SANDBOX, of="second", after_s=5),
    ),
)
"""As by a reboot of the node: the kubelet finds a pod without its sandbox."""
SLOW = Container(
    name="sidecar",
    kind=ContainerKind.INIT,
    restart_policy=ALWAYS,
    probes=(Probe(kind=ProbeKind.STARTUP, pattern="FFFFS" + 40 * "S", failure_threshold=5),),
)
BEHIND_A_SLOW_SIDECAR = msgspec.structs.replace(
    anew("sandbox-killed-behind-slow-sidecar", SLOW), interventions=(at(14, InterventionKind.KILL_SANDBOX),)
)
"""No init container but the sidecar, which takes 4 s to start in each sandbox (kubernetes/kubernetes#127793)."""
BEHIND_FAILING_INIT = anew(
    "sandbox-killed-behind-failing-init",
    init(runs((1, 0), (1, 1), (1, 0))),
    init(runs((1, 0), (2, 0)), name="second"),
)


EVERY_KIND = PodScenario(
    name="sandbox-killed-beside-all-kinds",
    profile="max-2s",
    pod=Pod(
        containers=(
            app(exits_with(1, times=5)),
            app(runs((1, 3), (1, 3), (1, 3)), name="ruled", policy=NEVER, rules=(restart_in(3),)),
            app(exits_with(0, times=4), name="own-always", policy=ALWAYS),
            app(runs((2, 1)), name="own-on-failure", policy=ON_FAILURE),
            app(out_of_memory(times=2), name="greedy", policy=ALWAYS, memory_limit="32Mi"),
            Container(name="hooked", post_start=True, pre_stop_s=1),
            Container(
                name="probed",
                probes=(
                    Probe(pattern=60 * "S", timeout_s=5, handler=Handler.HTTP),
                    Probe(kind=ProbeKind.READINESS, pattern=60 * "S", timeout_s=5, handler=Handler.HTTP),
                ),
            ),
            Container(name="debug", kind=ContainerKind.EPHEMERAL),
        ),
        restart_policy=ON_FAILURE,
    ),
    until=Until(restarts={"app": 5, "hooked": 1, "probed": 1}, quiet_s=6, at_most_s=QUICK_WATCH_S),
    interventions=(at(10, InterventionKind.KILL_SANDBOX),),
)
"""Containers that hold, that crash for different reasons, and that wait, in a sandbox that goes."""


@requirement("RULES-29")
def test_another_sandbox_runs_all_init_containers_again() -> Iterator[Scenario]:
    yield BEHIND_INIT
    yield BEHIND_A_SIDECAR
    yield BEHIND_A_SLOW_SIDECAR
    yield BEHIND_FAILING_INIT
    yield WITHOUT_A_KUBELET


@requirement("OVH-24")
def test_a_sandbox_that_goes_takes_no_container_along_without_sigterm() -> Scenario:
    return EVERY_KIND


@requirement("OVH-14")
def test_another_sandbox_starts_its_containers_in_their_order() -> Iterator[Scenario]:
    yield BEHIND_INIT
    yield BEHIND_A_SIDECAR
    yield BEHIND_A_SLOW_SIDECAR
    yield BEHIND_FAILING_INIT
    yield WITHOUT_A_KUBELET
