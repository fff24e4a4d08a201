"""The objects of a scenario are made, changed and removed under names of its own, and nothing is left of them."""

import base64
import json
import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from crashloop.kube.answers import ApiRefusal
from crashloop.kube.client import KubeApi
from crashloop.record.pod_dependencies import ConfigObjects
from crashloop.spec.dependency import ConfigKind, ConfigObject, PullPolicy, RegistryImage
from crashloop.spec.pod import Container, Pod
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.kube_peer import status
from suites.selftest.kit.object_peer import ObjectPeer, serving

SCENARIO = PodScenario(
    name="s",
    profile="stock",
    pod=Pod(containers=(Container(),)),
    until=Until(),
    objects=(
        ConfigObject(name="settings", data={"GREETING": "one"}),
        ConfigObject(name="token", data={"TOKEN": "red"}, kind=ConfigKind.SECRET),
        ConfigObject(name="later", data={"A": "b"}, present=False),
    ),
)
MAPS, SECRETS = "/api/v1/namespaces/ns/configmaps", "/api/v1/namespaces/ns/secrets"


@pytest.fixture
def peer() -> ObjectPeer:
    return ObjectPeer()


@pytest.fixture
def objects(peer: ObjectPeer, tmp_path: Path) -> Iterator[ConfigObjects]:
    with serving(peer, tmp_path) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        yield ConfigObjects(api, "ns", run="run-1")


def test_those_that_are_to_be_there_are_made_first(objects: ConfigObjects, peer: ObjectPeer) -> None:
    objects.create_present(SCENARIO)
    assert sorted(peer.objects) == [f"{MAPS}/s-settings", f"{SECRETS}/s-token"]
    assert peer.objects[f"{MAPS}/s-settings"]["data"] == {"GREETING": "one"}
    assert peer.objects[f"{SECRETS}/s-token"]["stringData"] == {"TOKEN": "red"}
    labels = {"crashloop.dev/scenario": "s", "crashloop.dev/run": "run-1"}
    assert peer.objects[f"{SECRETS}/s-token"]["metadata"]["labels"] == labels


def test_one_is_made_changed_and_removed_by_name(objects: ConfigObjects, peer: ObjectPeer) -> None:
    objects.create(SCENARIO, "later")
    objects.change(SCENARIO, "later", {"A": "c"})
    objects.delete(SCENARIO, "later")
    assert peer.requests == [f"{method} {MAPS}/s-later" for method in ("POST", "PATCH", "DELETE")]


def test_a_pull_secret_is_a_login_at_the_registry(peer: ObjectPeer, tmp_path: Path) -> None:
    image = RegistryImage(policy=PullPolicy.ALWAYS, secret="token")
    pod = Pod(containers=(Container(image=image),))
    token = ConfigObject(name="token", data={"password": "red"}, kind=ConfigKind.SECRET)
    scenario = msgspec.structs.replace(SCENARIO, pod=pod, objects=(token,))
    with serving(peer, tmp_path) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        ConfigObjects(api, "ns", run="run-1", registry="10.101.0.1:5000").create_present(scenario)
    made = peer.objects[f"{SECRETS}/s-token"]
    assert made["type"] == "kubernetes.io/dockerconfigjson"
    login = json.loads(made["stringData"][".dockerconfigjson"])["auths"]["10.101.0.1:5000"]
    assert (login["username"], login["password"]) == ("crashloop", "red")
    assert base64.b64decode(login["auth"]) == b"crashloop:red"


def test_nothing_is_left_and_what_was_gone_already_is_no_fault(
    objects: ConfigObjects, peer: ObjectPeer, caplog: pytest.LogCaptureFixture
) -> None:
    objects.create_present(SCENARIO)
    with caplog.at_level(logging.WARNING):
        objects.delete_all(SCENARIO)
    assert peer.objects == {}
    assert caplog.messages == []


def test_what_cannot_be_removed_is_named(
    objects: ConfigObjects, peer: ObjectPeer, caplog: pytest.LogCaptureFixture
) -> None:
    peer.refusals["DELETE configmaps/s-settings"] = status(403, "Forbidden", "you may not")
    objects.delete_all(SCENARIO)
    assert [each for each in caplog.messages if "s: ConfigMap settings is left behind: " in each]


def test_a_refusal_is_reported_to_the_caller(objects: ConfigObjects, peer: ObjectPeer) -> None:
    peer.refusals["POST configmaps/s-later"] = status(403, "Forbidden", "you may not")
    with pytest.raises(ApiRefusal, match="create ConfigMap later of s: "):
        objects.create(SCENARIO, "later")
