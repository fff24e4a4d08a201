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
from crashloop.spec.version import DEFAULT_VERSION
from suites.selftest.kit.kube_peer import Peer, serving

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
    assert text.startswith(
        "It fits. First to break: etcd, writes to its log, at 3.65 % of what it carries.\n"
        "Lowering 300 s to 10 s on 500 nodes with 60 crashing"
    )
    assert "A prediction for 60 nodes of 2 cores with 1 crashing pod each, 500 nodes in all" in text


def test_a_share_of_the_pods_crashes_beside_the_worst_case() -> None:
    text = said("--max", "10s", "--nodes", "500", "--pods", "30", "--crashing", "10%")
    assert text.splitlines()[1].startswith("Lowering 300 s to 10 s on 500 nodes with 1,500 crashing pods")
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
        (
            ["--profile", "max-500ms"],
            f'kubelet profile "max-500ms": kubelet v{DEFAULT_VERSION} refuses to start with it',
        ),
        (["--max", "500ms"], f'kubelet profile "--max 500ms": a kubelet v{DEFAULT_VERSION} refuses to start with it'),
        (["--from", "1h"], f'kubelet profile "--from 1h": a kubelet v{DEFAULT_VERSION} refuses to start with it'),
        (["--max", "10s", "--profile", "max-1s"], "--profile and --max: both name the curve; expected one of them."),
        (["--costs", "/nowhere/costs.json"], "costs /nowhere/costs.json: cannot be read (No such file or directory)."),
    ],
)
def test_wrong_usage_is_reported(arguments: list[str], message: str) -> None:
    result = RUNNER.invoke(app, ["predict", *arguments])
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).startswith(message)


def test_the_number_of_pods_that_was_asked_for_is_computed_with() -> None:
    text = said("--nodes", "3", "--crashing-pods", "5")
    assert "on 3 nodes with 5 crashing pods" in text
    assert "3 nodes of 2 cores with 1 or 2 crashing pods each" in text
    found = json.loads(said("--nodes", "3", "--crashing-pods", "5", "--json"))["predictions"][-1]
    one, two = (json.loads(said("--nodes", "3", "--pods", pods, "--json"))["predictions"][-1] for pods in ("1", "2"))
    assert found["restarts_per_s"] == pytest.approx(one["restarts_per_s"] / 3 + two["restarts_per_s"] * 2 / 3)
    assert found["kubelet_cores"] == two["kubelet_cores"]


def test_what_breaks_first_may_be_the_cpu_of_a_node() -> None:
    assert said("--max", "1s").startswith("It does not fit. ")
    assert "First to break: the CPU of a node (110 crashing pods), at 387 %" in said("--max", "1s").splitlines()[0]


NODES = {
    "metadata": {"resourceVersion": "7"},
    "items": [
        {"metadata": {"name": name}, "status": {"capacity": {"cpu": cpu}, "nodeInfo": {"kubeletVersion": version}}}
        for name, cpu, version in (("a", "4", "v1.37.1"), ("b", "15890m", "v1.36.2-gke.7"))
    ],
}


def in_cluster(name: str, node: str, **state: object) -> dict[str, object]:
    return {
        "metadata": {"name": name},
        "spec": {"nodeName": node},
        "status": {"containerStatuses": [{"name": "app", "state": state}]},
    }


def test_a_cluster_is_counted_by_one_list_of_its_nodes_and_one_of_its_pods(tmp_path: Path) -> None:
    crashes = {"waiting": {"reason": "CrashLoopBackOff"}}
    first = {
        "metadata": {"resourceVersion": "7", "continue": "next"},
        "items": [in_cluster("p", "a", **crashes), in_cluster("q", "a", running={})],
    }
    second = {
        "metadata": {"resourceVersion": "7"},
        "items": [in_cluster("r", "a", **crashes), {"metadata": {}, "spec": {}}],
    }
    with serving(Peer([NODES, first, second], [[]]), tmp_path) as kubeconfig:
        text = said("--max", "10s", "--from-cluster", "--kubeconfig", kubeconfig)
    assert "on 2 nodes with 2 crashing pods" in text
    assert (
        "Read from the cluster: 2 nodes of 4 to 15.89 cores (kubelets 1.36.2, 1.37.1); of 4 pods 2 wait in CrashLoopBackOff now, "
        "2 of them on one node." in text
    )
    assert "of 4 cores" in text


def test_a_cluster_where_nothing_crashes_is_asked_for_a_number(tmp_path: Path) -> None:
    with serving(Peer([NODES, {"metadata": {"resourceVersion": "7"}, "items": []}], [[]]), tmp_path) as kubeconfig:
        done = RUNNER.invoke(app, ["predict", "--from-cluster", "--kubeconfig", kubeconfig])
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith("--from-cluster: of 0 pods none waits in CrashLoopBackOff now.\nSay how many")


def test_a_kubeconfig_without_from_cluster_is_refused() -> None:
    done = RUNNER.invoke(app, ["predict", "--context", "x"])
    assert str(done.exception) == "--kubeconfig, --context: only with --from-cluster."
