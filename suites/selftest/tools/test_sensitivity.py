"""The page of what a run sees of a delay is current, and says which curves are seen worse than they are to be."""

from collections.abc import Iterator

import pytest

from tools.sensitivity import COLUMNS, NEVER, PAGE, beyond, page, pods_of, row_of

QUICK = sum(scope == "quick" for _, scope, *_ in COLUMNS)
PART = ("max-10s", "max-11s", "max-gate-off", "stock")
"""Curves that are computed again in every run; the others where all is proven anew."""


def rows() -> dict[str, list[str]]:
    """The cells of each curve, as the page has them."""
    return {cells[0].strip("`"): cells[1:] for cells in _lines() if cells[0].startswith("`")}


def _lines() -> Iterator[list[str]]:
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page_is_made_of_its_cells() -> None:
    assert page(rows()) == PAGE.read_text(encoding="utf-8"), "python -m tools.sensitivity --write"
    assert list(rows()) == list(pods_of("full"))


@pytest.mark.parametrize("curve", PART)
def test_a_curve_of_a_quick_run_is_seen_as_the_page_says(curve: str) -> None:
    assert rows()[curve][:QUICK] == row_of(curve, ("quick",)), "python -m tools.sensitivity --write"


def test_every_curve_is_seen_as_the_page_says(whole: bool) -> None:
    for curve in pods_of("full") if whole else ():
        assert rows()[curve] == row_of(curve), "python -m tools.sensitivity --write"


@pytest.mark.parametrize(
    ("column", "curves"),
    [
        (0, {"stock", "reduced-decay"}),
        (1, {"stock", "max-gate-off", "max-2s", "max-10s", "max-11s", "reduced-decay", "reduced-decay-max-4s"}),
        (2, {"stock", "max-gate-off", "max-10s", "max-11s", "reduced-decay"}),
        (3, {"stock", "reduced-decay", "max-20s"}),
        (4, {"stock", "reduced-decay", "max-20s", "max-60s", "max-300s"}),
    ],
    ids=[title for title, *_ in COLUMNS],
)
def test_these_curves_at_least_are_seen_as_well_as_they_are_to_be(column: int, curves: set[str]) -> None:
    judged = {curve for curve, cells in rows().items() if cells[column] != NEVER or column < QUICK}
    assert curves <= judged - {curve for curve, _ in beyond(rows(), column)}
