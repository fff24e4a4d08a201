"""The image registry of a cluster: nodes pull from it, and every request is known."""

from crashloop.cluster.provider import Capability, Cluster, RegistryOffer
from crashloop.cluster.registry_server import TAG
from crashloop.kube.client import KubeApi

from .conftest import Kit
from .pods import counting_pod

REPOSITORY = "kit/pulled"


def test_a_provider_without_the_capability_has_no_registry(kit: Kit, cluster: Cluster) -> None:
    assert (cluster.registry is not None) == (Capability.IMAGE_REGISTRY in kit.provider.capabilities)


def test_a_node_pulls_what_is_offered(kit: Kit, cluster: Cluster, api: KubeApi) -> None:
    kit.needs(Capability.IMAGE_REGISTRY)
    registry = cluster.registry
    assert registry is not None
    registry.offer(REPOSITORY, RegistryOffer(version=1))
    node = next(iter(kit.nodes))
    with counting_pod(api, cluster, node=node, image=f"{registry.address}/{REPOSITORY}:{TAG}") as pod:
        pod.count_beyond(1)
    assert {(each.reference, each.status) for each in registry.requests(REPOSITORY)} >= {(TAG, 200)}
    registry.forget(REPOSITORY)
    assert registry.requests(REPOSITORY) == ()
