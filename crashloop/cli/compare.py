"""Commands about several runs: compare two, or put many side by side."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Generic, NamedTuple, TypeVar

import typer
from rich.console import Console

from crashloop.cli.command import Command, RunArgument, out
from crashloop.errors import UsageError

if TYPE_CHECKING:
    from crashloop.comparison.side import JudgedRun

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print Markdown, for a GitHub job summary, instead.")]
HtmlOption = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write a page to FILE.")]

T = TypeVar("T")


class Views(NamedTuple, Generic[T]):
    """How a value is shown."""

    render: Callable[[T, Console], None]
    to_markdown: Callable[[T], str]
    to_html: Callable[[T], str]


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

    comparison = compare(judged_run(before), judged_run(after), delays_count=delays_count)
    views = Views(render_comparison, comparison_to_markdown, comparison_to_html)
    _show(comparison, views, json=json, markdown=markdown, html=html)
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

    views = Views(render_matrix, matrix_to_markdown, matrix_to_html)
    _show(matrix_of(map(judged_run, runs)), views, json=json, markdown=markdown, html=html)


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


def _show(value: T, views: Views[T], *, json: bool, markdown: bool, html: Path | None) -> None:
    """Write the page, and print one of the others. Raises UsageError."""
    import msgspec

    if json and markdown:
        raise UsageError("--json and --markdown: both go to standard output, so only one can be printed.")
    if html is not None:
        try:
            html.write_text(views.to_html(value), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"--html {html}: cannot be written ({error.strerror}).") from error
    if json:
        _print_as_it_is(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")
    elif markdown:
        _print_as_it_is(views.to_markdown(value))
    else:
        views.render(value, out)


def _print_as_it_is(text: str) -> None:
    """Whatever the width of the terminal."""
    out.file.write(text)


COMMANDS = (Command(diff), Command(matrix))
