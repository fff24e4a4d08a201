"""What no static pod can do, or only a static pod, is no scenario."""

from typing import Any

import pytest

from crashloop.spec.config_object import ConfigObject
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, ContainerKind, Pod
from crashloop.spec.scenario import Mode, PodScenario, Until
from crashloop.spec.static_pod import StaticPod

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
def test_it_is_refused(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=f"scenario 's': {fault}"):
        scenario(**given)


def test_what_reaches_a_static_pod_is_taken() -> None:
    taken = scenario(**STATIC, **does(InterventionKind.RESTART_KUBELET))
    assert taken.owner == StaticPod()
    assert taken.job is None
