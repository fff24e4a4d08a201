"""A static pod is a file that is written, changed and removed; its mirror pods are shown as what they are."""

from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crashloop.history.reduction import read_recording
from crashloop.kube.client import KubeApi
from crashloop.record.channels.api import ApiChannel, take_answer
from crashloop.record.pod_scenario import ActivePod
from crashloop.record.site import RecordingSite
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.owner import StaticPod
from crashloop.spec.pod import Container, Pod
from crashloop.spec.scenario import PodScenario, Until
from crashloop.waiting import wait_until
from suites.selftest.kit import kube_peer
from suites.selftest.kit.kube_peer import HANG, Json, Peer, change, pod_list
from suites.selftest.kit.object_peer import ObjectPeer
from suites.selftest.kit.recording_site import NODE, READY, Described, do_next, finish

UID = "f2307e328d302354a601745ad4a1983f"
EDIT = Intervention(trigger=Trigger(), action=InterventionKind.EDIT_STATIC_POD)
UNMIRROR = Intervention(trigger=Trigger(), action=InterventionKind.DELETE_MIRROR_POD)
SCENARIO = PodScenario(
    name="s",
    profile="stock",
    pod=Pod(containers=(Container(),)),
    until=Until(phase="Succeeded"),
    owner=StaticPod(),
    interventions=(UNMIRROR, EDIT),
)
MIRROR = "/api/v1/namespaces/ns/pods/s-node"


class WithFiles(Described):
    """A cluster that keeps what is written into the staticPodPath of its node."""

    def __init__(self) -> None:
        super().__init__(NODE)
        self.file: dict[str, Any] | None = None
        self.revisions: list[str] = []
        self.removals = 0

    def write_static_pod(self, node: str, name: str, manifest: dict[str, Any] | None) -> None:
        assert (node, name) == ("node", "s")
        self.file = manifest
        self.removals += manifest is None
        if manifest is not None:
            self.revisions.append(manifest["metadata"]["annotations"]["crashloop.dev/revision"])


def mirror_pod(uid: str, version: int, **metadata: Any) -> Json:
    made = kube_peer.pod("s-node", version, phase="Running", conditions=[{"type": "Ready", "status": "True"}])
    annotations = {"kubernetes.io/config.mirror": UID, "kubernetes.io/config.hash": UID}
    made["metadata"] |= {"uid": uid, "annotations": annotations, "labels": {"crashloop.dev/scenario": "s"}} | metadata
    return made


@pytest.fixture
def peer() -> ObjectPeer:
    return ObjectPeer(("/api/v1/nodes/node", READY), (MIRROR, mirror_pod("mirror-1", 5)))


@pytest.fixture
def where(where: RecordingSite) -> RecordingSite:
    return msgspec.structs.replace(where, cluster=WithFiles())


def test_its_file_is_written_edited_and_removed(where: RecordingSite, peer: ObjectPeer) -> None:
    cluster, active = where.cluster, ActivePod(SCENARIO, NODE, where)
    assert isinstance(cluster, WithFiles)
    do_next(active)
    assert cluster.file is not None
    assert cluster.file["metadata"]["namespace"] == "ns"
    assert cluster.file["metadata"]["labels"]["crashloop.dev/scenario"] == "s"
    where.router.claim(UID, "s-node", "s")
    do_next(active)
    assert cluster.revisions == ["0", "1"]
    ended = mirror_pod("mirror-2", 9) | {"status": {"phase": "Succeeded"}}
    take_answer(where.router, ended)
    finish(active)
    assert cluster.file is None
    assert f"DELETE {MIRROR}" in peer.requests
    with where.run.history("s").open("rb") as lines:
        recording = read_recording(lines)
    assert [(each.data.action, each.ok) for each in recording.interventions] == [
        ("delete-mirror-pod", True),
        ("edit-static-pod", True),
    ]


def test_its_file_is_removed_and_written_again_as_it_was(where: RecordingSite) -> None:
    renew = Intervention(trigger=Trigger(), action=InterventionKind.RENEW_STATIC_POD, arguments={"absent_s": 0})
    cluster, active = where.cluster, ActivePod(msgspec.structs.replace(SCENARIO, interventions=(renew,)), NODE, where)
    assert isinstance(cluster, WithFiles)
    do_next(active)
    first = cluster.file
    do_next(active)
    assert (cluster.revisions, cluster.removals) == (["0", "0"], 1)
    assert cluster.file == first
    active.interrupt("enough was seen")


def test_a_mirror_pod_that_comes_and_goes_is_one_pod(where: RecordingSite, tmp_path: Path) -> None:
    """The history knows the static pod by the uid of its file, as the runtime does."""
    active = ActivePod(SCENARIO, NODE, where)
    do_next(active)
    leaving = mirror_pod("mirror-1", 6, deletionTimestamp="2026-11-23T01:35:47Z")
    script = [change("MODIFIED", leaving), change("DELETED", leaving), change("ADDED", mirror_pod("mirror-2", 8)), HANG]
    history = where.run.history("s")

    def shown() -> int:
        """Statements about the pod, so far."""
        with history.open("rb") as lines:
            return sum(len(each.mirrors) + len(each.statuses) for each in read_recording(lines).pods)

    (tmp_path / "watched").mkdir()
    watched = kube_peer.serving(Peer([pod_list(5, mirror_pod("mirror-1", 5))], [script]), tmp_path / "watched")
    with watched as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        channel = ApiChannel(api, "ns", label_selector="", session=where.router)
        channel.start()
        wait_until("all changes to be written", lambda: shown() >= 6, timeout_s=60)
        channel.stop()
    active.interrupt("enough was seen")
    with history.open("rb") as lines:
        (seen,) = read_recording(lines).pods
    assert seen.uid == UID
    assert [(each.mirror_uid, each.phase) for each in seen.mirrors] == [
        ("mirror-1", "created"),
        ("mirror-1", "deleted"),
        ("mirror-2", "created"),
    ]
    assert seen.deleted is None
    assert [each.deletion_ns for each in seen.statuses] == [None, None, None]
