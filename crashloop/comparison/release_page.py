"""docs/matrix.md: requirements against versions of the kubelet, from the runs that judged them. Pure."""

from collections.abc import Iterator, Sequence
from textwrap import shorten

from crashloop.comparison.by_kubelet import by_kubelet
from crashloop.comparison.matrix import Cell, Matrix, matrix_of
from crashloop.comparison.side import JudgedRun
from crashloop.report.standing import Standing

LONGEST_FINDING = 200
"""Characters: what a kubelet says in its log can be long."""
_CELLS: dict[Standing | None, str] = {None: "", Standing.DEVIATION: "deviation", Standing.SKIPPED: "–"}
_HEAD = """\
# Requirements by release

<!-- Written by `crashloop matrix --write docs/matrix.md RUN...` from results of runs. -->

A column is a version of the kubelet; its cell has the worst outcome over all scenarios and runs. *deviation*: it fails as
[findings](findings/README.md) describe, which fails no run. –: skipped, for a reason that stands below. Empty: no run was to
judge it there."""


def release_page(runs: Sequence[JudgedRun]) -> str:
    """The page, in Markdown."""
    matrix = matrix_of(by_kubelet(runs))
    versions = [column.key.kubelet.removeprefix("v") for column in matrix.columns]
    lines = [
        _HEAD,
        "",
        f"| Requirement | {' | '.join(versions)} |",
        f"|---|{'---|' * len(versions)}",
        *(
            f"| {each.requirement.id}: {_plain(each.requirement.sentence)} | {' | '.join(map(_text, each.cells))} |"
            for each in matrix.rows
        ),
        "",
        "## Why not PASS",
        "",
        *_reasons(matrix, versions),
        "",
        "## Why skipped",
        "",
        *_skipped(matrix),
        "",
        "## Runs",
        "",
        *map(_run, runs),
    ]
    return "\n".join(lines) + "\n"


def _text(cell: Cell) -> str:
    return _CELLS[cell.standing] if cell.standing in _CELLS else str(cell.standing)


def _reasons(matrix: Matrix, versions: Sequence[str]) -> Iterator[str]:
    """One line for each requirement and outcome that is neither PASS nor SKIPPED, with its versions."""
    for row in matrix.rows:
        alike: dict[Standing, list[int]] = {}
        for number, cell in enumerate(row.cells):
            if cell.standing not in (None, Standing.PASS, Standing.SKIPPED):
                alike.setdefault(cell.standing, []).append(number)
        for standing, numbers in alike.items():
            said = shorten(" ".join(row.cells[numbers[0]].findings[:1]), LONGEST_FINDING, placeholder=" ...")
            where = ", ".join(versions[each] for each in numbers)
            yield f"- **{row.requirement.id}**, {where}: {standing.label}. {_plain(said)}"


def _skipped(matrix: Matrix) -> Iterator[str]:
    """One line for each reason, with the requirements."""
    named: dict[str, list[str]] = {}
    for row in matrix.rows:
        for cell in row.cells:
            if cell.standing is Standing.SKIPPED:
                named.setdefault(" ".join(cell.findings[:1]), []).append(row.requirement.id)
    for reason, names in named.items():
        yield f"- {_plain(reason)} {', '.join(names)}."


def _run(run: JudgedRun) -> str:
    results = run.results
    counts = ", ".join(f"{number} {standing.label}" for standing, number in results.counts.items() if number)
    return (
        f"- `{results.run}`, {results.started:%Y-%m-%d}: scope {results.scope}, provider {results.provider}, API server "
        f"{results.kubernetes_version}; {counts}."
    )


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
