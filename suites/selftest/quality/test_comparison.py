"""What has to come out on a node, beside what did."""

import msgspec
import pytest

from crashloop.verdict import Outcome, Verdict
from quality.comparison import NodeRow, compare
from quality.fault import Fault
from quality.planted import Expectation, Planted
from quality.scenarios import CRASHING
from quality.table import headline, to_markdown

EARLY = Fault(name="early", sentence="restarts too early")
FAILS = Expectation(outcome=Outcome.FAIL, requirements=("BACKOFF-2",))
PASSES = Expectation(outcome=Outcome.PASS)
CUT = Expectation(outcome=Outcome.INCONCLUSIVE, requirements=("BACKOFF-2",), says="events were lost")


def planted(expected: Expectation) -> Planted:
    return Planted(fault=EARLY, trials=(CRASHING,), expected=expected)


def verdict(outcome: Outcome, *findings: str, requirement: str = "BACKOFF-2", deviation: str | None = None) -> Verdict:
    return Verdict(
        requirement=requirement,
        scenario="crashing",
        profile="max-2s--early",
        outcome=outcome,
        findings=findings,
        deviation=deviation,
    )


def row(expected: Expectation, *verdicts: Verdict) -> NodeRow:
    (only,) = compare([planted(expected)], [*verdicts, verdict_of_another_node()])
    return only


def verdict_of_another_node() -> Verdict:
    return Verdict(requirement="CAP-3", scenario="other", profile="max-2s--other", outcome=Outcome.FAIL)


TOO_SOON = verdict(Outcome.FAIL, "BACKOFF-2: restart 2 came too soon.")
SPARES = msgspec.structs.replace(FAILS, spares=("RULES-3",))
FINE = verdict(Outcome.PASS, requirement="RULES-22")


def test_a_fault_that_is_caught_is_as_expected() -> None:
    found = row(FAILS, FINE, verdict(Outcome.FAIL, "RULES-3: no.", requirement="RULES-3"), TOO_SOON)
    assert found.as_expected
    assert found.outcome is Outcome.FAIL
    assert found.requirements == ("RULES-3", "BACKOFF-2")
    assert found.finding == "BACKOFF-2: restart 2 came too soon."


@pytest.mark.parametrize(
    ("verdicts", "objections"),
    [
        pytest.param(
            (verdict(Outcome.PASS), FINE),
            ("exit code 0; 1 was expected", "BACKOFF-2 is PASS; FAIL was expected"),
            id="nothing-noticed",
        ),
        pytest.param(
            (verdict(Outcome.INCONCLUSIVE),),
            ("exit code 3; 1 was expected", "BACKOFF-2 is INCONCLUSIVE; FAIL was expected"),
            id="in-doubt",
        ),
        pytest.param(
            (verdict(Outcome.FAIL, requirement="CAP-3"), verdict(Outcome.PASS)),
            ("BACKOFF-2 is PASS; FAIL was expected",),
            id="for-another-reason",
        ),
        pytest.param(
            (verdict(Outcome.FAIL, deviation="known"),),
            ("exit code 0; 1 was expected", "BACKOFF-2 is FAIL; FAIL was expected"),
            id="explained-away-as-a-known-deviation",
        ),
        pytest.param((), ("no verdict at all; the node was not judged",), id="not-judged"),
    ],
)
def test_a_fault_that_is_not_caught_is_reported(verdicts: tuple[Verdict, ...], objections: tuple[str, ...]) -> None:
    assert row(FAILS, *verdicts).objections == objections


def test_a_finding_has_to_hold_the_words_that_were_expected() -> None:
    expected = Expectation(outcome=Outcome.FAIL, requirements=("BACKOFF-2",), says="too soon")
    late = verdict(Outcome.FAIL, "BACKOFF-2: restart 1 came too late.")
    assert row(expected, late).objections == (
        'BACKOFF-2 on crashing does not say "too soon": BACKOFF-2: restart 1 came too late.',
    )
    both = row(expected, late, TOO_SOON)
    assert both.as_expected
    assert both.finding == "BACKOFF-2: restart 2 came too soon."


def test_a_true_kubelet_has_to_pass_throughout() -> None:
    assert row(PASSES, FINE, verdict(Outcome.PASS)).as_expected
    in_doubt = verdict(Outcome.INCONCLUSIVE, "BACKOFF-2: 1 delay seen.")
    assert row(PASSES, FINE, in_doubt).objections == (
        "BACKOFF-2 on crashing is INCONCLUSIVE. BACKOFF-2: 1 delay seen.",
    )


def test_a_disturbance_has_to_be_named_and_must_not_accuse_kubernetes() -> None:
    named = verdict(Outcome.INCONCLUSIVE, "BACKOFF-2: runtime events were lost.")
    assert row(CUT, FINE, named).as_expected
    assert row(CUT, verdict(Outcome.PASS)).objections == ("BACKOFF-2 on crashing is PASS.; INCONCLUSIVE was expected",)
    assert row(CUT, verdict(Outcome.INCONCLUSIVE, "BACKOFF-2: too few.")).objections == (
        'BACKOFF-2 on crashing does not say "events were lost": BACKOFF-2: too few.',
    )
    accused = verdict(Outcome.FAIL, "CAP-3: too long.", requirement="CAP-3")
    assert row(CUT, named, accused).objections == ("CAP-3 on crashing is FAIL. CAP-3: too long.",)


def test_the_document_has_a_line_for_each_node_and_keeps_those_that_were_not_run() -> None:
    early, other = row(FAILS, TOO_SOON), row(CUT, verdict(Outcome.PASS))
    cut = msgspec.structs.replace(other.planted, fault=Fault(name="cut", sentence="loses its runtime"))
    late = msgspec.structs.replace(other, planted=cut)
    nodes = (early.planted, late.planted)
    assert headline((early, late)) == "1 of 2 kubelets were judged as expected."
    first = to_markdown((early, late), planted=nodes, before="", kubernetes_version="1.36.3", took_s=90.0)
    lines = [line for line in first.splitlines() if line.startswith("| ")][1:]
    assert lines[0] == "| restarts too early | FAIL | BACKOFF-2 | restart 2 came too soon. |"
    assert lines[1].startswith(f"| {late.planted.fault.sentence} | PASS (not as expected) |")
    assert "1 of 2 kubelets were judged as expected. The last run was of 2 of them" in first
    again = to_markdown((early,), planted=nodes, before=first, kubernetes_version="1.37.1", took_s=30.0)
    assert [line for line in again.splitlines() if line.startswith("| ")][1:] == lines
    assert "1 of 2 kubelets were judged as expected. The last run was of 1 of them, with Kubernetes\n1.37.1" in again
    gone = to_markdown((), planted=nodes[:1], before=again, kubernetes_version="1.37.1", took_s=30.0)
    assert [line for line in gone.splitlines() if line.startswith("| ")][1:] == lines[:1]


def test_a_correct_component_that_is_accused_as_well_is_not_as_expected() -> None:
    open_, accused = (
        verdict(outcome, "RULES-3: the pod is another.", requirement="RULES-3")
        for outcome in (Outcome.INCONCLUSIVE, Outcome.FAIL)
    )
    assert row(SPARES, TOO_SOON, open_).as_expected
    assert row(SPARES, TOO_SOON, accused).objections == ("RULES-3 on crashing is FAIL. RULES-3: the pod is another.",)
