"""What a change of outcome means, for every pair of outcomes."""

from itertools import product

import pytest

from crashloop.comparison.side import Change, ScenarioOutcome, change, exit_code, gravest
from crashloop.report.standing import Standing

FAIL, ERROR, PASS = (ScenarioOutcome(standing=each) for each in (Standing.FAIL, Standing.ERROR, Standing.PASS))
UNKNOWN = ScenarioOutcome(standing=Standing.INCONCLUSIVE)
DEVIATES = ScenarioOutcome(standing=Standing.DEVIATION)
SHOWN = ScenarioOutcome(standing=Standing.REPORTED)
LACKS = ScenarioOutcome(standing=Standing.SKIPPED, findings=("needs gate X; it is off on this node.",))
MUTE = ScenarioOutcome(standing=Standing.SKIPPED)
ABSENT = None

ALL = {
    "FAIL": FAIL,
    "ERROR": ERROR,
    "INCONCLUSIVE": UNKNOWN,
    "DEVIATION": DEVIATES,
    "REPORTED": SHOWN,
    "PASS": PASS,
    "SKIPPED": LACKS,
    "SKIPPED-for-nothing": MUTE,
    "not-judged": ABSENT,
}
"""In this order the columns of the table below."""

TABLE = """
    = ? ? + ? + ? ? ?
    ! = ? + ? + ? ? ?
    ! ! = ? o ? ? ? ?
    ! ! ? = o + o ? ?
    ! ! o o = o o o o
    ! ! ? ! o = o ? ?
    ! ! ? o o o = = o
    ! ! ? ? o ? = = o
    ! ! ? o o o o o =
"""
"""Before in the rows, after in the columns."""

SIGNS = {"=": Change.SAME, "!": Change.WORSE, "+": Change.BETTER, "?": Change.UNDECIDED, "o": Change.ALLOWED}

CELLS = {
    pair: SIGNS[sign] for pair, sign in zip(product(ALL, ALL), (sign for sign in TABLE if sign in SIGNS), strict=True)
}


@pytest.mark.parametrize(("before", "after"), CELLS, ids=lambda name: name)
def test_each_pair_of_outcomes_is_the_change_of_the_table(before: str, after: str) -> None:
    assert change(ALL[before], ALL[after]) is CELLS[before, after]


@pytest.mark.parametrize(("before", "after"), CELLS, ids=lambda name: name)
def test_no_pair_is_worse_in_both_directions_or_better_in_both(before: str, after: str) -> None:
    """What one order calls worse, the other calls better, or cannot tell."""
    forth, back = CELLS[before, after], CELLS[after, before]
    turned = {
        Change.SAME: {Change.SAME},
        Change.BETTER: {Change.WORSE},
        Change.WORSE: {Change.BETTER, Change.UNDECIDED},
        Change.UNDECIDED: {Change.WORSE, Change.UNDECIDED, Change.ALLOWED},
        Change.ALLOWED: {Change.ALLOWED, Change.UNDECIDED},
    }
    assert back in turned[forth]


def test_what_accuses_now_and_did_not_before_is_always_worse() -> None:
    accused = {before for (before, after), each in CELLS.items() if after == "FAIL" and each is not Change.WORSE}
    assert accused == {"FAIL"}


def test_the_gravest_change_stands_for_all_and_decides_the_exit_code() -> None:
    assert gravest(()) is Change.SAME
    assert gravest((Change.BETTER, Change.UNDECIDED, Change.WORSE)) is Change.WORSE
    codes = {each: exit_code((Change.SAME, each)) for each in Change}
    assert codes == {Change.WORSE: 1, Change.UNDECIDED: 3, Change.BETTER: 0, Change.ALLOWED: 0, Change.SAME: 0}
