"""Images: one archive, the same bytes every time, readable by every image loader; a large one is that much larger.

The disk that keeps a folder, by the table of mounts of this host.
"""

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from crashloop.cluster.files import disk_of
from crashloop.cluster.images import PROGRAM_IMAGE, SANDBOX_IMAGE, image_archive, write_large_image

BUSYBOX = b"\x7fELF of a static busybox"
APPLETS = ["sleep", "sh", "busybox", "cat"]
ARCHIVE = image_archive(BUSYBOX, APPLETS, arch="amd64")


def contents(archive: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}  # type: ignore[union-attr]


def image(name: str) -> tuple[dict[str, Any], tarfile.TarFile]:
    """Configuration and layer of an image, found as a loader finds them."""
    files = contents(ARCHIVE)
    (entry,) = (entry for entry in json.loads(files["manifest.json"]) if entry["RepoTags"] == [name])
    (layer,) = entry["Layers"]
    return json.loads(files[entry["Config"]]), tarfile.open(fileobj=io.BytesIO(files[layer]))


def test_the_same_busybox_gives_the_same_bytes_whatever_the_order_of_its_applets() -> None:
    assert image_archive(BUSYBOX, APPLETS[::-1], arch="amd64") == ARCHIVE


def test_another_busybox_gives_another_archive() -> None:
    assert image_archive(BUSYBOX + b"!", APPLETS, arch="amd64") != ARCHIVE


@pytest.mark.parametrize("name", [PROGRAM_IMAGE, SANDBOX_IMAGE])
def test_the_configuration_names_the_layer_by_the_digest_of_its_bytes(name: str) -> None:
    config, _ = image(name)
    files = contents(ARCHIVE)
    layers = [content for path, content in files.items() if path.endswith("layer.tar")]
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]
    assert (config["os"], config["architecture"]) == ("linux", "amd64")


def test_configurations_are_named_by_their_digest() -> None:
    files = contents(ARCHIVE)
    configurations = [path for path in files if path.endswith(".json") and path != "manifest.json"]
    assert len(configurations) == 2
    assert [hashlib.sha256(files[path]).hexdigest() + ".json" for path in configurations] == configurations


def test_the_sandbox_sleeps_and_the_program_image_starts_a_shell() -> None:
    assert image(SANDBOX_IMAGE)[0]["config"]["Entrypoint"] == ["/bin/busybox", "sleep", "2147483647"]
    assert image(PROGRAM_IMAGE)[0]["config"]["Cmd"] == ["/bin/sh"]


def test_every_applet_is_a_link_to_busybox_and_busybox_is_a_program() -> None:
    _, layer = image(PROGRAM_IMAGE)
    links = {member.name: member.linkname for member in layer if member.issym()}
    assert links == {"bin/cat": "busybox", "bin/sh": "busybox", "bin/sleep": "busybox"}
    busybox = layer.getmember("bin/busybox")
    assert (busybox.mode, layer.extractfile(busybox).read()) == (0o755, BUSYBOX)  # type: ignore[union-attr]


def test_programs_have_users_groups_and_a_temporary_folder_for_everyone() -> None:
    _, layer = image(PROGRAM_IMAGE)
    assert layer.getmember("tmp").mode == 0o1777
    assert b"nobody:x:65534:65534:" in layer.extractfile("etc/passwd").read()  # type: ignore[union-attr]
    assert b"root:x:0:" in layer.extractfile("etc/group").read()  # type: ignore[union-attr]


def test_nothing_of_this_host_is_in_the_layer() -> None:
    _, layer = image(PROGRAM_IMAGE)
    assert {(member.uid, member.gid, member.uname, member.gname, member.mtime) for member in layer} == {
        (0, 0, "", "", 0)
    }


LARGE_IMAGE_BUSYBOX = """#!/bin/sh
echo cat
echo sh
"""
NAME = "localhost/example:1"


def written(root: Path, mib: int) -> Path:
    root.mkdir()
    busybox = root / "busybox"
    busybox.write_text(LARGE_IMAGE_BUSYBOX, encoding="ascii")
    busybox.chmod(0o755)
    return write_large_image(NAME, busybox, mib=mib, folder=root)


def test_the_image_has_the_program_and_so_many_files_that_do_not_repeat(tmp_path: Path) -> None:
    with tarfile.open(written(tmp_path / "one", 2)) as archive:
        (index,) = msgspec.json.decode(archive.extractfile("manifest.json").read())  # type: ignore[union-attr]
        assert index["RepoTags"] == [NAME]
        (layer_name,) = index["Layers"]
        with tarfile.open(fileobj=archive.extractfile(layer_name)) as layer:
            assert {"bin/sh", "bin/busybox", "etc/passwd"} <= set(layer.getnames())
            files = [each for each in layer if each.name.startswith("data/")]
            contents = {layer.extractfile(each).read() for each in files}  # type: ignore[union-attr]
    assert (len(files), sum(each.size for each in files)) == (32, 2 * 2**20)
    assert len(contents) == len(files)


def test_the_same_arguments_give_the_same_bytes_and_nothing_but_the_archive_stays(tmp_path: Path) -> None:
    one, other = written(tmp_path / "one", 1), written(tmp_path / "other", 1)
    assert one.read_bytes() == other.read_bytes()
    assert {each.name for each in one.parent.iterdir()} == {"busybox", "image.tar"}


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
