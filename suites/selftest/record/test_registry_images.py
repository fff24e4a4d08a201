"""The images of a scenario are offered in repositories of its own, named by its pod, and its requests become events."""

from types import SimpleNamespace
from typing import cast

import pytest

from crashloop.cluster.provider import RegistryOffer, RegistryRequest
from crashloop.errors import UsageError
from crashloop.history.event import Channel, Kind
from crashloop.record.pod_dependencies import ScenarioImages
from crashloop.record.site import RecordingSite
from crashloop.spec.dependency import PASSWORD, ConfigKind, ConfigObject, PullPolicy, RegistryImage
from crashloop.spec.pod import Container, Pod
from crashloop.spec.scenario import PodScenario, Until

SCENARIO = PodScenario(
    name="s",
    profile="stock",
    pod=Pod(
        containers=(
            Container(name="open", image=RegistryImage(policy=PullPolicy.ALWAYS, answers_after_s=3.0)),
            Container(name="closed", image=RegistryImage(policy=PullPolicy.ALWAYS, version=None, secret="login")),
            Container(name="plain"),
        )
    ),
    until=Until(),
    objects=(ConfigObject(name="login", kind=ConfigKind.SECRET, data={"password": "wrong"}),),
)


class Offers:
    """A registry that keeps its offers."""

    address = "10.101.0.1:5000"

    def __init__(self) -> None:
        self.offers: dict[str, RegistryOffer] = {}

    def offer(self, repository: str, offer: RegistryOffer) -> None:
        self.offers[repository] = offer

    def requests(self, repository: str) -> tuple[RegistryRequest, ...]:
        if repository != "ns/s/open":
            return ()
        return (
            RegistryRequest(t_ns=7, method="HEAD", what="manifests", reference="current", status=200, answered_ns=9),
        )

    def forget(self, repository: str) -> None:
        del self.offers[repository]


def images_of(registry: Offers | None) -> ScenarioImages:
    cluster = SimpleNamespace(registry=registry, info=SimpleNamespace(name="c"))
    return ScenarioImages(cast("RecordingSite", SimpleNamespace(cluster=cluster, namespace="ns")), SCENARIO)


def test_the_pod_names_them_by_the_address_of_the_registry() -> None:
    assert images_of(Offers()).names() == {
        "open": "10.101.0.1:5000/ns/s/open:current",
        "closed": "10.101.0.1:5000/ns/s/closed:current",
    }


def test_those_that_are_to_be_there_are_offered_first_and_others_later() -> None:
    registry = Offers()
    images = images_of(registry)
    images.offer_first()
    closed = "ns/s/closed"
    slow = RegistryOffer(version=1, answers_after_s=3.0)
    assert registry.offers == {"ns/s/open": slow, closed: RegistryOffer(version=None, password=PASSWORD)}
    images.offer("closed", 2)
    assert registry.offers[closed] == RegistryOffer(version=2, password=PASSWORD)
    images.forget()
    assert registry.offers == {}


def test_a_request_is_an_event_of_its_container() -> None:
    (event,) = images_of(Offers()).requests()
    assert (event.t_ns, event.channel, event.kind, event.container) == (7, Channel.REGISTRY, Kind.REQUEST, "open")
    assert event.data == {
        "method": "HEAD",
        "what": "manifests",
        "reference": "current",
        "status": 200,
        "password": None,
        "answered_ns": 9,
    }


def test_a_cluster_without_a_registry_is_named() -> None:
    with pytest.raises(UsageError, match="cluster c: it has no image registry of its own"):
        images_of(None).offer_first()
