"""krew's manifest names the archive that it comes with; the launcher in it installs crashloop once."""

import hashlib
import os
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

from contrib.krew import ARCHIVE, MANIFEST, write
from crashloop import __version__

WHEEL = f"crashloop-{__version__}-py3-none-any.whl"
PYTHON = """#!/bin/sh
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "installed $4" >> "%s/log"\\n' "$PWD" > "$3/bin/pip"
printf '#!/bin/sh\\necho "crashloop $*"\\n' > "$3/bin/crashloop"
chmod +x "$3/bin/pip" "$3/bin/crashloop"
"""
"""Stands for `python3 -m venv FOLDER`."""


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    (tmp_path / WHEEL).write_bytes(b"wheel")
    write(tmp_path, "https://example.org/v1/")
    with tarfile.open(tmp_path / ARCHIVE) as tar:
        tar.extractall(tmp_path / "store", filter="data")
    return tmp_path


def test_the_manifest_names_the_archive_its_digest_and_a_program_in_it(unpacked: Path) -> None:
    spec = yaml.safe_load((unpacked / MANIFEST).read_text(encoding="utf-8"))["spec"]
    (platform,) = spec["platforms"]
    assert spec["version"] == f"v{__version__}"
    assert platform["uri"] == "https://example.org/v1/kubectl-crashloop.tar.gz"
    assert platform["sha256"] == hashlib.sha256((unpacked / ARCHIVE).read_bytes()).hexdigest()
    assert {each.name for each in (unpacked / "store").iterdir()} == {platform["bin"], "LICENSE", WHEEL}


def test_without_the_wheel_of_this_version_nothing_is_promised(tmp_path: Path) -> None:
    (tmp_path / "crashloop-0.0.1-py3-none-any.whl").write_bytes(b"old")
    with pytest.raises(FileNotFoundError):
        write(tmp_path, "https://example.org")
    assert not (tmp_path / MANIFEST).exists()


def test_the_launcher_installs_the_wheel_beside_it_on_its_first_use_only(unpacked: Path) -> None:
    (unpacked / "python3").write_text(PYTHON, encoding="utf-8")
    (unpacked / "python3").chmod(0o755)
    (unpacked / "kubectl-crashloop").symlink_to(unpacked / "store/kubectl-crashloop")  # as krew does
    environment = os.environ | {"PATH": f"{unpacked}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(unpacked / "cache")}
    for _ in range(2):
        done = subprocess.run(
            [unpacked / "kubectl-crashloop", "observe", "--for", "1m"],
            cwd=unpacked, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout == "crashloop observe --for 1m\n"
    assert (unpacked / "log").read_text(encoding="utf-8") == (
        f"installed crashloop[analyze] @ file://{unpacked / 'store' / WHEEL}\n"
    )
