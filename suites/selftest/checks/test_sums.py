"""The sums of a text: a wrong one accuses the text, and fails no run."""

import msgspec
import pytest

from crashloop.checks.judge import judge
from crashloop.model.restart_counts import computed_figure
from crashloop.report.standing import Standing, reported
from crashloop.spec.scenario import Claim, Figure, TextScenario
from crashloop.verdict import Outcome, Verdict, VerdictMode, exit_code, run_outcome
from suites.selftest.kit.cases import question
from suites.selftest.kit.histories import History

RAPID = Claim(
    says="a curve from 250 ms is said to give 4 restarts in the first 10 s",
    figure=Figure.RESTARTS,
    initial_s=0.25,
    maximum_s=60.0,
    by_s=10.0,
    least=4,
    most=4,
)


def judged(*claims: Claim) -> Verdict:
    scenario = TextScenario(name="a-text", claims=claims)
    asked = question(History(scenario).ends(0.1), "sums", name="DECAY-9")
    return judge(
        msgspec.structs.replace(asked, requirement=msgspec.structs.replace(asked.requirement, about_text=True))
    )


def test_a_wrong_sum_accuses_the_text_and_fails_no_run() -> None:
    verdict = judged(RAPID)
    assert (verdict.outcome, verdict.mode) == (Outcome.FAIL, VerdictMode.TEXT)
    assert verdict.findings == (
        "DECAY-9: a curve from 250 ms is said to give 4 restarts in the first 10 s; its own assumptions make it 5.",
    )
    assert not verdict.fails_the_run
    assert exit_code(run_outcome([verdict])) == 0
    assert Standing.of(verdict).label == "TEXT IS WRONG"
    assert reported(verdict) == "The text of DECAY-9 is wrong by its own assumptions; no kubelet is accused."


def test_a_right_sum_passes() -> None:
    verdict = judged(msgspec.structs.replace(RAPID, least=5, most=5))
    assert (verdict.outcome, Standing.of(verdict)) == (Outcome.PASS, Standing.PASS)
    assert verdict.facts == {"sums": {RAPID.says: 5}}


def test_a_text_without_a_claim_is_refused() -> None:
    with pytest.raises(ValueError, match="scenario 'empty' has no claim"):
        TextScenario(name="empty", claims=())


@pytest.mark.parametrize(
    ("change", "number"),
    [
        pytest.param({"figure": Figure.ADDED, "by_s": 1800.0}, 27, id="added"),
        pytest.param({"figure": Figure.ADDED_AT_MAXIMUM, "by_s": 300.0}, 4, id="added-at-the-maximum"),
        pytest.param({"figure": Figure.WAITS_BELOW, "than_s": 5.0}, 5, id="waits-below-5s"),
        pytest.param({"figure": Figure.RESTARTS, "waits_s": (1.0, 2.0, 4.0), "by_s": 3.0}, 2, id="waits-of-its-own"),
        pytest.param({"figure": Figure.ADDED_LATE_SHARE, "maximum_s": 300.0, "by_s": 1800.0}, 1 / 6, id="added-late"),
        pytest.param({"figure": Figure.RESTARTS, "times": 5.0}, 25, id="requests"),
    ],
)
def test_each_figure_is_computed_from_its_assumptions(change: dict[str, object], number: float) -> None:
    assert computed_figure(msgspec.structs.replace(RAPID, **change)) == pytest.approx(number)
