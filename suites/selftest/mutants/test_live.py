"""A kubelet that crashed is recognized by its log, wherever that is now."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from crashloop.cluster.provider import ClusterInfo, Node
from crashloop.rundir import RunDir, RunInfo
from mutants.live import last_words

CRASHED = """\
E1122 panic.go:336] "Observed a panic" panic="nil pointer dereference"
panic: runtime error: nil pointer dereference [recovered, repanicked]
goroutine 1 [running]:
"""


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    run = RunDir.create(
        tmp_path / "run", RunInfo(suite="mutants", started=datetime(2026, 1, 1, tzinfo=UTC), crashloop_version="1")
    )
    node = Node(name="m1", profile="p", runtime_socket="", kubelet_log=str(tmp_path / "live.log"))
    run.write(
        run.cluster_json,
        ClusterInfo(
            name="c",
            provider="local",
            kubernetes_version="1.37.1",
            kubeconfig="",
            nodes=(node,),
            capabilities=frozenset(),
            image="",
        ),
    )
    return run


def test_the_log_of_a_node_that_is_up_tells(run: RunDir, tmp_path: Path) -> None:
    (tmp_path / "live.log").write_text(CRASHED)
    assert last_words(run, "m1") == "panic: runtime error: nil pointer dereference [recovered, repanicked]"


def test_the_log_that_a_node_has_left_tells(run: RunDir) -> None:
    (run.logs_dir / "m1").mkdir(parents=True)
    (run.logs_dir / "m1" / "kubelet.log").write_text(CRASHED)
    assert last_words(run, "m1") == "panic: runtime error: nil pointer dereference [recovered, repanicked]"


def test_a_panic_that_the_kubelet_survived_is_no_crash(run: RunDir, tmp_path: Path) -> None:
    (tmp_path / "live.log").write_text(CRASHED.splitlines()[0])
    assert last_words(run, "m1") is None


def test_without_a_log_there_are_no_last_words(run: RunDir) -> None:
    assert last_words(run, "m1") is None
