"""What is known of objects of Kubernetes: how names are spelled, what a Node says, which images a pod lacks.

Source of the names: k8s.io/apimachinery/pkg/util/validation@v0.37.1, after RFC 1123.
"""

import re
from typing import Any, NamedTuple

from crashloop.errors import UsageError
from crashloop.spec.pod import LABEL, cores
from crashloop.spec.version import KubernetesVersion

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
"""As of a pod."""


def check_namespace(name: str | None) -> None:
    """Raise UsageError for a --namespace that cannot be."""
    if name is not None and not LABEL.fullmatch(name):
        raise UsageError(
            f"--namespace {name!r}: expected 1 to 63 lower-case letters, digits and dashes, as Kubernetes names one."
        )


def kubelet_version(node: dict[str, Any]) -> KubernetesVersion:
    """The version of a node's kubelet."""
    return KubernetesVersion.parse(node["status"]["nodeInfo"]["kubeletVersion"])


def is_ready(node: dict[str, Any]) -> bool:
    """Whether a node's condition Ready is True."""
    conditions = node["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def node_cores(node: dict[str, Any]) -> float | None:
    """CPUs of a node, whose capacity is `4`, or `3920m` where something is reserved; None without a capacity."""
    cpu = str(node["status"].get("capacity", {}).get("cpu", ""))
    return cores(cpu) if cpu else None


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


def missing_images(status: dict[str, Any]) -> list[MissingImage]:
    """Those that the containers of a pod wait for, init containers first."""
    waiting = ((each, _waiting(each)) for each in (*_init(status), *_regular(status)))
    return [
        MissingImage(each["name"], each.get("image", ""), why["reason"], " ".join(why.get("message", "").split()))
        for each, why in waiting
        if why.get("reason") in _WITHOUT_IMAGE
    ]


def missing_for_all(status: dict[str, Any], container: str | None = None) -> MissingImage | None:
    """The image without which no container of a pod, or not the named one, can run; None if one can, or may at the next pull."""
    missing = {each.container: each for each in missing_images(status) if each.reason != PULL_FAILED}
    unfinished = [each for each in _init(status) if each.get("state", {}).get("terminated", {}).get("exitCode") != 0]
    asked = [each for each in (*unfinished, *_regular(status)) if container in (None, each["name"])]
    held = [each for each in asked if each["name"] in missing or _waiting(each).get("reason") == _BEHIND_OTHERS]
    return next(iter(missing.values()), None) if asked and held == asked else None


def _init(status: dict[str, Any]) -> list[dict[str, Any]]:
    return status.get("initContainerStatuses") or []


def _regular(status: dict[str, Any]) -> list[dict[str, Any]]:
    return status.get("containerStatuses") or []


def _waiting(container: dict[str, Any]) -> dict[str, Any]:
    return container.get("state", {}).get("waiting") or {}
