"""Planning of every kind of scenario: one row per kind."""

from collections.abc import Callable, Iterable, Mapping
from types import NoneType
from typing import Any, NamedTuple

import msgspec

from crashloop.cluster.provider import Capability
from crashloop.model.course import Course, course_of
from crashloop.model.owner import job_course_of, replaced_course_of
from crashloop.run.on_version import no_kubelet, pod_on_version, startup_on_version
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.owner import Deployment, Job, Owner, StaticPod
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import LifeEnd
from crashloop.spec.scenario import AnyScenario, ApiScenario, PodScenario, StartupScenario, TextScenario
from crashloop.spec.state_metrics import of_state_metrics
from crashloop.spec.version import KubernetesVersion

NEEDS: dict[InterventionKind, Capability] = {
    InterventionKind.RESTART_KUBELET: Capability.KUBELET_RESTART,
    InterventionKind.KILL_KUBELET: Capability.KUBELET_RESTART,
    InterventionKind.KILL_SANDBOX: Capability.RUNTIME_EVENTS,
    InterventionKind.REMOVE_CONTAINER: Capability.RUNTIME_EVENTS,
    InterventionKind.RESTART_RUNTIME: Capability.RUNTIME_RESTART,
    InterventionKind.TAKE_NETWORK: Capability.POD_NETWORK,
}
"""Capability of the provider for an intervention."""


def _for_interventions(scenario: PodScenario) -> list[Capability]:
    needed = [NEEDS[each.action] for each in scenario.interventions if each.action in NEEDS]
    reconfigures = any(each.profile is not None for each in scenario.interventions)
    return [*needed, Capability.KUBELET_RECONFIGURATION] if reconfigures else needed


def _for_signals(scenario: PodScenario) -> list[Capability]:
    """A signal from the node goes through the runtime's socket, as its events do."""
    signalled = any(life.end is LifeEnd.SIGNAL for each in scenario.pod.containers for life in each.program.lives)
    return [Capability.RUNTIME_EVENTS] if signalled else []


class Owned(NamedTuple):
    """What the pods of an owner need, and how they go."""

    capabilities: tuple[Capability, ...]
    course: Callable[[PodScenario, KubeletProfile, KubernetesVersion], Course]


OWNERS: Mapping[type[Owner] | type[None], Owned] = {
    NoneType: Owned((), course_of),
    Job: Owned((Capability.JOBS,), job_course_of),
    Deployment: Owned((Capability.JOBS,), replaced_course_of),
    StaticPod: Owned((Capability.STATIC_PODS,), course_of),
}


class Planning(msgspec.Struct, frozen=True, kw_only=True):
    """Needs of one kind of scenario, and its expected observation. The first argument is the scenario."""

    capabilities: Callable[[Any], Iterable[Capability]]
    """Capabilities of the provider, besides a node with the profile."""
    course: Callable[[Any, KubeletProfile, KubernetesVersion], Course]
    """What to expect on a node with that profile in a cluster of that version."""
    on_version: Callable[[Any, str], Any] = no_kubelet
    """The scenario on a kubelet of that version."""


KINDS: dict[type[AnyScenario], Planning] = {
    PodScenario: Planning(
        capabilities=lambda scenario: [
            *_for_interventions(scenario),
            *_for_signals(scenario),
            *((Capability.CONFIG_OBJECTS,) if scenario.objects else ()),
            *((Capability.IMAGE_REGISTRY,) if any(each.image for each in scenario.pod.containers) else ()),
            *((Capability.STATE_METRICS,) if of_state_metrics(scenario.samples) else ()),
            *((Capability.KUBELET_PROFILES,) if scenario.by_scheduler else ()),
            *OWNERS[type(scenario.owner)].capabilities,
        ],
        course=lambda scenario, *node: OWNERS[type(scenario.owner)].course(scenario, *node),
        on_version=pod_on_version,
    ),
    StartupScenario: Planning(
        capabilities=lambda _: (Capability.KUBELET_CANDIDATE,),
        course=lambda *_: Course(),
        on_version=startup_on_version,
    ),
    ApiScenario: Planning(
        capabilities=lambda _: (),
        course=lambda *_: Course(),
    ),
    TextScenario: Planning(
        capabilities=lambda _: (),
        course=lambda *_: Course(),
    ),
}
