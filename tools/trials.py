"""Trials of the suite on a simulated kubelet: a requirement, judged on the history that a scenario has there."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from random import Random

import msgspec

from crashloop.checks.everywhere import judge_everywhere, of_every_pod
from crashloop.checks.judge import judge
from crashloop.checks.judgement import ComparisonInput, JudgementInput
from crashloop.deviations import load_deviations
from crashloop.history.event import Event
from crashloop.history.recording import Recording
from crashloop.history.reduction import read_recording
from crashloop.model.gates import effective_gates, kubelet_version
from crashloop.profiles import load_profile
from crashloop.spec.plan import Judgeable
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.requirement import Requirement, applies
from crashloop.spec.scenario import API_SERVER, PodScenario, Scenario
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Verdict
from sim import CALM, Fault, HostModel
from sim.behaviour import Behaviour
from sim.faults import behaviour_of
from sim.kinds import SIMULATIONS, Histories

VERSION = KubernetesVersion(1, 37, 1)
SEED = 1
NO_FAULT: frozenset[Fault] = frozenset()
FURTHER = "further"
"""The scope of trials that no conformance test makes."""

encode = msgspec.json.Encoder().encode


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement judged on a scenario or a comparison."""

    requirement: Requirement
    scenario: Judgeable
    scope: str


def profile_of(scenario: Scenario) -> KubeletProfile:
    """The profile that decides what happens in a scenario; of the API server only the gates count."""
    if scenario.judged_profile is not None:
        return _profile(scenario.judged_profile)
    return KubeletProfile(name=API_SERVER, config={"featureGates": scenario.own_gates})


@cache
def _profile(name: str) -> KubeletProfile:
    return load_profile(name)


def later_of(*scenarios: Scenario) -> tuple[KubeletProfile, ...]:
    """The profiles that scenarios restart the kubelet of their node with."""
    return tuple(map(_profile, sorted({name for each in scenarios for name in each.later_profiles})))


def _refused_of(scenarios: Sequence[Scenario]) -> tuple[KubeletProfile, ...]:
    """Those that it is to refuse."""
    return tuple(map(_profile, sorted({name for each in scenarios for name in each.refused_profiles})))


def history_of(
    scenario: Scenario,
    faults: frozenset[Fault] = NO_FAULT,
    *,
    version: KubernetesVersion = VERSION,
    seed: int = SEED,
    host: HostModel = CALM,
) -> tuple[Event, ...]:
    """The simulated history of a scenario. Raises ValueError if the kubelet does not start with the profile."""
    return histories_of((scenario,), faults, version=version, seed=seed, host=host)[0]


def histories_of(
    scenarios: Sequence[Scenario],
    faults: frozenset[Fault] = NO_FAULT,
    *,
    version: KubernetesVersion = VERSION,
    seed: int = SEED,
    host: HostModel = CALM,
) -> Histories:
    """The simulated histories of pods, of which those of one profile run together on one node, or of a start of a kubelet.

    Raises ValueError if the kubelet does not start with the profile.
    """
    return simulated(scenarios, behaviour_of(faults), version, seed, host)


def simulated(
    scenarios: Sequence[Scenario], behaviour: Behaviour, version: KubernetesVersion, seed: int, host: HostModel
) -> Histories:
    """The same of a kubelet that behaves so."""
    on_node: dict[str, list[Scenario]] = {}
    for each in scenarios:
        on_node.setdefault(each.subject, []).append(each)
    found: dict[str, tuple[Event, ...]] = {}
    for group in on_node.values():
        simulated = SIMULATIONS[type(group[0])]
        profile, later = profile_of(group[0]), (*later_of(*group), *_refused_of(group))
        histories = simulated(group, profile, version, rng=Random(seed), behaviour=behaviour, host=host, later=later)
        found |= zip((each.name for each in group), histories, strict=True)
    return tuple(found[each.name] for each in scenarios)


def verdicts_on_every_pod(
    requirements: Mapping[str, Requirement],
    scenarios: Iterable[PodScenario],
    behaviour: Behaviour,
    *,
    seed: int = SEED,
    host: HostModel = CALM,
) -> dict[str, Verdict]:
    """What a run of these pods says of requirements that hold for every pod, by requirement. Each pod is alone on its node."""
    found: dict[str, list[Verdict]] = {}
    for scenario in scenarios:
        (events,) = simulated((scenario,), behaviour, VERSION, seed, host)
        question = judgement_of(next(iter(requirements.values())), scenario, recorded(events))
        for verdict in judge_everywhere(requirements, question, load_deviations()):
            found.setdefault(verdict.requirement, []).append(verdict)
    return {name: of_every_pod(each) for name, each in found.items()}


def recorded(events: Iterable[Event]) -> Recording:
    """What a checker reads of a history."""
    return read_recording(encode(event) + b"\n" for event in events)


def recordings_of(
    judged: Judgeable,
    faults: frozenset[Fault] = NO_FAULT,
    *,
    version: KubernetesVersion = VERSION,
    seed: int = SEED,
    host: HostModel = CALM,
) -> tuple[Recording, ...]:
    """The simulated recordings of what is judged, one per scenario."""
    return tuple(map(recorded, histories_of(judged.scenarios, faults, version=version, seed=seed, host=host)))


def holds(trial: Trial, version: KubernetesVersion) -> bool:
    """Whether the requirement holds for a node of the trial, or for the API server, in a cluster of that version."""
    nodes = [
        profile_of(each) if each.node_profile is None else _profile(each.node_profile)
        for each in trial.scenario.scenarios
    ]
    reasons = [
        applies(trial.requirement, kubelet_version(node, version), effective_gates(node, version)) for node in nodes
    ]
    return None in reasons


def judgement_of(
    requirement: Requirement, scenario: Scenario, recording: Recording, *, version: KubernetesVersion = VERSION
) -> JudgementInput:
    """The question whether a simulated recording keeps a requirement."""
    return JudgementInput(
        requirement=requirement,
        scenario=scenario,
        profile=profile_of(scenario),
        version=version,
        later=later_of(scenario),
        recording=recording,
    )


def verdict_of(
    requirement: Requirement, judged: Judgeable, *recordings: Recording, version: KubernetesVersion = VERSION
) -> Verdict:
    """The verdict of a requirement on simulated histories, one per scenario."""
    inputs = tuple(
        judgement_of(requirement, scenario, recording, version=version)
        for scenario, recording in zip(judged.scenarios, recordings, strict=True)
    )
    question = ComparisonInput(requirement=requirement, name=judged.name, histories=inputs)
    return judge(question if judged.compared else inputs[0], load_deviations())
