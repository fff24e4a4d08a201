"""What our own node image is made of.

Building a node image of our own: where that is done, and that nothing of it stays.
"""

import hashlib
import io
import shutil
import tarfile
from pathlib import Path

import msgspec
import pytest

from crashloop.cluster.binaries.components import CNI_PLUGINS, BinarySet
from crashloop.cluster.binaries.provision import Cache
from crashloop.cluster.files import File, Folder, HardLink, SymbolicLink, tar_bytes
from crashloop.cluster.images import docker_archive
from crashloop.cluster.kind.docker import Docker
from crashloop.cluster.kind.node_image import (
    CONTROL_PLANE,
    RUNTIME,
    TOOLS,
    Parts,
    control_plane_members,
    ensure_own_image,
    image_names,
    needed_libraries,
    node_members,
)
from crashloop.progress import SilentProgress
from suites.selftest.kit.binaries_kit import settings_for
from suites.selftest.kit.kind_kit import calls, fake_docker, write_script

LDD = """\
\tlinux-vdso.so.1 (0x00007ffe4d3f2000)
\tlibseccomp.so.2 => /lib/x86_64-linux-gnu/libseccomp.so.2 (0x00007f1)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f2)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f3)
"""


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    """Programs as a build makes them: the Kubernetes ones are links to one binary."""
    (tmp_path / "kube").write_bytes(b"kube")
    programs = {}
    for name in (*TOOLS, *CONTROL_PLANE):
        programs[name] = tmp_path / name
        programs[name].symlink_to("kube")
    for name in (*RUNTIME, *CNI_PLUGINS, "busybox", "libc.so.6"):
        programs[name] = tmp_path / name
        programs[name].write_bytes(name.encode())
    return Parts(
        kubernetes_version="1.37.1",
        programs=programs,
        libraries=(),
        applets=("init", "sh", "busybox"),
        control_plane_images=programs["libc.so.6"],
        program_images=programs["libc.so.6"],
    )


def unpacked(archive: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {member.name: member for member in tar.getmembers()}


def test_a_node_has_what_kind_asks_for(parts: Parts) -> None:
    found = unpacked(tar_bytes(node_members(parts)))
    assert {"kind/version", "usr/bin/kubeadm", "usr/bin/kubectl", "usr/bin/ctr", "usr/bin/containerd"} <= set(found)
    assert found["kind/boot"].mode == 0o755
    assert (found["usr/bin/init"].issym(), found["usr/bin/init"].linkname) == (True, "busybox")
    assert all((member.uid, member.gid, member.mtime) == (0, 0, 0) for member in found.values())


def test_one_binary_under_several_names_is_kept_once_and_each_name_can_be_mounted_over(parts: Parts) -> None:
    found = unpacked(tar_bytes(node_members(parts)))
    assert (found["usr/bin/kubelet"].isreg(), found["usr/bin/kubelet"].size) == (True, 4)
    for name in ("usr/bin/kubeadm", "usr/bin/kubectl"):
        assert (found[name].islnk(), found[name].linkname) == (True, "usr/bin/kubelet")
    layer = unpacked(tar_bytes(control_plane_members(parts.programs, ())))
    assert layer["usr/bin/etcd"].linkname == "usr/bin/kube-apiserver"


def test_libraries_lie_where_programs_look_for_them(parts: Parts, tmp_path: Path) -> None:
    assert [str(path) for path in needed_libraries(LDD)] == [
        "/lib/x86_64-linux-gnu/libseccomp.so.2",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib64/ld-linux-x86-64.so.2",
    ]
    assert needed_libraries("\tstatically linked\n") == []
    odd = tmp_path / "odd.so"
    odd.write_bytes(b"odd")
    found = unpacked(tar_bytes(node_members(msgspec.structs.replace(parts, libraries=(odd,)))))
    assert str(odd).lstrip("/") in found


def test_the_same_parts_make_the_same_image(parts: Parts) -> None:
    assert tar_bytes(node_members(parts)) == tar_bytes(node_members(parts))


def test_the_control_planes_images_are_those_that_kubeadm_names() -> None:
    listed = "\n".join(
        f"registry.k8s.io/{name}"
        for name in (
            "kube-apiserver:v1.37.1",
            "kube-controller-manager:v1.37.1",
            "kube-scheduler:v1.37.1",
            "kube-proxy:v1.37.1",
            "coredns/coredns:v1.14.6",
            "pause:3.10.2",
            "etcd:3.7.0-0",
        )
    )
    assert [name.removeprefix("registry.k8s.io/").partition(":")[0] for name in image_names(listed)] == [
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "etcd",
    ]


def test_images_of_one_layer_share_it() -> None:
    layer = tar_bytes([Folder(name="a"), File(name="a/b", content=b"b"), SymbolicLink(name="c", target="a/b")])
    digest = hashlib.sha256(layer).hexdigest()
    process = {"Env": ["PATH=/a"]}
    archive = tar_bytes(docker_archive(layer, digest, {"x:1": process, "y:1": process}, arch="amd64"))
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        names = tar.getnames()
        manifest = tar.extractfile("manifest.json")
        assert manifest is not None
        rows = msgspec.json.decode(manifest.read())
    assert names.count(f"{digest}/layer.tar") == 1
    assert [(row["RepoTags"], row["Layers"]) for row in rows] == [
        (["x:1"], [f"{digest}/layer.tar"]),
        (["y:1"], [f"{digest}/layer.tar"]),
    ]


def test_a_hard_link_names_what_comes_before_it() -> None:
    found = unpacked(tar_bytes([File(name="one", content=b"1", mode=0o755), HardLink(name="two", target="one")]))
    assert (found["two"].islnk(), found["two"].linkname) == (True, "one")


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
