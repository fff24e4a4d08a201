"""Commands about judged runs: compare them, export their metrics."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crashloop.cli.command import Command, Example, JsonOption, RunArgument, epilog, out
from crashloop.cli.suites import compared, judged_run
from crashloop.errors import UsageError

if TYPE_CHECKING:
    from crashloop.report.document import Document


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    by: Annotated[
        Literal["change", "version"],
        typer.Option(
            help="change: two runs of one suite. version: requirements against provider, Kubernetes version and kubelet.",
        ),
    ] = "change",
    as_json: JsonOption = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, for a GitHub job summary, instead.")
    ] = False,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write a page to FILE.")] = None,
    values_count: Annotated[
        bool,
        typer.Option(
            help="Of a change: worse measurements that decide no verdict (later restarts, costs of a stress run) also make "
            "the exit code 1.",
        ),
    ] = False,
) -> None:
    """Compare two runs, or put many side by side."""
    import msgspec

    from crashloop.report.html import to_html
    from crashloop.report.markdown import to_markdown
    from crashloop.report.terminal import render

    if values_count and by != "change":
        raise UsageError(f"--values-count: only for --by change, not {by}.")
    if as_json and as_markdown:
        raise UsageError("--json and --markdown: both go to standard output, so only one can be printed.")
    found, document, code = _compared(runs, by, values_count)
    if html is not None:
        write_file("--html", html, to_html(document))
    if as_json:
        out.file.write(msgspec.json.format(msgspec.json.encode(found)).decode() + "\n")
    elif as_markdown:
        out.file.write(to_markdown(document))
    else:
        render(document, out)
    raise typer.Exit(code)


def _compared(runs: list[Path], by: str, values_count: bool) -> tuple[object, "Document", int]:
    """For programs, for people, and the exit code. Raises UsageError."""
    from crashloop.comparison.document import comparison_document, matrix_document
    from crashloop.comparison.matrix import matrix_of

    if by == "version":
        side_by_side = matrix_of([judged_run(each) for each in runs])
        return side_by_side, matrix_document(side_by_side), 0
    if len(runs) != 2:
        raise UsageError(
            f"crashloop compare: {len(runs)} run{'s' if len(runs) > 1 else ''}; a change is between two.\n"
            "--by version puts runs side by side."
        )
    change = compared(runs[0], runs[1], values_count)
    return change, comparison_document(change), change.exit_code


def write_file(option: str, path: Path, text: str) -> None:
    """Write the file that an option names. Raises UsageError."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{option} {path}: cannot be written ({error.strerror}).\nName another file.") from error


COMPARE_EPILOG = epilog(
    Example("crashloop compare runs/release runs/mine", "what your kubelet changes"),
    Example("crashloop compare --by version --markdown runs/*-conformance", "for a job summary"),
    exit_codes="0 nothing got worse, 1 something did, 2 wrong usage, 3 evidence is missing",
)
COMMANDS = (Command(compare, {"epilog": COMPARE_EPILOG}),)


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
