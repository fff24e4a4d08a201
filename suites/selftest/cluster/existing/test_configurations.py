"""Kubelets of a cluster that exists are asked for their configuration, and one that does not answer stops nobody else.

A kubelet's restart is seen from afar; where it cannot be seen, that is reported, and not that there was none.
"""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crashloop.cluster.existing.survey import AT_ONCE, survey
from crashloop.cluster.provider import ExistingOptions, Survey
from crashloop.errors import UsageError
from crashloop.kube.client import KubeApi
from crashloop.kube.kubelet import NodeSign, news, read_sign
from suites.selftest.kit.existing_peer import NAMESPACE, ExistingPeer, node, serving
from suites.selftest.kit.kube_peer import Json, status

CONFIG = {"crashLoopBackOff": {"maxContainerRestartPeriod": "2s"}}


class _Deaf(socketserver.TCPServer):
    """Counts who comes, and hangs up: a kubelet that cannot be asked directly."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), socketserver.BaseRequestHandler)
        self.asked = 0

    def verify_request(self, *_: object) -> bool:
        self.asked += 1
        return False


@contextmanager
def deaf() -> Iterator[_Deaf]:
    with _Deaf() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def surveyed(peer: ExistingPeer, folder: Path) -> Survey:
    with serving(peer, folder) as kubeconfig:
        options = ExistingOptions(kubeconfig=kubeconfig, image="image", namespace=NAMESPACE, read_configz=True)
        return survey(options)


def test_a_node_whose_kubelet_is_silent_is_not_used_and_the_others_are(tmp_path: Path) -> None:
    peer = ExistingPeer(*(node(name) for name in ("one", "silent", "two")), node("down", ready=False))
    peer.configz = dict.fromkeys(("one", "two"), CONFIG)
    found = {each.name: (each.configz, each.unusable) for each in surveyed(peer, tmp_path).nodes}
    assert found == {
        "down": (None, "not Ready (KubeletNotReady)"),
        "one": (CONFIG, None),
        "silent": (None, "its kubelet's configuration cannot be read"),
        "two": (CONFIG, None),
    }


def test_a_profile_of_a_node_without_the_chosen_labels_is_refused(tmp_path: Path) -> None:
    chosen, other = node("one"), node("two")
    chosen["metadata"]["labels"] = {"pool": "test"}
    with serving(ExistingPeer(chosen, other), tmp_path) as kubeconfig:
        options = ExistingOptions(
            kubeconfig=kubeconfig, image="image", node_selector="pool=test", node_profiles={"two": "max-10s"}
        )
        with pytest.raises(UsageError) as caught:
            survey(options)
    assert str(caught.value) == (
        "--node-profile two=...: the cluster has no node 'two' with the labels of --node-selector; "
        "its nodes with the labels of --node-selector: one."
    )


def test_where_no_kubelet_tells_anything_both_ways_are_named_for_one_of_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        surveyed(ExistingPeer(node("one"), node("two")), tmp_path)
    said = str(caught.value).splitlines()
    assert said[:2] == [
        "--read-configz: node one: its kubelet's configuration cannot be read.",
        "directly (permission nodes/configz): the Node object has no InternalIP.",
    ]
    assert said[2].startswith("through the API server (permission nodes/proxy): read the configuration of node one: ")
    assert said[2].endswith("503 ServiceUnavailable.")


def test_the_way_that_has_led_to_one_configuration_is_the_first_to_be_tried_for_the_next(tmp_path: Path) -> None:
    names = [f"node-{number:02}" for number in range(4 * AT_ONCE)]
    with deaf() as kubelet:
        peer = ExistingPeer(*(node(name, port=kubelet.server_address[1]) for name in names))
        peer.configz = dict.fromkeys(names, CONFIG)
        found = surveyed(peer, tmp_path)
    assert [each.configz for each in found.nodes] == [CONFIG] * len(names)
    assert 1 <= kubelet.asked <= AT_ONCE


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
