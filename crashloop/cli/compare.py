"""Commands about several runs: compare two, or show many side by side."""

from pathlib import Path
from typing import Annotated

import typer

from crashloop.cli.command import Command, Example, JsonOption, epilog
from crashloop.cli.suites import compared, judged_run, trend_runs
from crashloop.cli.views import RequestedViews, show, write_file

MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print Markdown, for a GitHub job summary, instead.")]
HtmlOption = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write a page to FILE.")]


def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="A run directory.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Another one of the same suite.")],
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
    """Compare two runs of one suite."""
    from crashloop.comparison.document import comparison_document

    comparison = compared(before, after, values_count)
    show(comparison, comparison_document(comparison), RequestedViews(json, markdown, html))
    raise typer.Exit(comparison.exit_code)


def matrix(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    json: JsonOption = False,
    markdown: MarkdownOption = False,
    html: HtmlOption = None,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write", metavar="FILE", help="Instead, write a page of the kubelets' versions, such as docs/matrix.md."
        ),
    ] = None,
) -> None:
    """Put runs side by side: requirements against provider, Kubernetes version and kubelet. It never fails."""
    from crashloop.comparison.document import matrix_document
    from crashloop.comparison.matrix import matrix_of
    from crashloop.comparison.release_page import release_page

    judged = [judged_run(each) for each in runs]
    if write is not None:
        write_file("--write", write, release_page(judged))
        return
    shown = matrix_of(judged)
    show(shown, matrix_document(shown), RequestedViews(json, markdown, html))


def trend(
    runs: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Run directories, or folders of them, such as runs.")
    ],
    json: JsonOption = False,
    markdown: MarkdownOption = False,
    html: HtmlOption = None,
) -> None:
    """Follow figures over many runs of one kind: their scatter, and whether the newest depart from it (exit code 1)."""
    from crashloop.comparison.trend import trend_of
    from crashloop.comparison.trend_document import trend_document

    found = trend_of(trend_runs(runs))
    document = trend_document(found)
    show(found, document, RequestedViews(json, markdown, html))
    raise typer.Exit(document.exit_code or 0)


DIFF_EPILOG = epilog(
    Example("crashloop diff runs/release runs/mine", "what your kubelet changes"),
    exit_codes="0 nothing got worse, 1 something did, 2 wrong usage, 3 evidence is missing",
)
MATRIX_EPILOG = epilog(Example("crashloop matrix --markdown runs/*-conformance", "for a job summary"))
TREND_EPILOG = epilog(
    Example("crashloop trend runs", "every kind of run in a folder"),
    exit_codes="0 steady or too few runs, 1 a jump or a drift, 2 wrong usage",
)


COMMANDS = (
    Command(diff, {"epilog": DIFF_EPILOG}),
    Command(matrix, {"epilog": MATRIX_EPILOG}),
    Command(trend, {"epilog": TREND_EPILOG}),
)
