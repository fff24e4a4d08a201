"""The plan of a run: nodes for mutants, each with the scenarios that it has to meet, and one for the kubelet itself. Pure."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from crashloop.run.planning import Declared, courses_of, work_of
from crashloop.spec.plan import Budgets, Judgement, Plan, PlannedNode
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import PodScenario, Scenario
from crashloop.spec.version import KubernetesVersion

SUITE = "mutants"
ITSELF = 0
"""Number of the kubelet without a mutant."""


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """A kubelet, and the scenarios that it has to meet."""

    number: int
    """Of the mutant, or ITSELF."""
    scenarios: tuple[str, ...]


def itself(works: Iterable[Work], known: Collection[str]) -> Work:
    """The kubelet without a mutant meets those scenarios of the others that it has not met before, but at least one."""
    wanted = tuple(dict.fromkeys(name for work in works for name in work.scenarios))
    return Work(number=ITSELF, scenarios=tuple(name for name in wanted if name not in known) or wanted[:1])


def name_for(scenario: str, number: int) -> str:
    """The name of a scenario on the node of a kubelet."""
    return f"{scenario}--m{number}"


def to_judge(
    left: Sequence[tuple[Work, str]], is_sealed: Callable[[Work, str], bool], known: Collection[str]
) -> list[tuple[Work, str]]:
    """What is sealed of what is left; of mutants only where the kubelet without one was judged before (`known`), or just now."""
    sealed = [each for each in left if is_sealed(*each)]
    of_itself = [each for each in sealed if each[0].number == ITSELF]
    awaited = {scenario for work, scenario in left if work.number == ITSELF} - set(known)
    return of_itself or [each for each in sealed if each[1] not in awaited]


def build_plan(
    works: Sequence[Work],
    declared: Iterable[Declared],
    *,
    kubernetes_version: str,
    budgets: Budgets,
    profile_of: Callable[[str], KubeletProfile],
    kubelet_of: Callable[[int], str],
) -> Plan:
    """One node for each kubelet and profile of its scenarios.

    `declared` are the judgements of the conformance suite; `kubelet_of` gives the path of a kubelet by its number.
    """
    judged = list(declared)
    suite: Mapping[str, Scenario] = {one.name: one for each in judged for one in each.scenario.scenarios}
    placed = [each for work in works for each in _placed(work, suite)]
    nodes = {each.node: each for each in placed}
    profiles = {
        each.scenario.profile: _profile(each, profile_of(each.base), kubelet_of(each.number)) for each in nodes.values()
    }
    for name in {later for each in placed for later in each.scenario.later_profiles}:
        profiles.setdefault(name, profile_of(name))  # a restart with another configuration keeps the node's kubelet
    scenarios = tuple(each.scenario for each in placed)
    return Plan(
        suite=SUITE,
        provider="local",
        kubernetes_version=kubernetes_version,
        scope="quick",
        budgets=budgets,
        profiles=tuple(profiles.values()),
        scenarios=scenarios,
        judgements=tuple(
            Judgement(requirement=each.requirement, scenario=name)
            for work in works
            for scenario in work.scenarios
            for name in (name_for(scenario, work.number),)
            for each in judged
            if each.scenario.name == scenario
        ),
        nodes=tuple(PlannedNode(name=each.node, profile=each.scenario.profile) for each in nodes.values()),
        placements={each.scenario.name: each.node for each in placed},
        **work_of(courses_of(scenarios, profiles.__getitem__, KubernetesVersion.parse(kubernetes_version))),
    )


class _Placed(NamedTuple):
    """A scenario on the node of a kubelet."""

    scenario: PodScenario
    node: str
    base: str
    """The profile that its own is made from."""
    number: int


def _placed(work: Work, suite: Mapping[str, Scenario]) -> Iterator[_Placed]:
    """Node after node: one for each profile."""
    ours = [each for name in work.scenarios if isinstance(each := suite[name], PodScenario)]
    for position, base in enumerate(dict.fromkeys(each.profile for each in ours)):
        node, named = f"m{work.number}" + (f"-{position}" if position else ""), f"{base}--m{work.number}"
        for each in ours:
            if each.profile == base:
                scenario = msgspec.structs.replace(each, name=name_for(each.name, work.number), profile=named)
                yield _Placed(scenario, node, base, work.number)


def _profile(placed: _Placed, base: KubeletProfile, kubelet: str) -> KubeletProfile:
    return msgspec.structs.replace(base, name=placed.scenario.profile, kubelet_binary=kubelet)
