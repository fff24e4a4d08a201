"""How each kind of scenario is planned: one row per kind; and on which versions it can run."""

from collections.abc import Callable, Iterable, Mapping
from types import NoneType
from typing import Any, NamedTuple, TypeVar

import msgspec

from crashloop.cluster.provider import Capability
from crashloop.model.course import Course, course_of
from crashloop.model.owner import job_course_of, replaced_course_of
from crashloop.spec.control_plane import controllers_of
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.owner import Deployment, Job, Owner, StaticPod
from crashloop.spec.plan import Judgeable
from crashloop.spec.profile import KubeletProfile, version_of, with_version
from crashloop.spec.program import LifeEnd
from crashloop.spec.scenario import AnyScenario, ApiScenario, PodScenario, StartupScenario, TextScenario
from crashloop.spec.state_metrics import of_state_metrics
from crashloop.spec.version import KubernetesVersion, can_join_api_server

LOOKS_SELDOM = (1, 34)
"""Up to this release a kubelet looks at a waiting pod every 10 to 16 s only, so that ten restarts of 2 s take two minutes."""
LONGEST_WATCH_S = 240.0


def pod_on_version(scenario: PodScenario, version: str) -> PodScenario:
    """The same pod on a node with that kubelet."""
    until = scenario.until
    if KubernetesVersion.parse(version).release <= LOOKS_SELDOM:
        until = msgspec.structs.replace(until, at_most_s=max(until.at_most_s, LONGEST_WATCH_S))
    return msgspec.structs.replace(
        scenario, name=_name(scenario, version), profile=with_version(scenario.profile, version), until=until
    )


def startup_on_version(scenario: StartupScenario, version: str) -> StartupScenario:
    """The same start, of that kubelet in a node with that kubelet."""
    return msgspec.structs.replace(
        scenario,
        name=_name(scenario, version),
        profile=with_version(scenario.profile, version),
        candidate=with_version(scenario.candidate, version),
        control=None if scenario.control is None else with_version(scenario.control, version),
    )


def no_kubelet(scenario: AnyScenario, _version: str) -> AnyScenario:
    """Raises TypeError."""
    raise TypeError(f"scenario {scenario.name!r} has no kubelet")


def _name(scenario: AnyScenario, version: str) -> str:
    return f"{scenario.name}-v{version.replace('.', '-')}"


NEEDS: dict[InterventionKind, Capability] = {
    InterventionKind.RESTART_KUBELET: Capability.KUBELET_RESTART,
    InterventionKind.KILL_KUBELET: Capability.KUBELET_RESTART,
    InterventionKind.KILL_SANDBOX: Capability.RUNTIME_EVENTS,
    InterventionKind.REMOVE_CONTAINER: Capability.RUNTIME_EVENTS,
    InterventionKind.RESTART_RUNTIME: Capability.RUNTIME_RESTART,
    InterventionKind.TAKE_NETWORK: Capability.POD_NETWORK,
    InterventionKind.UNLABEL_NODE: Capability.KUBELET_RESTART,
}
"""Capability of the provider for an intervention."""


def _for_interventions(scenario: PodScenario) -> list[Capability]:
    needed = [NEEDS[each.action] for each in scenario.interventions if each.action in NEEDS]
    reconfigures = any(each.profile is not None for each in scenario.interventions)
    return [*needed, Capability.KUBELET_RECONFIGURATION] if reconfigures else needed


def _for_kills(scenario: PodScenario) -> list[Capability]:
    """A program that is killed or never runs stamps no exit, so only the runtime shows it; its socket also takes a signal."""
    ends = {life.end for each in scenario.pod.containers for life in each.program.lives}
    return [Capability.RUNTIME_EVENTS] if ends & {LifeEnd.SIGNAL, LifeEnd.MEMORY, LifeEnd.START} else []


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
            *_for_kills(scenario),
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


Kind = TypeVar("Kind", bound=AnyScenario)


def on_version(scenario: Kind, version: str) -> Kind:
    """The scenario on a kubelet of that version, with a name of its own. Raises TypeError for one without a kubelet."""
    found: Kind = KINDS[type(scenario)].on_version(scenario, version)
    return found


def can_join(judged: Judgeable, api_server: KubernetesVersion) -> bool:
    """Whether upstream supports its kubelets beside an API server of this version, and its controllers are one release older."""
    controllers = map(KubernetesVersion.parse, controllers_of(each.control_plane for each in judged.scenarios))
    if any(api_server.minor - each.minor != 1 for each in controllers):
        return False
    versions = filter(None, (version_of(profile) for each in judged.scenarios for profile in each.profiles))
    return all(can_join_api_server(KubernetesVersion.parse(version), api_server) for version in versions)
