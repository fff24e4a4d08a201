"""What is known of objects of Kubernetes: how names and kinds are spelled, what a Node says, which images a pod lacks.

Source of the names: k8s.io/apimachinery/pkg/util/validation@v0.37.1, after RFC 1123.
"""

import re
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple

from crashloop.errors import UsageError
from crashloop.spec.pod import LABEL, cores
from crashloop.spec.version import KubernetesVersion

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
"""As of a pod."""


_KINDS = {
    **dict.fromkeys(("Pod", "PodTemplate", "ReplicationController", "List"), "v1"),
    **dict.fromkeys(("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"), "apps/v1"),
    **dict.fromkeys(("CronJob", "Job"), "batch/v1"),
}
"""That have pods, with the API that has them. Groups of others have a dot, and may have kinds of the same names."""
_FORMERLY = "extensions"
"""The group that apps was before 1.16: its templates are the same."""


def misspelt_kind(read: dict[str, Any]) -> str:
    """A sentence without its full stop about an object that no API server knows, and that is called like one of Kubernetes."""
    given, api = str(read.get("kind")), str(read.get("apiVersion"))
    group, kind = api.rpartition("/")[0], _kind_like(given)
    if kind and "." not in group and (given != kind or group not in (_KINDS[kind].rpartition("/")[0], _FORMERLY)):
        return f"it has a {given} of {api}; Kubernetes has {kind}, of {_KINDS[kind]}"
    return ""


@cache
def _kind_like(given: str) -> str:
    """The kind of Kubernetes that is called so or nearly so; empty if there is none, as for a DeploymentList."""
    by_name = {name.lower(): name for name in _KINDS}
    named = given.lower().removesuffix("s")
    if named.endswith("list"):
        return by_name.get(named, "")
    swapped = [each for each in by_name if sorted(each) == sorted(named)]
    return next((by_name[each] for each in (*swapped, *get_close_matches(named, by_name, 1, 0.85))), "")


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
