"""Kubelet profiles: upstream's own KubeletConfiguration fragment under a name, one profile per node; which kubelet matches it.

Theory of operation. A kubelet shows its effective configuration at /configz: the maximum delay with its default filled in,
and the gates that were set. It matches a profile if the maximum is the same and every gate that bears on restarts is
the same. A gate that one side leaves out has the release's default; without that default, the answer stays open.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from crashloop.spec.duration import duration_seconds

MAX_PERIOD_GATE = "KubeletCrashLoopBackOffMax"
REDUCED_DECAY_GATE = "ReduceDefaultCrashLoopBackOffDecay"
RESTART_RULES_GATE = "ContainerRestartRules"
RESTART_ALL_GATE = "RestartAllContainersOnContainerExits"
GATE_GROUPS = {"AllAlpha": "alpha", "AllBeta": "beta"}
"""Each sets the gates of a stage that are not set themselves."""

PROFILE_LABEL = "crashloop.dev/profile"
"""Label of a Node: the name of its kubelet profile."""

UNSET = None

AT = "@"
"""Between the name of a profile and the version of its kubelet, where that is not the cluster's: `max-2s@1.36.4`."""

ON = "+"
"""Between the name of a profile and the container runtime of its node, if not the cluster's: `max-2s+containerd-1.7`."""

RUNTIMES = ("containerd-1.7",)
"""Container runtimes that a profile can name."""

API_VERSION = "kubelet.config.k8s.io/v1beta1"
KIND = "KubeletConfiguration"


def merged(base: dict[str, Any], fragment: dict[str, Any]) -> dict[str, Any]:
    """`fragment` over `base`: mappings are merged key by key, everything else is replaced, null included."""
    result = dict(base)
    for key, value in fragment.items():
        below = result.get(key)
        both_map = isinstance(below, dict) and isinstance(value, dict)
        result[key] = merged(below, value) if both_map else value  # type: ignore[arg-type]
    return result


def with_version(profile: str, version: str) -> str:
    """The name of the profile on a kubelet of that version."""
    return f"{profile}{AT}{version}"


def on_runtime(profile: str, runtime: str) -> str:
    """The name of the profile on a node with that container runtime."""
    return f"{profile}{ON}{runtime}"


def version_of(profile: str) -> str | None:
    """The version in a profile's name; None where the kubelet's is the cluster's."""
    _, at, version = profile.rpartition(AT)
    return version if at else None


def node_name(profile: str) -> str:
    """The profile's name as that of a node and the value of a label: `max-2s@1.36.4` becomes `max-2s-v1-36-4`."""
    name, at, version = profile.rpartition(AT)
    if at:
        return f"{node_name(name)}-v{version.replace('.', '-')}"
    name, on, runtime = profile.rpartition(ON)
    return f"{name}-on-{runtime.replace('.', '-')}" if on else profile


class KubeletProfile(msgspec.Struct, frozen=True, kw_only=True):
    """One KubeletConfiguration under test. `manifests/kubelet/<name>.yaml` holds `config` and `drop_ins`, word for word."""

    name: str
    config: dict[str, Any] = {}
    """KubeletConfiguration fragment (kubelet.config.k8s.io/v1beta1) in upstream's spelling, without apiVersion and kind."""
    drop_ins: tuple[dict[str, Any], ...] = ()
    """Fragments of the files in the kubelet's drop-in directory, in their order: each overrides what is before it."""
    arguments: tuple[str, ...] = ()
    """Further arguments of the kubelet's command line."""
    description: str = ""
    """What the profile is for; the comment at the top of its file."""
    kubernetes_version: str | None = None
    """Version of this node's kubelet where it differs from the cluster's (version skew)."""
    runtime: str | None = None
    """Container runtime of this node where it differs from the cluster's; one of RUNTIMES."""
    kubelet_binary: str | None = None
    """Path of this node's kubelet where it differs from the cluster's."""

    @property
    def merged(self) -> dict[str, Any]:
        """The fragment with its drop-in files on top."""
        result = self.config
        for each in self.drop_ins:
            result = merged(result, each)
        return result

    def with_gates(self, gates: Mapping[str, bool]) -> "KubeletProfile":
        """The profile with these gates in its file, but for those that it sets itself."""
        own = self.config.get("featureGates") or {}
        return msgspec.structs.replace(self, config=self.config | {"featureGates": {**gates, **own}}) if gates else self

    @property
    def feature_gates(self) -> dict[str, bool]:
        """Gates that the profile sets, by upstream name."""
        return dict(self.merged.get("featureGates") or {})

    @property
    def max_container_restart_period(self) -> Any:
        """The raw value of `crashLoopBackOff.maxContainerRestartPeriod`: a Go duration string, UNSET, or nonsense."""
        return (self.merged.get("crashLoopBackOff") or {}).get("maxContainerRestartPeriod", UNSET)


UPSTREAM_PERIOD_S = 300.0
"""maxContainerRestartPeriod where it is not set (pkg/kubelet/apis/config/v1beta1/defaults.go@v1.37.1)."""
RESTART_GATES = frozenset({MAX_PERIOD_GATE, REDUCED_DECAY_GATE, RESTART_RULES_GATE, RESTART_ALL_GATE})


def matches_profile(
    configz: dict[str, Any], profile: KubeletProfile, *, defaults: Mapping[str, bool] | None = None
) -> bool | None:
    """Whether the effective KubeletConfiguration `configz` matches a profile; None if that takes unknown defaults.

    `defaults` are the gates of the kubelet's release with their values, where the release is known.
    """
    effective = (configz.get("crashLoopBackOff") or {}).get("maxContainerRestartPeriod", UNSET)
    if _restart_period_s(effective) != _restart_period_s(profile.max_container_restart_period):
        return False
    known = dict(defaults or {})
    running, wanted = known | (configz.get("featureGates") or {}), known | profile.feature_gates
    gates = RESTART_GATES | known.keys() | profile.feature_gates.keys()
    pairs = [(running.get(gate), wanted.get(gate)) for gate in gates]
    if any(has != should for has, should in pairs if None not in (has, should)):
        return False
    return None if any((has is None) != (should is None) for has, should in pairs) else True


def _restart_period_s(raw: Any) -> Any:
    """Seconds; a value that is no duration stands for itself."""
    if raw is UNSET:
        return UPSTREAM_PERIOD_S
    seconds = duration_seconds(raw)
    return raw if seconds is None else seconds
