"""Cgroups of a cluster on folders that stand for the kernel's hierarchies."""

import os
import shutil
import threading
from pathlib import Path

import pytest

from crashloop.cluster.local import cgroups
from crashloop.cluster.local.cgroups import (
    DAEMONS,
    CgroupHost,
    Limits,
    container_limits,
    in_root_cgroup,
    leave,
    make,
    own_path,
    processes,
    remove,
)
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
    with pytest.raises(ClusterError, match="controllers pids are not available"):
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
    ("own", "on_v1", "on_v2"),
    [
        ("0::/\n", True, "/"),
        ("0::/user.slice/user-0.slice/session-1.scope\n", True, "/user.slice/user-0.slice/session-1.scope"),
        ("4:cpu,cpuacct:/\n3:memory:/docker/a\n0::/\n", True, "/"),
        ("4:cpu,cpuacct:/system.slice/agent.service\n3:cpuset:/\n0::/\n", False, "/"),
        ("3:cpuset:/a:b\n", True, "/"),
    ],
)
def test_a_process_shares_the_cpu_in_the_cgroup_of_the_cpu_controller(own: str, on_v1: bool, on_v2: str) -> None:
    assert in_root_cgroup(own) is on_v1
    assert own_path(own) == on_v2


def own_cgroup(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """What /proc says of this process."""
    read = Path.read_text

    def read_text(path: Path, encoding: str | None = None, errors: str | None = None) -> str:
        return text if path == Path("/proc/self/cgroup") else read(path, encoding, errors)

    monkeypatch.setattr(Path, "read_text", read_text)


@pytest.mark.parametrize(
    ("version", "own", "due"),
    [
        (1, "4:cpu:/\n", 2048),
        (1, "4:cpu:/system.slice/agent.service\n", 1024),
        (2, "0::/\n", 200),
        (2, "0::/user.slice\n", 200),
    ],
)
def test_the_cgroup_at_the_top_weighs_as_much_as_the_process_that_makes_it_where_its_daemons_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, own: str, due: int
) -> None:
    host = v2_host(tmp_path / "cgroup") if version == 2 else CgroupHost(version=1, mounts=(str(tmp_path),))
    root, (file, default) = Path(host.mounts[0]), (("cpu.shares", 1024), ("cpu.weight", 100))[version - 1]
    own_cgroup(monkeypatch, own)
    for folder in ("crashloop", "crashloop/demo", PATH):
        (root / folder).mkdir(exist_ok=True)
        (root / folder / file).write_text(f"{default}\n")
    for weight, expected in ((1.0, default), (2.0, due), (1.0, due)):
        monkeypatch.setattr(cgroups, "weight", lambda weight=weight: weight)
        make(host, PATH)
        assert int((root / "crashloop" / file).read_text()) == expected
        assert int((root / "crashloop/demo" / file).read_text()) == default


def test_who_makes_a_cluster_from_a_slice_is_beside_it_until_the_last_one_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "LEFT_WITHIN_S", 0.0)  # only the kernel removes a cgroup with its files
    host = v2_host(tmp_path / "cgroup")
    root, me = tmp_path / "cgroup", str(os.getpid())
    own_cgroup(monkeypatch, "0::/user.slice\n")
    (root / "user.slice").mkdir()
    make(host, PATH)
    assert (root / DAEMONS / "cgroup.procs").read_text() == me
    leave(host)
    assert not (root / "user.slice/cgroup.procs").exists()
    for folder in (PATH, "crashloop/demo"):
        shutil.rmtree(root / folder)
    leave(host)
    assert (root / "user.slice/cgroup.procs").read_text() == me


def test_a_containers_root_is_emptied_before_it_hands_controllers_down_and_filled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "LEFT_WITHIN_S", 0.0)
    host = v2_host(tmp_path / "cgroup")
    root = tmp_path / "cgroup"
    own_cgroup(monkeypatch, "0::/\n")
    (root / "cgroup.type").write_text("domain\n")
    (root / "cgroup.procs").write_text("0\n77\n")
    make(host, PATH)
    assert (root / DAEMONS / "cgroup.procs").read_text() == "77"
    shutil.rmtree(root / "crashloop/demo")
    (root / "cgroup.procs").write_text("")
    leave(host)
    assert (root / "cgroup.procs").read_text() == "77"
    assert (root / "cgroup.subtree_control").read_text() == "-+pids"


def test_a_container_has_the_memory_and_the_cpus_that_its_limits_leave(tmp_path: Path) -> None:
    host = CgroupHost(version=2, mounts=(str(tmp_path),))
    for name, text in (("memory.max", "1000\n"), ("memory.current", "400\n"), ("cpu.max", "150000 100000\n")):
        (tmp_path / name).write_text(text)
    assert container_limits(host) == Limits()
    (tmp_path / "cgroup.type").write_text("domain\n")
    assert container_limits(host) == Limits(memory_left=600, cpus=2)
    (tmp_path / "memory.current").write_text("2000\n")
    assert container_limits(host) == Limits(memory_left=0, cpus=2)
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert container_limits(host) == Limits()
    assert container_limits(CgroupHost(version=2, mounts=())) == Limits()


def test_a_process_in_the_kernels_root_stays_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = v2_host(tmp_path / "cgroup")
    own_cgroup(monkeypatch, "0::/\n")
    make(host, PATH)
    assert not (tmp_path / "cgroup" / DAEMONS).exists()
