"""What the commands do with the runs of every suite: judge again, report, compare, show side by side."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from crashloop.errors import UsageError

if TYPE_CHECKING:
    from crashloop.comparison.comparison import Comparison
    from crashloop.comparison.side import JudgedRun
    from crashloop.report.document import Document
    from crashloop.report.results import Results
    from crashloop.rundir import RunDir


class Report(NamedTuple):
    """The results of a run, for programs, and their report, for people."""

    results: object
    document: "Document"


def unless_read_only(run: "RunDir", write: Callable[[], None]) -> None:
    """Write results and views; where nothing can be written, as in an archive, that is only mentioned."""
    try:
        write()
    except OSError as error:
        mention(f"run directory {run.root}: results and report were not written ({error.strerror}).")


def _is_writable(folder: Path) -> bool:
    """Whether this process may write there."""
    return os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def mention_damage(run_dir: Path) -> None:
    """Name files that no verdict depends on, and that cannot be read."""
    from crashloop.rundir import RunDir

    for sentence in RunDir(run_dir).damage():
        mention(sentence)


def mention(sentence: str) -> None:
    """A note on standard error."""
    from rich.console import Console

    Console(stderr=True, highlight=False).print(f"crashloop: {sentence}", markup=False, soft_wrap=True)


class Suite(NamedTuple):
    """What a suite knows of its runs. Arguments are a run (its directory) and its results, of the suite's own types."""

    open: Callable[[Path], Any]
    """Raises UsageError if it is no run directory, is damaged, or is of another format."""
    results_file: Callable[[Any], Path]
    judge: Callable[[Any, bool], Any]
    """Judge a run; whether it may keep what it derives from the evidence in the run directory."""
    published: Callable[[Any], Any]
    """The results of the last judgement. Raises UsageError without one."""
    publish: Callable[[Any, Any], None]
    """Write results and views."""
    document: Callable[[Any], "Document"]
    side: Callable[[Any, Any], Any]
    """A run and its results as a side of `compare`."""
    compare: Callable[[Any, Any, bool], "Comparison"]
    """The differences of two sides; whether measured values count."""
    judged_run: Callable[[Any, Any], "JudgedRun"]
    """A run and its results as a column of a matrix."""


def _conformance() -> Suite:
    from crashloop.comparison.comparison import compare
    from crashloop.comparison.side import JudgedRun
    from crashloop.report.conformance import conformance_document
    from crashloop.run.analysis import analyze, publish, published
    from crashloop.rundir import RunDir

    def judged(run: RunDir, results: "Results") -> JudgedRun:
        binary = run.info().settings.get("kubelet_binary")
        return JudgedRun(results, None if binary is None else str(binary))

    return Suite(
        open=RunDir.open,
        results_file=lambda run: run.results_json,
        judge=lambda run, _: analyze(run),
        published=published,
        publish=publish,
        document=conformance_document,
        side=judged,
        compare=lambda before, after, values_count: compare(before, after, values_count=values_count),
        judged_run=judged,
    )


def _stress() -> Suite:
    from crashloop.comparison.side import JudgedRun
    from crashloop.comparison.stress import compare_stress
    from crashloop.comparison.values import JudgedStressRun
    from crashloop.report.stress.document import stress_document
    from crashloop.report.stress.results import StressResults, run_results
    from crashloop.stress.folder import StressDir, publish_stress, published_stress
    from crashloop.stress.judging import judge_run

    def side(run: StressDir, results: StressResults) -> JudgedStressRun:
        plan = run.stress_plan()
        return JudgedStressRun(results, plan.load, plan.kubelets, plan.cores)

    return Suite(
        open=StressDir.open,
        results_file=lambda run: run.slo_json,
        judge=lambda run, keeps: judge_run(run, keeps_lifecycles=keeps and _is_writable(run.metrics_dir)),
        published=published_stress,
        publish=publish_stress,
        document=stress_document,
        side=side,
        compare=lambda before, after, values_count: compare_stress(before, after, values_count=values_count),
        judged_run=lambda _, results: JudgedRun(run_results(results)),
    )


SUITES = {"conformance": _conformance, "stress": _stress}
"""By the `suite` of run.json; they import what they need when a run needs it, so that `--help` is fast."""


def judged_again(run_dir: Path, model_version: str | None = None) -> Report:
    """Judge an earlier run again, and write its results and views again; by the rules of another release, write nothing."""
    suite = _suite_of(run_dir)
    run = suite.open(run_dir)
    if model_version is None:
        results = suite.judge(run, True)
        unless_read_only(run, lambda: suite.publish(run, results))
    else:
        results = _by_other_rules(run, model_version)
    return Report(results, suite.document(results))


def _by_other_rules(run: "RunDir", model_version: str) -> "Results":
    from crashloop.run.analysis import analyze
    from crashloop.spec.version import KubernetesVersion, check_supported

    if run.info().suite != "conformance":
        raise UsageError(f"--model-version: {run.root} is no conformance run; only these are judged by other rules.")
    version = KubernetesVersion.parse(model_version)
    check_supported("--model-version", version)
    return analyze(run, version)


def report_of(run_dir: Path) -> Report:
    """The report of a run, without judging it again."""
    suite = _suite_of(run_dir)
    results = suite.published(suite.open(run_dir))
    return Report(results, suite.document(results))


def compared(before: Path, after: Path, values_count: bool) -> "Comparison":
    """The differences of two runs. Raises UsageError if their suites differ."""
    first, second = _suite_name(before), _suite_name(after)
    if first != second:
        raise UsageError(
            f"run directory {before}: it holds a {first} run, and {after} a {second} run; expected two runs of one suite.\n"
            "`crashloop report RUN` shows each of them."
        )
    return SUITES[first]().compare(side_of(before), side_of(after), values_count)


def side_of(run_dir: Path) -> Any:
    """A run as a side of a comparison within its suite."""
    suite = _suite_of(run_dir)
    return suite.side(*_found(suite, run_dir))


def judged_run(run_dir: Path) -> "JudgedRun":
    """The verdicts of a run, for a matrix."""
    suite = _suite_of(run_dir)
    return suite.judged_run(*_found(suite, run_dir))


def _found(suite: Suite, run_dir: Path) -> tuple[Any, Any]:
    """A run with its results; a run without results is judged now, without a change to its directory."""
    run = suite.open(run_dir)
    return run, suite.published(run) if suite.results_file(run).exists() else suite.judge(run, False)


def _suite_of(run_dir: Path) -> Suite:
    return SUITES[_suite_name(run_dir)]()


def _suite_name(run_dir: Path) -> str:
    """The suite of a run. Raises UsageError without a run, and for an unknown suite."""
    from crashloop.rundir import RunDir

    name = RunDir.open(run_dir).info().suite
    if name not in SUITES:
        raise UsageError(f"run directory {run_dir}: suite {name!r} is unknown; expected one of {', '.join(SUITES)}.")
    return name
