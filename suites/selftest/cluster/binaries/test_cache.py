"""The cache holds whole entries or none, and two processes that want the same one make it once."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crashloop.cluster.binaries.components import BinarySource
from crashloop.cluster.binaries.provision import OF_ANOTHER_BOOT_S, Cache, CachedProgram, Entry, storage_errors
from crashloop.cluster.processes import CommandFailed
from crashloop.errors import PrerequisiteError
from crashloop.progress import SilentProgress
from crashloop.waiting import wait_until

NAME = "kubernetes-1.37.1-linux-amd64-01234567"
SILENT = SilentProgress()


class Steps:
    """Keeps the steps that were announced."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        self.texts.append(text)
        yield


def make(folder: Path) -> Entry:
    (folder / "kubelet").write_text("kubelet")
    return Entry(
        component="kubernetes", source=BinarySource.BUILD, programs={"kubelet": CachedProgram(size=7, version="1.37.1")}
    )


def must_not_make(folder: Path) -> Entry:
    raise AssertionError(f"made again in {folder}")


def fails_half_way(folder: Path) -> Entry:
    (folder / "kubelet").write_text("kub")
    raise KeyboardInterrupt


def test_an_entry_is_made_once_and_found_afterwards(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert cache.find(NAME) is None
    made = cache.ensure(NAME, make, SILENT)
    assert made.path("kubelet") == tmp_path / "binaries" / NAME / "kubelet"
    assert cache.ensure(NAME, must_not_make, SILENT) == made


def test_an_interrupted_making_leaves_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        cache.ensure(NAME, fails_half_way, SILENT)
    assert cache.find(NAME) is None
    assert list(cache.partial.iterdir()) == []
    assert cache.ensure(NAME, make, SILENT).entry.source is BinarySource.BUILD


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda folder: (folder / "kubelet").unlink(), id="program-missing"),
        pytest.param(lambda folder: (folder / "kubelet").write_text("kub"), id="program-cut-off"),
        pytest.param(lambda folder: (folder / "entry.json").write_text("{"), id="description-cut-off"),
        pytest.param(lambda folder: (folder / "entry.json").unlink(), id="description-missing"),
    ],
)
def test_a_damaged_entry_is_made_again(tmp_path: Path, damage: object) -> None:
    cache = Cache(tmp_path)
    folder = cache.ensure(NAME, make, SILENT).folder
    assert callable(damage)
    damage(folder)
    assert cache.find(NAME) is None
    assert cache.ensure(NAME, make, SILENT).path("kubelet").read_text() == "kubelet"


MAKER = """
import sys
from pathlib import Path
from suites.selftest.cluster.binaries.test_cache import NAME, SILENT, make
from crashloop.cluster.binaries.provision import Cache

def make_when_told(folder):
    (folder / "half").touch()
    print("making", flush=True)
    sys.stdin.readline()
    return make(folder)

Cache(Path(sys.argv[1])).ensure(NAME, make_when_told, SILENT)
"""


@contextmanager
def another_process_making(cache_dir: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that holds the entry's lock until it reads a line."""
    argv = [sys.executable, "-c", MAKER, str(cache_dir)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "making\n"
            yield process
        finally:
            process.kill()


class ReleasesTheOther(Steps):
    """Lets the other process go on as soon as this one says that it waits."""

    def __init__(self, other: "subprocess.Popen[str]") -> None:
        super().__init__()
        self.other = other

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        assert self.other.stdin is not None
        print(file=self.other.stdin, flush=True)
        with super().step(text):
            yield


def test_a_second_process_waits_says_so_and_uses_what_the_first_made(tmp_path: Path) -> None:
    with another_process_making(tmp_path) as other:
        progress = ReleasesTheOther(other)
        found = Cache(tmp_path).ensure(NAME, must_not_make, progress)
    assert progress.texts == [f"waiting for another crashloop that makes {NAME}"]
    assert found.path("kubelet").read_text() == "kubelet"


def test_what_a_killed_process_left_is_removed_and_what_a_live_one_makes_is_not(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with another_process_making(tmp_path) as other:
        (partial,) = cache.partial.iterdir()
        assert cache.remove_leftovers() == []
        other.kill()
        other.wait()
        assert cache.find(NAME) is None
        assert wait_until("removal", cache.remove_leftovers, timeout_s=60) == [partial.name]
    assert list(cache.partial.iterdir()) == []


def test_what_another_host_makes_in_a_shared_cache_is_left_for_a_day(tmp_path: Path) -> None:
    """Its lock is not seen here: on a network file system, and in a guest that mounts the folder."""
    cache = Cache(tmp_path)
    young, old = (cache.partial / f"{NAME}-{boot}-abcdefgh" for boot in ("0a1b2c3d", "4e5f6071"))
    for folder in (young, old):
        folder.mkdir(parents=True)
    cache.locks.mkdir()
    two_days_ago = time.time() - 2 * OF_ANOTHER_BOOT_S
    os.utime(old, (two_days_ago, two_days_ago))
    assert cache.remove_leftovers() == [old.name]
    assert young.exists()


def test_a_cache_that_cannot_be_written_is_the_hosts_fault(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PrerequisiteError) as caught:
        Cache(tmp_path / "file").ensure(NAME, make, SILENT)
    assert str(caught.value).splitlines() == [
        f"cache {tmp_path}/file/binaries: cannot be written (Not a directory: {tmp_path}/file/binaries/.partial).",
        "Set CRASHLOOP_CACHE_DIR to a folder that this user can write.",
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a device that is always full")
def test_a_full_disk_is_the_hosts_fault(tmp_path: Path) -> None:
    with (
        pytest.raises(
            PrerequisiteError, match=rf"^cache {tmp_path}: no space left \(\d+ MB free\)\.\nMake space there"
        ),
        storage_errors(tmp_path),
        Path("/dev/full").open("wb") as file,
    ):
        file.write(b"x" * 100_000)


def test_a_build_that_fills_the_disk_is_the_hosts_fault_too(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="no space left"), storage_errors(tmp_path):
        raise CommandFailed("go build", exit_code=1, output="write /tmp/go-build1/b001: no space left on device")
    with pytest.raises(CommandFailed, match="go build"), storage_errors(tmp_path):
        raise CommandFailed("go build", exit_code=1, output="syntax error")
