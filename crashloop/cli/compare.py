"""Commands about several runs: compare two, or show many side by side."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Generic, NamedTuple, TypeVar

import typer
from rich.console import Console

from crashloop.cli import stress
from crashloop.cli.command import Command, RunArgument, out
from crashloop.errors import UsageError

if TYPE_CHECKING:
    from crashloop.comparison.side import JudgedRun
    from crashloop.comparison.stress.side import JudgedStressRun

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print Markdown, for a GitHub job summary, instead.")]
HtmlOption = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write a page to FILE.")]

T = TypeVar("T")


class Views(NamedTuple, Generic[T]):
    """How a value is shown."""

    render: Callable[[T, Console], None]
    to_markdown: Callable[[T], str]
    to_html: Callable[[T], str]


class RequestedViews(NamedTuple):
    """The requested views."""

    json: bool
    markdown: bool
    html: Path | None


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
    compared = _diff_stress if _are_stress_runs(before, after) else _diff_conformance
    raise typer.Exit(compared(before, after, values_count, RequestedViews(json, markdown, html)))


def _diff_conformance(before: Path, after: Path, values_count: bool, wanted: RequestedViews) -> int:
    from crashloop.comparison.comparison import compare
    from crashloop.comparison.markdown import comparison_to_markdown
    from crashloop.comparison.page import comparison_to_html
    from crashloop.comparison.terminal import render_comparison

    comparison = compare(judged_run(before), judged_run(after), delays_count=values_count)
    _show(comparison, Views(render_comparison, comparison_to_markdown, comparison_to_html), wanted)
    return comparison.exit_code


def _diff_stress(before: Path, after: Path, values_count: bool, wanted: RequestedViews) -> int:
    from crashloop.comparison.page import stress_comparison_to_html
    from crashloop.comparison.stress.comparison import compare_stress
    from crashloop.comparison.stress.markdown import stress_comparison_to_markdown
    from crashloop.comparison.stress.terminal import render_stress_comparison

    comparison = compare_stress(judged_stress_run(before), judged_stress_run(after), values_count=values_count)
    views = Views(render_stress_comparison, stress_comparison_to_markdown, stress_comparison_to_html)
    _show(comparison, views, wanted)
    return comparison.exit_code


def _are_stress_runs(before: Path, after: Path) -> bool:
    """Whether both are stress runs. Raises UsageError if only one is, or if one is no run."""
    first, second = _is_stress_run(before), _is_stress_run(after)
    if first is not second:
        stress_run, other = (before, after) if first else (after, before)
        raise UsageError(
            f"run directory {stress_run}: it holds a stress run, and {other} does not; expected two runs of one suite.\n"
            "`crashloop report RUN` shows each of them."
        )
    return first


def _is_stress_run(path: Path) -> bool:
    from crashloop.rundir import RunDir

    return RunDir.open(path).info().suite == stress.SUITE


def matrix(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    json: JsonOption = False,
    markdown: MarkdownOption = False,
    html: HtmlOption = None,
) -> None:
    """Put runs side by side: requirements against provider, Kubernetes version and kubelet. It never fails."""
    from crashloop.comparison.markdown import matrix_to_markdown
    from crashloop.comparison.matrix import matrix_of
    from crashloop.comparison.page import matrix_to_html
    from crashloop.comparison.terminal import render_matrix

    views = Views(render_matrix, matrix_to_markdown, matrix_to_html)
    _show(matrix_of(map(judged_run, runs)), views, RequestedViews(json, markdown, html))


def judged_run(path: Path) -> "JudgedRun":
    """A conformance run with its results; a run without results is judged now, without a change to its directory.

    Raises UsageError if it is no run directory, is damaged, is of another format, or holds a stress run.
    """
    from crashloop.comparison.side import JudgedRun
    from crashloop.run.analysis import analyze
    from crashloop.run.publish import published
    from crashloop.rundir import RunDir

    run = RunDir.open(path)
    if _is_stress_run(path):
        raise UsageError(
            f"run directory {path}: it holds a stress run; expected a conformance run, which judges requirements.\n"
            "Leave it out, or compare two stress runs with `crashloop diff`."
        )
    results = published(run) if run.results_json.exists() else analyze(run)
    binary = run.info().settings.get("kubelet_binary")
    return JudgedRun(results, None if binary is None else str(binary))


def judged_stress_run(path: Path) -> "JudgedStressRun":
    """A stress run with its results and its plan; a run without results is judged now, without a change to its directory.

    Raises UsageError if it is no directory of a stress run, is damaged, or is of another format.
    """
    from crashloop.comparison.stress.side import JudgedStressRun
    from crashloop.stress.folder import StressDir
    from crashloop.stress.judging import judge_run
    from crashloop.stress.publishing import published_stress

    run = StressDir.open(path)
    plan = run.stress_plan()
    results = published_stress(run) if run.slo_json.exists() else judge_run(run, keeps_lifecycles=False)
    return JudgedStressRun(results, plan.profile, plan.kubelets, plan.cores)


def _show(value: T, views: Views[T], wanted: RequestedViews) -> None:
    """Write the page if requested, and print one other view. Raises UsageError."""
    import msgspec

    if wanted.json and wanted.markdown:
        raise UsageError("--json and --markdown: both go to standard output, so only one can be printed.")
    if wanted.html is not None:
        try:
            wanted.html.write_text(views.to_html(value), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"--html {wanted.html}: cannot be written ({error.strerror}).") from error
    if wanted.json:
        _print_as_it_is(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")
    elif wanted.markdown:
        _print_as_it_is(views.to_markdown(value))
    else:
        views.render(value, out)


def _print_as_it_is(text: str) -> None:
    """Independent of the terminal's width."""
    out.file.write(text)


COMMANDS = (Command(diff), Command(matrix))
