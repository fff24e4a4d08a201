"""An answer is a value: a refusal as well as an object, with its warnings; only silence and bad credentials are errors."""

from contextlib import closing
from pathlib import Path

import pytest

from crashloop.kube.answers import (
    Answer,
    ApiUnreachable,
    CredentialsRefused,
    FieldCause,
    collection,
    resource_of,
    warnings_of,
)
from crashloop.kube.client import KubeApi
from suites.selftest.kit.kube_peer import status
from suites.selftest.kit.object_peer import ObjectPeer, serving

PODS = "/api/v1/namespaces/ns/pods"
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}


def answered(peer: ObjectPeer, folder: Path) -> Answer:
    with serving(peer, folder) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        return api.answer("try a pod", "POST", PODS, body=POD, query={"dryRun": "All"})


def test_an_object_comes_as_it_was_returned_with_the_texts_of_all_warnings(tmp_path: Path) -> None:
    peer = ObjectPeer(warnings=('299 - "spec.x: deprecated"', '299 - "say \\"no\\""'))
    answer = answered(peer, tmp_path)
    assert (answer.code, answer.warnings) == (201, ("spec.x: deprecated", 'say "no"'))
    assert answer.body is not None
    assert answer.body.startswith(b'{"apiVersion":"v1","kind":"Pod"')
    assert peer.requests == [f"POST {PODS}/x dry"]


def test_a_refusal_is_an_answer_with_its_causes(tmp_path: Path) -> None:
    cause = {"reason": "FieldValueInvalid", "message": "Invalid value", "field": "spec.restartPolicy"}
    peer = ObjectPeer(refusals={"POST pods/x": status(422, "Invalid", "it is invalid", causes=[cause])})
    assert answered(peer, tmp_path) == Answer(
        code=422,
        reason="Invalid",
        message="it is invalid",
        causes=(FieldCause(reason="FieldValueInvalid", message="Invalid value", field="spec.restartPolicy"),),
    )


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_server_in_trouble_has_answered_as_well(code: int, tmp_path: Path) -> None:
    answer = answered(ObjectPeer(refusals={"POST pods/x": status(code, "Trouble")}), tmp_path)
    assert (answer.code, answer.reason, answer.body) == (code, "Trouble", None)


def test_refused_credentials_are_an_error_of_the_user(tmp_path: Path) -> None:
    peer = ObjectPeer(refusals={"POST pods/x": status(401, "Unauthorized")})
    with pytest.raises(CredentialsRefused, match="does not accept the credentials"):
        answered(peer, tmp_path)


def test_silence_is_no_answer(tmp_path: Path) -> None:
    with serving(ObjectPeer(), tmp_path) as kubeconfig:
        pass
    with closing(KubeApi(kubeconfig)) as api, pytest.raises(ApiUnreachable, match="try a pod: no answer"):
        api.answer("try a pod", "POST", PODS, body=POD)


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        ("Pod", "pods"),
        ("NetworkPolicy", "networkpolicies"),
        ("Ingress", "ingresses"),
        ("Endpoints", "endpoints"),
        ("ReplicaSet", "replicasets"),
    ],
)
def test_resources_are_named_as_upstream_guesses_them(kind: str, resource: str) -> None:
    assert resource_of(kind) == resource


def test_the_core_group_lies_below_another_root() -> None:
    assert collection("ns", "v1", "Pod") == PODS
    assert collection("ns", "batch/v1", "Job") == "/apis/batch/v1/namespaces/ns/jobs"
    assert collection("ns", "v1", "Node") == "/api/v1/nodes"


def test_a_header_of_another_code_is_no_warning() -> None:
    assert warnings_of(['199 - "misc"', '299 - "a", 299 - "b"']) == ("a", "b")
