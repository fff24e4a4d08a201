"""A kubelet's effective configuration (/configz) beside a profile, where the kubelet's release is known."""

from typing import Any

from crashloop.model.config import Curve, Refusal, effective_curve
from crashloop.model.gates import default_gates, kubelet_version
from crashloop.model.variants import as_shipped
from crashloop.spec.profile import KubeletProfile, matches_profile
from crashloop.spec.version import KubernetesVersion


def agrees(configz: dict[str, Any], profile: KubeletProfile, version: KubernetesVersion) -> bool | None:
    """`matches_profile` with the defaults of the kubelet's release. `version` is the cluster's; a profile may have its own.

    None only for a gate outside the table that one side leaves out.
    """
    return matches_profile(configz, profile, defaults=default_gates(kubelet_version(profile, version)))


def profile_of(configz: dict[str, Any], *, version: str | None = None) -> KubeletProfile:
    """What of an effective KubeletConfiguration bears on restarts, as a profile of a kubelet of that version."""
    config = {key: configz[key] for key in ("crashLoopBackOff", "featureGates") if configz.get(key)}
    return KubeletProfile(name="effective", config=config, kubernetes_version=version)


def shipped_curve(profile: KubeletProfile, version: KubernetesVersion) -> Curve | None:
    """The curve that a kubelet of that release really follows with the profile; None if it does not start with it."""
    curve = effective_curve(profile, version, deviations=as_shipped(kubelet_version(profile, version)))
    return None if isinstance(curve, Refusal) else curve
