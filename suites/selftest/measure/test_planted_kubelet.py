"""The kubelet that is dearer by a known share is dearer where a comparison looks, and otherwise the kubelet that it runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.planted_kubelet.__main__ import script, write_planted
from bench.planted_kubelet.burner import spent_s
from crashloop.cluster.binaries.versions import own_kubelet
from crashloop.cluster.processes import NODE_MARK, STATE_MARK
from crashloop.cluster.provider import Capability, Node
from crashloop.errors import UsageError
from crashloop.measure.processes import ProcessAccount
from crashloop.waiting import wait_until
from suites.selftest.kit.recording_site import cluster_info

SPENT_S = 0.5
BURN = (
    "import sys,time\n"
    f"while time.process_time() < {SPENT_S}: pass\n"
    "print('burnt', flush=True)\n"
    "sys.stdin.read()\n"
    "sys.exit(7)"
)
KEY = ("kubelet", "node-1")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def values(account: ProcessAccount, name: str) -> float:
    """Of the node's kubelet."""
    return next(
        (
            value
            for _, series, value in account.read()
            if series.name == name and (series.labels["component"], series.labels["node"]) == KEY
        ),
        0.0,
    )


def account_of(state: Path) -> ProcessAccount:
    return ProcessAccount(
        cluster_info(
            Node(name="node-1", profile="stock"),
            kubeconfig=str(state / "kubeconfig"),
            capabilities=frozenset({Capability.NODES_ON_HOST}),
        )
    )


def test_the_share_is_part_of_the_cpu_that_a_comparison_reads_and_ends_with_the_kubelet(tmp_path: Path) -> None:
    kubelet, planted = tmp_path / "kubelet", tmp_path / "planted"
    kubelet.symlink_to(sys.executable)
    planted.write_text(script(kubelet, percent=80), encoding="utf-8")
    planted.chmod(0o755)
    account = account_of(tmp_path)
    child = subprocess.Popen(
        [str(planted), "-c", BURN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, STATE_MARK: str(tmp_path), NODE_MARK: "node-1"},
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child:
        assert child.stdout.readline() == b"burnt\n"
        wait_until(
            "the planted share in the kubelet's CPU",
            # The kernel counts in steps of 10 ms, user and system time of both processes each.
            lambda: values(account, "component_cpu_seconds_total") >= 1.8 * SPENT_S - 0.05,
            timeout_s=120,
        )
        assert values(account, "component_processes") == 2
        child.stdin.close()
        assert child.wait() == 7
        wait_until("the end of what burns", lambda: values(account, "component_processes") == 0, timeout_s=120)


def fake_kubelet(folder: Path, answer: str) -> Path:
    path = folder / "kubelet"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "{answer}" && exit\nexit 7\n', encoding="utf-8")
    path.chmod(0o755)
    return path


def test_it_has_the_version_of_the_kubelet(tmp_path: Path) -> None:
    folder = tmp_path / "it's here"
    folder.mkdir()
    write_planted(folder / "planted", fake_kubelet(folder, "Kubernetes v1.37.1"), percent=5)
    assert str(own_kubelet(folder / "planted")) == "1.37.1"


def test_something_else_than_a_kubelet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--kubelet .*expected `Kubernetes vX.Y.Z`"):
        write_planted(tmp_path / "planted", fake_kubelet(tmp_path, "containerd 2"), percent=5)
    assert not (tmp_path / "planted").exists()


@given(
    st.text(st.characters(codec="utf-8"), max_size=15),
    st.lists(st.integers(0, 10**9), min_size=4, max_size=4),
)
def test_the_cpu_time_is_read_beside_any_name(name: str, ticks: list[int]) -> None:
    stat = f"17 ({name}) S 1 17 17 0 -1 4194304 100 0 0 0 {' '.join(map(str, ticks))} 20 0 1 0 5 0 0"
    assert spent_s(stat) == sum(ticks) / TICKS_PER_S
