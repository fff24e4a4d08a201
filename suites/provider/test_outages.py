"""Outages: parts of a cluster become unavailable to each other. In a cluster of their own, since nobody else could use it."""

import re
from collections.abc import Iterator

import pytest

from crashloop.cluster.provider import Capability, Cluster, Outages
from crashloop.errors import ClusterError
from crashloop.kube.answers import KubeError
from crashloop.kube.client import KubeApi
from crashloop.spec.control_plane import Component
from crashloop.waiting import wait_until

from .conftest import Kit, node
from .pods import NAMESPACE, counting_pod

NODE = "node-max-2s"
KNOWN_WITHIN_S = 120.0


@pytest.fixture(scope="module")
def own(kit: Kit) -> Iterator[Cluster]:
    """A cluster of which each test stops a part, and starts it again."""
    kit.needs(Capability.CONTROL_PLANES)
    with kit.up("kit-outages", node(NODE, "max-2s")) as cluster:
        yield cluster


@pytest.fixture
def own_api(own: Cluster) -> Iterator[KubeApi]:
    client = KubeApi(own.info.kubeconfig)
    yield client
    client.close()


@pytest.fixture
def outages(own: Cluster) -> Outages:
    assert own.outages is not None
    return own.outages


def answers(api: KubeApi) -> bool:
    """Whether a node can be read."""
    try:
        return bool(api.node(NODE))
    except KubeError:
        return False


def metrics_of(api: KubeApi) -> str:
    return api.get_raw("/metrics").decode()


def test_a_provider_without_the_capability_offers_no_outages(kit: Kit, cluster: Cluster) -> None:
    assert (cluster.outages is not None) == (Capability.CONTROL_PLANES in kit.provider.capabilities)


def test_pods_live_on_without_api_server_and_without_etcd(own: Cluster, own_api: KubeApi, outages: Outages) -> None:
    with counting_pod(own_api, own, node=NODE) as pod:
        container = pod.container()
        for component in Component:
            outages.stop(component)
            assert not answers(own_api)
            outages.start(component, {})
            pod.count_beyond(pod.count() + 5)
            assert pod.container() == container
    with pytest.raises(ClusterError, match="it runs already"):
        outages.start(Component.ETCD, {})


def test_a_node_that_is_cut_off_hears_of_a_deletion_later(own: Cluster, own_api: KubeApi, outages: Outages) -> None:
    with counting_pod(own_api, own, node=NODE) as pod:
        outages.cut_off(NODE)
        own_api.delete_pod(NAMESPACE, pod.name, grace_s=1)
        assert own_api.has_pod(NAMESPACE, pod.name)
        outages.connect(NODE)
        wait_until(
            "the pod to be gone",
            lambda: not own_api.has_pod(NAMESPACE, pod.name),
            timeout_s=KNOWN_WITHIN_S,
        )


def test_an_api_server_comes_back_with_other_feature_gates(own_api: KubeApi, outages: Outages) -> None:
    for on in (False, True):
        outages.stop(Component.API_SERVER)
        outages.start(Component.API_SERVER, {"ContainerRestartRules": on, "RestartAllContainersOnContainerExits": on})
        (enabled,) = re.findall(r'feature_enabled{name="ContainerRestartRules",.*} (\d)', metrics_of(own_api))
        assert enabled == f"{on:d}"
