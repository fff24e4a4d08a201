"""The plan of the run. Pure, except that it reads the profiles that the nodes claim to run."""

from collections.abc import Callable, Iterator, Sequence

from crashloop.profiles import load_profile
from crashloop.run.planning import courses_of, work_of
from crashloop.spec.plan import Budgets, Judgement, Plan, PlannedNode
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import Scenario
from crashloop.spec.version import KubernetesVersion
from quality.planted import Planted

SUITE = "quality"


def build_plan(
    planted: Sequence[Planted],
    *,
    kubernetes_version: str,
    budgets: Budgets,
    kubelet_of: Callable[[Planted], str | None],
) -> Plan:
    """One node per planted fault, in the given order; the longest scenarios start first.

    `kubelet_of` gives the path of the fault's kubelet; None is the cluster's own.
    """
    placed = [(scenario, each.node) for each in planted for scenario in scenarios_of(each) if scenario.node_profile]
    placed.sort(key=lambda each: (-each[0].longest_s, each[0].name))
    profiles = {profile.name: profile for each in planted for profile in _profiles(each, kubelet_of(each))}
    scenarios = tuple(scenario for each in planted for scenario in scenarios_of(each))
    version = KubernetesVersion.parse(kubernetes_version)
    return Plan(
        suite=SUITE,
        provider="local",
        kubernetes_version=kubernetes_version,
        scope="quick",
        budgets=budgets,
        profiles=tuple(profiles.values()),
        scenarios=scenarios,
        judgements=tuple(
            Judgement(requirement=requirement, scenario=trial.on(each.profile).name)
            for each in planted
            for trial in each.trials
            for requirement in trial.judged_by
        ),
        nodes=tuple(PlannedNode(name=each.node, profile=each.profile) for each in planted),
        placements={scenario.name: node for scenario, node in placed},
        **work_of(courses_of(scenarios, profiles.__getitem__, version)),
    )


def scenarios_of(planted: Planted) -> tuple[Scenario, ...]:
    """The scenarios of a node."""
    return tuple(trial.on(planted.profile) for trial in planted.trials)


def _profiles(planted: Planted, kubelet: str | None) -> Iterator[KubeletProfile]:
    """What its node runs with, and what the same kubelet is tried with beside it."""
    yield _profile(planted.declared, planted.profile, planted, kubelet)
    for name in (name for trial in planted.trials for name in trial.tried):
        yield _profile(name, f"{name}--on--{planted.profile}", planted, kubelet)


def _profile(manifest: str, name: str, planted: Planted, kubelet: str | None) -> KubeletProfile:
    declared = load_profile(manifest)
    return KubeletProfile(
        name=name,
        config=declared.config,
        description=f"{declared.description} Its kubelet {planted.fault.sentence}.",
        kubelet_binary=kubelet,
    )
