"""Planted faults of a kubelet are noticed, and docs/fault-matrix.md says by whom, or why nobody does."""

from collections.abc import Callable
from itertools import islice

import msgspec
import pytest

from crashloop.checks.kinds import CHECKERS
from crashloop.requirements import load_requirements
from crashloop.spec.requirement import State
from crashloop.verdict import Outcome, VerdictMode
from sim import FAULTS, Fault
from sim.faults import CurveFault
from suites.selftest.kit.fault_scenarios import trials
from suites.selftest.kit.proof import FAULT, Share
from tools.fault_matrix import catches, correct_of, first_catch, full_nodes, plays, row, text, verdict_without_fault
from tools.fault_matrix_page import PAGE, SCOPES, Row, load_uncaught, objections, written_rows
from tools.trials import FURTHER, histories_of

TRIALS = trials()
STALE = "docs/fault-matrix.md is not current: python -m tools.fault_matrix --write"


def written() -> tuple[Row, ...]:
    return written_rows(PAGE.read_text(encoding="utf-8"))


def row_named(fault: Fault) -> Row:
    found = {each.fault: each for each in written()}.get(fault.name)
    assert found is not None, STALE
    return found


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught_as_the_page_says(
    fault: Fault, whole: bool, share: Share, record_property: Callable[[str, object], None]
) -> None:
    """By one judgement that the page names; in a whole run by all of them. One that nobody notices is tried on a share of all."""
    said = row_named(fault)
    by_one = said.requirements and not whole
    caught = first_catch(fault, said, TRIALS) if by_one else catches(fault, share(TRIALS))
    by_the_suite = [catch for catch in caught if catch.trial.scope != FURTHER]
    record_property(FAULT, [fault.name, bool(by_the_suite)])
    assert by_the_suite or not said.requirements, f"none of {', '.join(said.requirements)} objects to {fault.name}"
    found = row(fault, caught)
    own = {name: reason for name, reason in load_uncaught().items() if name == fault.name}
    assert list(objections([found], own)) == []
    assert all(catch.checkers for catch in caught)
    assert set(found.checkers) <= set(said.checkers), STALE
    assert found == said or not whole, STALE


def test_a_fault_that_the_named_judgements_do_not_notice_is_not_caught() -> None:
    """Although others do."""
    fault = CurveFault.FACTOR_3
    assert "BACKOFF-2" not in row_named(fault).requirements
    blind = msgspec.structs.replace(row_named(fault), quick=("BACKOFF-2",), full=())
    assert first_catch(fault, blind, TRIALS) == ()


@pytest.mark.parametrize("fault", FAULTS[::15], ids=lambda fault: fault.name)
def test_a_fault_whose_answers_nobody_asks_for_changes_nothing(fault: Fault) -> None:
    unmoved = (each.scenarios for each in plays(fault, TRIALS) if not correct_of(each.scenarios).may_show(fault))
    assert all(histories_of(each, frozenset({fault})) == histories_of(each) for each in islice(unmoved, 3))


def test_the_page_has_one_row_per_fault_and_says_what_it_is() -> None:
    rows = written()
    assert [each.fault for each in rows] == [fault.name for fault in FAULTS]
    assert PAGE.read_text(encoding="utf-8") == text(TRIALS, rows), STALE


def test_the_page_names_only_judgements_and_checkers_that_exist() -> None:
    asked = {(trial.requirement.id, trial.scope) for trial in TRIALS}
    of_every_pod = {name for name, each in load_requirements().items() if each.everywhere}
    unknown = [
        (row.fault, name)
        for row in written()
        for scope in SCOPES
        for name in row.of_scope(scope)
        if (name, scope) not in asked and name not in of_every_pod
    ]
    assert unknown == [], STALE
    assert {name for row in written() for name in row.checkers} <= CHECKERS.keys(), STALE


OF_THE_RECORDER = {"kubelet-restarts", "outages-as-planned"}
"""Checkers of what the recorder was to do: without it nothing was tried, and no kubelet is accused."""


def test_each_checker_that_can_fail_a_run_is_triggered_by_a_planted_fault() -> None:
    """The page names the checkers that object by themselves; it is proven above."""
    gating = {
        name
        for each in load_requirements().values()
        if each.state is State.JUDGED and each.mode is VerdictMode.GATE
        for name in (*each.checkers, *each.everywhere)
    }
    assert gating - {name for row in written() for name in row.checkers} == OF_THE_RECORDER


def test_only_known_holes_are_listed_and_each_has_a_reason() -> None:
    assert list(objections(written(), load_uncaught())) == []
    assert all(reason.strip() for reason in load_uncaught().values())


def test_a_correct_kubelet_satisfies_every_judgement_of_the_suite(share: Share) -> None:
    """Also a test of the suite's scenarios: none of them may end before it holds the evidence that is asked for."""
    verdicts = [verdict_without_fault(trial) for trial in share(TRIALS) if trial.scope != FURTHER]
    wanting = [
        (verdict.requirement, verdict.scenario, *verdict.findings)
        for verdict in verdicts
        if verdict.outcome is not Outcome.PASS and verdict.deviation is None
    ]
    assert wanting == []


def test_a_correct_kubelet_satisfies_them_with_all_pods_of_a_run_on_its_node(share: Share) -> None:
    wanting = [
        (verdict.requirement, verdict.scenario, *verdict.findings)
        for play in share([*full_nodes(TRIALS)])
        for trial in play.trials
        if (verdict := verdict_without_fault(trial, play.scenarios)).outcome is not Outcome.PASS
        and verdict.deviation is None
    ]
    assert wanting == []
