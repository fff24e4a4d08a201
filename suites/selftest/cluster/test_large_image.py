"""The image with many files beside the program."""

import tarfile
from pathlib import Path

import msgspec

from crashloop.cluster.large_image import write_large_image

BUSYBOX = """#!/bin/sh
echo cat
echo sh
"""
NAME = "localhost/example:1"


def written(root: Path, mib: int) -> Path:
    root.mkdir()
    busybox = root / "busybox"
    busybox.write_text(BUSYBOX, encoding="ascii")
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
