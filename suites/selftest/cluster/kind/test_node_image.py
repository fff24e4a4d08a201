"""Building a node image of our own: where that is done, and that nothing of it stays."""

import shutil
from pathlib import Path

import pytest

from crashloop.cluster.binaries.components import CNI_PLUGINS, BinarySet
from crashloop.cluster.binaries.provision import Cache
from crashloop.cluster.kind.docker import Docker
from crashloop.cluster.kind.node_image import CONTROL_PLANE, RUNTIME, TOOLS, ensure_own_image
from crashloop.progress import SilentProgress
from suites.selftest.kit.binaries_kit import settings_for
from suites.selftest.kit.kind_kit import calls, fake_docker, write_script


def binaries_in(folder: Path) -> BinarySet:
    """Programs that answer as far as the recipe asks them."""
    for name in (*TOOLS, *RUNTIME, *CONTROL_PLANE, *CNI_PLUGINS, "kube-proxy"):
        write_script(folder / name, "echo registry.k8s.io/kube-apiserver:v1.37.1")
    write_script(folder / "busybox", "echo sh; echo init")
    paths = {name.replace("-", "_"): folder / name for name in (*TOOLS, *CONTROL_PLANE, "kube-proxy", "busybox")}
    return BinarySet(
        **paths,
        containerd=folder / "containerd",
        ctr=folder / "ctr",
        shim_dir=folder,
        runc=folder / "runc",
        cni_dir=folder,
        versions={"kube-apiserver": "1.37.1"},
        source={},
    )


def test_a_killed_build_leaves_nothing_that_is_not_removed_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = fake_docker(tmp_path, monkeypatch, "'import '*) ;;")
    write_script(tmp_path / "bin" / "ldd", "echo 'statically linked'")
    settings = settings_for(tmp_path / "cache")
    cache = Cache(tmp_path / "cache")
    name = ensure_own_image(Docker(), binaries_in(tmp_path / "programs"), settings, SilentProgress())
    (archive,) = (Path(call.split()[-2]) for call in calls(log) if call.split()[0] == "import")
    assert calls(log)[-1].split()[-1] == name
    assert archive.parents[1] == cache.partial
    assert list(cache.partial.iterdir()) == []
    shutil.copytree(tmp_path / "programs", archive.parent)
    assert cache.remove_leftovers() == [archive.parent.name]
    assert list((tmp_path / "cache" / "images").glob(".*")) == []
