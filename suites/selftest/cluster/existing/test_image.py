"""A node that cannot have the image says so at once, whichever way that goes wrong."""

from contextlib import closing
from pathlib import Path

import pytest

from crashloop.errors import UsageError
from crashloop.kube.client import KubeApi
from crashloop.record.channels.heartbeat import NodeHeartbeat
from crashloop.record.event_router import EventRouter
from suites.selftest.kit.existing_peer import NAMESPACE, PODS, ExistingPeer, node, serving
from suites.selftest.kit.kube_peer import Json, status


def waited(peer: ExistingPeer, folder: Path) -> None:
    """Wait for a heartbeat in the peer's cluster, whose log cannot be read before it begins."""
    with serving(peer, folder) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        heartbeat = NodeHeartbeat(api, NAMESPACE, "worker", image="nowhere/none:1", run="run", sink=EventRouter())
        heartbeat.start()
        try:
            heartbeat.wait_until_it_beats()
        finally:
            heartbeat.stop()


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"])
def test_a_node_that_cannot_have_the_image_is_reported_with_the_option_that_names_another(
    tmp_path: Path, reason: str
) -> None:
    peer = ExistingPeer(node("worker"))
    peer.container = {"waiting": {"reason": reason, "message": "it is\nnowhere"}}
    peer.before = lambda request: status(400, "BadRequest") if request == "GET open" else None
    with pytest.raises(UsageError) as caught:
        waited(peer, tmp_path)
    assert str(caught.value) == (
        f"node worker: it cannot have the image nowhere/none:1 ({reason}).\n"
        "it is nowhere\n"
        "Name an image with --image that the node has or can pull."
    )
    assert peer.names(PODS) == []


def test_a_node_that_is_still_pulling_is_waited_for(tmp_path: Path) -> None:
    peer = ExistingPeer(node("worker"))
    peer.container = {"waiting": {"reason": "ContainerCreating"}}
    looks = 0

    def before(request: str) -> Json | None:
        nonlocal looks
        looks += request == f"GET {PODS}/heartbeat-worker"
        return status(400, "BadRequest") if request == "GET open" and not looks else None

    peer.before = before
    waited(peer, tmp_path)
    assert looks >= 1
