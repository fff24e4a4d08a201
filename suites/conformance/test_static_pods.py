"""Static pods: files of a node, whose containers the kubelet restarts as it does any other's."""

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.owner import StaticPod
from crashloop.spec.pod import Container, Pod
from crashloop.spec.program import HOLDS, KILLED, exits_with, runs
from crashloop.spec.scenario import PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import QUICK_WATCH_S, after_restart, app, at, init


@requirement("BACKOFF-22")
def test_a_static_pod_follows_the_curve_and_is_shown_again() -> Scenario:
    deletion = after_restart(3, InterventionKind.DELETE_MIRROR_POD)
    return PodScenario(
        name="static-pod",
        profile="reduced-decay-max-4s",
        owner=StaticPod(),
        pod=Pod(containers=(app(exits_with(1, times=5)),)),
        until=Until(restarts={"app": 5}, at_least_s=60.0, at_most_s=QUICK_WATCH_S),
        interventions=(deletion,),
    )


@requirement("X-13")
def test_an_edited_static_pod_begins_at_the_start() -> Scenario:
    edit = after_restart(2, InterventionKind.EDIT_STATIC_POD, after_s=2.0)
    return PodScenario(
        name="static-pod-edited",
        profile="stock",
        owner=StaticPod(),
        pod=Pod(containers=(app(exits_with(1, times=3)),)),
        until=Until(restarts={"app": 4}, at_most_s=QUICK_WATCH_S),
        interventions=(edit,),
    )


@requirement("RULES-42")
def test_a_static_pod_that_is_edited_again_while_it_ends_starts_in_turn() -> Scenario:
    stubborn = Container(name="stubborn", exit_code_on_term=KILLED)
    return PodScenario(
        name="static-pod-edited-twice",
        profile="reduced-decay-max-4s",
        owner=StaticPod(),
        pod=Pod(containers=(app(HOLDS), stubborn), grace_s=8),
        until=Until(at_least_s=60, at_most_s=QUICK_WATCH_S),
        interventions=(at(6, InterventionKind.EDIT_STATIC_POD), at(9, InterventionKind.EDIT_STATIC_POD)),
    )


@requirement("RULES-20")
def test_a_static_pod_runs_on_over_a_restart_of_the_kubelet_when_its_init_container_is_forgotten() -> Scenario:
    """kubernetes/kubernetes#108537."""
    return PodScenario(
        name="kubelet-restarted-beside-a-forgotten-init",
        profile="reduced-decay",
        owner=StaticPod(),
        pod=Pod(containers=(init(runs((0, 0))), app(HOLDS))),
        until=Until(at_least_s=30, at_most_s=QUICK_WATCH_S),
        interventions=(
            after_restart(0, InterventionKind.REMOVE_CONTAINER, of="setup", after_s=4.0, container="setup"),
            after_restart(0, InterventionKind.RESTART_KUBELET, of="setup", after_s=7.0),
        ),
    )


@requirement("RULES-43")
def test_a_static_pod_that_has_lost_its_sandbox_with_the_kubelet_goes_on() -> Scenario:
    """All its containers have ended when the kubelet comes back (kubernetes/kubernetes#107733)."""
    return PodScenario(
        name="sandbox-lost-with-the-kubelet",
        profile="stock",
        owner=StaticPod(),
        pod=Pod(containers=(app(exits_with(1, times=3)),)),
        until=Until(restarts={"app": 3}, at_most_s=QUICK_WATCH_S),
        interventions=(
            after_restart(1, InterventionKind.KILL_SANDBOX, after_s=3.0),
            after_restart(1, InterventionKind.RESTART_KUBELET, after_s=3.0),
        ),
    )


@requirement("RULES-42")
def test_a_static_pod_whose_file_is_written_again_as_it_was_starts_again() -> Scenario:
    """kubernetes/kubernetes#104648."""
    stubborn = Container(name="stubborn", exit_code_on_term=KILLED)
    return PodScenario(
        name="static-pod-renewed",
        profile="reduced-decay-max-4s",
        owner=StaticPod(),
        pod=Pod(containers=(app(HOLDS), stubborn), grace_s=6),
        until=Until(at_least_s=54, at_most_s=QUICK_WATCH_S),
        interventions=(at(6, InterventionKind.RENEW_STATIC_POD, absent_s=2.0),),
    )
