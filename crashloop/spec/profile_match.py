"""The rule that decides whether a kubelet runs with a profile's configuration. Pure.

Theory of operation. A kubelet shows its effective configuration at /configz: the maximum delay with its default filled in,
and the gates that were set. It matches a profile if the maximum is the same and every gate that bears on restarts is
the same. A gate that one side leaves out has the release's default; without that default, the answer stays open.
"""

from collections.abc import Mapping
from typing import Any

from crashloop.spec.duration import duration_seconds
from crashloop.spec.profile import (
    MAX_PERIOD_GATE,
    REDUCED_DECAY_GATE,
    RESTART_ALL_GATE,
    RESTART_RULES_GATE,
    UNSET,
    KubeletProfile,
)

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
    if _period_s(effective) != _period_s(profile.max_container_restart_period):
        return False
    known = dict(defaults or {})
    running, wanted = known | (configz.get("featureGates") or {}), known | profile.feature_gates
    gates = RESTART_GATES | known.keys() | profile.feature_gates.keys()
    pairs = [(running.get(gate), wanted.get(gate)) for gate in gates]
    if any(has != should for has, should in pairs if None not in (has, should)):
        return False
    return None if any((has is None) != (should is None) for has, should in pairs) else True


def _period_s(raw: Any) -> Any:
    """Seconds; a value that is no duration stands for itself."""
    if raw is UNSET:
        return UPSTREAM_PERIOD_S
    seconds = duration_seconds(raw)
    return raw if seconds is None else seconds
