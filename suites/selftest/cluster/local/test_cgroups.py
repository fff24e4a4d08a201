"""Cgroups of a cluster on folders that stand for the kernel's hierarchies."""

import os
import threading
from pathlib import Path

import pytest

from crashloop.cluster.local import cgroups
from crashloop.cluster.local.cgroups import CgroupHost, in_root_cgroup, make, processes, remove
from crashloop.errors import ClusterError

PATH = "crashloop/demo/stock"


def v2_host(root: Path, controllers: str = "cpuset cpu io memory pids") -> CgroupHost:
    root.mkdir()
    for folder in (root, root / "crashloop", root / "crashloop/demo", root / "crashloop/demo/stock"):
        folder.mkdir(exist_ok=True)
        (folder / "cgroup.controllers").write_text(controllers)
        (folder / "cgroup.subtree_control").write_text("")
    return CgroupHost(version=2, mounts=(str(root),))


def v1_host(root: Path) -> CgroupHost:
    """A kernel makes the files of a cgroup, here they are there before it."""
    cpuset, memory = root / "cpuset", root / "memory"
    memory.mkdir()
    for folder in (cpuset, cpuset / "crashloop", cpuset / "crashloop/demo", cpuset / PATH):
        folder.mkdir()
        for name, value in (("cpuset.cpus", "0-1\n"), ("cpuset.mems", "0\n")):
            (folder / name).write_text(value if folder == cpuset else "\n")
    return CgroupHost(version=1, mounts=(str(cpuset), str(memory)))


def test_v1_makes_the_cgroup_in_every_hierarchy_and_fills_cpuset_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 0})
    make(v1_host(tmp_path), PATH)
    assert (tmp_path / "memory" / PATH).is_dir()
    assert (tmp_path / "cpuset" / PATH / "cpuset.cpus").read_text() == "0,1"
    assert (tmp_path / "cpuset" / PATH / "cpuset.mems").read_text() == "0\n"
    assert list((tmp_path / "memory" / PATH).iterdir()) == []


def test_a_cluster_keeps_to_the_cpus_of_the_process_that_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1})
    make(v1_host(tmp_path), PATH)
    assert (tmp_path / "cpuset/crashloop/cpuset.cpus").read_text() == "0-1\n"
    assert (tmp_path / "cpuset/crashloop/demo/cpuset.cpus").read_text() == "1"
    assert (tmp_path / "cpuset" / PATH / "cpuset.cpus").read_text() == "1"


def test_v2_hands_the_controllers_down_to_each_level(tmp_path: Path) -> None:
    host = v2_host(tmp_path / "cgroup")
    make(host, PATH)
    for folder in ("", "crashloop", "crashloop/demo", PATH):
        assert (tmp_path / "cgroup" / folder / "cgroup.subtree_control").read_text() == "+pids"


def test_v2_without_a_controller_that_a_kubelet_needs_is_an_error(tmp_path: Path) -> None:
    host = v2_host(tmp_path / "cgroup", "cpu memory")
    with pytest.raises(ClusterError, match="controllers cpuset, pids are not available"):
        make(host, PATH)


def test_controllers_that_systemd_takes_back_meanwhile_are_handed_down_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "MADE_WITHIN_S", 60.0)
    host = v2_host(tmp_path / "cgroup")
    top = tmp_path / "cgroup/crashloop/cgroup.controllers"
    whole = top.read_text()
    top.write_text("memory pids")
    late = threading.Timer(0.2, top.write_text, [whole])
    late.start()
    make(host, PATH)
    late.join()
    assert (tmp_path / "cgroup" / PATH / "cgroup.subtree_control").read_text() == "+pids"


def test_a_parent_that_another_cluster_removes_meanwhile_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "MADE_WITHIN_S", 60.0)
    late = threading.Timer(0.2, (tmp_path / "memory").mkdir)
    late.start()
    make(CgroupHost(version=1, mounts=(str(tmp_path / "memory"),)), PATH)
    assert (tmp_path / "memory" / PATH).is_dir()
    late.join()


def test_a_hierarchy_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "MADE_WITHIN_S", 0.0)
    with pytest.raises(ClusterError, match=rf"cgroup {PATH} to be made\.\nLast seen: .*{tmp_path}/memory/crashloop"):
        make(CgroupHost(version=1, mounts=(str(tmp_path / "memory"),)), PATH)


def test_processes_are_found_at_all_levels_and_in_all_hierarchies(tmp_path: Path) -> None:
    for number, folder in enumerate(
        ("one/crashloop/demo", "one/crashloop/demo/pod/container", "two/crashloop/demo/pod")
    ):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "cgroup.procs").write_text(f"{100 + number}\n0\n")
    host = CgroupHost(version=1, mounts=(str(tmp_path / "one"), str(tmp_path / "two"), str(tmp_path / "three")))
    assert processes(host, "crashloop/demo") == {100, 101, 102}


def test_a_cgroup_goes_with_all_that_is_below_it(tmp_path: Path) -> None:
    (tmp_path / PATH / "kubepods" / "pod").mkdir(parents=True)
    host = CgroupHost(version=2, mounts=(str(tmp_path),))
    remove(host, PATH)
    remove(host, PATH)
    assert sorted(path.name for path in (tmp_path / "crashloop/demo").iterdir()) == []


@pytest.mark.parametrize(
    ("version", "own", "expected"),
    [
        (2, "0::/\n", True),
        (2, "0::/user.slice/user-0.slice/session-1.scope\n", False),
        (1, "4:cpu,cpuacct:/\n3:memory:/docker/a\n0::/\n", True),
        (1, "4:cpu,cpuacct:/system.slice/agent.service\n3:cpuset:/\n0::/\n", False),
        (1, "3:cpuset:/a:b\n", True),
    ],
)
def test_a_process_shares_the_cpu_in_the_cgroup_of_the_cpu_controller(version: int, own: str, expected: bool) -> None:
    assert in_root_cgroup(own, version=version) is expected


@pytest.mark.parametrize(("file", "default", "due"), [("cpu.shares", 1024, 2048), ("cpu.weight", 100, 200)])
def test_the_cgroup_at_the_top_weighs_as_much_as_the_process_that_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, default: int, due: int
) -> None:
    host = v2_host(tmp_path / "cgroup") if file == "cpu.weight" else CgroupHost(version=1, mounts=(str(tmp_path),))
    root = Path(host.mounts[0])
    for folder in ("crashloop", "crashloop/demo", PATH):
        (root / folder).mkdir(exist_ok=True)
        (root / folder / file).write_text(f"{default}\n")
    make(host, PATH)
    assert (root / "crashloop" / file).read_text() == f"{default}\n"
    monkeypatch.setattr(cgroups, "weight", lambda: 2.0)
    monkeypatch.setattr(cgroups, "in_root_cgroup", lambda *_, **_options: False)
    make(host, PATH)
    assert (root / "crashloop" / file).read_text() == f"{default}\n"
    monkeypatch.setattr(cgroups, "in_root_cgroup", lambda *_, **_options: True)
    make(host, PATH)
    assert (root / "crashloop" / file).read_text() == str(due)
    assert (root / "crashloop/demo" / file).read_text() == f"{default}\n"
    monkeypatch.setattr(cgroups, "weight", lambda: 1.0)
    make(host, PATH)
    assert (root / "crashloop" / file).read_text() == str(due)
