"""Commands about judged runs: compare two, show many side by side, export metrics; and their views."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from crashloop.cli.command import Command, Example, JsonOption, RunArgument, epilog, out
from crashloop.cli.suites import compared, judged_run, trend_runs
from crashloop.errors import UsageError

if TYPE_CHECKING:
    from crashloop.report.document import Document


class RequestedViews(NamedTuple):
    """The requested views."""

    json: bool
    markdown: bool
    html: Path | None


def show(value: Any, document: "Document", requested: RequestedViews) -> None:
    """Write the page if requested, and print one other view. Raises UsageError."""
    import msgspec

    from crashloop.report.html import to_html
    from crashloop.report.markdown import to_markdown
    from crashloop.report.terminal import render

    if requested.json and requested.markdown:
        raise UsageError("--json and --markdown: both go to standard output, so only one can be printed.")
    if requested.html is not None:
        write_file("--html", requested.html, to_html(document))
    if requested.json:
        _print_as_it_is(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")
    elif requested.markdown:
        _print_as_it_is(to_markdown(document))
    else:
        render(document, out)


def write_file(option: str, path: Path, text: str) -> None:
    """Write the file that an option names. Raises UsageError."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{option} {path}: cannot be written ({error.strerror}).\nName another file.") from error


def _print_as_it_is(text: str) -> None:
    """Independent of the terminal's width."""
    out.file.write(text)


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
    from crashloop.comparison.matrix import matrix_of, release_page

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
    from crashloop.comparison.trend import trend_document, trend_of

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


EXPORT_EPILOG = epilog(
    Example("crashloop export --openmetrics runs/latest > run.om", "every metric of the run, with its time"),
    Example("promtool tsdb create-blocks-from openmetrics run.om DIR", "blocks for the data folder of Prometheus"),
    Example("crashloop manifests grafana/stress.json", "a dashboard of Grafana for them"),
)


def export(
    run: RunArgument,
    openmetrics: Annotated[
        bool, typer.Option("--openmetrics", help="As OpenMetrics with timestamps, which Prometheus backfills.")
    ] = False,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write there. Default: standard output.")] = None,
) -> None:
    """Export every metric that a stress run recorded, with restarts and lateness by ground truth."""
    from crashloop.stress.openmetrics import exported
    from crashloop.stress.openmetrics import openmetrics as written

    if not openmetrics:
        raise UsageError("crashloop export: expected a format; --openmetrics is the only one.")
    text = written(exported(run))
    if output is None:
        out.file.write(text)
        return
    write_file("--output", output, text)


EXPORT_COMMANDS = (Command(export, {"epilog": EXPORT_EPILOG}),)
