"""Which image a pod waits for in vain, by its status."""

import pytest

from crashloop.kube.objects import MissingImage, missing_for_all, missing_images
from suites.selftest.kit.kube_peer import Json

RUNNING: Json = {"running": {}}
BEHIND: Json = {"waiting": {"reason": "PodInitializing"}}
DONE: Json = {"terminated": {"exitCode": 0}}
HELD: Json = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling:\nnot found"}}


def told(init: dict[str, Json] | None = None, **regular: Json) -> Json:
    """A pod status with these states."""
    sections = {"initContainerStatuses": init or {}, "containerStatuses": regular}
    return {
        key: [{"name": name, "image": f"{name}:1", "state": state} for name, state in states.items()]
        for key, states in sections.items()
        if states
    }


def missing(status: Json, container: str | None = None) -> str | None:
    """The container whose image is missing."""
    found = missing_for_all(status, container)
    return found.container if found else None


def test_a_missing_image_has_its_name_its_reason_and_the_message_of_the_kubelet() -> None:
    found = MissingImage("app", "app:1", "ImagePullBackOff", "Back-off pulling: not found")
    assert missing_images(told(app=HELD)) == [found]
    assert missing_for_all(told(app=HELD)) == found


@pytest.mark.parametrize("reason", ["ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"])
def test_an_image_that_does_not_come_holds_the_pod(reason: str) -> None:
    assert missing(told(app={"waiting": {"reason": reason}})) == "app"


@pytest.mark.parametrize(
    "reason", ["ErrImagePull", "ContainerCreating", "CrashLoopBackOff", "CreateContainerConfigError"]
)
def test_one_failed_pull_and_what_is_no_matter_of_images_hold_nothing(reason: str) -> None:
    assert missing(told(app={"waiting": {"reason": reason}})) is None


def test_beside_a_container_that_can_run_only_the_one_without_image_is_held() -> None:
    status = told(app=RUNNING, other=HELD)
    assert missing(status) is None
    assert missing(status, "app") is None
    assert missing(status, "other") == "other"


def test_an_init_container_without_image_holds_those_behind_it() -> None:
    status = told({"setup": HELD}, app=BEHIND)
    assert missing(status) == missing(status, "app") == missing(status, "setup") == "setup"


def test_an_init_container_that_is_done_does_not_run_again() -> None:
    assert missing(told({"setup": DONE}, app=HELD)) == "app"
    assert missing(told({"sidecar": RUNNING}, app=HELD)) is None


def test_a_pod_without_statuses_is_not_held() -> None:
    assert missing({}) is None
    assert missing(told(app=HELD), "another") is None
