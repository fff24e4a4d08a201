"""What a start gives a container, in which order containers start, and when a start is tried again that could not succeed."""

from collections.abc import Iterator

import msgspec

from crashloop.spec.dependency import ConfigKind, ConfigObject, Variable
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, ContainerKind, Handler, Pod, Probe, ProbeKind
from crashloop.spec.program import HOLDS, KILLED, Program, exits_with, hook_fails, runs
from crashloop.spec.scenario import PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import ALWAYS, NEVER, ON_FAILURE, QUICK_WATCH_S, app, at, ending, init
from suites.conformance.test_programs import TASKS

SETTINGS = ConfigObject(name="settings", data={"GREETING": "one"})
TOKEN = ConfigObject(name="token", data={"TOKEN": "red"}, kind=ConfigKind.SECRET)
GREETING = Variable(name="GREETING", object="settings")


def on_settings(action: InterventionKind, trigger: Trigger, name: str = "settings", **data: str) -> Intervention:
    """An action on an object."""
    return Intervention(trigger=trigger, action=action, arguments={"object": name} | ({"data": data} if data else {}))


DURING_THE_LONG_LIFE = Trigger(after_s=7)
STARTED_AGAIN = PodScenario(
    name="started-again-max-2s",
    profile="max-2s",
    pod=Pod(
        containers=(
            Container(
                name="app",
                program=msgspec.structs.replace(runs((2.5, 1), (10, 1), (4, 1), (25, 1)), marks_volume=True),
                env=(GREETING, Variable(name="TOKEN", object="token")),
                post_start=True,
            ),
        )
    ),
    until=Until(restarts={"app": 4}, quiet_s=3),
    objects=(SETTINGS, TOKEN),
    interventions=(
        on_settings(InterventionKind.CHANGE_OBJECT, DURING_THE_LONG_LIFE, GREETING="two"),
        on_settings(InterventionKind.CHANGE_OBJECT, DURING_THE_LONG_LIFE, "token", TOKEN="green"),
    ),
)
NEVER_RAN = PodScenario(
    name="object-comes-later-stock",
    profile="stock",
    pod=Pod(containers=(Container(program=HOLDS, env=(GREETING,)),)),
    until=Until(at_least_s=60),
    objects=(ConfigObject(name="settings", data=SETTINGS.data, present=False),),
    interventions=(on_settings(InterventionKind.CREATE_OBJECT, Trigger(after_s=33)),),
)
FOLDER_COMES_LATER = PodScenario(
    name="volume-comes-later-stock",
    profile="stock",
    pod=Pod(containers=(Container(program=exits_with(1, times=3), folders=("settings",)),)),
    until=Until(restarts={"app": 3}, at_most_s=240),
    objects=NEVER_RAN.objects,
    interventions=(on_settings(InterventionKind.CREATE_OBJECT, Trigger(after_s=12)),),
)
NETWORK_COMES_LATER = PodScenario(
    name="network-comes-later-stock",
    profile="stock",
    pod=Pod(containers=(Container(program=exits_with(1, times=3)),)),
    until=Until(restarts={"app": 3}, at_most_s=240),
    interventions=(
        Intervention(trigger=Trigger(before_pod=True), action=InterventionKind.TAKE_NETWORK),
        at(12, InterventionKind.GIVE_NETWORK),
    ),
)
IN_ANOTHER_SANDBOX = PodScenario(
    name="object-comes-to-another-sandbox",
    profile="max-2s",
    pod=Pod(
        containers=(app(runs((1, 0)), name="done"), Container(program=HOLDS, env=(GREETING,))),
        restart_policy=ON_FAILURE,
    ),
    until=Until(at_least_s=80, at_most_s=100),
    objects=NEVER_RAN.objects,
    interventions=(
        at(15, InterventionKind.KILL_SANDBOX),
        on_settings(InterventionKind.CREATE_OBJECT, Trigger(after_s=45)),
    ),
)
"""The sandbox is killed after one container has succeeded, and before the other has been created."""
FIRST_IN_ANOTHER_SANDBOX = PodScenario(
    name="object-comes-to-another-sandbox-under-never",
    profile="max-2s",
    pod=Pod(containers=(Container(program=runs((2, 0)), env=(GREETING,)),), restart_policy=NEVER),
    until=Until(phase="Succeeded", at_most_s=QUICK_WATCH_S),
    objects=NEVER_RAN.objects,
    interventions=(
        at(6, InterventionKind.KILL_SANDBOX),
        on_settings(InterventionKind.CREATE_OBJECT, Trigger(after_s=14)),
    ),
)
"""No container has been created when the sandbox is killed (kubernetes/kubernetes#79398)."""
BESIDE_A_DELAY = PodScenario(
    name="object-comes-during-a-delay-stock",
    profile="stock",
    pod=Pod(
        containers=(
            app(exits_with(1, times=5), name="crashing"),
            Container(program=HOLDS, env=(GREETING,)),
        )
    ),
    until=Until(restarts={"crashing": 5}, at_most_s=300),
    objects=NEVER_RAN.objects,
    interventions=(
        on_settings(InterventionKind.CREATE_OBJECT, Trigger(container="crashing", after_restart=4, after_s=3)),
    ),
)
FAILED_STARTS = PodScenario(
    name="object-goes-and-returns-stock",
    profile="stock",
    pod=Pod(containers=(Container(program=runs((15, 1), (1, 1)), env=(GREETING,)),)),
    until=Until(restarts={"app": 2}, at_most_s=400),
    objects=(SETTINGS,),
    interventions=(
        on_settings(InterventionKind.DELETE_OBJECT, Trigger(after_s=8)),
        on_settings(InterventionKind.CREATE_OBJECT, Trigger(container="app", after_restart=0, after_s=65)),
    ),
)
DELETED = PodScenario(
    name="deleted-pod",
    profile="max-2s",
    pod=Pod(
        containers=(
            init(runs((0.5, 0))),
            Container(
                name="sidecar", kind=ContainerKind.INIT, program=Program(), restart_policy=ALWAYS, exit_code_on_term=5
            ),
            Container(
                name="proxy", kind=ContainerKind.INIT, program=Program(), restart_policy=ALWAYS, exit_code_on_term=6
            ),
            Container(name="web", exit_code_on_term=7, pre_stop_s=1),
            Container(name="api", exit_code_on_term=0),
        ),
        grace_s=10,
    ),
    until=Until(at_least_s=25),
    interventions=(at(12, InterventionKind.DELETE_POD),),
)


@requirement("OVH-2")
def test_the_hook_of_a_sidecar_runs_at_every_start() -> Scenario:
    return the.SIDECAR


@requirement("OVH-2")
def test_the_post_start_hook_runs_at_every_start() -> Scenario:
    return STARTED_AGAIN


@requirement("OVH-21")
def test_a_failing_hook_ends_its_container_which_restarts() -> Scenario:
    return PodScenario(
        name="failing-hook-max-2s",
        profile="max-2s",
        pod=Pod(containers=(Container(program=hook_fails(times=4), post_start=True),)),
        until=Until(restarts={"app": 4}, at_most_s=90),
    )


@requirement("OVH-4")
def test_the_environment_is_read_again_at_every_start() -> Scenario:
    return STARTED_AGAIN


@requirement("OVH-6")
def test_volumes_stay_mounted_over_restarts() -> Iterator[Scenario]:
    yield STARTED_AGAIN
    yield TASKS


@requirement("OVH-13")
def test_the_last_status_of_a_deleted_pod_shows_every_exit_code() -> Scenario:
    return DELETED


@requirement("OVH-17")
def test_a_deleted_pod_ends_in_a_phase_by_its_exits() -> Iterator[Scenario]:
    yield DELETED
    yield PodScenario(
        name="deleted-pod-with-success",
        profile="max-2s",
        pod=Pod(containers=tuple(Container(name=name, exit_code_on_term=0) for name in ("web", "api"))),
        until=Until(at_least_s=15),
        interventions=(at(5, InterventionKind.DELETE_POD),),
    )


@requirement("OVH-23")
def test_a_deleted_pod_is_gone_soon() -> Iterator[Scenario]:
    """Also where its kubelet first sees it deleted, and restarts while it ends, and where it waits for a volume."""
    stubborn = Container(name="stubborn", exit_code_on_term=KILLED)
    yield PodScenario(
        name="deleted-without-a-kubelet",
        profile="max-1s",
        pod=Pod(containers=(app(HOLDS), app(exits_with(1, times=8), name="crashing"), stubborn), grace_s=10),
        until=Until(at_least_s=60),
        interventions=(
            at(5, InterventionKind.RESTART_KUBELET, down_s=4, wait=False),
            at(7, InterventionKind.DELETE_POD, wait=False),
            at(14, InterventionKind.RESTART_KUBELET),
        ),
    )
    yield PodScenario(
        name="deleted-by-force-without-a-runtime",
        profile="reduced-decay-max-4s",
        pod=Pod(containers=(app(HOLDS), stubborn), grace_s=10),
        until=Until(at_least_s=56),
        interventions=(
            at(5, InterventionKind.RESTART_RUNTIME, down_s=3, wait=False),
            at(6, InterventionKind.DELETE_POD, wait=False, at_once=True),
            at(13, InterventionKind.RESTART_RUNTIME),
        ),
    )
    starting = Probe(kind=ProbeKind.STARTUP, pattern=99 * "F", failure_threshold=99, handler=Handler.HTTP)
    sidecar = Container(name="first", kind=ContainerKind.INIT, restart_policy=ALWAYS, probes=(starting,))
    yield PodScenario(
        name="deleted-in-its-initialisation",
        profile="max-2s",
        pod=Pod(containers=(sidecar, init(HOLDS, name="second", policy=ALWAYS), app(HOLDS)), grace_s=20),
        until=Until(at_least_s=28),
        interventions=(at(5, InterventionKind.DELETE_POD),),
    )
    yield PodScenario(
        name="deleted-while-it-waits",
        profile="max-2s",
        pod=Pod(containers=(Container(program=HOLDS, folders=("settings",)),)),
        until=Until(at_least_s=44),
        objects=NEVER_RAN.objects,
        interventions=(at(8, InterventionKind.DELETE_POD, wait=False),),
    )


@requirement("OVH-14")
def test_containers_start_in_their_order() -> Scenario:
    return DELETED


@requirement("BACKOFF-15")
def test_a_container_that_has_never_run_is_not_delayed() -> Iterator[Scenario]:
    yield NEVER_RAN
    yield IN_ANOTHER_SANDBOX
    yield FIRST_IN_ANOTHER_SANDBOX


@requirement("OVH-15")
def test_a_wait_for_a_volume_does_not_count() -> Scenario:
    return FOLDER_COMES_LATER


@requirement("OVH-19")
def test_a_wait_for_the_network_does_not_count() -> Scenario:
    return NETWORK_COMES_LATER


@requirement("X-8")
def test_a_delay_does_not_hold_up_the_start_of_another_container() -> Scenario:
    return BESIDE_A_DELAY


@requirement("X-7")
def test_a_start_that_failed_does_not_lengthen_the_delay() -> Scenario:
    return FAILED_STARTS


@requirement("BACKOFF-21")
def test_an_ephemeral_container_is_not_restarted() -> Scenario:
    debug = Container(name="debug", kind=ContainerKind.EPHEMERAL, program=exits_with(1))
    crashing = app(exits_with(1, times=4), name="crashing")
    return ending("ephemeral-container", app(HOLDS), crashing, debug, pod=ALWAYS, exits={"debug": 1}, phase="Running")
