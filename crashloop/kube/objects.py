"""What is known of all objects of Kubernetes: how names are spelled, and what a Node says.

Source of the names: k8s.io/apimachinery/pkg/util/validation@v0.37.1, after RFC 1123.
"""

import re
from typing import Any

from crashloop.errors import UsageError
from crashloop.spec.pod import cores
from crashloop.spec.version import KubernetesVersion

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""As of a namespace or a node that is made here."""
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
