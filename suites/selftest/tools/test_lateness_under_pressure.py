"""A kubelet that is late again and again is a FAIL on a host of any pressure; a host that holds it up is no kubelet's fault."""

import msgspec
import pytest

from crashloop.verdict import Outcome
from sim import CALM, Fault
from sim.faults import PunctualityFault
from sim.host import HostModel
from suites.selftest.kit.fault_scenarios import trials
from tools.trials import Trial, recordings_of, verdict_of

LATE = {
    # At a maximum of 1 s or 2 s a fifth is less than a look takes: there the kubelet keeps its promise all the same.
    PunctualityFault.LONG_20_PERCENT: 10,
    PunctualityFault.LATE_2_S: 30,
    PunctualityFault.LATE_TWICE: 30,
}
"""In how many of the quick run's 31 scenarios of delays each of them is a FAIL, at least."""
PRESSURES = (0.0, 0.4, 0.7, 0.9)
"""Shares of the time in which others of the host wait for a CPU; 0.7 was measured with eight kubelets on two cores."""
QUICK = tuple(
    trial for trial in trials() if trial.scope == "quick" and {"delays", "cap"}.intersection(trial.requirement.checkers)
)


def outcomes(fault: Fault | None, host: HostModel) -> dict[str, set[Outcome]]:
    """Of the quick run's judgements of delays, by scenario, known deviations apart."""
    by_scenario: dict[str, list[Trial]] = {}
    for trial in QUICK:
        by_scenario.setdefault(trial.scenario.name, []).append(trial)
    faults = frozenset({fault} if fault else ())
    found = {}
    for name, own in by_scenario.items():
        recordings = recordings_of(own[0].scenario, faults, host=host)
        verdicts = [verdict_of(trial.requirement, trial.scenario, *recordings) for trial in own]
        found[name] = {each.outcome for each in verdicts if each.deviation is None}
    return {name: seen for name, seen in found.items() if seen}


def accused(fault: Fault, host: HostModel) -> int:
    """In how many scenarios it is a FAIL."""
    return sum(Outcome.FAIL in seen for seen in outcomes(fault, host).values())


@pytest.mark.parametrize("pressure", PRESSURES)
@pytest.mark.parametrize("fault", LATE, ids=lambda fault: fault.name)
def test_planted_lateness_is_a_fail_whatever_others_wait_for(fault: PunctualityFault, pressure: float) -> None:
    host = msgspec.structs.replace(CALM, name="pressed", extra_pressure=pressure)
    assert accused(fault, host) >= LATE[fault]


@pytest.mark.parametrize("pressure", PRESSURES)
def test_lateness_that_repeats_is_a_fail_where_run_queues_cannot_be_seen(pressure: float) -> None:
    host = msgspec.structs.replace(CALM, name="far", extra_pressure=pressure, run_queues=False, controls=False)
    assert accused(PunctualityFault.LATE_TWICE, host) > 0


@pytest.mark.parametrize("pressure", PRESSURES)
def test_a_right_kubelet_passes_whatever_others_wait_for(pressure: float) -> None:
    host = msgspec.structs.replace(CALM, name="pressed", extra_pressure=pressure)
    assert set.union(*outcomes(None, host).values()) == {Outcome.PASS}
