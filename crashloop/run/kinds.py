"""What planning has to know of each kind of scenario: one row per kind."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from crashloop.cluster.provider import Capability
from crashloop.model.prediction import expected_duration_s
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import AnyScenario, ApiScenario, InterventionKind, PodScenario, StartupScenario
from crashloop.spec.version import KubernetesVersion

NEEDS: dict[InterventionKind, Capability] = {
    InterventionKind.RESTART_KUBELET: Capability.KUBELET_RESTART,
    InterventionKind.KILL_KUBELET: Capability.KUBELET_RESTART,
    InterventionKind.RESTART_RUNTIME: Capability.RUNTIME_RESTART,
}
"""What an intervention needs of the provider."""


class Planning(msgspec.Struct, frozen=True, kw_only=True):
    """What one kind of scenario needs, and how long it is expected to be watched. The first argument is the scenario."""

    capabilities: Callable[[Any], Iterable[Capability]]
    """What a provider must be able to do, beside having a node with the profile."""
    expected_s: Callable[[Any, KubeletProfile, KubernetesVersion], float]
    """Seconds, at the longest, on a node with that profile in a cluster of that version."""


KINDS: dict[type[AnyScenario], Planning] = {
    PodScenario: Planning(
        capabilities=lambda scenario: [NEEDS[each.action] for each in scenario.interventions if each.action in NEEDS],
        expected_s=lambda scenario, profile, version: expected_duration_s(scenario, profile, version)[1],
    ),
    StartupScenario: Planning(
        capabilities=lambda _: (Capability.KUBELET_CANDIDATE,),
        expected_s=lambda *_: 0.0,
    ),
    ApiScenario: Planning(
        capabilities=lambda _: (),
        expected_s=lambda *_: 0.0,
    ),
}
