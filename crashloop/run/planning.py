"""Computes the plan from declared judgements: its nodes, the course of each scenario, and what that amounts to. Pure.

Every collecting process computes the same one.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from math import inf
from typing import Any, NamedTuple

import msgspec

from crashloop.cluster.provider import Capability
from crashloop.errors import UsageError
from crashloop.model.course import Course
from crashloop.model.gates import effective_gates, kubelet_version
from crashloop.profiles import check_releases, load_profile, validate_for_node, validate_refusal
from crashloop.record.schedule import Forecast, forecast
from crashloop.record.stage import schedule_of
from crashloop.requirements import load_requirements
from crashloop.run.existing import Offer
from crashloop.run.kinds import KINDS
from crashloop.spec.assignment import REPLACE_S, assign
from crashloop.spec.control_plane import controllers_of
from crashloop.spec.plan import Budgets, Judgeable, Judgement, Plan, Skip, unique_scenarios
from crashloop.spec.profile import KubeletProfile, version_of
from crashloop.spec.requirement import Requirement, Scope, applies
from crashloop.spec.scenario import Scenario, profiles_of
from crashloop.spec.version import KubernetesVersion, check_controllers
from crashloop.words import count

LONGEST_WATCH_S = {Scope.QUICK: 90.0, Scope.FULL: 1200.0, Scope.SOAK: inf}
"""The longest that a scenario of each scope is watched, in seconds; shortest scope first, and each contains those before it."""

_SCOPES = tuple(LONGEST_WATCH_S)


def scope_of(requirement: Requirement, scenario: Judgeable) -> Scope:
    """The scope of the requirement's row in the catalogue, or the first wider one that has time for the scenario's watch.

    What has nodes with a version of their own is for a run on several versions.
    """
    if requirement.scope is Scope.VERSIONS or any(
        version_of(profile) is not None for each in scenario.scenarios for profile in each.profiles
    ):
        return Scope.VERSIONS
    return next(
        scope for scope in _SCOPES[_SCOPES.index(requirement.scope) :] if scenario.longest_s <= LONGEST_WATCH_S[scope]
    )


def require_within(named: Iterable[str], scopes: Mapping[str, Collection[Scope]], widest: Scope) -> None:
    """Raise UsageError for a requirement named by the user that a run of the scope `widest` judges on nothing.

    `scopes`: from which scope on each requirement is judged, on each of its scenarios.
    """
    for identifier in sorted(named):
        found = scopes.get(identifier, ())
        if found and not any(is_within(each, widest) for each in found):
            narrowest = min(found, key=tuple(Scope).index)
            raise UsageError(
                f"--requirement {identifier}: nothing of scope {widest} judges it.\nRun it with --scope {narrowest}."
            )


def is_within(scope: Scope, widest: Scope) -> bool:
    """Whether a run of the scope `widest` contains what belongs to `scope`."""
    if Scope.VERSIONS in (scope, widest):
        return scope is widest
    return _SCOPES.index(scope) <= _SCOPES.index(widest)


def courses_of(
    scenarios: Iterable[Scenario], profile_of: Callable[[str], KubeletProfile], version: KubernetesVersion
) -> dict[str, Course]:
    """By name of the scenario. One without a node takes no time and starts nothing."""
    return {
        each.name: Course()
        if each.node_profile is None
        else KINDS[type(each)].course(each, profile_of(each.node_profile), version)
        for each in scenarios
    }


def work_of(courses: Mapping[str, Course]) -> dict[str, Any]:
    """The fields `starts_s`, `probes_s` and `requests_s` of a plan, to a tenth of a second."""
    return {
        field: {
            name: tuple(round(at_s, 1) for at_s in found)
            for name, each in courses.items()
            if (found := getattr(each, field))
        }
        for field in ("starts_s", "probes_s", "requests_s")
    }


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
    profile_of = cache(partial(_profile, offer=offer, gates=settings.get("kubelet_gates") or {}))
    reasons = [_why_skipped(each, settings, capabilities, version, offer, profile_of) for each in wanted]
    judged = [each for each, reason in zip(wanted, reasons, strict=True) if reason is None]
    scenarios = unique_scenarios(tuple(one for each in judged for one in each.scenario.scenarios))
    if offer is None:
        check_releases(_profiles(scenarios, profile_of), version)
        for controllers in controllers_of(each.control_plane for each in scenarios):
            check_controllers(controllers, str(version))
    for name in dict.fromkeys((*profiles_of(scenarios), *(name for each in scenarios for name in each.later_profiles))):
        validate_for_node(profile_of(name), version)
    for name in dict.fromkeys(name for each in scenarios for name in each.refused_profiles):
        validate_refusal(profile_of(name), version)
    courses = courses_of(scenarios, profile_of, version)
    plan = Plan(
        suite="conformance",
        provider=settings["provider"],
        kubernetes_version=str(version),
        scope=settings["scope"],
        feature_gates=control_plane_gates(settings),
        budgets=budgets,
        profiles=tuple(_profiles(scenarios, profile_of)),
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
        **work_of(courses),
    )
    assignment = assign(
        scenarios,
        budgets,
        {name: course.usual_s for name, course in courses.items()},
        _nodes(scenarios, offer),
        starting_s=plan.launching_s,
        nodes_change=Capability.NODES_CHANGE in capabilities,
    )
    return msgspec.structs.replace(plan, **assignment._asdict())


def _why_skipped(
    declared: Declared,
    settings: dict[str, Any],
    capabilities: frozenset[Capability],
    version: KubernetesVersion,
    offer: Offer | None,
    profile_of: Callable[[str], KubeletProfile],
) -> str | None:
    """What the provider, the release or the configuration lacks for it; None if it can be judged."""
    requirement, scenarios = load_requirements()[declared.requirement], declared.scenario.scenarios
    lacking = (_lacking(each, requirement, capabilities, offer) for each in scenarios)
    if (lacks := next(filter(None, lacking), None)) is not None:
        return lacks
    return _why_not(requirement, [_judged_on(each, settings, profile_of) for each in scenarios], version)


def _profile(name: str, offer: Offer | None, gates: Mapping[str, bool]) -> KubeletProfile:
    """The profile, with the run's gates for kubelets, or with the version of its matching node."""
    profile = load_profile(name).with_gates(gates)
    return profile if offer is None else offer.on_node(profile)


def _judged_on(
    scenario: Scenario, settings: dict[str, Any], profile_of: Callable[[str], KubeletProfile]
) -> KubeletProfile:
    """The profile of the node, or the gates of the API server."""
    if scenario.node_profile is None:
        gates = control_plane_gates(settings) | scenario.own_gates
        return KubeletProfile(name=scenario.subject, config={"featureGates": gates})
    return profile_of(scenario.node_profile)


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


def _profiles(scenarios: Iterable[Scenario], profile_of: Callable[[str], KubeletProfile]) -> Iterator[KubeletProfile]:
    return (profile_of(name) for name in sorted({name for each in scenarios for name in each.profiles}))


def _lacking(
    scenario: Scenario, requirement: Requirement, capabilities: frozenset[Capability], offer: Offer | None
) -> str | None:
    apart = (Capability.CONTROL_PLANES,) if scenario.control_plane is not None else ()
    for capability in (*KINDS[type(scenario)].capabilities(scenario), *map(Capability, requirement.needs), *apart):
        if capability not in capabilities:
            return f"the provider lacks the capability {capability}"
    if scenario.node_profile is None:
        return None
    if offer is not None:
        profile = load_profile(scenario.node_profile)
        return None if offer.node_for(profile) else offer.why_none(profile)
    if Capability.KUBELET_PROFILES not in capabilities:
        return f"the provider lacks the capability {Capability.KUBELET_PROFILES}"
    return None


class NodeOutline(NamedTuple):
    """A node; the times are counted from the moment at which the first nodes are up."""

    name: str
    profile: str
    scenarios: int
    begin_s: float
    end_s: float


class Outline(NamedTuple):
    """A plan in numbers."""

    nodes: tuple[NodeOutline, ...]
    requirements: int
    judgements: int
    without_node: int
    """Scenarios that need no node."""
    skipped: int
    container_starts: int
    """Starts of sandboxes and containers."""
    probes: int
    """Probes by a command."""
    budgets: Budgets
    expected_s: float
    """Longest expected recording, from the first pod to the last history."""
    ends_s: dict[str, float]
    """When each scenario is expected to be recorded at the latest."""


def outline(plan: Plan, capabilities: frozenset[Capability]) -> Outline:
    """Nodes in the order in which they come up, on a provider that can do so much."""
    played = _forecast_of(plan, capabilities)
    return Outline(
        nodes=tuple(_node_outlines(plan, played)),
        requirements=len({each.requirement for each in plan.judgements}),
        judgements=len(plan.judgements),
        without_node=sum(each.node_profile is None for each in plan.scenarios),
        skipped=len(plan.skipped),
        container_starts=sum(work.starts == 1 for each in plan.scenarios for work in plan.work_of(each)),
        probes=sum(map(len, plan.probes_s.values())),
        budgets=plan.budgets,
        expected_s=max(played.ends_s - REPLACE_S, 0.0),
        ends_s={name: end_s for name, (_, end_s) in played.scenarios.items()},
    )


def _forecast_of(plan: Plan, capabilities: frozenset[Capability]) -> Forecast:
    version = KubernetesVersion.parse(plan.kubernetes_version)
    lengths_s = {name: course.latest_s for name, course in courses_of(plan.scenarios, plan.profile, version).items()}

    def of(part: Plan) -> Forecast:
        return forecast(schedule_of(part, capabilities), lengths_s, bring_up_s=REPLACE_S, take_down_s=0.0)

    played, begin_s = of(plan.shared()), 0.0
    for lone in map(of, plan.apart()):
        played = played.beside(lone, begin_s)
        begin_s += lone.ends_s
    return played


def sentences(found: Outline) -> Iterator[str]:
    """For people."""
    yield (
        f"{count(found.judgements, 'verdict')} on {count(found.requirements, 'requirement')}; {count(len(found.nodes), 'node')}, "
        f"{count(found.container_starts, 'container start')} and {count(found.probes, 'probe')} by a command, "
        f"{count(found.without_node, 'scenario')} without a node."
    )
    at_once = count(found.budgets.live_nodes, "node")
    yield f"At once: {found.budgets.container_starts_per_s:g} container starts a second, {at_once}."
    if found.skipped:
        yield f"{found.skipped} verdicts are skipped: this provider, release or configuration lacks what they need."
    yield f"Expected time: {_minutes(found.expected_s)} at most once the first nodes are up."


def _node_outlines(plan: Plan, played: Forecast) -> Iterator[NodeOutline]:
    """Each node from the moment at which it is up to the end of its last scenario."""
    for planned in plan.nodes:
        ends_s = [played.scenarios[name][1] for name, node in plan.placements.items() if node == planned.name]
        begin_s, _ = played.nodes[planned.name]
        yield NodeOutline(planned.name, planned.profile, len(ends_s), begin_s, max(ends_s) - REPLACE_S)


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
