"""The node image with systemd: what `kind` and the provider rely on is in it. Whether it boots, only a live run shows."""

import re
import subprocess
from pathlib import Path

import pytest

from contrib.kindlike.recipe import IMAGE, INSTALL, NODE_FILES, PACKAGES, PLACES, image_name, node_members
from crashloop.cluster.files import File, HardLink
from crashloop.cluster.kind.node_image import LABEL
from crashloop.cluster.kind.plan import DIALECTS, Init

UNITS = NODE_FILES / "etc/systemd/system"
SCRIPTS = [INSTALL, NODE_FILES / "usr/local/bin/entrypoint", NODE_FILES / "kind/bin/kubelet-cgroups"]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A file for each program; kubelet, kubeadm and kubectl are one."""
    names = [name for names in PLACES.values() for name in names]
    found = {}
    for name in names:
        found[name] = tmp_path / ("kube" if name.startswith("kube") else name)
        found[name].write_text(found[name].name)
    return found


def test_programs_are_where_kind_has_them(files: dict[str, Path]) -> None:
    members = {member.name: member for member in node_members("1.37.1", files)}
    for folder, names in PLACES.items():
        for name in names:
            member = members[f"{folder}/{name}"]
            assert isinstance(member, HardLink) or (isinstance(member, File) and member.mode == 0o755)


def test_the_version_is_where_kind_reads_it(files: dict[str, Path]) -> None:
    (version,) = [member for member in node_members("1.37.1", files) if member.name == "kind/version"]
    assert version == File(name="kind/version", content=b"v1.37.1\n")


def test_every_program_that_a_unit_starts_is_in_the_image(files: dict[str, Path]) -> None:
    executable = {
        f"/{member.name}"
        for member in node_members("1.37.1", files)
        if isinstance(member, HardLink) or (isinstance(member, File) and member.mode == 0o755)
    }
    units = (path for path in UNITS.rglob("*") if path.is_file())
    started = set(re.findall(r"^ExecStart(?:Pre)?=(\S+)", "\n".join(path.read_text() for path in units), re.M))
    assert {"/usr/bin/kubelet", "/usr/local/bin/containerd", "/kind/bin/kubelet-cgroups"} <= started <= executable


def test_the_services_that_the_provider_operates_are_units() -> None:
    assert "systemctl" in DIALECTS[Init.SYSTEMD].start
    assert {"kubelet.service", "containerd.service"} <= {path.name for path in UNITS.glob("*.service")}
    assert "systemd" in PACKAGES


def test_the_provider_takes_it_for_one_of_kinds() -> None:
    assert not any(LABEL in change for change in IMAGE)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_executable_and_have_no_syntax_error(script: Path) -> None:
    assert script.stat().st_mode & 0o111
    subprocess.run(["sh", "-n", script], check=True)


def test_other_contents_give_another_name(files: dict[str, Path]) -> None:
    before = image_name("1.37.1", files)
    assert before.startswith("localhost/kindlike:v1.37.1-")
    assert image_name("1.37.1", files) == before
    files["containerd"].write_text("another containerd")
    assert image_name("1.37.1", files) != before
