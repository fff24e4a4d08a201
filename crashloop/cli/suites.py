"""What the commands do with the runs of every suite: judge again, report, compare, show side by side."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from crashloop.errors import UsageError

if TYPE_CHECKING:
    from crashloop.comparison.comparison import Comparison
    from crashloop.comparison.side import JudgedRun
    from crashloop.comparison.trend import TrendRun
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
    trend_run: Callable[[Any], "TrendRun"]
    """A side as a run of a trend."""


def _conformance() -> Suite:
    from crashloop.comparison.comparison import compare
    from crashloop.comparison.side import JudgedRun
    from crashloop.comparison.trend import trend_of_conformance
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
        trend_run=trend_of_conformance,
    )


def _stress() -> Suite:
    from crashloop.comparison.side import JudgedRun
    from crashloop.comparison.stress import compare_stress
    from crashloop.comparison.trend import trend_of_stress
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
        trend_run=trend_of_stress,
    )


SUITES = {"conformance": _conformance, "stress": _stress}
"""By the `suite` of run.json; they import what they need when a run needs it, so that `--help` is fast."""


def judged_again(run_dir: Path) -> Report:
    """Judge an earlier run again, and write its results and views again."""
    suite = _suite_of(run_dir)
    run = suite.open(run_dir)
    results = suite.judge(run, True)
    unless_read_only(run, lambda: suite.publish(run, results))
    return Report(results, suite.document(results))


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


def trend_runs(folders: Sequence[Path]) -> list["TrendRun"]:
    """The judged runs among these and in these, each once; what is damaged or was not judged is named and left out.

    Raises UsageError for a folder without a run, and if no run is left.
    """
    found: dict[Path, TrendRun | None] = {}
    for folder in folders:
        runs = _runs(folder)
        if not runs:
            raise _no_judged_run(folder)
        for each in runs:
            if each.resolve() not in found:
                found[each.resolve()] = _trend_run(each)
    judged = list(filter(None, found.values()))
    if not judged:
        raise _no_judged_run(*folders)
    return judged


def _no_judged_run(*folders: Path) -> UsageError:
    return UsageError(
        f"{', '.join(map(str, folders))}: holds no judged run.\n`crashloop run` and `crashloop stress` write runs."
    )


def _trend_run(run_dir: Path) -> "TrendRun | None":
    """None, with a note, for a run that cannot be read or was not judged."""
    try:
        if _is_judged(run_dir):
            return _suite_of(run_dir).trend_run(side_of(run_dir))
        mention(f"{run_dir.name}: was not judged yet, and is left out; `crashloop report --again {run_dir}` judges it.")
    except UsageError as error:
        mention(f"{run_dir.name}: is left out; {error}")
    return None


def _runs(folder: Path) -> list[Path]:
    """The folder if it is a run, otherwise the runs in it. Raises UsageError if it cannot be read."""
    try:
        return [folder] if _is_run(folder) else sorted(filter(_is_run, folder.glob("*")))
    except OSError as error:
        raise UsageError(f"{folder}: cannot be read ({error.strerror}).") from error


def _is_run(folder: Path) -> bool:
    return (folder / "run.json").is_file()


def _is_judged(run_dir: Path) -> bool:
    suite = _suite_of(run_dir)
    return suite.results_file(suite.open(run_dir)).exists()


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
