"""Many runs side by side: requirements in rows, provider, version and kubelet in columns."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from crashloop.comparison.side import (
    JudgedRun,
    Place,
    RunKey,
    ScenarioOutcome,
    judged,
    key_of,
    requirements_of,
)
from crashloop.report.results import RequirementText
from crashloop.report.standing import Standing

MATRIX_FORMAT = "crashloop.matrix/1"


class MatrixColumn(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of one key."""

    key: RunKey
    runs: tuple[str, ...]


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement over all scenarios and runs of a column; without runs the column did not judge it."""

    standing: Standing | None = None
    """The worst."""
    worst: int = 0
    """Runs in which the worst is the requirement's outcome."""
    runs: int = 0
    """Runs that judged it."""
    findings: tuple[str, ...] = ()
    """Why it is not PASS, by the first of the worst verdicts."""


class MatrixRow(msgspec.Struct, frozen=True, kw_only=True):
    """One requirement; a cell for each column."""

    requirement: RequirementText
    cells: tuple[Cell, ...]


class Flake(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement whose outcome varies on one scenario, over runs of the same key."""

    requirement: str
    scenario: str
    key: RunKey
    outcomes: dict[Standing, int]
    """Runs by outcome, worst first."""


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `crashloop compare --by version --json`."""

    format: str = MATRIX_FORMAT
    columns: tuple[MatrixColumn, ...]
    """By provider, Kubernetes version and kubelet."""
    rows: tuple[MatrixRow, ...]
    """Requirements that at least one run judged, in the order of the catalogue."""
    flakes: tuple[Flake, ...] = ()


def matrix_of(runs: Iterable[JudgedRun]) -> Matrix:
    """Put runs side by side; several of one key share a column."""
    by_key: dict[RunKey, list[JudgedRun]] = defaultdict(list)
    for run in runs:
        by_key[key_of(run)].append(run)
    columns = sorted(by_key, key=_in_order_of_versions)
    places = {key: [judged(run.results) for run in by_key[key]] for key in columns}
    texts = requirements_of(run.results for key in columns for run in by_key[key])
    rows = [
        MatrixRow(requirement=text, cells=tuple(_cell(name, places[key]) for key in columns))
        for name, text in texts.items()
    ]
    return Matrix(
        columns=tuple(MatrixColumn(key=key, runs=tuple(run.results.run for run in by_key[key])) for key in columns),
        rows=tuple(row for row in rows if any(cell.runs for cell in row.cells)),
        flakes=tuple(flake for key in columns for flake in _flakes(key, places[key], list(texts))),
    )


def _in_order_of_versions(key: RunKey) -> tuple[str, list[int], RunKey]:
    """1.9 before 1.10."""
    numbers = [int(part) if part.isdecimal() else 0 for part in key.kubernetes_version.split(".")]
    return key.provider, numbers, key


def _cell(requirement: str, runs: Sequence[Mapping[Place, ScenarioOutcome]]) -> Cell:
    """The worst over scenarios and runs."""
    of_runs = [[each for (name, _), each in run.items() if name == requirement] for run in runs]
    worst_of_runs = [min(each, key=_rank) for each in of_runs if each]
    if not worst_of_runs:
        return Cell()
    worst = min(worst_of_runs, key=_rank)
    return Cell(
        standing=worst.standing,
        worst=sum(each.standing is worst.standing for each in worst_of_runs),
        runs=len(worst_of_runs),
        findings=() if worst.standing is Standing.PASS else worst.findings,
    )


def _rank(one: ScenarioOutcome) -> int:
    return one.standing.rank


def _flakes(key: RunKey, runs: Sequence[Mapping[Place, ScenarioOutcome]], order: Sequence[str]) -> list[Flake]:
    """Variation among the runs that judged it; skipped and reported ones do not count."""
    seen: dict[Place, Counter[Standing]] = defaultdict(Counter)
    for run in runs:
        for place, one in run.items():
            if one.standing not in (Standing.SKIPPED, Standing.REPORTED, Standing.TEXT):
                seen[place][one.standing] += 1
    return [
        Flake(
            requirement=requirement,
            scenario=scenario,
            key=key,
            outcomes={
                each: seen[requirement, scenario][each] for each in Standing if seen[requirement, scenario][each]
            },
        )
        for requirement, scenario in sorted(seen, key=lambda place: (order.index(place[0]), place[1]))
        if len(seen[requirement, scenario]) > 1
    ]
