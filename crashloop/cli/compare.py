"""Commands about several runs: compare two, or put many side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crashloop.cli.command import Command, RunArgument, out
from crashloop.errors import UsageError

if TYPE_CHECKING:
    from crashloop.comparison.side import JudgedRun

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print Markdown, for a GitHub job summary, instead.")]
HtmlOption = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write a page to FILE.")]


def diff(
    before: RunArgument,
    after: RunArgument,
    json: JsonOption = False,
    markdown: MarkdownOption = False,
    html: HtmlOption = None,
    delays_count: Annotated[
        bool, typer.Option("--delays-count", help="Restarts that come later than before make the exit code 1, too.")
    ] = False,
) -> None:
    """Compare two runs, requirement by requirement. Exit code: 0 nothing got worse, 1 something did, 3 evidence is missing."""
    from crashloop.comparison.comparison import compare
    from crashloop.comparison.markdown import comparison_to_markdown
    from crashloop.comparison.page import comparison_to_html
    from crashloop.comparison.terminal import render_comparison

    _one_of(json, markdown)
    comparison = compare(judged_run(before), judged_run(after), delays_count=delays_count)
    if html is not None:
        _write(html, comparison_to_html(comparison))
    if json:
        _print_json(comparison)
    elif markdown:
        _print_text(comparison_to_markdown(comparison))
    else:
        render_comparison(comparison, out)
    raise typer.Exit(comparison.exit_code)


def matrix(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    json: JsonOption = False,
    markdown: MarkdownOption = False,
    html: HtmlOption = None,
) -> None:
    """Put runs side by side: requirements against provider, Kubernetes version and kubelet. It shows, and never fails."""
    from crashloop.comparison.markdown import matrix_to_markdown
    from crashloop.comparison.matrix import matrix_of
    from crashloop.comparison.page import matrix_to_html
    from crashloop.comparison.terminal import render_matrix

    _one_of(json, markdown)
    table = matrix_of(map(judged_run, runs))
    if html is not None:
        _write(html, matrix_to_html(table))
    if json:
        _print_json(table)
    elif markdown:
        _print_text(matrix_to_markdown(table))
    else:
        render_matrix(table, out)


def judged_run(path: Path) -> "JudgedRun":
    """A run with its results; one that was never judged is judged now, and its directory is left as it is.

    Raises UsageError if it is no run directory, is damaged, or is of another format.
    """
    from crashloop.analysis import analyze
    from crashloop.comparison.side import JudgedRun
    from crashloop.publish import published
    from crashloop.rundir import RunDir

    run = RunDir.open(path)
    results = published(run) if run.results_json.exists() else analyze(run)
    binary = run.info().settings.get("kubelet_binary")
    return JudgedRun(results, None if binary is None else str(binary))


def _one_of(json: bool, markdown: bool) -> None:
    if json and markdown:
        raise UsageError("--json and --markdown: both go to standard output, so only one can be printed.")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--html {path}: cannot be written ({error.strerror}).") from error


def _print_json(value: object) -> None:
    import msgspec

    _print_text(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")


def _print_text(text: str) -> None:
    """As it is, whatever the width of the terminal."""
    out.file.write(text)


COMMANDS = (Command(diff), Command(matrix))
