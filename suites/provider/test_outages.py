"""Outages: parts of a cluster become unavailable to each other. In clusters of their own, since nobody else could use them."""

import re

import pytest

from crashloop.cluster.provider import Capability, Cluster, Outages
from crashloop.errors import ClusterError
from crashloop.kube.client import KubeApi
from crashloop.kube.errors import KubeError
from crashloop.spec.control_plane import Component
from crashloop.waiting import wait_until

from .conftest import Kit, node
from .pods import NAMESPACE, counting_pod

NODE = "node-max-2s"
KNOWN_WITHIN_S = 120.0


def outages_of(cluster: Cluster) -> Outages:
    assert cluster.outages is not None
    return cluster.outages


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


def test_pods_live_on_without_api_server_and_without_etcd(kit: Kit) -> None:
    kit.needs(Capability.CONTROL_PLANES)
    with kit.up("kit-outages", node(NODE, "max-2s")) as cluster:
        api, outages = KubeApi(cluster.info.kubeconfig), outages_of(cluster)
        with counting_pod(api, cluster, node=NODE) as pod:
            container = pod.container()
            for component in Component:
                outages.stop(component)
                assert not answers(api)
                outages.start(component, {})
                pod.count_beyond(pod.count() + 5)
                assert pod.container() == container
        with pytest.raises(ClusterError, match="it runs already"):
            outages.start(Component.ETCD, {})
        api.close()


def test_a_node_that_is_cut_off_hears_of_a_deletion_later(kit: Kit) -> None:
    kit.needs(Capability.CONTROL_PLANES)
    with kit.up("kit-cut-off", node(NODE, "max-2s")) as cluster:
        api, outages = KubeApi(cluster.info.kubeconfig), outages_of(cluster)
        with counting_pod(api, cluster, node=NODE) as pod:
            outages.cut_off(NODE)
            api.delete_pod(NAMESPACE, pod.name, grace_s=1)
            assert api.has_pod(NAMESPACE, pod.name)
            outages.connect(NODE)
            wait_until(
                "the pod to be gone",
                lambda: not api.has_pod(NAMESPACE, pod.name),
                timeout_s=KNOWN_WITHIN_S,
            )
        api.close()


def test_an_api_server_comes_back_with_other_feature_gates(kit: Kit) -> None:
    kit.needs(Capability.CONTROL_PLANES)
    with kit.up("kit-gates", node(NODE, "max-2s")) as cluster:
        api, outages = KubeApi(cluster.info.kubeconfig), outages_of(cluster)
        for on in (False, True):
            outages.stop(Component.API_SERVER)
            outages.start(
                Component.API_SERVER, {"ContainerRestartRules": on, "RestartAllContainersOnContainerExits": on}
            )
            (enabled,) = re.findall(r'feature_enabled{name="ContainerRestartRules",.*} (\d)', metrics_of(api))
            assert enabled == f"{on:d}"
        api.close()
