"""docs/soak.md: what a run of the scope soak has shown of the requirements that need it.

python -m tools.soak RUN            print the page
python -m tools.soak RUN --write    write docs/soak.md
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from crashloop.errors import UsageError
from crashloop.report.results import Results
from crashloop.report.standing import Standing
from crashloop.requirements import load_requirements
from crashloop.run.analysis import published
from crashloop.rundir import RunDir
from crashloop.spec.requirement import Scope
from crashloop.verdict import Verdict

PAGE = Path(__file__).parents[1] / "docs" / "soak.md"


def to_markdown(results: Results) -> str:
    """The page of a run. Raises UsageError if the run judged nothing that needs the scope soak."""
    catalogue = load_requirements()
    shown = [each for each in results.verdicts if catalogue[each.requirement].scope is Scope.SOAK]
    if not shown:
        raise UsageError(f"run {results.run}: it judged no requirement of the scope soak.")
    took_min = (results.finished - results.started).total_seconds() / 60
    lines = [
        "# Soak",
        "",
        "<!-- Written by `make soak`. -->",
        "",
        "Some requirements need half an hour. `make soak` records their scenarios side by side: three pods on one node of the",
        "default curve.",
        "",
        f"Last run: {results.started:%d %B %Y}, Kubernetes {results.kubernetes_version}, provider {results.provider}, "
        f"{took_min:.0f} min.",
        "",
        "| Requirement | Scenario | Outcome |",
        "|---|---|---|",
        *(f"| {each.requirement} | {each.scenario} | {Standing.of(each).label} |" for each in shown),
    ]
    for each in shown:
        lines += ["", f"## {each.requirement}: {catalogue[each.requirement].sentence}", "", *_seen(each)]
    return "\n".join(lines) + "\n"


def _seen(verdict: Verdict) -> Iterator[str]:
    for finding in verdict.findings:
        yield f"- {finding.removeprefix(f'{verdict.requirement}: ')}"
    for container, counts in verdict.facts.get("restarts_within", {}).items():
        for count in counts:
            yield (
                f'- "{container}" restarted {count["seen"]} times within {count["within_s"]:g} s of its first start; '
                f"{count['least']} to {count['most']} are right."
            )
    if verdict.deviation is not None:
        yield f"- Known deviation `{verdict.deviation}` ([deviations.yaml](../crashloop/deviations.yaml))."


def main(arguments: list[str] | None = None) -> int:
    """The command. Returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description="The page of a soak run.")
    parser.add_argument("run", type=Path, help="run directory")
    parser.add_argument("--write", action="store_true", help="write docs/soak.md instead of printing it")
    options = parser.parse_args(arguments)
    try:
        text = to_markdown(published(RunDir.open(options.run)))
    except UsageError as error:
        parser.error(str(error))
    if options.write:
        PAGE.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
