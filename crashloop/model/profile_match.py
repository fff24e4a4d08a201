"""Whether a kubelet runs as a profile says, by the configuration that the kubelet tells (/configz).

Theory of operation. The two are spelled differently: the kubelet fills in the default period, and a profile may set a
gate that the release has on anyway. So what is compared is what each comes to: the curve, and every gate of the table.
"""

from typing import Any

from crashloop.model.config import Curve, Refusal, effective_curve
from crashloop.model.gates import GATES, effective_gates, kubelet_version
from crashloop.model.variants import as_shipped
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import KubernetesVersion


def agrees(configz: dict[str, Any], profile: KubeletProfile, version: KubernetesVersion) -> bool:
    """Whether the effective KubeletConfiguration `configz` comes to the same as the profile. `version` is the cluster's."""
    running = profile_of(configz, version=profile.kubernetes_version)
    if shipped_curve(running, version) != shipped_curve(profile, version):
        return False
    gates, wanted = effective_gates(running, version), effective_gates(profile, version)
    return all(gates.get(gate) == wanted.get(gate) for gate in GATES)


def profile_of(configz: dict[str, Any], *, version: str | None = None) -> KubeletProfile:
    """What of an effective KubeletConfiguration bears on restarts, as a profile of a kubelet of that version."""
    config = {key: configz[key] for key in ("crashLoopBackOff", "featureGates") if configz.get(key)}
    return KubeletProfile(name="effective", config=config, kubernetes_version=version)


def shipped_curve(profile: KubeletProfile, version: KubernetesVersion) -> Curve | None:
    """The curve that a kubelet of that release really follows with the profile; None if it does not start with it."""
    curve = effective_curve(profile, version, deviations=as_shipped(kubelet_version(profile, version)))
    return None if isinstance(curve, Refusal) else curve
