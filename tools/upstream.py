"""docs/upstream: what each KEP asks of itself, word for word, beside what answers it here.

python -m tools.upstream                exit code 1 if a page is not that of its data
python -m tools.upstream --write        write the pages anew: after a change of the catalogue or of tools/upstream.yaml
python -m tools.upstream RUN --write    with the verdicts of these conformance runs: of a requirement, those of the last

What SLO rows judge is taken from the stress runs that docs/benchmark keeps, the worst of them.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

import msgspec
import yaml

from crashloop.report.results import Results
from crashloop.report.standing import Standing, worst_standing
from crashloop.report.stress.results import StressResults, requirement_results
from crashloop.requirements import load_requirements
from crashloop.run.analysis import published
from crashloop.rundir import RunDir
from crashloop.spec.requirement import Requirement, Scope

QUESTIONS = Path(__file__).with_name("upstream.yaml")
FOLDER = Path(__file__).parents[1] / "docs" / "upstream"
FINDINGS, BENCHMARK = FOLDER.parent / "findings", FOLDER.parent / "benchmark"
VERDICTS = FOLDER / "verdicts.json"


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A graduation criterion or an answer of the production readiness review."""

    section: str = msgspec.field(name="in")
    asks: str
    answered_by: tuple[str, ...]
    answer: str = ""


class Kep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    number: int
    title: str
    questions: tuple[Question, ...]


class Seen(msgspec.Struct, frozen=True):
    """The verdicts of a run on one requirement."""

    standing: Standing
    deviation: str | None
    run: str
    kubernetes_version: str
    provider: str
    on: date


def load_keps(path: Path = QUESTIONS) -> tuple[Kep, ...]:
    """The questions. Raises msgspec.ValidationError, and ValueError for a requirement that is not in the catalogue."""
    keps = msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8"))["keps"], tuple[Kep, ...])
    named = {name for kep in keps for each in kep.questions for name in each.answered_by}
    if unknown := sorted(named - load_requirements().keys()):
        raise ValueError(f"{path.name}: the catalogue has no {', '.join(unknown)}.")
    return keps


def in_stress_runs() -> dict[str, Seen]:
    """The worst of what stress runs of docs/benchmark have shown of requirements that SLO rows judge."""
    by_rows = {each.id for each in load_requirements().values() if each.slos}
    found: dict[str, Seen] = {}
    for path in sorted(BENCHMARK.glob("*.slo.json")):
        results = requirement_results(msgspec.json.decode(path.read_bytes(), type=StressResults))
        for name, each in seen_in(results).items():
            if name in by_rows and (name not in found or each.standing.rank < found[name].standing.rank):
                found[name] = each
    return found


def seen_in(results: Results) -> dict[str, Seen]:
    """By requirement, without what was skipped."""
    judged = [each for each in results.verdicts if Standing.of(each) is not Standing.SKIPPED]
    found: dict[str, Seen] = {}
    for name in dict.fromkeys(each.requirement for each in judged):
        mine = [each for each in judged if each.requirement == name]
        found[name] = Seen(
            standing=worst_standing(mine),
            deviation=next((each.deviation for each in mine if each.deviation), None),
            run=Path(results.run).name,
            kubernetes_version=results.kubernetes_version,
            provider=results.provider,
            on=results.started.date(),
        )
    return found


def pages(keps: Sequence[Kep], seen: Mapping[str, Seen]) -> dict[str, str]:
    """The text of each page, by its name."""
    found = {f"kep-{kep.number}.md": "\n".join(_page(kep, seen)) + "\n" for kep in keps}
    return {"README.md": "\n".join(_index(keps, seen)) + "\n"} | found


WRITTEN = (
    "<!-- Written by `python -m tools.upstream RUN... --write` from tools/upstream.yaml, the catalogue and runs. -->"
)
COLUMNS = {
    "kept": frozenset({Standing.PASS}),
    "broken, as findings describe, or a wrong sum": frozenset({Standing.FAIL, Standing.DEVIATION, Standing.TEXT}),
    "only reported, or open": frozenset({Standing.REPORTED, Standing.ERROR, Standing.INCONCLUSIVE}),
    "not judged": frozenset({Standing.SKIPPED}),
}
"""By the worst verdict on what answers a question."""


def _index(keps: Sequence[Kep], seen: Mapping[str, Seen]) -> Iterator[str]:
    yield from ("# What upstream can take", "", WRITTEN, "")
    yield "Each page quotes the graduation criteria of a KEP and the answers of its production readiness review, and says what"
    yield "runs have shown of them. `crashloop reproduce RUN REQUIREMENT` shows any of it with kubectl alone."
    yield from ("", f"| KEP | quoted | {' | '.join(COLUMNS)} |", f"|---|---{'|---' * len(COLUMNS)}|")
    for kep in keps:
        worst = [_worst(each, seen) for each in kep.questions]
        numbers = (sum(each in column for each in worst) for column in COLUMNS.values())
        cells = " | ".join(map(str, (len(worst), *numbers)))
        yield f"| [KEP-{kep.number}: {kep.title}](kep-{kep.number}.md) | {cells} |"


def _worst(question: Question, seen: Mapping[str, Seen]) -> Standing:
    standings = (seen[name].standing for name in question.answered_by if name in seen)
    return min(standings, key=lambda each: each.rank, default=Standing.SKIPPED)


def _page(kep: Kep, seen: Mapping[str, Seen]) -> Iterator[str]:
    catalogue = load_requirements()
    yield from (f"# KEP-{kep.number}: {kep.title}", "", WRITTEN, "")
    kep_page = f"[KEP-{kep.number}](https://kep.k8s.io/{kep.number})"
    yield f"Quotations are from {kep_page}, requirements from [the catalogue](../coverage.md)."
    named = {name for each in kep.questions for name in each.answered_by}
    yield from ("", "| Run | Day | Kubernetes | Provider |", "|---|---|---|---|")
    for run in {seen[name].run: seen[name] for name in sorted(named & seen.keys())}.values():
        yield f"| `{run.run}` | {run.on:%d %B %Y} | {run.kubernetes_version} | {run.provider} |"
    section = ""
    for each in kep.questions:
        if each.section != section:
            section = each.section
            yield from ("", f"## {section}")
        yield from ("", f"> {' '.join(each.asks.split())}")
        if each.answer:
            yield from ("", " ".join(each.answer.split()))
        if each.answered_by:
            yield from ("", "| Requirement | Verdict | Run |", "|---|---|---|")
            yield from (_row(catalogue[name], seen.get(name)) for name in each.answered_by)
            yield from ("", "```console", *_commands([catalogue[name] for name in each.answered_by]), "```")


def _row(requirement: Requirement, seen: Seen | None) -> str:
    if seen is None:
        return f"| {requirement.id}: {requirement.sentence} | not judged in these runs | |"
    found = _page_of(seen.deviation) if seen.deviation else None
    label = seen.standing.label if found is None else f"[{seen.standing.label}](../findings/{found})"
    return f"| {requirement.id}: {requirement.sentence} | {label} | `{seen.run}` |"


def _page_of(deviation: str) -> str | None:
    """The page of docs/findings about a known deviation; None for the deviation of an SLO row."""
    pages = (path for path in sorted(FINDINGS.glob("*.md")) if f"`{deviation}`" in path.read_text(encoding="utf-8"))
    return next((path.name for path in pages), None)


def _commands(requirements: Sequence[Requirement]) -> Iterator[str]:
    """One for each scope; what SLO rows judge needs a stress run."""
    for scope in Scope:
        named = [each for each in requirements if each.scope is scope and each.checkers]
        if named:
            chosen = "" if scope is Scope.QUICK else f" --scope {scope}"
            yield f"$ crashloop run{chosen}{''.join(f' --requirement {each.id}' for each in named)}"
    if any(each.slos for each in requirements):
        yield "$ make stress-judged stress-soak"


def main(arguments: list[str] | None = None) -> int:
    """The command. Returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.upstream", description="Pages for the KEPs.")
    parser.add_argument("runs", type=Path, nargs="*", metavar="RUN", help="run directories, in the order of their age")
    parser.add_argument("--write", action="store_true", help="write docs/upstream")
    options = parser.parse_args(arguments)
    seen = msgspec.json.decode(VERDICTS.read_bytes(), type=dict[str, Seen]) if VERDICTS.exists() else {}
    for run in options.runs:
        seen |= seen_in(published(RunDir.open(run)))
    keps = load_keps()
    named = {name for kep in keps for each in kep.questions for name in each.answered_by}
    kept = {name: each for name, each in sorted(seen.items()) if name in named}
    texts = pages(keps, in_stress_runs() | kept) | {
        VERDICTS.name: msgspec.json.format(msgspec.json.encode(kept)).decode() + "\n"
    }
    stale = [
        name for name, text in texts.items() if not (FOLDER / name).exists() or (FOLDER / name).read_text() != text
    ]
    if options.write:
        FOLDER.mkdir(exist_ok=True)
        for name, text in texts.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
    elif stale:
        sys.stderr.write(f"docs/upstream: not of today's data: {', '.join(stale)}.\n")
        sys.stderr.write("`python -m tools.upstream --write` writes them.\n")
    return int(bool(stale and not options.write))


if __name__ == "__main__":
    sys.exit(main())
