"""Static pods: files of a node, whose containers the kubelet restarts as it does any other's."""

from crashloop.spec.intervention import InterventionKind
from crashloop.spec.owner import StaticPod
from crashloop.spec.pod import Pod
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario, Scenario, Until
from fixtures.requirements import requirement
from suites.conformance.scenarios import QUICK_WATCH_S, after_restart, app


@requirement("BACKOFF-22")
def test_a_static_pod_follows_the_curve_and_is_shown_again() -> Scenario:
    deletion = after_restart(3, InterventionKind.DELETE_MIRROR_POD)
    return PodScenario(
        name="static-pod",
        profile="reduced-decay-max-4s",
        owner=StaticPod(),
        pod=Pod(containers=(app(exits_with(1, times=6)),)),
        until=Until(restarts={"app": 6}, at_least_s=60.0, at_most_s=QUICK_WATCH_S),
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
