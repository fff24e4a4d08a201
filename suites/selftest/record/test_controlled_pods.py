"""A Deployment is made, and removed with its pods."""

from crashloop.record.pod_scenario import ActivePod
from crashloop.record.site import RecordingSite
from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.owner import Deployment
from crashloop.spec.pod import Container, Pod
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.object_peer import ObjectPeer
from suites.selftest.kit.recording_site import NODE, do_next, finish

SCENARIO = PodScenario(
    name="s",
    profile="stock",
    control_plane=ControlPlane(),
    pod=Pod(containers=(Container(),)),
    until=Until(),
    owner=Deployment(),
)
DEPLOYMENT = "/apis/apps/v1/namespaces/ns/deployments/s"


def test_it_has_one_replica_that_belongs_to_the_scenario(where: RecordingSite, peer: ObjectPeer) -> None:
    active = ActivePod(SCENARIO, NODE, where)
    do_next(active)
    active.interrupt("enough was seen")
    spec = peer.objects[DEPLOYMENT]["spec"]
    assert spec["replicas"] == 1
    assert spec["selector"] == {"matchLabels": {"crashloop.dev/scenario": "s"}}
    assert spec["template"]["metadata"]["labels"]["crashloop.dev/scenario"] == "s"
    assert spec["template"]["spec"]["nodeName"] == "node"


def test_it_is_removed_with_all_its_pods(where: RecordingSite, peer: ObjectPeer) -> None:
    active = ActivePod(SCENARIO, NODE, where)
    do_next(active)
    for number in range(2):
        where.router.claim(f"uid-{number}", f"s-{number}", "s")
        peer.objects[f"/api/v1/namespaces/ns/pods/s-{number}"] = {
            "metadata": {"name": f"s-{number}", "uid": f"uid-{number}", "resourceVersion": "4"},
            "status": {"phase": "Failed"},
        }
    finish(active)
    assert list(peer.objects) == ["/api/v1/nodes/node"]
