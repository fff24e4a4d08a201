"""What decides about restarts on a node while one kubelet process runs: curve, gates, release.

Theory of operation. A kubelet reads its configuration when it starts, and keeps it. Its counters are in its memory. So the
delay before a restart follows the curve of the process that attempted the start before it, which is the only one that has a
counter for it; after a restart of the kubelet the first start is free, and the curve of the new process begins.
Source: pkg/kubelet/kubelet.go@v1.37.1 NewMainKubelet (newCrashLoopBackOff is called once);
client-go util/flowcontrol/backoff.go@v0.37.1 Next (the maximum applies when a start is attempted).
"""

import msgspec

from crashloop.errors import UsageError
from crashloop.model.config import Curve, Refusal, effective_curve
from crashloop.model.gates import effective_gates, kubelet_version
from crashloop.model.variants import DOCUMENTED
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import KubernetesVersion


class InForce(msgspec.Struct, frozen=True, kw_only=True):
    """The effective configuration of one kubelet process."""

    profile: str
    curve: Curve
    gates: dict[str, bool]
    version: KubernetesVersion
    """Of the kubelet."""


def in_force(profile: KubeletProfile, version: KubernetesVersion, deviations: frozenset[str] = DOCUMENTED) -> InForce:
    """What a kubelet runs with that is started with a profile. `version` is the cluster's; a profile may have its own.

    Raises UsageError if the kubelet does not start with the profile.
    """
    curve, own_version = effective_curve(profile, version, deviations=deviations), kubelet_version(profile, version)
    if isinstance(curve, Refusal):
        raise UsageError(
            f"kubelet profile {profile.name!r}: a kubelet {own_version} does not start with it ({curve.kind}).\n"
            f"It says: {curve.text}"
        )
    return InForce(profile=profile.name, curve=curve, gates=effective_gates(profile, version), version=own_version)
