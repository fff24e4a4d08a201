"""What a simulated kube-state-metrics states, and what the checker finds of its faults."""

import pytest

from crashloop.requirements import load_requirements
from crashloop.spec.state_metrics import LAST_CODE, RESTARTS, WAITING
from crashloop.verdict import Outcome, Verdict
from fixtures.requirements import declared_in
from sim import Fault
from sim.faults import MetricsFault
from suites import conformance
from tools.trials import histories_of, recorded, verdict_of


def verdict(*faults: Fault) -> Verdict:
    (scenario,) = [each.scenario for each in declared_in(conformance) if each.requirement == "SLO-8"]
    histories = histories_of(scenario.scenarios, frozenset(faults))
    return verdict_of(load_requirements()["SLO-8"], scenario, *map(recorded, histories))


def test_it_agrees_with_the_api() -> None:
    assert verdict().outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("fault", "finding"),
    [
        (MetricsFault.STATE_METRICS_BEHIND, f'{RESTARTS} of "app" is 19 '),
        (MetricsFault.STATE_METRICS_WITHOUT_REASON, f'{WAITING} of "app" is not stated '),
        (MetricsFault.STATE_METRICS_WITHOUT_CODE, f'{LAST_CODE} of "app" is 0 '),
    ],
)
def test_what_it_states_otherwise_is_shown_and_fails_no_run(fault: Fault, finding: str) -> None:
    found = verdict(fault)
    assert finding in found.findings[0]
    assert not found.fails_the_run
