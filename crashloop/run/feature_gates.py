"""`--feature-gate NAME=BOOL`: the feature gates that a control plane is started with, or why it would not start. Pure.

Source of the rules: k8s.io/component-base/featuregate/feature_gate.go@v0.37.1 (Set, dependencies).
"""

from collections.abc import Iterable
from difflib import get_close_matches

from crashloop.errors import UsageError
from crashloop.model.gate_names import gate_names
from crashloop.model.gates import DEPENDENCIES, GateState, default_gates, gate_state
from crashloop.spec.version import KubernetesVersion

OPTION = "--feature-gate"
_VALUES = {"true": True, "false": False}


def parsed_gates(given: Iterable[str], version: KubernetesVersion, *, own_programs: bool = False) -> dict[str, bool]:
    """The gates by name, from the values of the option. The user's own control plane may have gates of its own.

    Raises UsageError for a value of another form, a gate given twice, and gates with which the API server of that version
    refuses to start.
    """
    known = None if own_programs else gate_names(version)
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
        if known is not None and name not in known:
            near = get_close_matches(name, known, 1)
            remedy = f"Did you mean {near[0]}?" if near else "Name another, or bring your own binaries."
            raise UsageError(f"{OPTION} {text}: Kubernetes {version} does not have that gate.\n{remedy}")
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
