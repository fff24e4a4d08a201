"""A right kubelet of each release can PASS all that is judged on it: no row needs more evidence than its scenarios give."""

import pytest

from crashloop.model.gates import effective_gates, kubelet_version
from crashloop.profiles import load_profile
from crashloop.requirements import applies
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import Scenario
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Outcome
from suites.selftest.kit.fault_scenarios import trials
from tools.fault_matrix import FURTHER, history_of, profile_of, recorded, verdict_of

RELEASES = ("1.33.13", "1.34.8", "1.35.4", "1.36.3", "1.37.1")
JUDGED = tuple(each for each in trials() if each.scope != FURTHER)


def node_of(scenario: Scenario) -> KubeletProfile:
    """What decides whether a requirement applies: the node's profile, or the API server's gates."""
    return profile_of(scenario) if scenario.node_profile is None else load_profile(scenario.node_profile)


@pytest.mark.parametrize("release", RELEASES)
def test_a_right_kubelet_of_each_release_can_pass(release: str) -> None:
    version = KubernetesVersion.parse(release)
    undecided = []
    for trial in JUDGED:
        node = node_of(trial.scenario)
        if applies(trial.requirement, kubelet_version(node, version), effective_gates(node, version)) is not None:
            continue
        recording = recorded(history_of(trial.scenario, version=version))
        verdict = verdict_of(trial.requirement, trial.scenario, recording, version)
        if verdict.outcome is not Outcome.PASS and verdict.deviation is None:
            undecided.append((trial.requirement.id, trial.scenario.name, verdict.outcome, verdict.findings))
    assert undecided == []
