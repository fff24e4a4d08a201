"""What the releases' sources say of gates and fields, against what this suite says of them by hand."""

import pytest

from crashloop.model.config import Curve, Refusal, effective_curve
from crashloop.model.gate_names import GROUPS, gate_names
from crashloop.model.gates import DEPENDENCIES, GATES, GateState, gate_state
from crashloop.model.kubelet_api import kubelet_api
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import RELEASES, KubernetesVersion

VERSIONS = [KubernetesVersion(*release) for release in RELEASES]
WORDS = {GateState.ABSENT: "-", GateState.OFF: "off", GateState.ON: "on", GateState.LOCKED: "locked-on"}


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_the_gates_that_bear_on_restarts_have_the_states_of_the_sources(version: KubernetesVersion) -> None:
    in_sources = {gate: kubelet_api().gate(gate, version) for gate in GATES if gate in kubelet_api().gates}
    assert in_sources == {gate: WORDS[state] for gate in in_sources if (state := gate_state(gate, version)) is not None}
    assert {gate: set(kubelet_api().needs[gate]) for gate in DEPENDENCIES} == {
        gate: set(needed) for gate, needed in DEPENDENCIES.items()
    }


def test_the_newest_release_has_the_gates_of_its_sources_and_no_others() -> None:
    """Of earlier releases only the names say what was there: a gate may come with a history that is older than itself."""
    newest = VERSIONS[-1]
    names = gate_names(newest)
    assert names is not None
    assert {gate for gate in kubelet_api().gates if kubelet_api().gate(gate, newest) != "-"} | {*GROUPS} == {*names}


def refusal(version: str, **gates: bool) -> str:
    curve = effective_curve(
        KubeletProfile(name="own", config={"featureGates": gates}), KubernetesVersion.parse(version)
    )
    return curve.text.partition("error: ")[2] if isinstance(curve, Refusal) else ""


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        ({"NodeSwap": True}, ""),
        ({"NodeSwap": False}, "cannot set feature gate NodeSwap to false, feature is locked to true"),
        ({"CPUManager": True}, "unrecognized feature gate: CPUManager"),
        ({"Nonsense": True, "MemoryQoS": True, "Foo": False}, "unrecognized feature gate: Nonsense, Foo"),
        (
            {"AllowOverwriteTerminationGracePeriodSeconds": True},
            "cannot set feature gate AllowOverwriteTerminationGracePeriodSeconds to true, feature is locked to false",
        ),
        (
            {"GracefulNodeShutdown": False},
            "GracefulNodeShutdownBasedOnPodPriority is enabled, but depends on features that are disabled: "
            "[GracefulNodeShutdown]",
        ),
        ({"AllAlpha": False, "AllBeta": False}, ""),
    ],
    ids=["locked-as-it-is", "locked", "gone", "several-unknown", "locked-off", "needed-by-another", "groups"],
)
def test_a_kubelet_refuses_gates_that_it_lacks_that_are_locked_or_that_others_need(
    gates: dict[str, bool], said: str
) -> None:
    assert refusal("1.37.1", **gates) == said


def test_of_a_release_without_sources_no_gate_is_refused_by_name() -> None:
    assert refusal("1.38.0", Nonsense=True) == ""


def test_a_gate_that_a_release_does_not_have_yet_is_refused_there() -> None:
    assert refusal("1.33.13", AtomicFIFO=True) == "unrecognized feature gate: AtomicFIFO"
    assert isinstance(effective_curve(KubeletProfile(name="own"), KubernetesVersion(1, 33, 13)), Curve)


def test_fields_are_those_of_the_release() -> None:
    old, new = (kubelet_api().fields_of(version)["KubeletConfiguration"] for version in (VERSIONS[0], VERSIONS[-1]))
    assert old["maxPods"] == new["maxPods"] == "int32"
    assert old["syncFrequency"] == "Duration"
    assert new.keys() - old.keys()
