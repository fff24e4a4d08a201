"""Planted faults of a kubelet are noticed, and docs/fault-matrix.md says by whom, or why nobody does."""

from collections.abc import Callable

import pytest

from crashloop.sim import FAULTS, Fault
from crashloop.verdict import Outcome
from suites.selftest.kit.fault_scenarios import trials
from suites.selftest.kit.proof import FAULT
from tools.fault_matrix import catches, correct_of, full_nodes, plays, row, text, verdict_without_fault
from tools.fault_matrix_page import PAGE, Row, load_uncaught, objections, written_rows
from tools.trials import FURTHER, histories_of

TRIALS = trials()
STALE = "docs/fault-matrix.md is not current: python -m tools.fault_matrix --write"


def written() -> tuple[Row, ...]:
    return written_rows(PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught_unless_it_is_known_not_to_be(
    fault: Fault, record_property: Callable[[str, object], None]
) -> None:
    caught = catches(fault, TRIALS)
    by_the_suite = [catch for catch in caught if catch.trial.scope != FURTHER]
    record_property(
        FAULT, [fault.name, len(by_the_suite), sorted({name for catch in caught for name in catch.checkers})]
    )
    found = row(fault, caught)
    own = {name: reason for name, reason in load_uncaught().items() if name == fault.name}
    assert list(objections([found], own)) == []
    assert all(catch.checkers for catch in caught)
    assert found in written(), STALE


@pytest.mark.parametrize("fault", FAULTS[::15], ids=lambda fault: fault.name)
def test_a_fault_whose_answers_nobody_asks_for_changes_nothing(fault: Fault) -> None:
    unmoved = [play for play in plays(fault, TRIALS) if not correct_of(play.scenarios).may_show(fault)][:3]
    assert all(histories_of(play.scenarios, frozenset({fault})) == histories_of(play.scenarios) for play in unmoved)


def test_the_page_has_one_row_per_fault_and_says_what_it_is() -> None:
    rows = written()
    assert [each.fault for each in rows] == [fault.name for fault in FAULTS]
    assert PAGE.read_text(encoding="utf-8") == text(TRIALS, rows), STALE


def test_only_known_holes_are_listed_and_each_has_a_reason() -> None:
    assert list(objections(written(), load_uncaught())) == []
    assert all(reason.strip() for reason in load_uncaught().values())


def test_a_correct_kubelet_satisfies_every_judgement_of_the_suite() -> None:
    """Also a test of the suite's scenarios: none of them may end before it holds the evidence that is asked for."""
    verdicts = [verdict_without_fault(trial) for trial in TRIALS if trial.scope != FURTHER]
    wanting = [
        (verdict.requirement, verdict.scenario, *verdict.findings)
        for verdict in verdicts
        if verdict.outcome is not Outcome.PASS and verdict.deviation is None
    ]
    assert wanting == []


def test_a_correct_kubelet_satisfies_them_with_all_pods_of_a_run_on_its_node() -> None:
    wanting = [
        (verdict.requirement, verdict.scenario, *verdict.findings)
        for play in full_nodes(TRIALS)
        for trial in play.trials
        if (verdict := verdict_without_fault(trial, play.scenarios)).outcome is not Outcome.PASS
        and verdict.deviation is None
    ]
    assert wanting == []
