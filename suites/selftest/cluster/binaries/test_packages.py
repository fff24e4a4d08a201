"""Programs out of a distribution's packages: unpacked, never installed, and no root needed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from crashloop.cluster.binaries.components import NotAvailable, Package
from crashloop.cluster.binaries.download import unpack_package

BUSYBOX = Package(name="busybox-static", paths=("bin/busybox", "usr/bin/busybox"))

pytestmark = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb (Debian or Ubuntu)")


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An `apt-get` on PATH that does what each test writes into it, in front of the real dpkg-deb."""
    folder = tmp_path / "apt-bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder / "apt-get"


def teach(apt: Path, script: str) -> None:
    apt.write_text(f'#!/bin/sh\necho "$*" >>{apt.parent}/calls\n{script}\n')
    apt.chmod(0o755)


def package_with(tmp_path: Path, path: str) -> Path:
    root = tmp_path / "package"
    (root / path).parent.mkdir(parents=True)
    (root / path).write_text("a program")
    (root / "DEBIAN").mkdir()
    fields = {
        "Package": "busybox-static",
        "Version": "1:1.35",
        "Architecture": "all",
        "Maintainer": "me",
        "Description": "it",
    }
    (root / "DEBIAN" / "control").write_text("".join(f"{name}: {value}\n" for name, value in fields.items()))
    archive = tmp_path / "busybox-static_1.35_all.deb"
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", root, archive], check=True, capture_output=True)
    return archive


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "entry"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("path", ["bin/busybox", "usr/bin/busybox"])
def test_the_program_is_all_that_is_left_of_the_package(apt: Path, tmp_path: Path, folder: Path, path: str) -> None:
    teach(apt, f"cp {package_with(tmp_path, path)} .")
    unpack_package("busybox", BUSYBOX, folder)
    assert [(file.name, file.read_text(), file.stat().st_mode & 0o777) for file in folder.iterdir()] == [
        ("busybox", "a program", 0o755)
    ]


def test_a_host_without_package_lists_gets_them_into_the_cache(apt: Path, tmp_path: Path, folder: Path) -> None:
    archive = package_with(tmp_path, "bin/busybox")
    teach(apt, f'case "$*" in *lists*download*) cp {archive} .;; *lists*update) ;; *) exit 100;; esac')
    unpack_package("busybox", BUSYBOX, folder)
    assert (folder / "busybox").read_text() == "a program"
    calls = (apt.parent / "calls").read_text().splitlines()
    assert [call.split(" ")[-2:] for call in calls] == [
        ["download", "busybox-static"],
        [f"Dir::Cache={folder}/.package/cache", "update"],
        ["download", "busybox-static"],
    ]


def test_a_package_that_the_sources_do_not_have_is_not_available(apt: Path, folder: Path) -> None:
    teach(apt, "echo 'E: Unable to locate package runc' >&2; exit 100")
    with pytest.raises(NotAvailable) as caught:
        unpack_package("runc", Package(name="runc", paths=("usr/sbin/runc",)), folder)
    assert str(caught.value) == "`apt-get download runc`: E: Unable to locate package runc"


def test_a_package_without_the_program_is_not_available(apt: Path, tmp_path: Path, folder: Path) -> None:
    teach(apt, f"cp {package_with(tmp_path, 'usr/share/doc/busybox')} .")
    with pytest.raises(NotAvailable, match=r"^busybox-static_1\.35_all\.deb has no bin/busybox or usr/bin/busybox$"):
        unpack_package("busybox", BUSYBOX, folder)
