"""What runs over a restart of its kubelet runs on, and stays ready and started."""

import pytest

from crashloop.verdict import Outcome, Verdict
from sim.faults import CompanyFault, RestartFault
from sim.faults.fault import Fault
from suites.selftest.kit.fault_scenarios import trials
from tools.trials import NO_FAULT, VERSION, recordings_of, verdict_of

OWN = {"PROBE-36": "kubelet-restarted-beside-probes", "RULES-37": "kubelet-restarted-beside-all-kinds"}
TRIALS = {each.requirement.id: each for each in trials() if OWN.get(each.requirement.id) == each.scenario.name}


def verdict(name: str, faults: frozenset[Fault] = NO_FAULT) -> Verdict:
    trial = TRIALS[name]
    return verdict_of(trial.requirement, trial.scenario, *recordings_of(trial.scenario, faults), version=VERSION)


@pytest.mark.parametrize("name", OWN)
def test_a_right_kubelet_leaves_alone_what_runs(name: str) -> None:
    assert verdict(name).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("fault", "what"),
    [(CompanyFault.UNREADY_AFTER_RESTART, "ready"), (CompanyFault.UNSTARTED_AFTER_RESTART, "started")],
)
def test_a_status_that_takes_back_what_no_probe_has_failed_is_a_fail(fault: Fault, what: str) -> None:
    found = verdict("PROBE-36", frozenset({fault}))
    assert found.outcome is Outcome.FAIL
    (finding,) = found.findings
    assert f"is not {what} after a restart of the kubelet (history lines" in finding
    assert finding.endswith("it ran on, was ready before, and no probe of it had failed.")


def test_a_kubelet_that_ends_what_runs_when_it_restarts_is_a_fail() -> None:
    found = verdict("RULES-37", frozenset({RestartFault.KILLS_AT_RESTART}))
    assert found.outcome is Outcome.FAIL
    assert "nobody had asked for that" in found.findings[0]
