"""Which Docker is asked, and what it answers."""

from pathlib import Path

import pytest

from crashloop.cluster.kind.docker import Docker, chosen_docker
from crashloop.cluster.processes import CommandFailed
from suites.selftest.kit.kind_kit import ADDRESS, calls, fake_docker


def test_a_docker_is_known_by_the_address_of_the_clients_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = fake_docker(tmp_path, monkeypatch)
    docker = chosen_docker({})
    assert docker.environment["DOCKER_HOST"] == ADDRESS
    monkeypatch.setenv("DOCKER_HOST", "unix:///another.sock")
    docker.containers_of("x")
    assert calls(log)[-1].split()[0] == ADDRESS
    assert chosen_docker().environment["DOCKER_HOST"] == "unix:///another.sock"


def test_variables_of_a_later_process_do_not_reach_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = tmp_path / "seen"
    fake_docker(tmp_path, monkeypatch, f"'ps '*) echo \"$DOCKER_TLS_VERIFY,$DOCKER_CERT_PATH\" >{seen} ;;")
    docker = chosen_docker({"DOCKER_CERT_PATH": "/certificates"})
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    docker.containers_of("x")
    assert seen.read_text() == ",/certificates\n"


def test_a_file_that_docker_does_not_have_or_has_otherwise_is_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kind.yaml"
    file.write_text("name: x\n")
    fake_docker(tmp_path, monkeypatch, f"'run '*'source={file},'*) echo 'name: x' ;;")
    assert Docker().sees(file, "node:1")
    fake_docker(tmp_path, monkeypatch, "'run '*) echo 'name: y' ;;")
    assert not Docker().sees(file, "node:1")
    fake_docker(tmp_path, monkeypatch, f"'run '*) echo 'bind source path does not exist: {file}' >&2; exit 125 ;;")
    assert not Docker().sees(file, "node:1")
    fake_docker(tmp_path, monkeypatch, "'run '*) echo 'no space left on device' >&2; exit 125 ;;")
    with pytest.raises(CommandFailed, match="no space left on device"):
        Docker().sees(file, "node:1")


def test_a_container_that_is_gone_mounts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_docker(tmp_path, monkeypatch, "'inspect '*) echo 'Error: No such container: x' >&2; exit 1 ;;")
    assert Docker().mounts("x") == []
