"""The page of the fault matrix: what it says of faults and requirements, and when its list of holes is wrong."""

from tools.fault_matrix_page import Row, objections, page, parsed, written_rows

LOUD = Row(fault="LOUD", sentence="shouts", quick=("A-1", "A-2"), full=("B-1",), checkers=("ears",))
FAINT = Row(fault="FAINT", sentence="whispers", full=("B-1",), checkers=("ears", "eyes"))
SILENT = Row(fault="SILENT", sentence="says nothing")
ROWS = (LOUD, FAINT, SILENT)
REASONS = {"SILENT": "Nobody listens."}


def written() -> str:
    return page(
        rows=ROWS,
        judged={"A-1": "quick", "A-2": "quick", "B-1": "full", "B-2": "full"},
        uncaught=REASONS,
        facts={"version": "1.37.1", "judgements": 4, "scenarios": 2},
    )


def test_a_row_is_read_as_it_was_written() -> None:
    assert FAINT.line() == "| FAINT | whispers | - | B-1 | ears, eyes |"
    assert SILENT.line() == "| SILENT | says nothing | - | - | nobody |"
    assert [parsed(row.line()) for row in ROWS] == list(ROWS)
    assert written_rows(written()) == ROWS


def test_the_page_says_what_each_requirement_catches_and_what_it_alone_does() -> None:
    assert "Conformance tests catch 2 of 3 faults, 1 of them at the scope quick." in written()
    for line in ("| A-1 | quick | 1 | - |", "| B-1 | full | 2 | FAINT |", "| B-2 | full | 0 | - |"):
        assert line in written().splitlines()


def test_the_page_gives_the_reason_of_each_hole() -> None:
    assert written().splitlines()[-1] == "| SILENT | says nothing | Nobody listens. |"


def test_an_exact_list_of_holes_is_accepted() -> None:
    assert list(objections(ROWS, REASONS)) == []


def test_a_hole_needs_a_reason() -> None:
    assert list(objections(ROWS, {})) == [
        "SILENT: no conformance test notices a kubelet that says nothing; tools/uncaught_faults.yaml gives no reason."
    ]


def test_a_fault_that_is_caught_is_no_hole() -> None:
    assert list(objections(ROWS, {**REASONS, "FAINT": "Too quiet."})) == [
        "FAINT: tools/uncaught_faults.yaml lists it as uncaught; it is caught by B-1."
    ]


def test_a_hole_without_a_fault_is_refused() -> None:
    assert list(objections(ROWS, {**REASONS, "GONE": "Was there once."})) == [
        "GONE: tools/uncaught_faults.yaml lists it; there is no such fault."
    ]
