"""`crashloop predict` prints tables for people and JSON for programs."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from crashloop.cli import app
from crashloop.cli.command import out
from crashloop.errors import UsageError
from crashloop.predict.costs import MEASURED
from crashloop.predict.text import figure

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """The console takes its width when it is made, which may have been before this test."""
    monkeypatch.setattr(out, "_width", 220)


def said(*arguments: str) -> str:
    result = RUNNER.invoke(app, ["predict", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_the_table_names_the_knee_and_where_the_costs_are_from() -> None:
    text = said("--nodes", "10", "--pods", "40")
    assert "40, default" in text
    assert "Knee: " in text
    assert MEASURED.source in text


def test_a_sentence_comes_first() -> None:
    text = said("--max", "10s", "--from", "300s", "--nodes", "500", "--crashing-pods", "60")
    assert text.startswith("Lowering 300 s to 10 s on 500 nodes with 60 crashing pods: ")
    assert "A prediction for 60 nodes of 2 cores with 1 crashing pod each, 500 nodes in all" in text


def test_a_share_of_the_pods_crashes_beside_the_worst_case() -> None:
    text = said("--max", "10s", "--nodes", "500", "--pods", "30", "--crashing", "10%")
    assert text.startswith("Lowering 300 s to 10 s on 500 nodes with 1,500 crashing pods")
    assert "\n30, every pod " in text


def test_the_curve_before_has_its_own_row() -> None:
    assert "5, 60 s " in said("--max", "10s", "--from", "60s", "--pods", "5")


def test_the_keps_numbers_stand_beside_what_they_come_to() -> None:
    text = said("--kep")
    columns = re.search(r"170,500 +164,450 +≤([\d,]+) ", text)
    assert columns is not None
    assert float(columns[1].replace(",", "")) < 30_000
    assert "Z7" in text
    assert "at measured costs: the result for a node of 2 cores" in text
    assert MEASURED.source in text


def test_beyond_the_knee_numbers_are_marked_as_what_the_measured_cpu_allows() -> None:
    below, beyond = said("--pods", "5"), said("--pods", "110")
    assert "≤" not in below
    assert "~" not in below
    assert MEASURED.sustained_per_s is not None
    assert f"≤{figure(MEASURED.sustained_per_s)}" in beyond
    assert "Beyond the knee these are no predictions: costs of a restart grow" in beyond
    assert "rates and cores are what the measured CPU allows (≤), and lateness is rough (~)" in beyond


def test_costs_measured_at_the_limit_are_said_to_lack_the_overhead(tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    path.write_bytes(
        msgspec.json.encode(msgspec.structs.replace(MEASURED, overhead_s=10.6, sustained_per_s=8.8, saturated=True))
    )
    text = said("--costs", str(path))
    assert "These costs were measured while the CPU was the limit" in text
    assert "Knee: from 17 pods per node on" in text


def test_json_holds_everything() -> None:
    found = json.loads(said("--json", "--pods", "5", "--profile", "max-2s"))
    assert found["format"] == "crashloop.prediction/1"
    assert [each["load"]["pods"] for each in found["predictions"]] == [1, 5]
    assert found["predictions"][0]["load"]["curve"] == {"initial_s": 2.0, "maximum_s": 2.0}


def test_costs_of_a_stress_run_are_used(tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    path.write_bytes(
        msgspec.json.encode(msgspec.structs.replace(MEASURED, source="my own run", api_requests=9.0, intervals={}))
    )
    assert "Costs of one restart: 9 API requests" in said("--costs", str(path))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--profile", "max-500ms"], 'kubelet profile "max-500ms": kubelet v1.37.1 refuses to start with it'),
        (["--max", "500ms"], 'kubelet profile "--max 500ms": a kubelet v1.37.1 refuses to start with it'),
        (["--from", "1h"], 'kubelet profile "--from 1h": a kubelet v1.37.1 refuses to start with it'),
        (["--max", "10s", "--profile", "max-1s"], "--profile and --max: both name the curve; expected one of them."),
        (["--costs", "/nowhere/costs.json"], "costs /nowhere/costs.json: cannot be read (No such file or directory)."),
    ],
)
def test_wrong_usage_is_reported(arguments: list[str], message: str) -> None:
    result = RUNNER.invoke(app, ["predict", *arguments])
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).startswith(message)
