"""Runs side by side: columns by what was judged, the worst of several runs, and what flakes."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from crashloop.comparison.matrix import Cell, Matrix, matrix_of
from crashloop.comparison.side import JudgedRun
from crashloop.comparison.text import cell_text, flake_text, flakes_summary
from crashloop.report.standing import Standing
from suites.selftest.kit.comparison_example import AGAIN, NEWER, OLDER, RUNS, judged
from suites.selftest.kit.report_example import example_results

MATRIX = matrix_of(RUNS)


def cells(matrix: Matrix, requirement: str) -> list[str]:
    (row,) = [row for row in matrix.rows if row.requirement.id == requirement]
    return [cell_text(cell) for cell in row.cells]


def test_runs_of_one_provider_version_and_kubelet_share_a_column() -> None:
    assert [(str(column.key), column.runs) for column in MATRIX.columns] == [
        ("kind, Kubernetes 1.37.1", ("runs/20261121T170000Z-conformance",)),
        ("local, Kubernetes 1.36.3", ("runs/20261120T160003Z-conformance",)),
        ("local, Kubernetes 1.37.1", ("runs/20261121T160012Z-conformance", "runs/20261121T180000Z-conformance")),
    ]


def test_versions_stand_in_the_order_of_their_numbers() -> None:
    older, newer = (msgspec.structs.replace(NEWER, kubernetes_version=version) for version in ("1.9.11", "1.10.2"))
    assert [each.key.kubernetes_version for each in matrix_of(map(judged, (newer, older))).columns] == [
        "1.9.11",
        "1.10.2",
    ]


def test_a_kubelet_of_ones_own_has_a_column_of_its_own() -> None:
    matrix = matrix_of([judged(NEWER), judged(AGAIN, "/src/kubelet")])
    assert [len(column.runs) for column in matrix.columns] == [1, 1]
    assert matrix.flakes == ()


def test_a_cell_is_the_worst_and_says_in_how_many_runs() -> None:
    assert cells(MATRIX, "CAP-4") == ["FAIL", "PASS", "FAIL 1 of 2"]
    assert cells(MATRIX, "FAULT-1") == ["SKIPPED", "PASS", "PASS 2 of 2"]
    assert cells(MATRIX, "STORY-6") == ["PASS", "not judged", "PASS 2 of 2"]


def test_a_cell_that_is_not_pass_says_why() -> None:
    (row,) = [row for row in MATRIX.rows if row.requirement.id == "CAP-4"]
    assert row.cells[0].findings == ('restart 7 of "app" came 0.62 s after the exit; 1 s was due.',)
    assert row.cells[1] == Cell(standing=Standing.PASS, worst=1, runs=1)


def test_what_varies_among_runs_of_one_key_is_a_flake() -> None:
    assert [flake_text(flake) for flake in MATRIX.flakes] == [
        "CAP-4 in crash-natural-max-1s: 1 FAIL, 1 PASS (local, Kubernetes 1.37.1)",
        "FAULT-2 in runtime-restart-max-2s: 1 INCONCLUSIVE, 1 PASS (local, Kubernetes 1.37.1)",
    ]
    assert flakes_summary(MATRIX) == (
        "Flakes: 2 outcomes varied between equal runs; each is a defect of the suite or of Kubernetes."
    )


def test_without_two_runs_of_one_key_nothing_is_known_about_flakes() -> None:
    assert flakes_summary(matrix_of([judged(OLDER), judged(NEWER)])).startswith("Flakes: unknown, since no two runs")
    assert flakes_summary(matrix_of([judged(NEWER), judged(NEWER)])).startswith("Flakes: none.")


def test_requirements_that_no_run_judged_have_no_row() -> None:
    assert {row.requirement.id for row in MATRIX.rows} == {each.requirement for each in NEWER.verdicts}
    assert matrix_of([judged(example_results(()))]).rows == ()


@given(order=st.permutations(RUNS))
def test_the_order_of_the_runs_changes_no_cell(order: list[JudgedRun]) -> None:
    shuffled = matrix_of(order)
    assert [column.key for column in shuffled.columns] == [column.key for column in MATRIX.columns]
    assert shuffled.flakes == MATRIX.flakes
    drawn = {row.requirement.id: [cell_text(cell) for cell in row.cells] for row in shuffled.rows}
    assert drawn == {row.requirement.id: cells(MATRIX, row.requirement.id) for row in MATRIX.rows}
