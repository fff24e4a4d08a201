"""Processes are told apart by the marks of their cluster; a component's CPU never falls, whatever ends or starts anew."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psutil
import pytest

from crashloop.cluster.processes import NODE_MARK, STATE_MARK
from crashloop.cluster.provider import Capability, ClusterInfo, Node
from crashloop.measure import processes
from crashloop.measure.processes import ProcessAccount
from crashloop.slo.scrapes import HELD
from crashloop.waiting import wait_until
from suites.selftest.kit.recording_site import cluster_info

# The kernel counts in steps of 10 ms, user and system time each.
BURN = "import sys,time\nwhile time.process_time() < float(sys.argv[1]): pass\nprint('burnt', flush=True)\nsys.stdin.read()"


def info(state: Path, *capabilities: Capability) -> ClusterInfo:
    return cluster_info(
        Node(name="node-1", profile="stock"), kubeconfig=str(state / "kubeconfig"), capabilities=frozenset(capabilities)
    )


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    """Makes this Python runnable under another name."""

    def named(name: str) -> Path:
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            path.symlink_to(sys.executable)
        return path

    return named


@contextmanager
def burning(program: Path, state: Path, node: str, *, cpu_s: float = 0.2) -> Iterator[int]:
    """The id of a process that has burnt CPU and waits, marked as part of a cluster."""
    marks = {STATE_MARK: str(state), NODE_MARK: node}
    child = subprocess.Popen(
        [str(program), "-c", BURN, str(cpu_s)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **marks},
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"burnt\n"
        yield child.pid
        child.kill()


Values = dict[tuple[str, str], float]


def values(account: ProcessAccount, name: str) -> Values:
    """By component and node."""
    return {
        (series.labels["component"], series.labels["node"]): value
        for _, series, value in account.read()
        if series.name == name
    }


def account_of(state: Path) -> ProcessAccount:
    return ProcessAccount(info(state, Capability.NODES_ON_HOST))


def test_components_are_reported_by_program_and_mark(tmp_path: Path, program: Callable[[str], Path]) -> None:
    account = account_of(tmp_path)
    with (
        burning(program("kubelet"), tmp_path, "node-1"),
        burning(program("containerd"), tmp_path, "node-1"),
        burning(program("containerd-shim-runc-v2"), tmp_path, "node-1"),
        burning(program("etcd"), tmp_path, "control-plane"),
        burning(program("kubelet"), tmp_path / "other", "node-1"),
        burning(program("stranger"), tmp_path, "node-1"),
    ):
        counts = values(account, "component_processes")
        spent = values(account, "component_cpu_seconds_total")
        resident = values(account, "component_resident_memory_bytes")
    assert counts[("kubelet", "node-1")] == 1
    assert counts[("runtime", "node-1")] == 2
    assert counts[("etcd", "")] == 1
    assert spent[("runtime", "node-1")] >= 0.3
    assert resident[("kubelet", "node-1")] > 1_000_000


def test_what_a_process_took_stays_when_it_ends(tmp_path: Path, program: Callable[[str], Path]) -> None:
    account = account_of(tmp_path)
    key = ("runtime", "node-1")
    with burning(program("containerd-shim-runc-v2"), tmp_path, "node-1"):
        before = values(account, "component_cpu_seconds_total")[key]
    assert values(account, "component_processes")[key] == 0
    assert values(account, "component_cpu_seconds_total")[key] == before >= 0.15
    with burning(program("containerd-shim-runc-v2"), tmp_path, "node-1"):
        assert values(account, "component_cpu_seconds_total")[key] >= before + 0.15


READS = "import sys\nopen(sys.argv[1],'rb').read()\nprint('read', flush=True)\nsys.stdin.read()"


def test_what_a_process_and_its_reaped_children_read_is_counted_and_stays_when_it_ends(
    tmp_path: Path, program: Callable[[str], Path]
) -> None:
    data = tmp_path / "data"
    data.write_bytes(bytes(4_000_000))
    account, key = account_of(tmp_path), ("runtime", "node-1")
    child = f"import subprocess,sys; subprocess.run([sys.executable,'-c',{READS!r},{str(data)!r}],input=b'')\n"
    shim = subprocess.Popen(
        [str(program("containerd-shim-runc-v2")), "-c", child + READS, str(data)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, STATE_MARK: str(tmp_path), NODE_MARK: "node-1"},
    )
    with shim:
        assert shim.stdout is not None
        assert [shim.stdout.readline() for _ in range(2)] == [b"read\n", b"read\n"]
        there = values(account, "component_read_bytes_total")[key]
        shim.kill()
    assert there >= 8_000_000
    assert values(account, "component_read_bytes_total")[key] == there


def test_a_kernel_that_does_not_say_what_is_read_still_says_the_rest(
    tmp_path: Path, program: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "COUNTS_READS", False)
    monkeypatch.delattr(psutil.Process, "io_counters", raising=False)
    account = account_of(tmp_path)
    with burning(program("containerd-shim-runc-v2"), tmp_path, "node-1"):
        assert values(account, "component_cpu_seconds_total")[("runtime", "node-1")] >= 0.15
        assert values(account, "component_read_bytes_total") == {}
    assert "host_cpu_seconds_total" in {series.name for _, series, _ in account.read()}


def test_a_kubelet_that_is_started_anew_is_counted(tmp_path: Path, program: Callable[[str], Path]) -> None:
    account = account_of(tmp_path)
    key = ("kubelet", "node-1")
    with burning(program("kubelet"), tmp_path, "node-1"):
        assert values(account, "component_restarts_total")[key] == 0
    with burning(program("kubelet"), tmp_path, "node-1"):
        assert values(account, "component_restarts_total")[key] == 1
        assert values(account, "component_restarts_total")[key] == 1


def test_a_script_that_becomes_a_kubelet_is_one(
    tmp_path: Path, program: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "MAY_BECOME_S", 600.0)
    becomes = "import os,sys\nprint('wrapped', flush=True)\nsys.stdin.readline()\nos.execv(sys.argv[1], sys.argv[1:])"
    arguments = [str(program("kubelet")), "-c", BURN, "0.2"]
    child = subprocess.Popen(
        [str(program("wrapper")), "-c", becomes, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, STATE_MARK: str(tmp_path), NODE_MARK: "node-1"},
    )
    account = account_of(tmp_path)
    with child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline() == b"wrapped\n"
        assert ("kubelet", "node-1") not in values(account, "component_cpu_seconds_total")
        child.stdin.write(b"go\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"burnt\n"
        assert values(account, "component_cpu_seconds_total")["kubelet", "node-1"] >= 0.15
        child.kill()


def test_more_shims_are_no_restart(tmp_path: Path, program: Callable[[str], Path]) -> None:
    account = account_of(tmp_path)
    with burning(program("containerd"), tmp_path, "node-1"):
        values(account, "component_processes")
        with burning(program("containerd-shim-runc-v2"), tmp_path, "node-1"):
            assert values(account, "component_restarts_total")[("runtime", "node-1")] == 0


def test_the_harness_is_this_process_and_its_children_without_the_cluster(
    tmp_path: Path, program: Callable[[str], Path]
) -> None:
    account = account_of(tmp_path)
    with burning(program("kubelet"), tmp_path, "node-1"):
        alone = values(account, "component_processes")[("harness", "")]
        with burning(program("locust"), tmp_path / "other", "x", cpu_s=0.3):
            assert values(account, "component_processes")[("harness", "")] == alone + 1
            spent = values(account, "component_cpu_seconds_total")
    assert spent[("harness", "")] >= 0.25
    assert ("kubelet", "node-1") in spent


ORPHAN = (
    "import subprocess,sys\n"
    "waits=[sys.executable,'-c','import sys; sys.stdin.read()']\n"
    "print(subprocess.Popen(waits, stdout=subprocess.DEVNULL).pid, flush=True)"
)
"""Starts a process that waits for the end of its input, and ends itself."""


def test_a_process_that_nobody_of_the_harness_started_belongs_to_it_once_it_is_named(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", ORPHAN], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        wait_until("the parent to end", lambda: parent.poll() is not None, timeout_s=60)
        account = account_of(tmp_path)
        without = values(account, "component_processes")[("harness", "")]
        account.add_harness(pid)
        assert values(account, "component_processes")[("harness", "")] == without + 1


def test_without_nodes_on_this_host_only_the_harness_is_looked_at(
    tmp_path: Path, program: Callable[[str], Path]
) -> None:
    account = ProcessAccount(info(tmp_path))
    with burning(program("kubelet"), tmp_path, "node-1"):
        assert set(values(account, "component_processes")) == {("harness", "")}


def test_what_a_cluster_holds_is_read_only_where_it_is_wanted(tmp_path: Path, program: Callable[[str], Path]) -> None:
    cluster = info(tmp_path, Capability.NODES_ON_HOST)
    nodes = (Node(name="node-1", profile="stock", pod_logs=str(tmp_path / "logs")),)
    cluster = msgspec.structs.replace(cluster, nodes=nodes)
    with burning(program("kubelet"), tmp_path, "node-1"):
        plain, full = (
            {series.name for _, series, _ in ProcessAccount(cluster, counts_held=counts).read()}
            for counts in (False, True)
        )
    assert full - plain == HELD


def test_the_host_is_reported_by_mode(tmp_path: Path) -> None:
    told = {
        (series.name, series.labels.get("mode")): value
        for _, series, value in ProcessAccount(info(tmp_path, Capability.NODES_ON_HOST)).read()
        if series.name.startswith("host_cpu_seconds")
    }
    assert told[("host_cpu_seconds_total", "idle")] > 0
    assert told[("host_cpu_seconds_total", "busy")] > 0


def test_the_host_is_that_part_of_it_which_the_run_may_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> dict[str, float]:
        samples = ProcessAccount(info(tmp_path, Capability.NODES_ON_HOST)).read()
        return {series.labels.get("mode", series.name): value for _, series, value in samples if "host" in series.name}

    alone = min(os.sched_getaffinity(0))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {alone})
    before, part, after = psutil.cpu_times(percpu=True)[alone].idle, read(), psutil.cpu_times(percpu=True)[alone]
    assert part["host_cpu_cores"] == 1
    assert before <= part["idle"] <= after.idle + after.iowait


def test_cpus_that_the_kernel_numbers_otherwise_are_all_that_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below lxcfs two CPUs with the numbers 40 and 41 are shown as 0 and 1."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 4000})
    samples = ProcessAccount(info(tmp_path, Capability.NODES_ON_HOST)).read()
    (cores,) = [value for _, series, value in samples if series.name == "host_cpu_cores"]
    assert cores == psutil.cpu_count()


def test_a_cluster_with_more_cpus_than_the_harness_has_those_of_its_components(
    program: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = os.sched_getaffinity(0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {min(every)})
    cluster = info(tmp_path, Capability.NODES_ON_HOST)
    with burning(program("kubelet"), tmp_path, "node-1"):
        said = {series.name: value for _, series, value in ProcessAccount(cluster).read()}
    assert said["host_cpu_cores"] == len(every)
