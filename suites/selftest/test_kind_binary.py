"""Which `kind` is used."""

from pathlib import Path

import pytest

from crashloop.cluster.binaries import ensure_kind
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.progress import SilentProgress

from .binaries_kit import settings_for
from .kind_kit import write_script


def test_the_users_own_runs_where_it_lies(tmp_path: Path) -> None:
    own = write_script(tmp_path / "kind", "echo kind v0.30.0 go1.24.0 linux/amd64")
    assert ensure_kind(settings_for(tmp_path / "cache"), kind_binary=own, progress=SilentProgress()) == own
    assert not (tmp_path / "cache").exists()


def test_a_program_that_is_no_kind_is_refused(tmp_path: Path) -> None:
    own = write_script(tmp_path / "kind", "echo minikube version: v1.34.0")
    with pytest.raises(UsageError) as caught:
        ensure_kind(settings_for(tmp_path / "cache"), kind_binary=own, progress=SilentProgress())
    assert str(caught.value).startswith(f"--kind-binary {own}: to `version` it answered 'minikube version: v1.34.0'")


def test_a_host_with_no_way_to_get_it_is_told_all_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PrerequisiteError) as caught:
        ensure_kind(settings_for(tmp_path / "cache"), kind_binary=None, progress=SilentProgress())
    message = str(caught.value)
    assert message.startswith("kind 0.33.0: not in the cache")
    assert "official release: http://127.0.0.1:1: " in message
    assert "build with Go: no `go` on PATH" in message
    assert message.endswith("a `kind` of your own: --kind-binary.")
