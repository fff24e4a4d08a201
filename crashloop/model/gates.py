"""The feature gates of a release, and the effective gates of a node.

Theory of operation. The table has one row per gate that bears on restarts, one column per release. The effective gates are
the defaults of the node's release, overlaid with its profile's. A gate without a row bears on no restart; what a kubelet makes of
it is in `crashloop.model.kubelet_api`, generated from the sources.
Source of the table: pkg/features/kube_features.go at v1.33.13, v1.34.8, v1.35.4, v1.36.3 and v1.37.1.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from crashloop.errors import UsageError
from crashloop.model.gate_names import gate_names
from crashloop.model.kubelet_api import kubelet_api
from crashloop.spec.profile import (
    MAX_PERIOD_GATE,
    REDUCED_DECAY_GATE,
    RESTART_ALL_GATE,
    RESTART_RULES_GATE,
    KubeletProfile,
)
from crashloop.spec.version import RELEASES, KubernetesVersion

NODE_DECLARED_FEATURES_GATE = "NodeDeclaredFeatures"


class GateState(StrEnum):
    """What a release makes of a gate."""

    ABSENT = "absent"
    """Not there yet, or removed: naming it is an error."""
    OFF = "off"
    ON = "on"
    LOCKED = "locked on"
    """Generally available: setting it to false is an error."""
    LOCKED_OFF = "locked off"
    """Deprecated: setting it to true is an error."""


_STATES = {"-": GateState.ABSENT, "off": GateState.OFF, "on": GateState.ON} | {
    "locked-on": GateState.LOCKED,
    "locked-off": GateState.LOCKED_OFF,
}
_FIRST_WITH_NEEDS = (1, 35)
"""The first release whose kubelets check what a gate needs: k8s.io/component-base/featuregate/feature_gate.go@v0.35.4."""
_NONE, _OFF, _ON, _LOCK = GateState.ABSENT, GateState.OFF, GateState.ON, GateState.LOCKED

# fmt: off
GATES: dict[str, tuple[GateState, ...]] = {
    #                                           1.33   1.34   1.35   1.36   1.37
    MAX_PERIOD_GATE:                           (_OFF,  _OFF,  _ON,   _ON,   _ON),
    REDUCED_DECAY_GATE:                        (_OFF,  _OFF,  _OFF,  _OFF,  _OFF),
    RESTART_RULES_GATE:                        (_NONE, _OFF,  _ON,   _ON,   _ON),
    RESTART_ALL_GATE:                          (_NONE, _NONE, _OFF,  _ON,   _ON),
    NODE_DECLARED_FEATURES_GATE:               (_NONE, _NONE, _OFF,  _ON,   _LOCK),
    "PLEGOnDemandRelist":                      (_NONE, _NONE, _NONE, _ON,   _LOCK),
    "SidecarContainers":                       (_LOCK, _LOCK, _LOCK, _LOCK, _NONE),
    "InPlacePodVerticalScaling":               (_ON,   _ON,   _LOCK, _LOCK, _LOCK),
    "InPlacePodVerticalScalingInitContainers": (_NONE, _NONE, _NONE, _ON,   _LOCK),
    # Spelling of KEP-4603; no release has it.
    "ReduceDefaultCrashLoopBackoffDecay":      (_NONE, _NONE, _NONE, _NONE, _NONE),
}
# fmt: on

DEPENDENCIES: dict[str, tuple[str, ...]] = {
    RESTART_ALL_GATE: (RESTART_RULES_GATE, NODE_DECLARED_FEATURES_GATE),
    "InPlacePodVerticalScalingInitContainers": ("InPlacePodVerticalScaling", NODE_DECLARED_FEATURES_GATE),
}
"""Gates that a gate cannot be on without."""


def judged_by(versions: Iterable[KubernetesVersion]) -> str | None:
    """The release by whose rules versions are judged that are newer than every model, in words; None without any."""
    newer = sorted({str(each) for each in versions if each.release > RELEASES[-1]})
    rules = f"the rules of {RELEASES[-1][0]}.{RELEASES[-1][1]}, the newest that this suite has"
    return f"{rules}, for {', '.join(newer)}" if newer else None


def other_gate(gate: str, version: KubernetesVersion) -> GateState | None:
    """The same of a gate without a row."""
    names = gate_names(version)
    if names is None:
        return None
    if gate not in names:
        return GateState.ABSENT
    state = kubelet_api().gate(gate, version)
    return None if state is None else _STATES[state]


def unmet(gates: Mapping[str, bool], version: KubernetesVersion) -> dict[str, list[str]]:
    """Of gates without a row: those that are on while others that they need are off, by the gates that are set."""
    if version.release < _FIRST_WITH_NEEDS or gate_names(version) is None:
        return {}

    def is_on(gate: str) -> bool:
        return gates[gate] if gate in gates else gate_state(gate, version) in (GateState.ON, GateState.LOCKED)

    found: dict[str, list[str]] = {}
    for gate, needed in kubelet_api().needs.items():
        if gate not in DEPENDENCIES and not gates.keys().isdisjoint({gate, *needed}) and is_on(gate):
            missing = [each for each in needed if not is_on(each)]
            found |= {gate: missing} if missing else {}
    return found


def gate_state(gate: str, version: KubernetesVersion) -> GateState | None:
    """State of a gate in a release; None if that is not known. Of a gate with a row a release newer than the table counts as its
    last; of any other nothing is known there.

    Raises UsageError for a release older than the table.
    """
    if version.release < RELEASES[0]:
        raise UsageError(
            f"Kubernetes {version}: the model begins with release {RELEASES[0][0]}.{RELEASES[0][1]}.\n"
            "Use a newer version."
        )
    row = GATES.get(gate)
    if row is None:
        return other_gate(gate, version)
    return row[RELEASES.index(min(version.release, RELEASES[-1]))]


STAGES = {GateState.OFF: "ALPHA", GateState.ON: "BETA", GateState.LOCKED: ""}
"""As kubernetes_feature_enabled states it. The gates of KEP-4603, KEP-5593, KEP-5307 and KEP-5532 are on by default in beta."""


def gate_stage(gate: str, version: KubernetesVersion) -> str | None:
    """The stage of such a gate in a release; None if that does not know it. Raises UsageError as above."""
    state = gate_state(gate, version)
    return None if state is None else STAGES.get(state)


def knows_gate(gate: str, version: KubernetesVersion) -> bool:
    """Whether a kubelet of that release accepts the gate's name; true for gates without a row."""
    return gate_state(gate, version) is not GateState.ABSENT


def enabled_by_default(gate: str, version: KubernetesVersion) -> bool:
    """Whether a release has the gate on unless it is set; false for gates without a row."""
    return gate_state(gate, version) in (GateState.ON, GateState.LOCKED)


def default_gates(version: KubernetesVersion) -> dict[str, bool]:
    """The gates of the table that a release has, with their defaults."""
    return {gate: enabled_by_default(gate, version) for gate in GATES if knows_gate(gate, version)}


def is_enabled(gate: str, gates: dict[str, bool], version: KubernetesVersion) -> bool:
    """Whether a gate is on where `gates` are set; what they leave out is as the release has it by default."""
    return gates[gate] if gate in gates else enabled_by_default(gate, version)


def kubelet_version(profile: KubeletProfile, version: KubernetesVersion) -> KubernetesVersion:
    """Version of the node's kubelet: the profile's own where it has one, else the cluster's."""
    return version if profile.kubernetes_version is None else KubernetesVersion.parse(profile.kubernetes_version)


def effective_gates(profile: KubeletProfile, version: KubernetesVersion) -> dict[str, bool]:
    """Gates in force on a node, by name: the release's defaults with the profile's own on top. Absent gates are left out.

    What the kubelet refuses (unknown or locked gates, broken dependencies) is for `config.effective_curve` to say.
    """
    release = kubelet_version(profile, version)
    chosen = {
        gate: enabled
        for gate, enabled in profile.feature_gates.items()
        if gate_state(gate, release) not in (GateState.ABSENT, GateState.LOCKED)
    }
    return default_gates(release) | chosen
