"""What the releases' sources say of gates and fields, against what this suite says of them by hand."""

import os
from pathlib import Path

import pytest

from crashloop.model.config import Curve, Refusal, effective_curve
from crashloop.model.gates import GATES, known, kubelet_api
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import PINNED, RELEASES, KubernetesVersion
from tools.kubelet_api import GATE_FILES, at_version
from tools.kubelet_api import gates as gates_in_sources

VERSIONS = [KubernetesVersion(*release) for release in RELEASES]
SOURCES = Path(os.environ.get("GOMODCACHE") or Path.home() / "go/pkg/mod") / "k8s.io"
IN_THE_CACHE = [
    each
    for each in PINNED
    if all((SOURCES / at_version(module, each).removeprefix("k8s.io/")).is_dir() for module in GATE_FILES)
]


@pytest.mark.parametrize("version", PINNED)
def test_gates_of_a_release_are_those_of_its_sources(version: str) -> None:
    """Of a release whose sources are not on this host only the number is held; `make generated` fetches and compares them all."""
    gates = known(KubernetesVersion.parse(version))
    assert gates is not None
    if version not in IN_THE_CACHE:
        assert len(gates) > 180
        return
    states, needs = gates_in_sources(version)
    assert {name: spec.needs for name, spec in gates.items() if spec.needs} == {
        name: tuple(needed) for name, needed in needs.items()
    }
    assert {
        name: f"{'locked-' * spec.locked}{'on' if spec.default else 'off'}/{spec.stage}" for name, spec in gates.items()
    } == states


def test_every_gate_that_bears_on_restarts_is_in_a_release_but_for_a_misspelling() -> None:
    in_some = {gate for version in VERSIONS for gate in known(version) or ()}
    assert {*GATES} - in_some == {"ReduceDefaultCrashLoopBackoffDecay"}


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
