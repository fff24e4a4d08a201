"""The gates of a control plane, and those with which its API server would not start."""

import pytest

from crashloop.errors import UsageError
from crashloop.run.feature_gates import parsed_gates
from crashloop.spec.version import KubernetesVersion

V1_37 = KubernetesVersion(1, 37, 1)


def refusal(*given: str, version: KubernetesVersion = V1_37) -> str:
    with pytest.raises(UsageError) as refused:
        parsed_gates(given, version)
    return str(refused.value)


def test_gates_are_names_and_booleans() -> None:
    given = ("ReduceDefaultCrashLoopBackOffDecay=true", "SomethingElse=False")
    assert parsed_gates(given, V1_37) == {"ReduceDefaultCrashLoopBackOffDecay": True, "SomethingElse": False}
    assert parsed_gates((), V1_37) == {}


@pytest.mark.parametrize("text", ["ContainerRestartRules", "=true", "ContainerRestartRules=off", ""])
def test_another_form_is_refused(text: str) -> None:
    assert refusal(text) == (
        f"--feature-gate {text!r}: expected NAME=true or NAME=false, such as ContainerRestartRules=false."
    )


def test_a_gate_is_given_once() -> None:
    assert refusal("Some=true", "Some=false") == "--feature-gate Some=false: Some is given twice.\nGive it once."


def test_a_gate_that_the_version_does_not_have_is_refused() -> None:
    assert refusal("ContainerRestartRules=true", version=KubernetesVersion(1, 33, 13)) == (
        "--feature-gate ContainerRestartRules=true: Kubernetes 1.33.13 does not have that gate.\nUse another version."
    )


def test_a_locked_gate_stays_on() -> None:
    assert refusal("NodeDeclaredFeatures=false") == (
        "--feature-gate NodeDeclaredFeatures=false: Kubernetes 1.37.1 has that gate locked to true.\nLeave it out."
    )


def test_a_gate_that_another_depends_on_does_not_go_off_alone() -> None:
    assert refusal("ContainerRestartRules=false") == (
        "--feature-gate: RestartAllContainersOnContainerExits is on and depends on ContainerRestartRules, which is off; "
        "the API server does not start.\n"
        "Add --feature-gate RestartAllContainersOnContainerExits=false, or switch on what it depends on."
    )
    both = ("ContainerRestartRules=false", "RestartAllContainersOnContainerExits=false")
    assert parsed_gates(both, V1_37) == {
        "ContainerRestartRules": False,
        "RestartAllContainersOnContainerExits": False,
    }
