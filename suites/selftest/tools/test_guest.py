"""The modern host in User-mode Linux: what it is built from, and how its run is judged. Whether it boots, only a run shows."""

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from crashloop.errors import ClusterError
from crashloop.spec.profile import node_name
from tools.guest.__main__ import run_guest
from tools.guest.build import CHECKOUT
from tools.guest.inside import main
from tools.guest.recipe import (
    FRAGMENT,
    PLACES,
    ROOT_FILES,
    STEPS,
    Ended,
    apt_sources,
    emulated_command,
    image_name,
    kernel_command,
    loaded_meanwhile,
    mirror_of,
    verdict,
    without_spinning,
)

PASSED = [Ended(step.name, 0, 1.0) for step in STEPS]


def test_a_run_in_which_every_step_passes_and_nothing_differs_has_no_faults() -> None:
    assert verdict(STEPS, PASSED, ["link lo"], ["link lo"]) == []


def test_a_step_that_fails_never_ran_or_did_not_end_is_a_fault() -> None:
    ended = [*PASSED[2:-1], Ended("doctor", 70, 1.0), Ended("up", 124, 300.0)]
    assert verdict(STEPS, ended, [], []) == [
        "doctor: exit code 70",
        "up: did not end within 300 s",
        "down: never ran",
    ]


def test_what_a_busy_host_leaves_open_is_no_fault_of_a_step_with_durations() -> None:
    open_ended = [end._replace(exit_code=3) for end in PASSED]
    assert verdict(STEPS, open_ended, [], []) == [
        f"{name}: exit code 3" for name in ("doctor", "up", "provider", "clock", "down")
    ]


def test_what_comes_and_what_goes_is_a_fault() -> None:
    before = ["cgroup /sys/fs/cgroup hands down memory pids", "link lo"]
    after = ["cgroup /sys/fs/cgroup hands down cpuset memory pids", "link lo", "mount /a rw ext4"]
    assert verdict(STEPS, PASSED, before, after) == [
        "gone: cgroup /sys/fs/cgroup hands down memory pids",
        "left: cgroup /sys/fs/cgroup hands down cpuset memory pids",
        "left: mount /a rw ext4",
    ]


def test_the_archive_is_one_of_debian_and_not_its_security_updates() -> None:
    assert (
        mirror_of("Debian http://a/debian-security/\nOther http://b/\nDebian http://c/debian/\n") == "http://c/debian/"
    )
    assert mirror_of("Ubuntu http://a/ubuntu/\n") is None
    assert apt_sources("http://c/", "/k.gpg").splitlines() == [
        "deb [signed-by=/k.gpg] http://c/ trixie main",
        "deb [signed-by=/k.gpg] http://c/ trixie-backports main",
    ]


def test_the_guest_mounts_every_folder_that_the_command_names(tmp_path: Path) -> None:
    folders = {place: tmp_path / place for place in PLACES}
    command = kernel_command(tmp_path / "linux", tmp_path / "image", tmp_path / "disk", folders, mhz="2000.0")
    assert {f"guest.{place}={tmp_path / place}" for place in PLACES} <= set(command)
    assert f"ubd0={tmp_path / 'disk'},{tmp_path / 'image'}" in command


def test_the_emulated_guest_shares_each_folder_by_the_name_that_it_mounts(tmp_path: Path) -> None:
    folders = {place: tmp_path / place for place in PLACES}
    command = emulated_command(tmp_path, tmp_path / "image", folders)
    kernels = command[command.index("-append") + 1].split()
    shared = [word for option, word in pairwise(command) if option == "-virtfs"]
    for place in PLACES:
        assert f"guest.{place}={place}" in kernels
        assert any(each.startswith(f"local,path={tmp_path / place},mount_tag={place},") for each in shared)
    assert command[command.index("-accel") + 1] == "tcg"
    assert image_name(CHECKOUT, emulated=True) != image_name(CHECKOUT)


def test_a_module_that_the_kernel_loads_is_no_fault_of_a_step_and_one_that_is_gone_is() -> None:
    before, after = ["module ext4", "module 9p"], ["link lo", "module ext4", "module overlay"]
    before, loaded = loaded_meanwhile(before, after)
    assert loaded == ["overlay"]
    assert verdict(STEPS, PASSED, before, after) == ["gone: module 9p", "left: link lo"]


def test_another_python_requirement_makes_another_image_and_a_setting_of_a_tool_does_not(tmp_path: Path) -> None:
    def named(requirement: str, *, script: str = "one", strict: bool = True) -> str:
        (tmp_path / "requirements.lock").write_text(requirement)
        (tmp_path / "pyproject.toml").write_text(
            f'[project.scripts]\n{script} = "a:main"\n[build-system]\nrequires = []\n'
            f"[tool.mypy]\nstrict = {str(strict).lower()}\n"
        )
        return image_name(tmp_path)

    assert len({named("one"), named("two"), named("one", script="two")}) == 3
    assert named("one") == named("one", strict=False)


def test_the_kernel_has_what_the_provider_local_needs() -> None:
    options = FRAGMENT.read_text().splitlines()
    needed = ("CPUSETS", "MEMCG", "PSI", "CGROUP_PIDS", "OVERLAY_FS", "VETH", "BRIDGE", "HOSTFS", "SMP")
    assert [name for name in needed if f"CONFIG_{name}=y" not in options] == []


def test_mutexes_and_semaphores_of_the_kernel_do_not_spin_and_sources_without_them_are_refused() -> None:
    kind = "config {}_SPIN_ON_OWNER\n{}def_bool {}\n{}depends on SMP\n"
    sources = kind.format("MUTEX", "\t", "y", "\t") + kind.format("RWSEM", "       ", "y", "       ")
    assert without_spinning(sources) == (
        kind.format("MUTEX", "\t", "n", "\t") + kind.format("RWSEM", "       ", "n", "       ")
    )
    with pytest.raises(ValueError, match="1 options match"):
        without_spinning(kind.format("MUTEX", "\t", "y", "\t"))


def test_loads_run_on_the_nodes_that_are_up() -> None:
    words = next(step.command.split() for step in STEPS if step.name == "up")
    up = {node_name(name): name for option, name in pairwise(words) if option == "--profile"}
    loads = yaml.safe_load((FRAGMENT.parent / "loads.yaml").read_text())
    assert {node["name"]: node["profile"] for node in loads["nodes"]} == up


def test_the_unit_starts_a_script_of_the_image_that_the_shell_understands() -> None:
    unit = (ROOT_FILES / "etc/systemd/system/guest.service").read_text()
    script = ROOT_FILES / "usr/local/sbin/guest"
    assert f"ExecStart=/{script.relative_to(ROOT_FILES)}\n" in unit
    assert script.stat().st_mode & 0o111
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0
    assert f"-m {main.__module__}\n" in script.read_text()


@pytest.mark.parametrize(
    ("does", "said"),
    [
        (
            "echo 'VFS: Cannot open root device'; exit 3",
            "ended with exit code 3 before its steps.\nVFS: Cannot open root device",
        ),
        ("echo 'Run /sbin/init'; exec sleep 600", "the guest to boot"),
    ],
    ids=["ends", "never-boots"],
)
def test_a_guest_that_does_not_come_up_is_named_with_its_last_words_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, said: str
) -> None:
    monkeypatch.setattr("tools.guest.__main__.BOOT_S", 0.5)
    kernel = tmp_path / "linux"
    kernel.write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pid; {does}\n")
    kernel.chmod(0o755)
    with pytest.raises(ClusterError) as refused:
        run_guest(kernel, tmp_path / "image", dict.fromkeys(PLACES, tmp_path), 1.0)
    assert said in str(refused.value)
    assert "VFS" in str(refused.value) or "Run /sbin/init" in str(refused.value)
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()
