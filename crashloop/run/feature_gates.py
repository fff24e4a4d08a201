"""`--feature-gate NAME=BOOL`: the feature gates that a control plane is started with, or why it would not start. Pure.

Source of the rules: k8s.io/component-base/featuregate/feature_gate.go@v0.37.1 (Set, dependencies).
"""

from collections.abc import Iterable

from crashloop.errors import UsageError
from crashloop.model.gates import DEPENDENCIES, GateState, default_gates, gate_state
from crashloop.spec.version import KubernetesVersion

OPTION = "--feature-gate"
_VALUES = {"true": True, "false": False}


def parsed_gates(given: Iterable[str], version: KubernetesVersion) -> dict[str, bool]:
    """The gates by name, from the values of the option. A gate outside the model is passed on as it is.

    Raises UsageError for a value of another form, a gate given twice, and gates with which the API server of that version
    refuses to start.
    """
    gates: dict[str, bool] = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not name or not separator or value.lower() not in _VALUES:
            raise UsageError(
                f"{OPTION} {text!r}: expected NAME=true or NAME=false, such as ContainerRestartRules=false."
            )
        if name in gates:
            raise UsageError(f"{OPTION} {text}: {name} is given twice.\nGive it once.")
        gates[name] = _VALUES[value.lower()]
        state = gate_state(name, version)
        if state is GateState.ABSENT:
            raise UsageError(f"{OPTION} {text}: Kubernetes {version} does not have that gate.\nUse another version.")
        if state is GateState.LOCKED and not gates[name]:
            raise UsageError(f"{OPTION} {text}: Kubernetes {version} has that gate locked to true.\nLeave it out.")
    effective = default_gates(version) | gates
    for name, needed in DEPENDENCIES.items():
        missing = [each for each in needed if not effective.get(each, False)]
        if effective.get(name, False) and missing:
            raise UsageError(
                f"{OPTION}: {name} is on and depends on {', '.join(missing)}, which is off; the API server does not start.\n"
                f"Add {OPTION} {name}=false, or switch on what it depends on."
            )
    return gates
