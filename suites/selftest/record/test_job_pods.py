"""A Job is made, followed until it has ended, and removed with its pods."""

from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

from crashloop.cluster.provider import Registry
from crashloop.history.reduction import read_recording
from crashloop.record.pod_scenario import ActivePod
from crashloop.record.scenario_loop import ScenarioStage
from crashloop.record.site import RecordingSite
from crashloop.spec.dependency import PullPolicy, RegistryImage
from crashloop.spec.owner import Job
from crashloop.spec.pod import Container, Pod, RestartPolicy
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.kube_peer import Json
from suites.selftest.kit.object_peer import ObjectPeer
from suites.selftest.kit.recording_site import NODE, READY, do_next, finish

POD = Pod(containers=(Container(),), restart_policy=RestartPolicy.NEVER)
SCENARIO = PodScenario(name="s", profile="stock", pod=POD, until=Until(), owner=Job(backoff_limit=1, fails_on=(3, 1)))
JOB = "/apis/batch/v1/namespaces/ns/jobs/s"
ENDED = {"conditions": [{"type": "Failed", "status": "True", "reason": "PodFailurePolicy"}], "failed": 1}


class JobPeer(ObjectPeer):
    """Gives every object that is made a resourceVersion."""

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Json | None) -> tuple[int, Json]:
        if method == "POST" and body is not None:
            body["metadata"]["resourceVersion"] = "1"
        return super().answer(method, path, query, body)


@pytest.fixture
def peer() -> ObjectPeer:
    return JobPeer(("/api/v1/nodes/node", READY))


def test_a_job_is_recorded_until_it_has_ended_and_removed(
    where: RecordingSite, peer: ObjectPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crashloop.record.pod_scenario.LOOK_S", 0.0)
    active = ActivePod(SCENARIO, NODE, where)
    do_next(active)
    assert active.stage is ScenarioStage.WATCHED
    where.router.claim("uid-1", "s-abcde", "s")
    peer.objects["/api/v1/namespaces/ns/pods/s-abcde"] = {
        "metadata": {"name": "s-abcde", "uid": "uid-1", "resourceVersion": "4"},
        "status": {"phase": "Failed"},
    }
    do_next(active)
    peer.objects[JOB] |= {"metadata": {"name": "s", "resourceVersion": "7"}, "status": ENDED}
    finish(active)
    assert [path for path in peer.objects if path != "/api/v1/nodes/node"] == []
    with where.run.history("s").open("rb") as lines:
        recording = read_recording(lines)
    assert [each.end for each in recording.jobs] == [None, "Failed (PodFailurePolicy)"]
    assert [pod.statuses[-1].phase for pod in recording.pods] == ["Failed"]
    assert recording.end is not None
    assert recording.end.reason == "complete"


def test_the_job_is_bounded_and_its_pods_belong_to_the_scenario(where: RecordingSite, peer: ObjectPeer) -> None:
    active = ActivePod(SCENARIO, NODE, where)
    do_next(active)
    active.interrupt("enough was seen")
    made = peer.objects[JOB]
    spec, template = made["spec"], made["spec"]["template"]
    assert spec["podFailurePolicy"] == {
        "rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1, 3]}}]
    }
    bounds = {name: spec[name] for name in ("completions", "parallelism", "backoffLimit", "activeDeadlineSeconds")}
    assert bounds == {"completions": 1, "parallelism": 1, "backoffLimit": 1, "activeDeadlineSeconds": 90}
    assert template["metadata"]["labels"]["crashloop.dev/scenario"] == "s"
    assert template["spec"]["nodeName"] == "node"


def test_its_pods_take_the_image_that_the_registry_offers(
    where: RecordingSite, peer: ObjectPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = SimpleNamespace(address="registry:5000", offer=lambda *_: None)
    monkeypatch.setattr(where.cluster, "registry", cast("Registry", registry))
    pod = msgspec.structs.replace(POD, containers=(Container(image=RegistryImage(policy=PullPolicy.ALWAYS)),))
    active = ActivePod(msgspec.structs.replace(SCENARIO, pod=pod), NODE, where)
    do_next(active)
    active.interrupt("enough was seen")
    (container,) = peer.objects[JOB]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry:5000/ns/s/app:current"
