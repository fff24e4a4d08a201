"""A run directory that is damaged, unjudged, read-only or none is named for what it is."""

import os
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from crashloop.cli import app
from crashloop.errors import UsageError
from crashloop.rundir import RunDir
from crashloop.stress.assignment import Operation, read_jsonl
from crashloop.stress.folder import StressDir
from crashloop.stress.judging import judge_run
from crashloop.verdict import ExitCode
from suites.selftest.kit.commands import as_nobody, refusal
from suites.selftest.kit.report_example import INFO
from suites.selftest.kit.stress_kit import example_run


def test_a_damaged_newest_run_hides_no_requirement(tmp_path: Path) -> None:
    (tmp_path / "latest").mkdir()
    (tmp_path / "latest" / "results.json").write_text("{", encoding="utf-8")
    done = CliRunner().invoke(app, ["explain", "CAP-3"], env={"CRASHLOOP_RUNS_DIR": str(tmp_path)})
    assert done.exit_code == ExitCode.OK
    assert "CAP-3: " in done.output
    assert "results.json is damaged" in " ".join(done.output.split())


def test_a_run_that_was_not_judged_is_not_called_damaged(tmp_path: Path) -> None:
    RunDir.create(tmp_path / "run", INFO)
    assert refusal("report", str(tmp_path / "run")) == (
        f"run directory {tmp_path / 'run'}: it was not judged yet.\nJudge it: crashloop report --again {tmp_path / 'run'}"
    )


def test_damaged_files_that_decide_no_verdict_are_named(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path / "run", INFO)
    assert list(run.damage()) == []
    run.environment_json.write_text("{")
    run.cluster_json.write_text("[]")
    assert list(run.damage()) == [
        f"run directory {run.root}: cluster.json is damaged (it is no object); what it says is not shown.",
        f"run directory {run.root}: environment.json is damaged (Input data was truncated); what it says is not shown.",
    ]


def test_a_read_only_run_is_judged_all_the_same(folder: Path) -> None:
    example_run(folder / "run")
    CliRunner().invoke(app, ["report", "--again", str(folder / "run")])
    before = (folder / "run" / "results.json").read_bytes()
    (folder / "run").chmod(0o555)
    try:
        with as_nobody():
            done = CliRunner().invoke(app, ["report", "--again", str(folder / "run")])
    finally:
        (folder / "run").chmod(0o755)
    assert "results and report were not written (Permission denied)." in done.output
    assert "Exit code: " in done.output
    assert (folder / "run" / "results.json").read_bytes() == before


def test_a_stress_run_that_ended_before_its_load_is_reported_as_such(tmp_path: Path) -> None:
    example_run(tmp_path / "run")
    run = StressDir.open(tmp_path / "run")
    run.order_json.unlink()
    with pytest.raises(UsageError, match=r"load/load\.json is missing; the run ended before its load began\."):
        judge_run(run)


def test_a_torn_last_line_is_left_out_and_any_other_is_named(tmp_path: Path) -> None:
    path = tmp_path / "operations-0.jsonl"
    example_run(tmp_path / "run")
    first = next(StressDir.open(tmp_path / "run").operations())
    line = msgspec.json.encode(first)
    path.write_bytes(line + b"\n" + line[:20])
    assert list(read_jsonl(path, Operation)) == [first]
    path.write_bytes(line[:20] + b"\n" + line + b"\n")
    with pytest.raises(UsageError, match=r"operations-0\.jsonl: line 1 is damaged"):
        list(read_jsonl(path, Operation))


def test_a_run_whose_files_have_no_end_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.json")
    for command in (("report", "--again"), ("report",), ("compare", "--by=version")):
        assert refusal(*command, str(tmp_path)).startswith(f"run directory {tmp_path}: run.json is no regular file.")
    example_run(tmp_path / "run")
    (tmp_path / "run" / "pod.jsonl").symlink_to("/dev/zero")
    assert refusal("report", "--again", str(tmp_path / "run")).startswith(
        f"run directory {tmp_path / 'run'}: pod.jsonl is no regular file."
    )


def test_a_folder_that_is_no_run_is_not_walked_through(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "other.json")
    assert refusal("report", str(tmp_path)).startswith(f"run directory {tmp_path}: run.json cannot be read")
