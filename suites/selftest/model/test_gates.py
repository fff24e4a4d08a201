"""Gates per release: which exist, which are on, which are locked."""

import pytest

from crashloop.errors import UsageError
from crashloop.model.gates import GateState, effective_gates, gate_state, is_enabled, known, knows_gate, unmet
from crashloop.spec.profile import (
    MAX_PERIOD_GATE,
    REDUCED_DECAY_GATE,
    RESTART_ALL_GATE,
    RESTART_RULES_GATE,
    KubeletProfile,
)
from crashloop.spec.version import PINNED, KubernetesVersion
from sim.config import gates_with

STOCK = KubeletProfile(name="stock")


@pytest.mark.parametrize(
    ("minor", "on", "off"),
    [
        (33, set(), {MAX_PERIOD_GATE, REDUCED_DECAY_GATE}),
        (34, set(), {MAX_PERIOD_GATE, REDUCED_DECAY_GATE, RESTART_RULES_GATE}),
        (35, {MAX_PERIOD_GATE, RESTART_RULES_GATE}, {REDUCED_DECAY_GATE, RESTART_ALL_GATE}),
        (36, {MAX_PERIOD_GATE, RESTART_RULES_GATE, RESTART_ALL_GATE}, {REDUCED_DECAY_GATE}),
        (37, {MAX_PERIOD_GATE, RESTART_RULES_GATE, RESTART_ALL_GATE}, {REDUCED_DECAY_GATE}),
    ],
)
def test_each_release_has_its_defaults(minor: int, on: set[str], off: set[str]) -> None:
    gates = effective_gates(STOCK, KubernetesVersion(1, minor))
    restarting = {MAX_PERIOD_GATE, REDUCED_DECAY_GATE, RESTART_RULES_GATE, RESTART_ALL_GATE}
    assert {gate for gate in restarting & gates.keys() if gates[gate]} == on
    assert {gate for gate in restarting & gates.keys() if not gates[gate]} == off


def test_a_profile_overrides_defaults_but_not_locks() -> None:
    profile = KubeletProfile(
        name="gates",
        config={"featureGates": {REDUCED_DECAY_GATE: True, "NodeDeclaredFeatures": False, "MemoryQoS": True}},
    )
    gates = effective_gates(profile, KubernetesVersion(1, 37))
    assert gates[REDUCED_DECAY_GATE]
    assert gates["NodeDeclaredFeatures"]
    assert gates["MemoryQoS"]


def test_a_profile_with_a_version_of_its_own_has_that_releases_gates() -> None:
    old = KubeletProfile(name="old", kubernetes_version="v1.34.4")
    assert not effective_gates(old, KubernetesVersion(1, 37))[MAX_PERIOD_GATE]


def test_gates_come_and_go_with_releases() -> None:
    assert not knows_gate(RESTART_ALL_GATE, KubernetesVersion(1, 34))
    assert knows_gate(RESTART_ALL_GATE, KubernetesVersion(1, 35))
    assert knows_gate("SidecarContainers", KubernetesVersion(1, 36))
    assert not knows_gate("SidecarContainers", KubernetesVersion(1, 37))


def test_a_gate_that_bears_on_no_restart_has_the_state_of_the_sources() -> None:
    assert gate_state("KubeletPSI", KubernetesVersion(1, 37)) is GateState.LOCKED
    assert gate_state("Nonsense", KubernetesVersion(1, 37)) is GateState.ABSENT
    assert gate_state("Nonsense", KubernetesVersion(1, 38)) is None


def test_what_is_left_out_is_as_the_release_has_it() -> None:
    assert is_enabled(RESTART_RULES_GATE, {}, KubernetesVersion(1, 35))
    assert not is_enabled(RESTART_RULES_GATE, {RESTART_RULES_GATE: False}, KubernetesVersion(1, 35))


def test_a_newer_release_counts_as_the_newest_known_one() -> None:
    assert gate_state("NodeDeclaredFeatures", KubernetesVersion(1, 99)) is GateState.LOCKED


def test_an_older_release_is_refused() -> None:
    with pytest.raises(UsageError, match=r"Kubernetes 1\.32\.0: the model begins with release 1\.33"):
        effective_gates(STOCK, KubernetesVersion(1, 32))


@pytest.mark.parametrize(
    ("own", "on", "off"),
    [
        ({"AllAlpha": True}, {REDUCED_DECAY_GATE, RESTART_ALL_GATE}, set()),
        ({"AllBeta": False}, set(), {MAX_PERIOD_GATE, RESTART_RULES_GATE, RESTART_ALL_GATE}),
        ({"AllAlpha": True, "AllBeta": False}, {REDUCED_DECAY_GATE}, {MAX_PERIOD_GATE, RESTART_RULES_GATE}),
        ({"AllBeta": False, MAX_PERIOD_GATE: True}, {MAX_PERIOD_GATE}, {RESTART_RULES_GATE}),
        ({"AllAlpha": True, REDUCED_DECAY_GATE: False}, {RESTART_ALL_GATE}, {REDUCED_DECAY_GATE}),
    ],
    ids=["alpha-on", "beta-off", "both", "beta-off-but-one", "alpha-on-but-one"],
)
def test_a_group_sets_the_gates_of_its_stage_that_are_not_set_themselves(
    own: dict[str, bool], on: set[str], off: set[str]
) -> None:
    version = KubernetesVersion(1, 37)
    gates = effective_gates(KubeletProfile(name="groups", config={"featureGates": own}), version)
    assert {gate for gate in on if not gates[gate]} == {gate for gate in off if gates[gate]} == set()
    assert gates.items() >= gates_with(own, version.release).items() - own.items(), "as the simulation reads them"
    assert gates["NodeDeclaredFeatures"], "locked"
    assert not gates.keys() & own.keys() & {"AllAlpha", "AllBeta"}


@pytest.mark.parametrize("version", [KubernetesVersion.parse(each) for each in PINNED], ids=str)
def test_defaults_of_a_release_need_nothing_that_is_off_or_unknown(version: KubernetesVersion) -> None:
    gates = known(version) or {}
    assert not {need for each in gates.values() for need in each.needs} - gates.keys()
    assert not unmet({}, version)


def test_a_group_that_is_off_takes_away_what_others_need() -> None:
    assert unmet({"AllBeta": False, RESTART_ALL_GATE: True}, KubernetesVersion(1, 37)) == {
        RESTART_ALL_GATE: [RESTART_RULES_GATE]
    }
    assert not unmet({"AllAlpha": True, "AllBeta": True}, KubernetesVersion(1, 37))
