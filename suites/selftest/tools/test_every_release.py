"""A right kubelet of each release can PASS all that is judged on it: no row needs more evidence than its scenarios give."""

import pytest

from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Outcome
from suites.selftest.kit.fault_scenarios import trials
from suites.selftest.kit.proof import Share
from tools.trials import FURTHER, holds, recordings_of, verdict_of

RELEASES = ("1.33.13", "1.34.8", "1.35.4", "1.36.3")
"""Those before the release on which planted faults are tried: test_fault_matrix.py."""
JUDGED = tuple(each for each in trials() if each.scope != FURTHER)


@pytest.mark.parametrize("release", RELEASES)
def test_a_right_kubelet_of_each_release_can_pass(release: str, share: Share) -> None:
    version = KubernetesVersion.parse(release)
    undecided = []
    for trial in share(JUDGED):
        if not holds(trial, version):
            continue
        recordings = recordings_of(trial.scenario, version=version)
        verdict = verdict_of(trial.requirement, trial.scenario, *recordings, version=version)
        if verdict.outcome is not Outcome.PASS and verdict.deviation is None:
            undecided.append((trial.requirement.id, trial.scenario.name, verdict.outcome, verdict.findings))
    assert undecided == []
