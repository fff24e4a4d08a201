"""Computes the plan from declared judgements; every collecting process computes the same one."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from crashloop.cluster.binaries.skew import check_controllers
from crashloop.cluster.provider import Capability
from crashloop.model.gates import effective_gates, kubelet_version
from crashloop.profiles import check_releases, load_profile, validate_for_node, validate_refusal
from crashloop.requirements import load_requirements
from crashloop.run.courses import courses_of, starts_of
from crashloop.run.kinds import KINDS
from crashloop.run.matching import Offer
from crashloop.spec.assignment import assign
from crashloop.spec.control_plane import controllers_of
from crashloop.spec.plan import Budgets, Judgeable, Judgement, Plan, Skip, unique_scenarios
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.requirement import Requirement, applies
from crashloop.spec.scenario import Scenario, profiles_of
from crashloop.spec.version import KubernetesVersion


class Declared(NamedTuple):
    """A requirement, by its id, to be judged on a scenario or a comparison."""

    requirement: str
    scenario: Judgeable


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
    reasons = [_why_skipped(each, settings, capabilities, version, offer) for each in wanted]
    judged = [each for each, reason in zip(wanted, reasons, strict=True) if reason is None]
    scenarios = unique_scenarios(tuple(one for each in judged for one in each.scenario.scenarios))
    if offer is None:
        check_releases(_profiles(scenarios, offer), version)
        for controllers in controllers_of(each.control_plane for each in scenarios):
            check_controllers(controllers, str(version))
    for name in dict.fromkeys((*profiles_of(scenarios), *(name for each in scenarios for name in each.later_profiles))):
        validate_for_node(_profile(name, offer), version)
    for name in dict.fromkeys(name for each in scenarios for name in each.refused_profiles):
        validate_refusal(_profile(name, offer), version)
    courses = courses_of(scenarios, lambda name: _profile(name, offer), version)
    assignment = assign(
        scenarios,
        budgets,
        {name: course.usual_s for name, course in courses.items()},
        _nodes(scenarios, offer),
        nodes_change=Capability.NODES_CHANGE in capabilities,
    )
    return Plan(
        suite="conformance",
        provider=settings["provider"],
        kubernetes_version=str(version),
        scope=settings["scope"],
        feature_gates=control_plane_gates(settings),
        budgets=budgets,
        profiles=tuple(_profiles(scenarios, offer)),
        scenarios=scenarios,
        judgements=tuple(
            Judgement(requirement=each.requirement, scenario=each.scenario.name, compared=each.scenario.compared)
            for each in judged
        ),
        skipped=tuple(
            Skip(
                requirement=each.requirement,
                scenario=each.scenario.name,
                profile=each.scenario.subject,
                reason=reason,
            )
            for each, reason in zip(wanted, reasons, strict=True)
            if reason is not None
        ),
        nodes=assignment.nodes,
        placements=assignment.placements,
        starts_s=starts_of(courses),
    )


def _why_skipped(
    declared: Declared,
    settings: dict[str, Any],
    capabilities: frozenset[Capability],
    version: KubernetesVersion,
    offer: Offer | None,
) -> str | None:
    """What the provider, the release or the configuration lacks for it; None if it can be judged."""
    requirement, scenarios = load_requirements()[declared.requirement], declared.scenario.scenarios
    lacking = (_lacking(each, requirement, capabilities, offer) for each in scenarios)
    if (lacks := next(filter(None, lacking), None)) is not None:
        return lacks
    return _why_not(requirement, [_judged_on(each, settings, offer) for each in scenarios], version)


def _profile(name: str, offer: Offer | None) -> KubeletProfile:
    """The profile, with the version of its matching node."""
    profile = load_profile(name)
    return profile if offer is None else offer.on_node(profile)


def _judged_on(scenario: Scenario, settings: dict[str, Any], offer: Offer | None) -> KubeletProfile:
    """The profile of the node, or the gates of the API server."""
    if scenario.node_profile is None:
        gates = control_plane_gates(settings) | scenario.own_gates
        return KubeletProfile(name=scenario.subject, config={"featureGates": gates})
    return _profile(scenario.node_profile, offer)


def control_plane_gates(settings: dict[str, Any]) -> dict[str, bool]:
    """Feature gates that the API server is started with."""
    return dict(settings.get("feature_gates") or {})


def _nodes(scenarios: Iterable[Scenario], offer: Offer | None) -> dict[str, str]:
    """Existing nodes, by profile."""
    if offer is None:
        return {}
    found = {name: offer.node_for(load_profile(name)) for name in profiles_of(tuple(scenarios))}
    return {name: node for name, node in found.items() if node is not None}


def _why_not(requirement: Requirement, profiles: Iterable[KubeletProfile], version: KubernetesVersion) -> str | None:
    """Why it holds for none of the profiles: what is compared with may lack the gate that the requirement is about."""
    reasons = [
        applies(requirement, kubelet_version(profile, version), effective_gates(profile, version))
        for profile in profiles
    ]
    return None if None in reasons else reasons[0]


def _profiles(scenarios: Iterable[Scenario], offer: Offer | None) -> Iterator[KubeletProfile]:
    return (_profile(name, offer) for name in sorted({name for each in scenarios for name in each.profiles}))


def _lacking(
    scenario: Scenario, requirement: Requirement, capabilities: frozenset[Capability], offer: Offer | None
) -> str | None:
    apart = (Capability.CONTROL_PLANES,) if scenario.control_plane is not None else ()
    for capability in (*KINDS[type(scenario)].capabilities(scenario), *map(Capability, requirement.needs), *apart):
        if capability not in capabilities:
            return f"the provider lacks the capability {capability}"
    if scenario.node_profile is None:
        return None
    profile = load_profile(scenario.node_profile)
    if offer is not None:
        return None if offer.node_for(profile) else offer.why_none(profile)
    if Capability.KUBELET_PROFILES not in capabilities:
        return f"the provider lacks the capability {Capability.KUBELET_PROFILES}"
    return None
