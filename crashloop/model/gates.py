"""The feature gates of a release, and the effective gates of a node.

Theory of operation. Which gates a release has, with default, stage, lock and needs, is generated from its sources,
as are the fields of a kubelet's configuration (kubelet_api.yaml, written by `python -m tools.kubelet_api`); this module names
the gates that bear on restarts. The effective gates are the defaults of the node's release, overlaid with its profile's.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from crashloop.errors import UsageError
from crashloop.spec.profile import (
    GATE_GROUPS,
    MAX_PERIOD_GATE,
    REDUCED_DECAY_GATE,
    RESTART_ALL_GATE,
    RESTART_RULES_GATE,
    KubeletProfile,
)
from crashloop.spec.version import RELEASES, KubernetesVersion
from crashloop.yaml_text import read_yaml

Fields = dict[str, dict[str, str]]
"""Of each struct the Go types of its fields, by their names in files."""


class GateSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A feature gate as one release has it."""

    default: bool
    stage: str
    """alpha, beta, stable or deprecated."""
    locked: bool
    """Setting it to another value than its default is an error."""
    needs: tuple[str, ...] = ()
    """Gates that it cannot be on without."""


class KubeletApi(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """kubelet_api.yaml."""

    releases: tuple[str, ...]
    gates: Mapping[str, str]
    """Of each gate its states in the releases, in their order: `-`, or `default/stage`, with `locked-` where that is fixed."""
    needs: Mapping[str, Mapping[str, tuple[str, ...]]]
    """By release the gates that a gate cannot be on without. Kubelets check them from 1.35 on."""
    fields: Mapping[str, Mapping[str, Any]]
    """By release what it `added` to the one before it, and the fields that are `gone`."""
    pod: Mapping[str, str]
    """The fields of a PodSpec and of what it contains, in the newest release: `name:type`, with a space between two."""

    def fields_of_a_pod(self) -> Fields:
        """Without the contents of affinity."""
        return {name: dict(each.split(":", 1) for each in listed.split()) for name, listed in self.pod.items()}

    def fields_of(self, version: KubernetesVersion) -> Fields:
        """Of a release, or of the newest where that is newer."""
        found: Fields = {}
        for release in self.releases:
            if KubernetesVersion.parse(release).release > version.release:
                break
            for name, added in self.fields[release]["added"].items():
                found.setdefault(name, {}).update(added)
            for name, gone in self.fields[release]["gone"].items():
                found[name] = {field: go for field, go in found[name].items() if field not in gone}
        return found


@cache
def kubelet_api() -> KubeletApi:
    """The data, read once."""
    text = Path(__file__).with_name("kubelet_api.yaml").read_text(encoding="utf-8")
    return msgspec.convert(read_yaml(text), KubeletApi)


@cache
def known_gates(release: tuple[int, int]) -> Mapping[str, GateSpec] | None:
    """Every gate of a release, by its name; None for a release whose sources were not read."""
    api, name = kubelet_api(), f"{release[0]}.{release[1]}"
    if name not in api.releases:
        return None
    found = {gate: states.split()[api.releases.index(name)].partition("/") for gate, states in api.gates.items()}
    return {
        gate: GateSpec(
            default=default.endswith("on"),
            stage=stage,
            locked=default.startswith("locked"),
            needs=api.needs[name].get(gate, ()),
        )
        for gate, (default, _, stage) in found.items()
        if stage
    }


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


GATES = (
    MAX_PERIOD_GATE,
    REDUCED_DECAY_GATE,
    RESTART_RULES_GATE,
    RESTART_ALL_GATE,
    NODE_DECLARED_FEATURES_GATE,
    "PLEGOnDemandRelist",
    "SidecarContainers",
    "InPlacePodVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    # Spelling of KEP-4603; no release has it.
    "ReduceDefaultCrashLoopBackoffDecay",
)
"""Gates that bear on restarts. All others bear on none."""


def known(version: KubernetesVersion) -> Mapping[str, GateSpec] | None:
    """Every gate of a release, by its name; None for a release newer than those whose sources were read.

    Raises UsageError for an older one.
    """
    if version.release < RELEASES[0]:
        raise UsageError(
            f"Kubernetes {version}: the model begins with release {RELEASES[0][0]}.{RELEASES[0][1]}.\n"
            "Use a newer version."
        )
    return known_gates(version.release)


@cache
def _of_restarts(version: KubernetesVersion) -> Mapping[str, GateSpec]:
    """The gates that bear on restarts; a release newer than all has those of the newest."""
    found = known(version) or known_gates(RELEASES[-1]) or {}
    return {gate: found[gate] for gate in GATES if gate in found}


def judged_by(versions: Iterable[KubernetesVersion]) -> str | None:
    """The release by whose rules versions are judged that are newer than every model, in words; None without any."""
    newer = sorted({str(each) for each in versions if each.release > RELEASES[-1]})
    rules = f"the rules of {RELEASES[-1][0]}.{RELEASES[-1][1]}, the newest that this suite has"
    return f"{rules}, for {', '.join(newer)}" if newer else None


def unmet(gates: Mapping[str, bool], version: KubernetesVersion) -> dict[str, list[str]]:
    """Gates that are on while others that they need are off, where `gates` are set; with those that are off."""
    found = {}
    for gate, spec in (known(version) or _of_restarts(version)).items():
        missing = [each for each in spec.needs if not is_enabled(each, gates, version)]
        if missing and is_enabled(gate, gates, version):
            found[gate] = missing
    return found


def gate_state(gate: str, version: KubernetesVersion) -> GateState | None:
    """State of a gate in a release; None if that is not known. Of a gate that bears on restarts a release newer than all counts
    as the newest; of any other nothing is known there.

    Raises UsageError for a release older than the model.
    """
    specs = _of_restarts(version) if gate in GATES else known(version)
    if specs is None or gate in GATE_GROUPS:
        return None
    spec = specs.get(gate)
    if spec is None:
        return GateState.ABSENT
    if spec.locked:
        return GateState.LOCKED if spec.default else GateState.LOCKED_OFF
    return GateState.ON if spec.default else GateState.OFF


def gate_stage(gate: str, version: KubernetesVersion) -> str | None:
    """The stage of a gate that bears on restarts as kubernetes_feature_enabled states it; None if a release does not have it.

    Raises UsageError as above. Source: k8s.io/component-base/featuregate/feature_gate.go@v0.37.1, prerelease.
    """
    spec = _of_restarts(version).get(gate)
    return None if spec is None else "" if spec.stage == "stable" else spec.stage.upper()


def knows_gate(gate: str, version: KubernetesVersion) -> bool:
    """Whether a kubelet of that release accepts the gate's name; true where that is not known."""
    return gate_state(gate, version) is not GateState.ABSENT


def enabled_by_default(gate: str, version: KubernetesVersion) -> bool:
    """Whether a release has the gate on unless it is set; false where that is not known."""
    return gate_state(gate, version) in (GateState.ON, GateState.LOCKED)


def default_gates(version: KubernetesVersion) -> dict[str, bool]:
    """The gates that bear on restarts and that a release has, with their defaults."""
    return {gate: enabled_by_default(gate, version) for gate in GATES if knows_gate(gate, version)}


def is_enabled(gate: str, gates: Mapping[str, bool], version: KubernetesVersion) -> bool:
    """Whether a gate is on where `gates` are set: by its own name, else by the group of its stage, else by default.

    Source: k8s.io/component-base/featuregate/feature_gate.go@v0.37.1 (setUnsetAlphaGates, setUnsetBetaGates).
    """
    if gate in gates:
        return gates[gate]
    spec = (_of_restarts(version) if gate in GATES else known(version) or {}).get(gate)
    groups = [
        group for group, stage in GATE_GROUPS.items() if group in gates and spec is not None and stage == spec.stage
    ]
    return gates[groups[0]] if groups else enabled_by_default(gate, version)


def kubelet_version(profile: KubeletProfile, version: KubernetesVersion) -> KubernetesVersion:
    """Version of the node's kubelet: the profile's own where it has one, else the cluster's."""
    return version if profile.kubernetes_version is None else KubernetesVersion.parse(profile.kubernetes_version)


def effective_gates(profile: KubeletProfile, version: KubernetesVersion) -> dict[str, bool]:
    """Gates in force on a node, by name: the release's defaults with the profile's own on top. Absent gates are left out.

    What the kubelet refuses (unknown or locked gates, broken dependencies) is for `config.effective_curve` to say.
    """
    release, own = kubelet_version(profile, version), profile.feature_gates
    no_choice = (GateState.ABSENT, GateState.LOCKED)
    groups = {gate: on for gate, on in own.items() if gate in GATE_GROUPS}
    chosen = {gate: on for gate, on in own.items() if gate not in groups and gate_state(gate, release) not in no_choice}
    return {gate: is_enabled(gate, groups, release) for gate in default_gates(release)} | chosen
