"""Commands about several runs: compare two, or show many side by side."""

from pathlib import Path
from typing import Annotated

import typer

from crashloop.cli.command import Command, JsonOption, RunArgument
from crashloop.cli.suites import SUITES, suite_name, suite_of
from crashloop.cli.views import RequestedViews, show
from crashloop.errors import UsageError

MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print Markdown, for a GitHub job summary, instead.")]
HtmlOption = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write a page to FILE.")]


def diff(
    before: RunArgument,
    after: RunArgument,
    json: JsonOption = False,
    markdown: MarkdownOption = False,
    html: HtmlOption = None,
    values_count: Annotated[
        bool,
        typer.Option(
            "--values-count",
            help="Worse measurements that decide no verdict (later restarts, costs of a stress run) also make the exit "
            "code 1.",
        ),
    ] = False,
) -> None:
    """Compare two runs of one suite. Exit code: 0 nothing got worse, 1 something did, 3 evidence is missing."""
    from crashloop.comparison.document import comparison_document

    comparison = SUITES[_suite_of_both(before, after)].compared(before, after, values_count)
    show(comparison, comparison_document(comparison), RequestedViews(json, markdown, html))
    raise typer.Exit(comparison.exit_code)


def _suite_of_both(before: Path, after: Path) -> str:
    """The suite of two runs. Raises UsageError if their suites differ, or if one is no run."""
    first, second = suite_name(before), suite_name(after)
    if first != second:
        raise UsageError(
            f"run directory {before}: it holds a {first} run, and {after} a {second} run; expected two runs of one suite.\n"
            "`crashloop report RUN` shows each of them."
        )
    return first


def matrix(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    json: JsonOption = False,
    markdown: MarkdownOption = False,
    html: HtmlOption = None,
) -> None:
    """Put runs side by side: requirements against provider, Kubernetes version and kubelet. It never fails."""
    from crashloop.comparison.document import matrix_document
    from crashloop.comparison.matrix import matrix_of

    shown = matrix_of(suite_of(run).judged_run(run) for run in runs)
    show(shown, matrix_document(shown), RequestedViews(json, markdown, html))


COMMANDS = (Command(diff), Command(matrix))
