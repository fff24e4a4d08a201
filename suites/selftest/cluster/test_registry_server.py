"""The image registry answers by its offer, and writes every request down."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from crashloop.cluster.images import RegistryImages, registry_images
from crashloop.cluster.registry_server import server

IMAGES = registry_images(b"a layer", arch="amd64")
TAG, LAYER = (
    "/v2/ns/pulls/app/manifests/current",
    f"/v2/ns/pulls/app/blobs/sha256:{hashlib.sha256(b'a layer').hexdigest()}",
)


class Peer:
    """A registry that serves, and its only repository."""

    def __init__(self, root: Path, port: int) -> None:
        self._folder = root / "repositories" / "ns" / "pulls" / "app"
        self._folder.mkdir(parents=True)
        self._port = port
        self.offer(1)

    def offer(self, version: int | None, password: str | None = None, answers_after_s: float = 0.0) -> None:
        manifest = None if version is None else IMAGES.manifests[version]
        offer = {"manifest": manifest, "password": password, "answers_after_s": answers_after_s}
        (self._folder / "offer.json").write_text(json.dumps(offer))

    def get(
        self, path: str, method: str = "GET", authorization: str | None = None
    ) -> tuple[int, bytes, dict[str, str]]:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        connection.request(method, path, headers={} if authorization is None else {"Authorization": authorization})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content, dict(answer.getheaders())

    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self._folder / "requests.jsonl").read_text().splitlines()]


@contextmanager
def serving(root: Path, images: RegistryImages = IMAGES) -> Iterator[Peer]:
    (root / "blobs").mkdir(parents=True)
    for digest, content in images.blobs.items():
        (root / "blobs" / digest).write_bytes(content)
    served = server(root, "127.0.0.1", 0)
    thread = threading.Thread(target=served.serve_forever)
    thread.start()
    try:
        yield Peer(root, served.server_address[1])
    finally:
        served.shutdown()
        thread.join()
        served.server_close()


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Peer]:
    with serving(tmp_path / "registry") as made:
        yield made


def test_a_tag_names_the_image_that_is_offered(peer: Peer) -> None:
    digests = []
    for version in (1, 2):
        peer.offer(version)
        status, content, headers = peer.get(TAG)
        assert (status, headers["Docker-Content-Digest"]) == (200, f"sha256:{hashlib.sha256(content).hexdigest()}")
        digests.append(json.loads(content)["config"]["digest"])
        assert json.loads(content)["layers"][0]["digest"] == LAYER.rpartition("/")[2]
    assert len(set(digests)) == 2


def test_what_a_manifest_names_is_there(peer: Peer) -> None:
    manifest = json.loads(peer.get(TAG)[1])
    config = json.loads(peer.get(f"/v2/ns/pulls/app/blobs/{manifest['config']['digest']}")[1])
    assert config["config"]["Env"] == ["PATH=/bin", "IMAGE_VERSION=1"]
    assert peer.get(LAYER)[:2] == (200, b"a layer")


def test_a_head_has_the_length_and_no_content(peer: Peer) -> None:
    _, content, headers = peer.get(TAG)
    status, nothing, same = peer.get(TAG, "HEAD")
    assert (status, nothing, same["Content-Length"]) == (200, b"", headers["Content-Length"])
    assert len(content) == int(headers["Content-Length"])


def test_every_request_is_written_down(peer: Peer) -> None:
    peer.get(TAG, "HEAD")
    peer.offer(None)
    peer.get(TAG)
    first, second = peer.requests()
    assert {key: first[key] for key in ("method", "what", "reference", "status", "password")} == {
        "method": "HEAD",
        "what": "manifests",
        "reference": "current",
        "status": 200,
        "password": None,
    }
    assert (second["method"], second["status"]) == ("GET", 503)
    assert first["t_ns"] <= second["t_ns"]


def test_a_slow_answer_is_written_down_with_when_it_began(peer: Peer) -> None:
    peer.offer(1, answers_after_s=0.5)
    assert peer.get(TAG)[0] == 200
    (request,) = peer.requests()
    assert request["answered_ns"] > request["t_ns"] + 400_000_000


def test_a_password_is_demanded(peer: Peer) -> None:
    peer.offer(1, "sesame")
    status, _, headers = peer.get(TAG)
    assert (status, headers["WWW-Authenticate"]) == (401, 'Basic realm="crashloop"')
    assert peer.get(TAG, authorization="Basic dTp3cm9uZw==")[0] == 401
    assert peer.get(TAG, authorization="Basic dTpzZXNhbWU=")[0] == 200
    assert [each["password"] for each in peer.requests()] == [None, "wrong", "sesame"]


@pytest.mark.parametrize(
    "path",
    [
        "/v2/ns/pulls/other/manifests/current",
        "/v2/ns/pulls/app/manifests/latest",
        "/v2/ns/pulls/app/blobs/sha256:" + "0" * 64,
        "/v2/../ns/pulls/app/manifests/current",
        "/",
    ],
)
def test_what_is_not_there_is_not_found(peer: Peer, path: str) -> None:
    assert peer.get(path)[0] == 404


def test_it_is_read_only(peer: Peer) -> None:
    assert peer.get(TAG, "PUT")[0] == 501
