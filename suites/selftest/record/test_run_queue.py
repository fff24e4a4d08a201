"""The run-queue channel: the waits of a node's kubelet and runtime, added up thread by thread and bounded by the time."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from crashloop.cluster import components
from crashloop.cluster.components import GO_THREADS, ProcessRole
from crashloop.cluster.processes import NODE_MARK, ROLE_MARK, STATE_MARK
from crashloop.cluster.provider import Capability, ClusterInfo, Node
from crashloop.history.event import Kind
from crashloop.record.channels.host import (
    NodeProcesses,
    RunQueueChannel,
    are_counted,
    grown_ns,
    read_waits,
    waited_ns,
)
from crashloop.waiting import wait_until
from suites.selftest.kit.node_sink import NodeSink
from suites.selftest.kit.recording_site import cluster_info

MS = 1_000_000
S = 1_000 * MS


@pytest.mark.parametrize(
    ("before", "after", "grown"),
    [
        ({1: 10 * MS}, {1: 40 * MS}, [30 * MS]),
        ({1: 10 * MS, 2: 0}, {1: 40 * MS, 2: 5 * MS}, [30 * MS, 5 * MS]),
        ({1: 10 * MS}, {1: 10 * MS, 2: 7 * MS}, [0, 7 * MS]),
        ({1: 900 * MS}, {1: 4 * MS}, [4 * MS]),
        ({1: 9 * MS}, {}, []),
    ],
    ids=["one", "two", "a-new-thread", "an-id-used-again", "all-gone"],
)
def test_a_thread_waited_by_what_its_figure_has_grown(
    before: dict[int, int], after: dict[int, int], grown: list[int]
) -> None:
    assert grown_ns(before, after) == grown


@pytest.mark.parametrize(
    ("mains", "shims", "waited"),
    [
        ([[30 * MS, 5 * MS], [10 * MS]], [], 45 * MS),
        ([[30 * MS]], [[5 * MS, 5 * MS], [7 * MS], []], 40 * MS),
        ([[600 * MS], [600 * MS]], [], S),
        ([[3 * S, 600 * MS]], [], 3 * S),
        ([[]], [], 0),
    ],
    ids=["processes-add-up", "one-shim-at-most", "no-more-than-there-was-time", "one-long-wait", "nothing"],
)
def test_a_restart_waits_for_kubelet_runtime_and_one_shim(
    mains: list[list[int]], shims: list[list[int]], waited: int
) -> None:
    assert waited_ns(mains, shims, S) == waited


def test_the_kernel_says_how_long_each_thread_has_waited() -> None:
    assert are_counted()
    waits = read_waits(os.getpid())
    assert {thread.native_id for thread in threading.enumerate()} <= waits.keys()
    assert all(ns >= 0 for ns in waits.values())


@pytest.fixture
def cluster(tmp_path: Path) -> ClusterInfo:
    return cluster_info(
        Node(name="node-1", profile="stock"),
        Node(name="node-2", profile="stock"),
        name="made-up",
        kubeconfig=str(tmp_path / "kubeconfig"),
        capabilities=frozenset({Capability.NODES_ON_HOST}),
    )


def started(tmp_path: Path, name: str, node: str, role: str = "", threads: int = 1) -> "subprocess.Popen[bytes]":
    """A process of that name that waits, marked as part of the cluster."""
    program = tmp_path / name
    program.unlink(missing_ok=True)
    program.symlink_to(sys.executable)
    marks = {STATE_MARK: str(tmp_path), NODE_MARK: node, ROLE_MARK: role}
    waits = "import sys, threading; wait = threading.Event().wait\n" + "".join(
        "threading.Thread(target=wait, daemon=True).start()\n" for _ in range(1, threads)
    )
    child = subprocess.Popen(
        [str(program), "-c", f"{waits}print('up', flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **marks},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"up\n"
    return child


KUBELET = ProcessRole("kubelet", "node-1", is_main=True)
RUNTIME = ProcessRole("runtime", "node-1", is_main=True)
SHIM = ProcessRole("runtime", "node-1", is_main=False)


def test_processes_are_those_of_kubelet_and_runtime_of_nodes_whose_kubelet_runs(
    tmp_path: Path, cluster: ClusterInfo
) -> None:
    processes = NodeProcesses(cluster)
    with started(tmp_path, "kubelet", "node-1") as kubelet, started(tmp_path, "containerd", "node-1") as runtime:
        with started(tmp_path, "containerd-shim-runc-v2", "node-1") as shim:
            assert processes.look() == {"node-1": {kubelet.pid: KUBELET, runtime.pid: RUNTIME, shim.pid: SHIM}}
            shim.kill()
        with started(tmp_path, "containerd", "node-2") as other, started(tmp_path, "etcd", "node-1") as etcd:
            assert processes.look() == {"node-1": {kubelet.pid: KUBELET, runtime.pid: RUNTIME}}
            for child in (other, etcd):
                child.kill()
        runtime.kill()
        runtime.wait()
        assert processes.look() == {"node-1": {kubelet.pid: KUBELET}}
        kubelet.kill()
        kubelet.wait()
        assert processes.look() == {}


def test_a_kubelet_under_test_is_known_by_its_role_whatever_its_name_and_what_it_runs_is_not_it(
    tmp_path: Path, cluster: ClusterInfo
) -> None:
    role = KUBELET.component
    with started(tmp_path, "hyperkube", "node-1", role, GO_THREADS) as kubelet:
        with started(tmp_path, "mount", "node-1", role) as helper, started(tmp_path, "proxy", "node-1", "", 5) as other:
            processes = NodeProcesses(cluster)
            assert processes.look() == processes.look() == {"node-1": {kubelet.pid: KUBELET}}
            for child in (helper, other):
                child.kill()
        kubelet.kill()


def test_processes_in_a_container_are_those_of_the_node_that_it_is(
    tmp_path: Path, cluster: ClusterInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_kind = msgspec.structs.replace(
        cluster,
        provider="kind",
        kubeconfig="/elsewhere/kubeconfig",
        nodes=(Node(name="max-2s", host_name="crashloop-made-up-worker2", profile="max-2s"),),
    )
    names: dict[int, str] = {}
    monkeypatch.setattr(components, "host_name", lambda pid: names.get(pid, "this-host"))
    with started(tmp_path, "kubelet", "") as mine, started(tmp_path, "kubelet", "") as foreign:
        names |= {mine.pid: "crashloop-made-up-worker2", foreign.pid: "crashloop-other-worker2"}
        assert NodeProcesses(of_kind).look() == {"max-2s": {mine.pid: KUBELET._replace(node="max-2s")}}
        for child in (mine, foreign):
            child.kill()


def test_each_node_has_the_waits_of_its_own(tmp_path: Path, cluster: ClusterInfo) -> None:
    sink, kubelet = NodeSink(), started(tmp_path, "kubelet", "node-1")
    channel = RunQueueChannel(sink)
    channel.add_nodes(cluster)
    channel.start()
    with kubelet:
        wait_until("waits", lambda: bool(sink.events), timeout_s=60, every_s=0.05)
        channel.stop()
        kubelet.kill()
    node, event = sink.events[0]
    assert (node, event.node, event.kind) == ("node-1", "node-1", Kind.CPU_WAIT)
    assert event.data["interval_ns"] > 0
    assert event.data["waited_us"] == event.data["kubelet_us"] >= 0


def test_nodes_that_come_later_join_those_that_are_there(tmp_path: Path, cluster: ClusterInfo) -> None:
    sink = NodeSink()
    channel = RunQueueChannel(sink)
    with started(tmp_path, "kubelet", "node-1") as first, started(tmp_path, "kubelet", "node-2") as second:
        for node in cluster.nodes:
            channel.add_nodes(msgspec.structs.replace(cluster, nodes=(node,)))
        channel.start()
        wait_until("waits of both", lambda: {node for node, _ in sink.events} == {"node-1", "node-2"}, timeout_s=60)
        channel.stop()
        for child in (first, second):
            child.kill()
