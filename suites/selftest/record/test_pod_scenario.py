"""A pod is launched on a node that is sound and Ready, or its history says why not."""

from pathlib import Path
from typing import cast

import msgspec
import pytest

from crashloop.cluster.provider import Cluster
from crashloop.history.recording import Recording
from crashloop.history.reduction import read_recording
from crashloop.record.pod_scenario import ActivePod
from crashloop.record.scenario_loop import ScenarioStage
from crashloop.record.site import RecordingSite
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, Pod
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.kube_peer import status
from suites.selftest.kit.object_peer import ObjectPeer
from suites.selftest.kit.recording_site import NODE, Described, do_next, site_with_node

SCENARIO = PodScenario(name="s", profile="stock", pod=Pod(containers=(Container(),)), until=Until())


def launched(where: RecordingSite) -> Recording:
    """The history of a scenario that could not be launched."""
    active = ActivePod(SCENARIO, NODE, where)
    do_next(active)
    assert active.stage is ScenarioStage.SEALED
    with where.run.history("s").open("rb") as lines:
        return read_recording(lines)


def test_nothing_is_launched_on_a_node_that_an_intervention_has_left_broken(
    where: RecordingSite, peer: ObjectPeer
) -> None:
    where.facts.spoil("node", "its kubelet does not start again")
    end = launched(where).end
    assert end is not None
    assert (end.reason, end.detail) == (
        "interrupted",
        "node node: what an earlier scenario did to it has failed: its kubelet does not start again",
    )
    assert peer.requests == []


def test_a_node_that_does_not_become_ready_is_named(
    where: RecordingSite, peer: ObjectPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crashloop.record.site.READY_WITHIN_S", 0.0)
    peer.objects["/api/v1/nodes/node"] = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    end = launched(where).end
    assert end is not None
    assert (end.reason, end.detail) == ("interrupted", "waited 0 s for: node node to be Ready.")


def test_a_pod_that_the_api_server_refuses_ends_its_scenario_with_the_causes(
    where: RecordingSite, peer: ObjectPeer
) -> None:
    cause = {"reason": "FieldValueInvalid", "message": "Invalid value", "field": "spec.x"}
    peer.refusals["POST pods/s"] = status(422, "Invalid", "it is invalid", causes=[cause])
    recording = launched(where)
    assert recording.end is not None
    assert (recording.end.reason, recording.end.code, recording.end.causes) == ("refused", 422, (cause,))
    assert [each.node for each in recording.nodes] == ["node"]


class WithoutNetwork(Described):
    """A cluster that notes what is done to the network of its node, and how many requests its API server has had by then."""

    def __init__(self, peer: ObjectPeer) -> None:
        super().__init__(NODE)
        self.done: list[tuple[str, int]] = []
        self._peer = peer

    def take_network(self, _node: str) -> None:
        self.done.append(("taken", len(self._peer.requests)))

    def give_network(self, _node: str) -> None:
        self.done.append(("given", len(self._peer.requests)))


def test_what_comes_before_the_pod_is_undone_if_the_pod_is_refused(peer: ObjectPeer, tmp_path: Path) -> None:
    taken = Intervention(trigger=Trigger(before_pod=True), action=InterventionKind.TAKE_NETWORK)
    scenario = msgspec.structs.replace(SCENARIO, interventions=(taken,))
    peer.refusals["POST pods/s"] = status(403, "Forbidden", "no pods here")
    cluster = WithoutNetwork(peer)
    with site_with_node(peer, tmp_path, scenario) as where:
        active = ActivePod(scenario, NODE, msgspec.structs.replace(where, cluster=cast("Cluster", cluster)))
        do_next(active)
    created = next(index for index, each in enumerate(peer.requests) if each.startswith("POST"))
    assert cluster.done == [("taken", created), ("given", created + 1)]


def test_the_network_is_not_taken_from_a_pod_that_restarts() -> None:
    with pytest.raises(ValueError, match="restarts that wait for the network are not judged"):
        Intervention(trigger=Trigger(after_s=1.0), action=InterventionKind.TAKE_NETWORK)


def test_what_needs_a_pod_cannot_come_before_it() -> None:
    with pytest.raises(ValueError, match="kill-sandbox needs a pod; only what is done to a node can come before it"):
        Intervention(trigger=Trigger(before_pod=True), action=InterventionKind.KILL_SANDBOX)
