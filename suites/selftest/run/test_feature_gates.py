"""The gates of a run: of its control plane, of its kubelets, and those with which neither would start."""

import pytest

from crashloop.cluster.provider import Capability
from crashloop.errors import UsageError
from crashloop.model.config import Curve, effective_curve
from crashloop.run.planning import Declared, build_plan
from crashloop.run.requested import parsed_gates
from crashloop.spec.plan import Budgets
from crashloop.spec.version import KubernetesVersion
from suites.conformance.scenarios import crashing

V1_37 = KubernetesVersion(1, 37, 1)


def refusal(*given: str, version: KubernetesVersion = V1_37) -> str:
    with pytest.raises(UsageError) as refused:
        parsed_gates(given, version)
    return str(refused.value)


def test_gates_are_names_and_booleans() -> None:
    given = ("ReduceDefaultCrashLoopBackOffDecay=true", "ContextualLogging=False")
    assert parsed_gates(given, V1_37) == {"ReduceDefaultCrashLoopBackOffDecay": True, "ContextualLogging": False}
    assert parsed_gates((), V1_37) == {}


@pytest.mark.parametrize("text", ["ContainerRestartRules", "=true", "ContainerRestartRules=off", ""])
def test_another_form_is_refused(text: str) -> None:
    assert refusal(text) == (
        f"--feature-gate {text!r}: expected NAME=true or NAME=false, such as ContainerRestartRules=false."
    )


def test_a_gate_is_given_once() -> None:
    assert refusal("KubeletPSI=true", "KubeletPSI=false") == (
        "--feature-gate KubeletPSI=false: KubeletPSI is given twice.\nGive it once."
    )


def test_a_gate_that_the_version_does_not_have_is_refused() -> None:
    assert refusal("ContainerRestartRules=true", version=KubernetesVersion(1, 33, 13)) == (
        "--feature-gate ContainerRestartRules=true: Kubernetes 1.33.13 does not have that gate.\nUse another version."
    )


@pytest.mark.parametrize(
    ("gate", "remedy"),
    [
        ("ContainerRestartRule", "Did you mean ContainerRestartRules?"),
        ("Xyzzy", "Name another, or bring your own binaries."),
    ],
)
def test_a_gate_that_no_release_has_is_refused(gate: str, remedy: str) -> None:
    assert (
        refusal(f"{gate}=true") == f"--feature-gate {gate}=true: Kubernetes 1.37.1 does not have that gate.\n{remedy}"
    )


def test_programs_of_ones_own_may_have_gates_of_their_own() -> None:
    assert parsed_gates(["Xyzzy=true", "AllAlpha=true"], V1_37, own_programs=True) == {"Xyzzy": True, "AllAlpha": True}


def test_a_release_of_the_future_may_have_any_gate() -> None:
    assert parsed_gates(["Xyzzy=true"], KubernetesVersion(1, 38, 0)) == {"Xyzzy": True}


def test_any_gate_that_another_depends_on_does_not_go_off_alone() -> None:
    assert "GracefulNodeShutdownBasedOnPodPriority is on and depends on GracefulNodeShutdown" in refusal(
        "GracefulNodeShutdown=false"
    )


def test_a_locked_gate_stays_on() -> None:
    assert refusal("NodeDeclaredFeatures=false") == (
        "--feature-gate NodeDeclaredFeatures=false: Kubernetes 1.37.1 has that gate locked to true.\nLeave it out."
    )


def test_a_gate_that_another_depends_on_does_not_go_off_alone() -> None:
    assert refusal("ContainerRestartRules=false") == (
        "--feature-gate: RestartAllContainersOnContainerExits is on and depends on ContainerRestartRules, which is off; "
        "nothing starts with it.\n"
        "Add --feature-gate RestartAllContainersOnContainerExits=false, or switch on what it depends on."
    )
    both = ("ContainerRestartRules=false", "RestartAllContainersOnContainerExits=false")
    assert parsed_gates(both, V1_37) == {
        "ContainerRestartRules": False,
        "RestartAllContainersOnContainerExits": False,
    }


def test_the_gates_of_kubelets_are_in_every_profile_that_does_not_set_them() -> None:
    gates = {"AllAlpha": True, "AllBeta": True, "KubeletCrashLoopBackOffMax": True}
    declared = [Declared("BACKOFF-2", crashing(profile, restarts=2)) for profile in ("stock", "max-gate-off")]
    settings = {"provider": "local", "scope": "full", "kubernetes_version": "1.37.1", "kubelet_gates": gates}
    plan = build_plan(declared, settings, frozenset(Capability), Budgets())
    assert plan is not None
    found = {each.name: each for each in plan.profiles}
    assert found["stock"].feature_gates == gates
    assert found["max-gate-off"].feature_gates == gates | {"KubeletCrashLoopBackOffMax": False}
    assert effective_curve(found["stock"], V1_37) == Curve(1.0, 60.0)
    assert effective_curve(found["max-gate-off"], V1_37) == Curve(1.0, 60.0)


def test_a_refusal_of_a_kubelet_gate_names_its_option() -> None:
    with pytest.raises(UsageError, match=r"--kubelet-gate Xyzzy=true: Kubernetes 1\.37\.1 does not have that gate"):
        parsed_gates(["Xyzzy=true"], V1_37, option="--kubelet-gate")
