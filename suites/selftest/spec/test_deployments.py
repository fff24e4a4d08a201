"""A Deployment that Kubernetes would refuse, or that could flood the cluster of a run, is no scenario."""

from typing import Any

import pytest

from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.deployment import Deployment
from crashloop.spec.pod import Container, Pod
from crashloop.spec.policy import RestartPolicy
from crashloop.spec.scenario import Mode, PodScenario, Until


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
def test_it_is_refused(change: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=f"scenario 's': {fault}"):
        deployed(**change)


def test_its_pods_are_replaced_by_a_controller() -> None:
    assert deployed().replaces_pods
