"""Every planted fault of a kubelet is noticed, and docs/fault-matrix.md says by whom."""

from collections.abc import Callable

import pytest

from crashloop.sim import Fault
from crashloop.verdict import Outcome
from suites.selftest.kit.fault_scenarios import trials
from suites.selftest.kit.proof import FAULT
from tools.fault_matrix import FURTHER, PAGE, catches, page, row, verdict_without_fault

TRIALS = trials()
STALE = "docs/fault-matrix.md is not current: python -m tools.fault_matrix --write"


def written_rows() -> list[str]:
    """The table of the page, without its head."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("| ")][1:]


@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name)
def test_every_planted_fault_is_caught(fault: Fault, record_property: Callable[[str, object], None]) -> None:
    caught = catches(fault, TRIALS)
    record_property(FAULT, [fault.name, len(caught), sorted({name for catch in caught for name in catch.checkers})])
    assert caught, f"no checker notices a kubelet that {fault.sentence}"
    assert all(catch.checkers for catch in caught)
    assert row(fault, caught) in written_rows(), STALE


def test_the_page_has_one_row_a_fault_and_says_what_it_is() -> None:
    rows = written_rows()
    assert [line.split(" | ")[0].removeprefix("| ") for line in rows] == [fault.name for fault in Fault]
    assert PAGE.read_text(encoding="utf-8") == page(TRIALS, rows), STALE


def test_a_correct_kubelet_satisfies_every_judgement_of_the_suite() -> None:
    """Also a test of the suite's scenarios: none of them may end before it holds the evidence that is asked for."""
    verdicts = [verdict_without_fault(trial) for trial in TRIALS if trial.scope != FURTHER]
    wanting = [
        (verdict.requirement, verdict.scenario, *verdict.findings)
        for verdict in verdicts
        if verdict.outcome is not Outcome.PASS and verdict.deviation is None
    ]
    assert wanting == []
