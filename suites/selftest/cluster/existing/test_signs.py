"""A kubelet's restart is seen from afar; where it cannot be seen, that is reported, and not that there was none."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crashloop.kube.client import KubeApi
from crashloop.kube.kubelet import NodeSign, news, read_sign
from suites.selftest.kit.existing_peer import ExistingPeer, node, serving
from suites.selftest.kit.kube_peer import Json, status

EVENTS = "/api/v1/namespaces/default/events"
S = 1_000_000_000


@pytest.fixture
def peer() -> ExistingPeer:
    return ExistingPeer(node("worker"))


@pytest.fixture
def api(peer: ExistingPeer, tmp_path: Path) -> Iterator[KubeApi]:
    with serving(peer, tmp_path) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        yield api


def refusing(path: str) -> Any:
    def before(request: str) -> Json | None:
        return status(403, "Forbidden", "not for you") if request == f"GET {path}" else None

    return before


def data(sign: NodeSign) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(sign)
    return found


def test_a_start_is_reported_by_its_kubernetes_event(peer: ExistingPeer, api: KubeApi) -> None:
    before = read_sign(api, "worker")
    assert news(data(before), read_sign(api, "worker")) is None
    peer.objects[f"{EVENTS}/start"] = {"metadata": {"name": "start"}, "lastTimestamp": "2027-01-15T08:00:00Z"}
    after = news(data(before), read_sign(api, "worker"))
    assert after is not None
    assert (after.kubelet_started_ns, after.unread) == (1_800_000_000 * S, None)


@pytest.mark.parametrize("path", [EVENTS, "/api/v1/nodes/worker"], ids=["events", "node"])
def test_signs_that_cannot_be_read_are_reported_as_such_and_not_as_a_restart(
    peer: ExistingPeer, api: KubeApi, path: str
) -> None:
    before = read_sign(api, "worker")
    peer.before = refusing(path)
    after = news(data(before), read_sign(api, "worker"))
    assert after is not None
    assert after.unread is not None
    assert after.unread.endswith("the API server answered 403 Forbidden. not for you")
    assert msgspec.structs.replace(after, unread=None) == before
