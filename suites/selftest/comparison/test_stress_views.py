"""A comparison of stress runs as text, page and JSON, and `crashloop compare` on directories of stress runs."""

import io
import json
from pathlib import Path

import jsonschema
import msgspec
import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from crashloop.cli.suites import side_of
from crashloop.comparison.comparison import Comparison
from crashloop.comparison.document import comparison_document
from crashloop.comparison.stress import compare_stress
from crashloop.errors import UsageError
from crashloop.report.html import to_html
from crashloop.report.markdown import to_markdown
from crashloop.report.terminal import render
from crashloop.run.analysis import publish
from crashloop.rundir import RunDir
from crashloop.slo.rows import Better
from crashloop.stress.folder import publish_stress
from crashloop.stress.judging import judge_run
from crashloop.verdict import Outcome
from suites.selftest.kit.comparison_example import NEWER, crashloop
from suites.selftest.kit.report_example import INFO
from suites.selftest.kit.snapshots import MarkdownFile, TextFile
from suites.selftest.kit.stress_comparison_example import (
    AT_REST,
    EXTRA,
    FIGURES,
    LATENESS,
    PLANNED,
    RATE,
    STARTUP,
    edited,
    stage,
    stress_run,
)
from suites.selftest.kit.stress_kit import example_run
from suites.selftest.report.test_html import HOSTILE, Page
from tools.schemas import schemas

BEFORE = stress_run(run="20261120T160003Z-stress", kubernetes_version="1.36.3")
AFTER = stress_run(
    edited(STARTUP, outcome=Outcome.FAIL, value=5.2, sentence="pod-startup-latency: p99 5.2 s."),
    edited(RATE, outcome=Outcome.FAIL, value=3.0, sentence="restarts-per-second: 3 restarts/s."),
    edited(LATENESS, value=0.7),
    edited(PLANNED, outcome=Outcome.INCONCLUSIVE, sentence="load-as-planned: stage 3 (recovery) was not measured."),
    EXTRA,
    stages=(
        stage("baseline", AT_REST | {"foreign_cpu_share": 0.4}, users={"healthy": 1}),
        stage(figures=FIGURES | {"runtime_cpu_cores": 0.9, "lateness_p50_s": 0.5}),
    ),
)
COMPARISON = compare_stress(BEFORE, AFTER)
SAME = compare_stress(AFTER, AFTER)
HOSTILE_COMPARISON = compare_stress(BEFORE, stress_run(edited(STARTUP, outcome=Outcome.FAIL, sentence=HOSTILE)))


def on_console(comparison: Comparison, *, terminal: bool) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=160, color_system=None, highlight=False)
    render(comparison_document(comparison), console)
    return file.getvalue()


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "log"])
def test_the_console_shows_a_comparison_of_stress_runs_as_agreed(terminal: bool, snapshot: SnapshotAssertion) -> None:
    assert on_console(COMPARISON, terminal=terminal).encode() == snapshot.use_extension(TextFile)


def test_the_job_summary_of_two_stress_runs_is_as_agreed(snapshot: SnapshotAssertion) -> None:
    assert to_markdown(comparison_document(COMPARISON)).encode() == snapshot.use_extension(MarkdownFile)


def test_a_comparison_without_differences_says_so() -> None:
    text = on_console(SAME, terminal=False)
    assert "\n= 0 differences.\n5 verdicts are the same. Everything that counts" in text
    assert "\nWhat to do: Nothing.\n" in text
    assert text.endswith("\nExit code: 0\n")


def test_what_got_worse_and_does_not_count_is_reported_in_the_headline() -> None:
    reported = stress_run(edited(LATENESS, outcome=Outcome.FAIL, value=4.0))
    text = on_console(compare_stress(stress_run(), reported), terminal=False)
    assert "\n= 1 difference: 1 verdict of 4 (1 worse).\n" in text
    assert "1 outcome got worse where a target is only reported." in text
    assert "1 value without a gate got worse; with --values-count they count." in text
    counted = on_console(compare_stress(stress_run(), reported, values_count=True), terminal=False)
    assert "\n✗ 1 difference: 1 verdict of 4 (1 worse).\n" in counted
    assert "--values-count" not in counted


@pytest.mark.parametrize(
    ("comparison", "said"),
    [
        (COMPARISON, "5 differences: 3 verdicts of 5 (2 worse, 1 undecided); 2 figures of stages (1 worse, 1 better)."),
        (SAME, "0 differences."),
    ],
    ids=["differences", "none"],
)
def test_a_page_of_two_stress_runs_is_whole_and_loads_nothing(comparison: Comparison, said: str) -> None:
    page = Page(to_html(comparison_document(comparison)))
    assert said in page.text
    assert "baseline: start-up of healthy pods p50 (s)" in page.text
    assert page.attributes("src") == []
    assert [each for each in page.attributes("href") if not each.startswith("#")] == ["data:,"]
    ids = page.attributes("id")
    assert len(set(ids)) == len(ids)
    assert set(page.attributes("aria-labelledby")) <= set(ids)


def test_no_sentence_of_a_run_acts_on_a_reader() -> None:
    page = Page(to_html(comparison_document(HOSTILE_COMPARISON)))
    assert {"script", "img"} & {tag for tag, _ in page.elements} == set()
    assert "<script>alert(1)</script>" in page.text
    summary = to_markdown(comparison_document(HOSTILE_COMPARISON))
    assert "&lt;script&gt;" in summary
    assert "<script>" not in summary
    for text in (summary, *(on_console(HOSTILE_COMPARISON, terminal=terminal) for terminal in (True, False))):
        assert not set("\x1b\x00\u202e") & set(text)


@pytest.mark.parametrize("comparison", [COMPARISON, SAME], ids=["differences", "none"])
def test_json_of_two_stress_runs_keeps_to_its_schema_and_can_be_read_back(comparison: Comparison) -> None:
    text = msgspec.json.encode(comparison)
    jsonschema.Draft202012Validator(schemas()["comparison"]).validate(msgspec.json.decode(text))
    assert msgspec.json.decode(text, type=Comparison) == comparison


@pytest.fixture
def stress_dir(tmp_path: Path) -> Path:
    """A stress run that was not judged yet."""
    return example_run(tmp_path / "stress").run.root


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_stress_run_that_was_not_judged_is_judged_and_left_as_it_is(stress_dir: Path) -> None:
    before = files(stress_dir)
    result = crashloop("compare", stress_dir, stress_dir)
    assert result.exit_code == 0
    assert "\n= 0 differences.\n" in result.stdout
    assert files(stress_dir) == before


def test_the_key_figures_of_a_judged_run_are_compared_with_their_intervals(stress_dir: Path) -> None:
    folder = example_run(stress_dir.parent / "judged")
    publish_stress(folder.run, judge_run(folder.run))
    run = side_of(folder.run.root)
    cpu = run.results.row("kubelet-cpu-per-restart")
    assert cpu is not None
    assert (cpu.better, cpu.phase) == (Better.LOWER, "storm")
    (_, storm) = compare_stress(run, run).stages
    assert {each.measure.name for each in storm.figures if each.change} == {
        "restarts_per_s",
        "requests_per_restart",
        "kubelet_cpu_cores",
        "runtime_cpu_cores",
        "lateness_p50_s",
    }


def test_every_view_of_two_stress_runs_comes_from_one_command(stress_dir: Path, tmp_path: Path) -> None:
    page = tmp_path / "diff.html"
    result = crashloop("compare", "--values-count", "--json", "--html", page, stress_dir, stress_dir)
    shown = json.loads(result.stdout)
    assert (shown["format"], shown["values_count"]) == ("crashloop.comparison/2", True)
    assert "<h1>" in page.read_text(encoding="utf-8")
    assert crashloop("compare", "--markdown", stress_dir, stress_dir).stdout.startswith("## = 0 differences.")


def test_a_stress_run_is_not_compared_with_a_conformance_run(stress_dir: Path, tmp_path: Path) -> None:
    conformance = tmp_path / "conformance"
    publish(RunDir.create(conformance, INFO), NEWER)
    suites = {stress_dir: "stress", conformance: "conformance"}
    for first, second in ((stress_dir, conformance), (conformance, stress_dir)):
        refused = crashloop("compare", first, second)
        assert isinstance(refused.exception, UsageError)
        assert str(refused.exception) == (
            f"run directory {first}: it holds a {suites[first]} run, and {second} a {suites[second]} run; "
            "expected two runs of one suite.\n`crashloop report RUN` shows each of them."
        )


def test_a_matrix_shows_what_a_stress_run_says_about_requirements(stress_dir: Path, tmp_path: Path) -> None:
    conformance, before = tmp_path / "conformance", files(stress_dir)
    publish(RunDir.create(conformance, INFO), NEWER)
    shown = json.loads(crashloop("compare", "--by=version", "--json", stress_dir, conformance).stdout)
    rows = {row["requirement"]["id"]: [cell["standing"] for cell in row["cells"]] for row in shown["rows"]}
    assert (rows["BACKOFF-2"], rows["LOAD-11"]) == (["PASS"], ["REPORTED"])
    assert files(stress_dir) == before


def test_a_run_of_an_unknown_suite_is_refused(tmp_path: Path) -> None:
    RunDir.create(tmp_path / "run", msgspec.structs.replace(INFO, suite="observation"))
    refused = crashloop("report", tmp_path / "run")
    assert isinstance(refused.exception, UsageError)
    assert str(refused.exception) == (
        f"run directory {tmp_path / 'run'}: suite 'observation' is unknown; expected one of conformance, stress."
    )
