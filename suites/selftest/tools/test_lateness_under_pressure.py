"""A kubelet that is late again and again is a FAIL on a host of any pressure; a host that holds it up is no kubelet's fault."""

import msgspec
import pytest

from crashloop.sim import CALM, Fault
from crashloop.sim.faults import PunctualityFault
from crashloop.sim.host import HostModel
from crashloop.verdict import Outcome
from suites.selftest.kit.fault_scenarios import trials
from tools.fault_matrix import Trial, recordings_of, verdict_of

LATE = (PunctualityFault.LONG_20_PERCENT, PunctualityFault.LATE_2_S, PunctualityFault.LATE_TWICE)
PRESSURES = (0.0, 0.4, 0.7, 0.9)
"""Shares of the time in which others of the host wait for a CPU; 0.7 was measured with eight kubelets on two cores."""
QUICK = tuple(
    trial for trial in trials() if trial.scope == "quick" and {"delays", "cap"}.intersection(trial.requirement.checkers)
)


def outcomes(fault: Fault | None, host: HostModel) -> set[Outcome]:
    """Of the quick run's judgements of delays, known deviations apart."""
    by_scenario: dict[str, list[Trial]] = {}
    for trial in QUICK:
        by_scenario.setdefault(trial.scenario.name, []).append(trial)
    faults = frozenset({fault} if fault else ())
    found = set()
    for own in by_scenario.values():
        recordings = recordings_of(own[0].scenario, faults, host=host)
        verdicts = [verdict_of(trial.requirement, trial.scenario, *recordings) for trial in own]
        found |= {each.outcome for each in verdicts if each.deviation is None}
    return found


@pytest.mark.parametrize("pressure", PRESSURES)
@pytest.mark.parametrize("fault", LATE, ids=lambda fault: fault.name)
def test_planted_lateness_is_a_fail_whatever_others_wait_for(fault: Fault, pressure: float) -> None:
    host = msgspec.structs.replace(CALM, name="pressed", extra_pressure=pressure)
    assert Outcome.FAIL in outcomes(fault, host)


@pytest.mark.parametrize("pressure", PRESSURES)
def test_lateness_that_repeats_is_a_fail_where_run_queues_cannot_be_seen(pressure: float) -> None:
    host = msgspec.structs.replace(CALM, name="far", extra_pressure=pressure, run_queues=False, controls=False)
    assert Outcome.FAIL in outcomes(PunctualityFault.LATE_TWICE, host)


@pytest.mark.parametrize("pressure", PRESSURES)
def test_a_right_kubelet_passes_whatever_others_wait_for(pressure: float) -> None:
    host = msgspec.structs.replace(CALM, name="pressed", extra_pressure=pressure)
    assert outcomes(None, host) == {Outcome.PASS}
