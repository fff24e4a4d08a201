"""What stands in the way of `crashloop up --provider kind`: who has to act, what is said, and nothing that is left."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from crashloop.cli import main
from crashloop.verdict import ExitCode
from suites.selftest.kit.binaries_kit import NOWHERE
from suites.selftest.kit.kind_kit import fake_docker, write_script

OLD_KIND = "kind v0.31.0 go1.25.5 linux/amd64"
NEW_KIND = "kind v0.33.0 go1.26.0 linux/amd64"


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The state folder of commands; pytest's own folders have paths that are too long for it."""
    with tempfile.TemporaryDirectory(prefix="c-") as folder:
        for name, value in {
            "STATE_DIR": folder,
            "CACHE_DIR": str(tmp_path / "cache"),
            "RELEASE_URL": NOWHERE,
            "GITHUB_URL": NOWHERE,
        }.items():
            monkeypatch.setenv(f"CRASHLOOP_{name}", value)
        yield Path(folder)


@pytest.mark.parametrize(
    ("docker", "options", "exit_code", "said"),
    [
        (None, "", ExitCode.ERROR, 'docker: no "docker" on PATH: install Docker 23.0 or newer.'),
        ("version*) echo 20.10.24 ;;", "", ExitCode.ERROR, "docker: its daemon is 20.10.24: install Docker 23.0 or"),
        (
            "version*) echo 'Cannot connect to the Docker daemon' >&2; exit 1 ;;",
            "",
            ExitCode.ERROR,
            "docker: its daemon does not answer at unix:///its/docker.sock (Cannot connect to the Docker daemon): start",
        ),
        (
            "version*) echo 'permission denied while trying to connect to the Docker daemon socket' >&2; exit 1 ;;",
            "",
            ExitCode.ERROR,
            "docker: this user may not use unix:///its/docker.sock: run as root, or add the user to the group docker.",
        ),
        (
            "--version) echo podman version 4.9.3 ;;",
            "",
            ExitCode.ERROR,
            "(podman version 4.9.3); Podman is not supported",
        ),
        (
            "'context inspect'*) echo tcp://far:2376 ;;",
            "",
            ExitCode.ERROR,
            "docker: its daemon is reached over a network (tcp://far:2376), and nodes mount files of this host",
        ),
        ("", "", ExitCode.ERROR, "kind 0.33.0: not in the cache"),
        ("", "--kind-binary /nowhere/kind", ExitCode.USAGE, "--kind-binary /nowhere/kind: no such executable file"),
        ("", "--kind-binary {old}", ExitCode.USAGE, "old: is kind 0.31.0; 0.32 or newer is needed."),
        (
            "",
            "--node-image a/b:1 --bin-dir /opt",
            ExitCode.USAGE,
            "--node-image and --bin-dir: a node image has its own binaries",
        ),
        (
            "'pull '*) echo 'manifest unknown' >&2; exit 1 ;;",
            "--kind-binary {new} --node-image kindest/node:v1.36.99",
            ExitCode.ERROR,
            "--node-image kindest/node:v1.36.99: Docker does not have it and cannot pull it (manifest unknown).",
        ),
        (
            """'image inspect'*) echo '[{"Config": {"Labels": {"dev.crashloop.node-image": "1.37.1"}}}]' ;;""",
            "--kind-binary {new} --node-image mine:v1.36.3",
            ExitCode.USAGE,
            "node image mine:v1.36.3: holds Kubernetes 1.37.1, 1.36.3 was requested.",
        ),
    ],
    ids=[
        "docker-absent",
        "docker-too-old",
        "docker-not-running",
        "docker-no-permission",
        "podman",
        "docker-elsewhere",
        "kind-absent",
        "kind-not-there",
        "kind-too-old",
        "two-images",
        "node-image-missing",
        "node-image-of-another-version",
    ],
)
def test_what_stands_in_the_way_is_said_and_nothing_is_left(
    state: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    docker: str | None,
    options: str,
    exit_code: int,
    said: str,
) -> None:
    programs = {
        "old": write_script(tmp_path / "old", f"echo {OLD_KIND}"),
        "new": write_script(tmp_path / "new", f"echo {NEW_KIND}"),
    }
    if docker is not None:
        fake_docker(tmp_path, monkeypatch, docker)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    arguments = options.format(**programs).split()
    monkeypatch.setattr(sys, "argv", ["crashloop", "up", "--provider", "kind", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    message = capsys.readouterr().err
    assert caught.value.code == exit_code, message
    assert said in message
    assert {path.name for path in state.rglob("*")} <= {"lock", "clusters"}
