"""The pod of a scenario as the API server stores it.

Theory of operation. An API server with the gate ContainerRestartRules off drops the restart policies of containers, but for
those of sidecars, and all rules, without a word; the kubelet then goes by the pod's restart policy. The promise is that
a container under Never is not restarted for that.
Source: KEP-5307, Feature Enablement and Rollback; pkg/api/pod/util.go@v1.37.1 dropContainerRestartRules.
"""

import msgspec

from crashloop.model.variants import API_SERVER_DROPS_POLICIES, DOCUMENTED
from crashloop.spec.pod import Container
from crashloop.spec.profile import RESTART_RULES_GATE
from crashloop.spec.scenario import PodScenario


def drops_policies(scenario: PodScenario) -> bool:
    """Whether the scenario's own API server has the gate off."""
    return not scenario.own_gates.get(RESTART_RULES_GATE, True)


def as_stored(scenario: PodScenario, deviations: frozenset[str] = DOCUMENTED) -> PodScenario:
    """The scenario with the pod that its kubelet gets."""
    if not drops_policies(scenario) or API_SERVER_DROPS_POLICIES not in deviations:
        return scenario
    containers = tuple(map(_without_rules, scenario.pod.containers))
    return msgspec.structs.replace(scenario, pod=msgspec.structs.replace(scenario.pod, containers=containers))


def _without_rules(container: Container) -> Container:
    policy = container.restart_policy if container.is_sidecar else None
    return msgspec.structs.replace(container, restart_policy=policy, rules=())
