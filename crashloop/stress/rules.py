"""Loads with restart rules on a node whose kubelet may ignore rules. Pure."""

import msgspec

from crashloop.errors import UsageError
from crashloop.model.gates import effective_gates
from crashloop.spec.pod import Action
from crashloop.spec.profile import RESTART_ALL_GATE, RESTART_RULES_GATE, KubeletProfile
from crashloop.spec.version import KubernetesVersion
from crashloop.stress.loads import AnyLoad, Crash, Finish, exit_codes


def heeded(name: str, load: AnyLoad, kubelet: KubeletProfile, version: KubernetesVersion) -> AnyLoad:
    """The load for a node: without a rule that the kubelet ignores, if no exit of the load needs it.

    An API server without the feature refuses pods with rules (1.33), or removes the rules. Raises UsageError for a load that
    needs rules on such a kubelet.
    """
    gates = effective_gates(kubelet, version)
    missing = [gate for gate in _wanted(load) if not gates.get(gate, False)]
    if not missing or not isinstance(load, Crash | Finish):
        return load
    if load.rule is None or any(load.rule.matches(code) for code in exit_codes(load)):
        raise UsageError(
            f"load {name!r}: its restart rule needs the feature gate {missing[0]}, which kubelet profile {kubelet.name!r} "
            f"does not enable in Kubernetes {version}.\nUse another profile or another version."
        )
    return msgspec.structs.replace(load, rule=None)


def _wanted(load: AnyLoad) -> tuple[str, ...]:
    """The feature gates that a load needs. A container restart policy is part of the same feature, but for that of a sidecar."""
    if isinstance(load, Crash) and load.own is not None:
        pod = load.own.pod
        ruled = any(each.rules or (each.restart_policy and not each.is_sidecar) for each in pod.containers)
        restarts_all = pod.restarts_all
    elif isinstance(load, Crash | Finish) and load.rule is not None:
        ruled, restarts_all = True, load.rule.action is Action.RESTART_ALL_CONTAINERS
    else:
        return ()
    return (*((RESTART_RULES_GATE,) if ruled else ()), *((RESTART_ALL_GATE,) if restarts_all else ()))
