"""Kubelet profiles: upstream's own KubeletConfiguration fragment under a name, one profile per node."""

from typing import Any

import msgspec

MAX_PERIOD_GATE = "KubeletCrashLoopBackOffMax"
REDUCED_DECAY_GATE = "ReduceDefaultCrashLoopBackOffDecay"
RESTART_RULES_GATE = "ContainerRestartRules"
RESTART_ALL_GATE = "RestartAllContainersOnContainerExits"

PROFILE_LABEL = "crashloop.dev/profile"
"""Label of a Node: the name of its kubelet profile."""

UNSET = None


class KubeletProfile(msgspec.Struct, frozen=True, kw_only=True):
    """One KubeletConfiguration under test. `manifests/kubelet/<name>.yaml` holds `config`, word for word."""

    name: str
    config: dict[str, Any] = {}
    """KubeletConfiguration fragment (kubelet.config.k8s.io/v1beta1) in upstream's spelling, without apiVersion and kind."""
    description: str = ""
    """What the profile is for; the comment at the top of its file."""
    kubernetes_version: str | None = None
    """Version of this node's kubelet where it differs from the cluster's (version skew)."""
    kubelet_binary: str | None = None
    """Path of this node's kubelet where it differs from the cluster's."""

    @property
    def feature_gates(self) -> dict[str, bool]:
        """Gates that the profile sets, by upstream name."""
        return dict(self.config.get("featureGates") or {})

    @property
    def max_container_restart_period(self) -> Any:
        """The raw value of `crashLoopBackOff.maxContainerRestartPeriod`: a Go duration string, UNSET, or nonsense."""
        return (self.config.get("crashLoopBackOff") or {}).get("maxContainerRestartPeriod", UNSET)
