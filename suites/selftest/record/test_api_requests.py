"""Requests to the API server are recorded each with its answer, and leave nothing behind."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crashloop.errors import ClusterError
from crashloop.history.recording import Recording
from crashloop.history.reduction import read_recording
from crashloop.kube.answers import CredentialsRefused
from crashloop.kube.client import KubeApi
from crashloop.record.scenario_loop import ScenarioStage
from crashloop.record.single_task import ApiRequests
from crashloop.spec.control_plane import ApiRequest, Component, ControlPlane, Verb
from crashloop.spec.scenario import ApiScenario
from suites.selftest.kit.kube_peer import status
from suites.selftest.kit.object_peer import ObjectPeer, serving
from suites.selftest.kit.recording_site import Described, plan_of, site

PODS = "/api/v1/namespaces/ns/pods"


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


class NotedOutages:
    """Notes what is done to the API server, and can fail to start it."""

    def __init__(self, error: str | None = None) -> None:
        self.done: list[str] = []
        self._error = error

    def stop(self, component: Component) -> None:
        self.done.append(f"stop {component}")

    def start(self, component: Component, feature_gates: Mapping[str, bool]) -> None:
        self.done.append(f"start {component} {dict(feature_gates)}")
        if self._error is not None:
            raise ClusterError(self._error)

    def cut_off(self, node: str) -> None:
        self.done.append(f"cut off {node}")

    def connect(self, node: str) -> None:
        self.done.append(f"connect {node}")


def recorded(
    peer: ObjectPeer,
    folder: Path,
    *requests: ApiRequest,
    at_most_s: float = 30.0,
    outages: NotedOutages | None = None,
) -> Recording:
    """What is recorded of a scenario with these requests."""
    own = None if outages is None else ControlPlane()
    scenario = ApiScenario(name="asked", requests=requests, at_most_s=at_most_s, control_plane=own)
    plan = plan_of(scenario, feature_gates={"ContainerRestartRules": False})
    with serving(peer, folder) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        cluster = Described()
        cluster.outages = outages
        where = site(api, folder, plan, cluster)
        active = ApiRequests(scenario, None, where)
        task = active.step()
        assert task is not None
        try:
            task()
        finally:
            active.interrupt("the task has ended")
    assert active.stage is ScenarioStage.SEALED
    with where.run.history("asked").open("rb") as lines:
        return read_recording(lines)


def end(recording: Recording) -> tuple[str, str | None]:
    assert recording.end is not None
    assert recording.damage == ()
    return recording.end.reason, recording.end.detail


def test_each_request_has_its_answer_in_order(tmp_path: Path) -> None:
    cause = {"reason": "FieldValueInvalid", "message": "Invalid value: -1", "field": "spec.x"}
    peer = ObjectPeer(
        refusals={"POST pods/bad": status(422, "Invalid", "it is invalid", causes=[cause])}, warnings=('299 - "old"',)
    )
    recording = recorded(peer, tmp_path, ApiRequest(object=pod("good")), ApiRequest(object=pod("bad", x=-1)))
    assert end(recording) == ("complete", "every request was answered")
    good, bad = (each.data for each in recording.answers)
    assert (good.index, good.verb, good.dry_run, good.code, good.warnings) == (0, "create", True, 201, ("old",))
    assert good.object == pod("good")
    assert good.found is None
    assert (bad.index, bad.code, bad.reason, bad.message, bad.object, bad.stored_bytes) == (
        1,
        422,
        "Invalid",
        "it is invalid",
        None,
        None,
    )
    assert [(each.field, each.reason, each.message) for each in bad.causes] == [
        ("spec.x", "FieldValueInvalid", "Invalid value: -1")
    ]
    assert [each for each in peer.requests if each.startswith("POST")] == [
        f"POST {PODS}/good dry",
        f"POST {PODS}/bad dry",
    ]


AGAIN = ApiRequest(object=pod("second"), feature_gates={"ContainerRestartRules": False})


def test_the_api_server_starts_again_with_the_gates_that_a_request_needs(tmp_path: Path) -> None:
    outages = NotedOutages()
    recording = recorded(ObjectPeer(), tmp_path, ApiRequest(object=pod("first")), AGAIN, outages=outages)
    assert end(recording) == ("complete", "every request was answered")
    assert outages.done == ["stop kube-apiserver", "start kube-apiserver {'ContainerRestartRules': False}"]
    (done,) = recording.interventions
    assert (done.data.action, done.data.outcome) == ("start-component", "ok")


def test_an_api_server_that_does_not_start_again_ends_the_recording(tmp_path: Path) -> None:
    recording = recorded(ObjectPeer(), tmp_path, AGAIN, outages=NotedOutages("it ended with exit code 1"))
    assert end(recording) == ("interrupted", "it ended with exit code 1")
    assert recording.answers == ()


def test_nobody_starts_the_api_server_of_others_again() -> None:
    with pytest.raises(ValueError, match="'asked' starts the API server again, so it needs a control plane for itself"):
        ApiScenario(name="asked", requests=(AGAIN,))


def test_the_history_names_no_node_but_the_gates_of_the_control_plane(tmp_path: Path) -> None:
    begin = recorded(ObjectPeer(), tmp_path, ApiRequest(object=pod("x"))).begin
    assert begin is not None
    assert (begin.node, begin.profile, begin.feature_gates) == (None, None, {"ContainerRestartRules": False})


def test_what_was_stored_is_gone_afterwards(tmp_path: Path) -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    peer = ObjectPeer()
    recording = recorded(
        peer,
        tmp_path,
        ApiRequest(object=pod("x"), dry_run=False),
        ApiRequest(object=job, dry_run=False),
        ApiRequest(object=pod("x"), dry_run=False),
    )
    assert [each.data.code for each in recording.answers] == [201, 201, 409]
    assert peer.objects == {}
    assert [each.data.found is not None for each in recording.answers] == [True, True, True]
    assert recording.answers[0].data.stored_bytes
    assert peer.requests[-4:] == [
        f"DELETE {PODS}/x",
        f"GET {PODS}/x",
        "DELETE /apis/batch/v1/namespaces/ns/jobs/j",
        "GET /apis/batch/v1/namespaces/ns/jobs/j",
    ]


def test_a_change_goes_to_the_subresource_of_the_object(tmp_path: Path) -> None:
    peer = ObjectPeer()
    recording = recorded(
        peer,
        tmp_path,
        ApiRequest(object=pod("x"), dry_run=False),
        ApiRequest(verb=Verb.PATCH, object=pod("x"), subresource="ephemeralcontainers", dry_run=False),
    )
    assert [(each.data.verb, each.data.code) for each in recording.answers] == [("create", 201), ("patch", 200)]
    assert f"PATCH {PODS}/x/ephemeralcontainers" in peer.requests
    assert peer.objects == {}


def test_a_request_for_another_user_says_so_and_is_read_back_by_the_runs_own(tmp_path: Path) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {}}
    peer = ObjectPeer(refusals={"POST nodes/n": status(403, "Forbidden")})
    recording = recorded(peer, tmp_path, ApiRequest(object=node, as_user="stranger"))
    assert [each.data.code for each in recording.answers] == [403]
    assert peer.users == ["stranger", None, None]
    assert peer.requests == ["POST /api/v1/nodes/n dry", "GET /api/v1/nodes/n", "GET /api/v1/nodes/n"]


def test_a_connection_that_is_reset_interrupts_the_scenario(tmp_path: Path) -> None:
    peer = ObjectPeer(resets=("POST second",))
    recording = recorded(peer, tmp_path, ApiRequest(object=pod("first")), ApiRequest(object=pod("second")))
    reason, detail = end(recording)
    assert reason == "interrupted"
    assert "no answer from the API server" in (detail or "")
    assert len(recording.answers) == 1


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_server_in_trouble_interrupts_the_scenario(code: int, tmp_path: Path) -> None:
    peer = ObjectPeer(refusals={"POST pods/second": status(code, "Trouble")})
    recording = recorded(
        peer, tmp_path, ApiRequest(object=pod("first"), dry_run=False), ApiRequest(object=pod("second"))
    )
    assert end(recording) == ("interrupted", f"request 1: the API server answered {code} Trouble")
    assert [each.data.index for each in recording.answers] == [0]
    assert peer.objects == {}


def test_what_is_not_sent_in_time_is_missing(tmp_path: Path) -> None:
    recording = recorded(ObjectPeer(), tmp_path, ApiRequest(object=pod("x")), at_most_s=0.0)
    assert end(recording) == ("deadline", "still missing: answers to 1 requests")
    assert recording.answers == ()


def test_refused_credentials_end_the_run_as_a_matter_of_the_user(tmp_path: Path) -> None:
    peer = ObjectPeer(refusals={"POST pods/x": status(401, "Unauthorized")})
    with pytest.raises(CredentialsRefused):
        recorded(peer, tmp_path, ApiRequest(object=pod("x")))
