"""Commands about stress runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crashloop.cli.command import Command, KubernetesVersionOption, ProviderOption, out
from crashloop.cli.run_directory import Report, is_writable, unless_read_only

if TYPE_CHECKING:
    from crashloop.comparison.comparison import Comparison
    from crashloop.comparison.side import JudgedRun
    from crashloop.comparison.stress.side import JudgedStressRun

DEFAULT_WEB_PORT = 8089


def stress(
    profile: Annotated[str, typer.Argument(help="A name of manifests/stress, or the path of a file.")] = "quick",
    provider: ProviderOption = "local",
    kubernetes_version: KubernetesVersionOption = None,
    run_dir: Annotated[Path | None, typer.Option(help="Where to write (default: runs/<UTC time>-stress).")] = None,
    cluster: Annotated[str | None, typer.Option(help="Run on this cluster (`crashloop up`).")] = None,
    keep: Annotated[bool, typer.Option(help="Leave the cluster up; `crashloop down` removes it.")] = False,
    workers: Annotated[
        int | None, typer.Option(min=0, max=8, help="Workers of the load generator (default: the profile's).")
    ] = None,
    web: Annotated[bool, typer.Option("--web", help="Serve Locust's web UI on this machine during the run.")] = False,
    web_port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the web UI.")] = DEFAULT_WEB_PORT,
) -> None:
    """Run a load of crashing pods on nodes, measure its effects, and judge them by SLOs."""
    from crashloop.progress import default_progress
    from crashloop.report.stress.document import stress_document
    from crashloop.report.terminal import render
    from crashloop.stress.run import StressOptions, run_stress

    progress = default_progress()
    options = StressOptions(
        profile=profile,
        provider=provider,
        kubernetes_version=kubernetes_version,
        run_dir=None if run_dir is None else str(run_dir),
        cluster=cluster,
        keep=keep,
        workers=workers,
        web_port=web_port if web else None,
    )
    if web:
        progress.console.print(f"Locust's web UI: http://127.0.0.1:{web_port}", soft_wrap=True)
    run, results = run_stress(
        options, progress, lambda line: progress.console.print(line, markup=False, highlight=False, soft_wrap=True)
    )
    render(stress_document(results), out, report=str(run.report_html))
    raise typer.Exit(results.exit_code)


def judged_again(run_dir: Path) -> Report:
    """Judge an earlier stress run again, and write its results and views again."""
    from crashloop.report.stress.document import stress_document
    from crashloop.stress.folder import StressDir
    from crashloop.stress.judging import judge_run
    from crashloop.stress.publishing import publish_stress

    run = StressDir.open(run_dir)
    results = judge_run(run, keeps_lifecycles=is_writable(run.metrics_dir))
    unless_read_only(run, lambda: publish_stress(run, results))
    return Report(results, stress_document(results))


def report_of(run_dir: Path) -> Report:
    """The report of a stress run, without judging it again."""
    from crashloop.report.stress.document import stress_document
    from crashloop.stress.folder import StressDir
    from crashloop.stress.publishing import published_stress

    results = published_stress(StressDir.open(run_dir))
    return Report(results, stress_document(results))


def compared(before: Path, after: Path, values_count: bool) -> "Comparison":
    """The differences of two stress runs."""
    from crashloop.comparison.stress.comparison import compare_stress

    return compare_stress(measured_run(before), measured_run(after), values_count=values_count)


def measured_run(path: Path) -> "JudgedStressRun":
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
    return JudgedStressRun(results, plan.load, plan.kubelets, plan.cores)


def judged_run(path: Path) -> "JudgedRun":
    """The verdicts of a stress run on requirements and SLOs; a run without them is judged now, without a change to its directory.

    Raises UsageError if it is no directory of a stress run, is damaged, or is of another format.
    """
    from crashloop.comparison.side import JudgedRun
    from crashloop.report.stress.verdicts import run_results
    from crashloop.run.publish import published
    from crashloop.stress.folder import StressDir
    from crashloop.stress.judging import judge_run

    run = StressDir.open(path)
    if run.results_json.exists():
        return JudgedRun(published(run))
    return JudgedRun(run_results(judge_run(run, keeps_lifecycles=False)))


COMMANDS = (Command(stress),)
