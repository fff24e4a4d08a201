"""Computes the plan from collected tests; every collecting process computes the same one."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pytest

from crashloop.cluster.provider import Capability
from crashloop.model.gates import effective_gates, kubelet_version
from crashloop.model.prediction import expected_duration_s
from crashloop.profiles import load_profile, validate_for_node
from crashloop.requirements import load_requirements
from crashloop.run.matching import Offer
from crashloop.spec.plan import Budgets, Judgement, Plan, Skip, plan_waves, unique_scenarios
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.requirement import Requirement, applies
from crashloop.spec.scenario import PodScenario, Scenario, StartupScenario, profiles_of
from crashloop.spec.version import KubernetesVersion
from fixtures.requirements import SCOPES


class Declared(NamedTuple):
    """The `@requirement` of one collected test."""

    requirement: str
    scenario: Scenario
    scope: str


def declared(item: pytest.Item) -> Declared | None:
    """The declaration of a test, or None if it judges nothing."""
    marker = item.get_closest_marker("requirement")
    if marker is None or not isinstance(item, pytest.Function):
        return None
    scenario = item.callspec.params["scenario"]
    assert isinstance(scenario, PodScenario | StartupScenario)
    return Declared(marker.args[0], scenario, marker.kwargs["scope"])


def in_scope(declaration: Declared, scope: str) -> bool:
    return SCOPES.index(declaration.scope) <= SCOPES.index(scope)


def build_plan(
    declarations: Iterable[Declared],
    settings: dict[str, Any],
    capabilities: frozenset[Capability],
    budgets: Budgets,
    offer: Offer | None = None,
) -> Plan | None:
    """The plan for the declarations; None without any. Raises UsageError for a profile that no node could run with.

    With an `offer` the nodes exist already, and a scenario runs on the node that matches its profile.
    """
    wanted = sorted(
        {(each.requirement, each.scenario.name): each for each in declarations}.values(),
        key=lambda each: (each.requirement, each.scenario.name),
    )
    if not wanted:
        return None
    version = KubernetesVersion.parse(settings["kubernetes_version"]) if offer is None else offer.version
    catalogue = load_requirements()
    skipped, judged = [], []
    for each in wanted:
        requirement = catalogue[each.requirement]
        reason = _lacking(each.scenario, requirement, capabilities, offer) or _why_not(
            requirement, _profile(each.scenario.profile, offer), version
        )
        if reason is None:
            judged.append(each)
        else:
            skipped.append(
                Skip(
                    requirement=each.requirement,
                    scenario=each.scenario.name,
                    profile=each.scenario.profile,
                    reason=reason,
                )
            )
    scenarios = unique_scenarios(tuple(each.scenario for each in judged))
    for name in profiles_of(scenarios):
        validate_for_node(_profile(name, offer), version)
    return Plan(
        suite="conformance",
        provider=settings["provider"],
        kubernetes_version=str(version),
        scope=settings["scope"],
        budgets=budgets,
        profiles=tuple(_profiles(scenarios, offer)),
        scenarios=scenarios,
        judgements=tuple(Judgement(requirement=each.requirement, scenario=each.scenario.name) for each in judged),
        skipped=tuple(skipped),
        waves=plan_waves(scenarios, budgets, _durations_s(scenarios, version, offer), _nodes(scenarios, offer)),
    )


def _profile(name: str, offer: Offer | None) -> KubeletProfile:
    """The profile, with the version of its matching node."""
    profile = load_profile(name)
    return profile if offer is None else offer.on_node(profile)


def _nodes(scenarios: Iterable[Scenario], offer: Offer | None) -> dict[str, str]:
    """Existing nodes, by profile."""
    if offer is None:
        return {}
    found = {name: offer.node_for(load_profile(name)) for name in profiles_of(tuple(scenarios))}
    return {name: node for name, node in found.items() if node is not None}


def _why_not(requirement: Requirement, profile: KubeletProfile, version: KubernetesVersion) -> str | None:
    return applies(requirement, kubelet_version(profile, version), effective_gates(profile, version))


def _durations_s(scenarios: Iterable[Scenario], version: KubernetesVersion, offer: Offer | None) -> dict[str, float]:
    """Longest expected observation of every pod."""
    return {
        each.name: expected_duration_s(each, _profile(each.profile, offer), version)[1]
        for each in scenarios
        if isinstance(each, PodScenario)
    }


def _profiles(scenarios: Iterable[Scenario], offer: Offer | None) -> Iterator[KubeletProfile]:
    names: dict[str, None] = {}
    for scenario in scenarios:
        names[scenario.profile] = None
        if isinstance(scenario, StartupScenario):
            names[scenario.candidate] = None
    return (_profile(name, offer) for name in sorted(names))


def _lacking(
    scenario: Scenario, requirement: Requirement, capabilities: frozenset[Capability], offer: Offer | None
) -> str | None:
    for capability in (*needed_capabilities(scenario), *map(Capability, requirement.needs)):
        if capability not in capabilities:
            return f"the provider lacks the capability {capability}"
    profile = load_profile(scenario.profile)
    if offer is not None:
        return None if offer.node_for(profile) else offer.why_none(profile)
    if Capability.KUBELET_PROFILES not in capabilities:
        return f"the provider lacks the capability {Capability.KUBELET_PROFILES}"
    return None


def needed_capabilities(scenario: Scenario) -> Iterator[Capability]:
    """Capabilities that the scenario needs, besides a node with its profile."""
    if isinstance(scenario, StartupScenario):
        yield Capability.KUBELET_CANDIDATE
        return
    for intervention in scenario.interventions:
        match intervention.action.value:
            case "restart-kubelet" | "kill-kubelet":
                yield Capability.KUBELET_RESTART
            case "restart-runtime":
                yield Capability.RUNTIME_RESTART
