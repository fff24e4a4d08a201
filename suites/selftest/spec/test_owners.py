"""What a Job, a Deployment and a static pod take from a scenario, and what is refused."""

from typing import Any

import pytest

from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.dependency import ConfigObject
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.owner import Deployment, Job, StaticPod
from crashloop.spec.pod import Container, ContainerKind, Pod, RestartPolicy
from crashloop.spec.program import Life, Program
from crashloop.spec.scenario import Mode, PodScenario, Until

NEVER, ON_FAILURE, ALWAYS = RestartPolicy.NEVER, RestartPolicy.ON_FAILURE, RestartPolicy.ALWAYS


@pytest.mark.parametrize(
    ("job", "policy", "mode", "fault"),
    [
        (Job(), ALWAYS, Mode.NATURAL, "a Job takes no pod with restart policy Always"),
        (
            Job(fails_on=(1,)),
            ON_FAILURE,
            Mode.NATURAL,
            "a Job with podFailurePolicy takes no pod with restart policy OnFailure",
        ),
        (Job(backoff_limit=8), NEVER, Mode.NATURAL, "backoff_limit 8 lets the Job make more than 8 pods"),
        (Job(parallelism=9), NEVER, Mode.NATURAL, "parallelism 9 is none of 1 to 8"),
        (
            Job(parallelism=2),
            NEVER,
            Mode.NATURAL,
            "a Job of several pods at a time takes policy Never and a backoff_limit of 0",
        ),
        (Job(), NEVER, Mode.ANNOTATED, "the recorder changes no pod of a Job"),
    ],
)
def test_a_job_is_refused(job: Job, policy: RestartPolicy, mode: Mode, fault: str) -> None:
    pod = Pod(containers=(Container(),), restart_policy=policy)
    with pytest.raises(ValueError, match=f"scenario 's': {fault}"):
        PodScenario(name="s", profile="stock", pod=pod, until=Until(), mode=mode, owner=job)


@pytest.mark.parametrize("owner", [None, Job()], ids=["no-job", "one-pod"])
def test_a_program_of_the_first_pod_only_needs_a_job_of_several(owner: Job | None) -> None:
    program = Program((Life(exit_code=42), Life(exit_code=0)), first_pod_only=True)
    pod = Pod(containers=(Container(program=program),), restart_policy=NEVER)
    with pytest.raises(ValueError, match="scenario 's': a program of the first pod only needs a Job of several pods"):
        PodScenario(name="s", profile="stock", pod=pod, until=Until(), owner=owner)


def deployed(policy: RestartPolicy = RestartPolicy.ALWAYS, **more: Any) -> PodScenario:
    pod = Pod(containers=(Container(),), restart_policy=policy)
    options: dict[str, Any] = {"control_plane": ControlPlane()} | more
    return PodScenario(name="s", profile="stock", pod=pod, until=Until(), owner=Deployment(), **options)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"policy": RestartPolicy.NEVER}, "a Deployment takes no pod with restart policy Never"),
        ({"control_plane": None}, "a Deployment makes pods without end, so it needs a control plane for itself"),
        ({"mode": Mode.ANNOTATED}, "the recorder changes no pod of a Deployment"),
    ],
)
def test_a_deployment_is_refused(change: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=f"scenario 's': {fault}"):
        deployed(**change)


def test_its_pods_are_replaced_by_a_controller() -> None:
    assert deployed().replaces_pods


APP = Container()
STATIC = {"owner": StaticPod()}


def scenario(**given: Any) -> PodScenario:
    return PodScenario(**{"name": "s", "profile": "stock", "pod": Pod(containers=(APP,)), "until": Until(), **given})


def does(action: InterventionKind) -> dict[str, Any]:
    return {"interventions": (Intervention(trigger=Trigger(), action=action),)}


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (STATIC | {"mode": Mode.ANNOTATED}, "a static pod takes no change from the API server"),
        (
            STATIC | {"pod": Pod(containers=(APP, Container(name="late", kind=ContainerKind.EPHEMERAL)))},
            "a static pod takes no change from the API server",
        ),
        (STATIC | {"by_scheduler": True}, "a static pod knows neither the scheduler nor objects of the API server"),
        (
            STATIC | {"objects": (ConfigObject(name="settings", data={}),)},
            "a static pod knows neither the scheduler nor objects of the API server",
        ),
        (STATIC | does(InterventionKind.RECREATE_POD), "recreate-pod does not reach a static pod"),
        (does(InterventionKind.EDIT_STATIC_POD), "edit-static-pod needs a static pod"),
        (does(InterventionKind.DELETE_MIRROR_POD), "delete-mirror-pod needs a static pod"),
    ],
)
def test_a_static_pod_is_refused(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=f"scenario 's': {fault}"):
        scenario(**given)


def test_what_reaches_a_static_pod_is_taken() -> None:
    taken = scenario(**STATIC, **does(InterventionKind.RESTART_KUBELET))
    assert taken.owner == StaticPod()
    assert taken.job is None
