"""docs/matrix.md: requirements in rows, versions of the kubelet in columns, from conformance runs.

`python -m tools.release_page docs/matrix.md RUN...` writes it.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import shorten

import msgspec

from crashloop.checks.everywhere import EVERY_POD
from crashloop.cli.suites import judged_run
from crashloop.comparison.matrix import Cell, Matrix, matrix_of
from crashloop.comparison.side import JudgedRun
from crashloop.report.standing import Standing
from crashloop.spec.profile import version_of
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Verdict

LONGEST_FINDING = 200
"""Characters: what a kubelet says in its log can be long."""
_CELLS: dict[Standing | None, str] = {None: "", Standing.DEVIATION: "deviation", Standing.SKIPPED: "–"}
_HEAD = """\
# Requirements by release

<!-- Written from results of runs by `python -m tools.release_page docs/matrix.md RUN...`. -->

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


def by_kubelet(runs: Iterable[JudgedRun]) -> Iterator[JudgedRun]:
    """Each run once for every version of a kubelet, with the verdicts on it; provider and API server no longer count.

    A verdict on every pod of a run with kubelets of several versions is about none of them, and left out.
    """
    for run in runs:
        by_version: dict[KubernetesVersion, list[Verdict]] = defaultdict(list)
        several = any(each.kubernetes_version is not None for each in run.results.profiles)
        planned = {
            each.name: each.kubernetes_version or run.results.kubernetes_version for each in run.results.profiles
        }
        for verdict in run.results.verdicts:
            if not (several and verdict.scenario == EVERY_POD):
                by_version[_version(verdict, planned, run.results.kubernetes_version)].append(verdict)
        for version, verdicts in sorted(by_version.items()):
            of_version = msgspec.structs.replace(
                run.results, provider="", kubernetes_version=str(version), environment={}, verdicts=tuple(verdicts)
            )
            yield run._replace(results=of_version)


def _version(verdict: Verdict, planned: Mapping[str, str], cluster: str) -> KubernetesVersion:
    """Version of the judged kubelet; of those that are compared, the newest. What is no kubelet counts as the cluster's."""
    # What was skipped has no profile in the plan.
    versions = (version_of(each) or planned.get(each, cluster) for each in verdict.profile.split(", "))
    return max(map(KubernetesVersion.parse, versions))


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tools.release_page")
    parser.add_argument("page", type=Path)
    parser.add_argument("runs", nargs="+", type=Path, help="run directories")
    arguments = parser.parse_args()
    page = release_page([judged_run(each) for each in arguments.runs])
    arguments.page.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
