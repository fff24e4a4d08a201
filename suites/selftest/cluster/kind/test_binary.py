"""Which `kind` is used."""

from pathlib import Path

import pytest

from crashloop.cluster.binaries.ensure import ensure_kind
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.progress import SilentProgress
from suites.selftest.kit.binaries_kit import settings_for
from suites.selftest.kit.kind_kit import write_script


def test_the_users_own_runs_where_it_lies(tmp_path: Path) -> None:
    own = write_script(tmp_path / "kind", "echo kind v0.32.0 go1.26.0 linux/amd64")
    assert ensure_kind(settings_for(tmp_path / "cache"), kind_binary=own, progress=SilentProgress()) == own
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("version", ["0.31.0", "0.9.0"])
def test_one_that_writes_configurations_of_another_shape_is_refused(tmp_path: Path, version: str) -> None:
    own = write_script(tmp_path / "kind", f"echo kind v{version} go1.25.5 linux/amd64")
    with pytest.raises(UsageError) as caught:
        ensure_kind(settings_for(tmp_path / "cache"), kind_binary=own, progress=SilentProgress())
    assert str(caught.value) == (
        f"--kind-binary {own}: is kind {version}; 0.32 or newer is needed.\nLeave the option out."
    )


def test_a_program_that_is_no_kind_is_refused(tmp_path: Path) -> None:
    own = write_script(tmp_path / "kind", "echo minikube version: v1.34.0")
    with pytest.raises(UsageError) as caught:
        ensure_kind(settings_for(tmp_path / "cache"), kind_binary=own, progress=SilentProgress())
    assert str(caught.value).startswith(f"--kind-binary {own}: to `version` it answered 'minikube version: v1.34.0'")


def test_a_host_with_no_way_to_get_it_shows_all_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PrerequisiteError) as caught:
        ensure_kind(settings_for(tmp_path / "cache"), kind_binary=None, progress=SilentProgress())
    message = str(caught.value)
    assert message.startswith("kind 0.33.0: not in the cache")
    assert "official release: http://127.0.0.1:1: " in message
    assert "build with Go: no `go` on PATH" in message
    assert message.endswith("a `kind` of your own: --kind-binary.")
