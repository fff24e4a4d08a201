"""Containers that wait for an image that does not come, by the status of their pod."""

from typing import NamedTuple

from crashloop.kube.client import Json

PULL_FAILED = "ErrImagePull"
"""One pull has failed; the next may do better."""
_WITHOUT_IMAGE = frozenset(
    {
        PULL_FAILED,
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
"""Reasons why a container waits for an image (pkg/kubelet/images/types.go@v1.37.1)."""

_BEHIND_OTHERS = "PodInitializing"
"""Reason of a container that waits for init containers (pkg/kubelet/kubelet_pods.go@v1.37.1)."""


class MissingImage(NamedTuple):
    """The image of one container."""

    container: str
    image: str
    reason: str
    message: str
    """The kubelet's, in one line."""


def missing_images(status: Json) -> list[MissingImage]:
    """Those that the containers of a pod wait for, init containers first."""
    waiting = ((each, _waiting(each)) for each in (*_init(status), *_regular(status)))
    return [
        MissingImage(each["name"], each.get("image", ""), why["reason"], " ".join(why.get("message", "").split()))
        for each, why in waiting
        if why.get("reason") in _WITHOUT_IMAGE
    ]


def missing_for_all(status: Json, container: str | None = None) -> MissingImage | None:
    """The image without which no container of a pod, or not the named one, can run; None if one can, or may at the next pull."""
    missing = {each.container: each for each in missing_images(status) if each.reason != PULL_FAILED}
    unfinished = [each for each in _init(status) if each.get("state", {}).get("terminated", {}).get("exitCode") != 0]
    asked = [each for each in (*unfinished, *_regular(status)) if container in (None, each["name"])]
    held = [each for each in asked if each["name"] in missing or _waiting(each).get("reason") == _BEHIND_OTHERS]
    return next(iter(missing.values()), None) if asked and held == asked else None


def _init(status: Json) -> list[Json]:
    return status.get("initContainerStatuses") or []


def _regular(status: Json) -> list[Json]:
    return status.get("containerStatuses") or []


def _waiting(container: Json) -> Json:
    return container.get("state", {}).get("waiting") or {}
