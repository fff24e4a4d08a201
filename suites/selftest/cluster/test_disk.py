"""The disk that keeps a folder, by the table of mounts of this host."""

from pathlib import Path

import psutil

from crashloop.cluster.files import disk_of

MOUNTS = sorted(
    (each for each in psutil.disk_partitions(all=True) if Path(each.mountpoint).is_dir()),
    key=lambda each: each.mountpoint,
)


def test_a_folder_is_kept_by_the_nearest_mount_above_it() -> None:
    nearest = {each.mountpoint: each for each in MOUNTS}["/"]
    assert disk_of(Path("/no/such/folder")) == f"{nearest.fstype} on {nearest.device}"


def test_memory_is_no_disk() -> None:
    in_memory = [each.mountpoint for each in MOUNTS if each.fstype == "tmpfs"]
    assert in_memory, "every Linux has one, at least /dev/shm or /run"
    assert {disk_of(Path(each)) for each in in_memory} == {""}
