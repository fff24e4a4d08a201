"""Official releases: what has the published checksum is used, and nothing else."""

import io
import socket
import tarfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from crashloop.cluster.binaries import components
from crashloop.cluster.binaries.components import NotAvailable
from crashloop.cluster.binaries.download import Releases, published_sha256
from crashloop.errors import PrerequisiteError
from crashloop.settings import Downloads, Versions
from suites.selftest.kit.binaries_kit import NOWHERE, Site, release_site

DIGEST = "0123456789abcdef" * 4
KUBELET = components.kubernetes("1.37.1", ("kubelet",))
KUBELET_PATH = "release/v1.37.1/bin/linux/amd64/kubelet"


@pytest.fixture
def site() -> Iterator[Site]:
    with release_site() as site:
        yield site


def releases_of(url: str) -> Releases:
    return Releases(Downloads(release_url=url, github_url=url, first_answer_s=2), "amd64")


def archive(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def test_a_program_with_the_published_checksum_arrives_executable_with_its_checksum_beside_it(
    site: Site, tmp_path: Path
) -> None:
    site.publish(KUBELET_PATH, b"a kubelet")
    releases_of(site.url).fetch(KUBELET, tmp_path)
    assert (tmp_path / "kubelet").read_bytes() == b"a kubelet"
    assert (tmp_path / "kubelet").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "kubelet.sha256").read_text() == f"{sha256(b'a kubelet').hexdigest()}  kubelet\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kubelet", "kubelet.sha256"]


def test_a_program_with_another_checksum_is_refused_and_removed(site: Site, tmp_path: Path) -> None:
    site.publish(KUBELET_PATH, b"a tampered kubelet", sha256=DIGEST)
    with pytest.raises(PrerequisiteError) as caught:
        releases_of(site.url).fetch(KUBELET, tmp_path)
    assert str(caught.value).splitlines() == [
        f"{site.url}/{KUBELET_PATH}: its sha256 is {sha256(b'a tampered kubelet').hexdigest()}, published is {DIGEST}.",
        "The file was not used.",
        "Try again; if it stays so, set CRASHLOOP_RELEASE_URL to another site, or use --bin-dir.",
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_release_without_a_checksum_is_refused_before_anything_large_is_asked_for(site: Site, tmp_path: Path) -> None:
    site.files[KUBELET_PATH] = b"a kubelet"
    site.files[f"{KUBELET_PATH}.sha256"] = b"<html>sign in</html>"
    with pytest.raises(PrerequisiteError, match="no sha256 of kubelet in it, so the file cannot be verified"):
        releases_of(site.url).fetch(KUBELET, tmp_path)
    assert site.asked == [f"{KUBELET_PATH}.sha256"]


def test_a_version_that_the_site_does_not_have_is_not_available(site: Site, tmp_path: Path) -> None:
    with pytest.raises(NotAvailable) as caught:
        releases_of(site.url).fetch(KUBELET, tmp_path)
    assert str(caught.value) == f"{site.url}/{KUBELET_PATH}.sha256: HTTP 404"


def test_a_site_that_refuses_connections_is_not_available(tmp_path: Path) -> None:
    with pytest.raises(NotAvailable, match="Connection refused"):
        releases_of(NOWHERE).fetch(KUBELET, tmp_path)


def test_a_site_that_stays_silent_is_asked_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        releases = Releases(Downloads(release_url=url, github_url=url, first_answer_s=0.2), "amd64")
        for _ in range(2):
            with pytest.raises(NotAvailable, match=f"^{url}: .*(no answer within 0.2 s|timed out)"):
                releases.fetch(KUBELET, tmp_path)
        silent.accept()[0].close()
        silent.setblocking(False)
        with pytest.raises(BlockingIOError):
            silent.accept()


def test_an_archive_gives_its_programs_and_leaves_the_rest(site: Site, tmp_path: Path) -> None:
    component = components.containerd(Versions())
    name = "containerd-static-2.3.7-linux-amd64.tar.gz"
    path = f"containerd/containerd/releases/download/v2.3.7/{name}"
    content = archive({f"bin/{program}": program.encode() for program in (*component.programs, "containerd-stress")})
    site.files[path] = content
    site.files[f"{path}.sha256sum"] = f"{sha256(content).hexdigest()}  {name}\n".encode()
    releases_of(site.url).fetch(component, tmp_path)
    programs = {path.name: path.read_text() for path in tmp_path.iterdir() if path.suffix != ".sha256"}
    assert programs == {program: program for program in component.programs}


def test_an_archive_without_the_program_is_not_available(site: Site, tmp_path: Path) -> None:
    component = components.cni_plugins(Versions())
    path = "containernetworking/plugins/releases/download/v1.9.1/cni-plugins-linux-amd64-v1.9.1.tgz"
    site.publish(path, archive({"./bridge": b"bridge"}))
    with pytest.raises(NotAvailable, match=r"no \./ptp in the archive"):
        releases_of(site.url).fetch(component, tmp_path)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(DIGEST, DIGEST, id="digest-alone"),
        pytest.param(f"{DIGEST.upper()}\n", DIGEST, id="capitals"),
        pytest.param(f"{'f' * 64}  other\n{DIGEST}  kubelet\n", DIGEST, id="one-of-several"),
        pytest.param(f"{DIGEST} *./kubelet\n", DIGEST, id="binary-mark-and-folder"),
        pytest.param(f"{DIGEST}  other\n", None, id="another-file"),
        pytest.param("Not Found", None, id="no-digest"),
        pytest.param("", None, id="empty"),
    ],
)
def test_a_checksum_file_is_read_in_each_of_its_forms(text: str, found: str | None) -> None:
    assert published_sha256(text, "kubelet") == found


def test_every_component_that_is_downloaded_has_a_checksum_for_each_program() -> None:
    versions = Versions()
    for component in (
        components.kubernetes("1.37.1"),
        components.etcd(versions),
        components.containerd(versions),
        components.cni_plugins(versions),
        components.runc(versions),
    ):
        published = [program for release in component.releases for program in release.members]
        assert tuple(published) == component.programs
        assert all(release.checksum != release.path for release in component.releases)
        assert msgspec.json.decode(msgspec.json.encode(component), type=components.Component) == component
