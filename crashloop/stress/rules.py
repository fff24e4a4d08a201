"""Loads with restart rules on a node whose kubelet may not heed rules. Pure."""

import msgspec

from crashloop.errors import UsageError
from crashloop.model.gates import effective_gates
from crashloop.spec.policy import Action
from crashloop.spec.profile import RESTART_ALL_GATE, RESTART_RULES_GATE, KubeletProfile
from crashloop.spec.version import KubernetesVersion
from crashloop.stress.loads import AnyLoad, Crash, exit_codes


def heeded(name: str, load: AnyLoad, kubelet: KubeletProfile, version: KubernetesVersion) -> AnyLoad:
    """The load as it can be put on a node: a rule that the kubelet does not heed goes, if no exit asks for it.

    An API server without the feature refuses pods with rules (1.33), or takes the rules out of them. Raises UsageError for
    a load that such a kubelet does not restart as the load says.
    """
    if not isinstance(load, Crash) or load.rule is None:
        return load
    restarts_all = load.rule.action is Action.RESTART_ALL_CONTAINERS
    wanted = (RESTART_RULES_GATE, RESTART_ALL_GATE) if restarts_all else (RESTART_RULES_GATE,)
    gates = effective_gates(kubelet, version)
    missing = [gate for gate in wanted if not gates.get(gate, False)]
    if not missing:
        return load
    if any(load.rule.matches(code) for code in exit_codes(load)):
        raise UsageError(
            f"load {name!r}: its restart rule needs the feature gate {missing[0]}, which kubelet profile {kubelet.name!r} "
            f"does not have on in Kubernetes {version}.\nUse another profile or another version."
        )
    return msgspec.structs.replace(load, rule=None)
