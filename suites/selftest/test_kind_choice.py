"""Which node image a cluster is made from, with a `docker` that has what the test says."""

from pathlib import Path

import pytest

from crashloop.cluster.kind.choice import Choice
from crashloop.cluster.kind.docker import Docker
from crashloop.cluster.kind.plan import Init, NodeImage
from crashloop.cluster.provider import ClusterRequest
from crashloop.errors import PrerequisiteError, UsageError
from crashloop.progress import SilentProgress

from .binaries_kit import settings_for
from .kind_kit import write_script

OWN = '[{"Config": {"Labels": {"dev.crashloop.node-image": "1.36.3"}}}]'
FOREIGN = '[{"Config": {"Labels": null}}]'


def choose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cases: str, **options: str) -> NodeImage:
    """The choice for Kubernetes 1.37.1; `cases` says how `docker ARGUMENTS` answers."""
    write_script(
        tmp_path / "bin" / "docker",
        f'case "$*" in\n{cases}\n"image inspect"*) echo "Error: No such image" >&2; exit 1 ;;\n*) exit 9 ;;\nesac',
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    request = ClusterRequest(name="demo", kubernetes_version="1.37.1", nodes=(), **options)  # type: ignore[arg-type]
    return Choice(Docker(), settings_for(tmp_path / "cache"), SilentProgress()).image(request)


def test_an_official_image_that_is_there_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = choose(tmp_path, monkeypatch, f"'image inspect kindest/node:v1.37.1') echo '{FOREIGN}' ;;")
    assert image == NodeImage(
        name="kindest/node:v1.37.1", kubernetes_version="1.37.1", init=Init.SYSTEMD, has_program_image=False
    )


def test_an_official_image_is_pulled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pulled = tmp_path / "pulled"
    cases = f"""
'image inspect kindest/node:v1.37.1') [ -e {pulled} ] || {{ echo 'No such image' >&2; exit 1; }}; echo '{FOREIGN}' ;;
'images --quiet'*) ;;
'pull --quiet kindest/node:v1.37.1') touch {pulled} ;;"""
    assert choose(tmp_path, monkeypatch, cases).name == "kindest/node:v1.37.1"


def test_an_image_that_was_named_and_is_of_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError) as caught:
        choose(tmp_path, monkeypatch, f"'image inspect mine:1') echo '{OWN}' ;;", node_image="mine:1")
    assert str(caught.value) == (
        "node image mine:1: holds Kubernetes 1.36.3, 1.37.1 was asked for.\n"
        "Add --kubernetes-version 1.36.3, or choose another --node-image."
    )


def test_the_version_of_any_other_image_is_read_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = f"'image inspect mine:1') echo '{FOREIGN}' ;;\n'run --rm '*' mine:1 /kind/version') echo v1.37.1 ;;"
    image = choose(tmp_path, monkeypatch, cases, node_image="mine:1")
    assert (image.kubernetes_version, image.init) == ("1.37.1", Init.SYSTEMD)


def test_an_image_that_is_none_for_kind_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = f"'image inspect mine:1') echo '{FOREIGN}' ;;\n'run '*) echo \"cat: no such file.\" >&2; exit 1 ;;"
    with pytest.raises(UsageError, match=r"node image mine:1: has no /kind/version \(cat: no such file\)"):
        choose(tmp_path, monkeypatch, cases, node_image="mine:1")


def test_an_image_that_is_nowhere_is_named_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = "'pull --quiet mine:1') echo 'lookup registry: no such host' >&2; exit 1 ;;"
    with pytest.raises(PrerequisiteError) as caught:
        choose(tmp_path, monkeypatch, cases, node_image="mine:1")
    assert str(caught.value) == (
        "--node-image mine:1: Docker does not have it and cannot pull it (lookup registry: no such host).\n"
        "Pull or load it yourself, or leave the option away."
    )
