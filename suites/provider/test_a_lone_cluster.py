"""A cluster that is alone on its host gives everything back, the host's own settings included."""

from crashloop.cluster.provider import Capability
from crashloop.kube.client import KubeApi

from .conftest import Kit, node
from .pods import counting_pod
from .traces import OF_A_CLUSTER, left_since, traces

NAME = "kit-lone"
STAYS = ("mount", "folder", "file")
"""Traces that no cluster may take away either."""


def test_nothing_is_left_of_a_cluster_that_was_taken_down_and_nothing_else_is_gone(kit: Kit) -> None:
    kit.needs(Capability.KUBELET_PROFILES)
    before = traces(of=NAME)
    with kit.up(NAME, node("node-stock", "stock")) as cluster:
        with counting_pod(KubeApi(cluster.info.kubeconfig), cluster, node="node-stock") as pod:
            pod.count_beyond(3)
        assert {line.split()[0] for line in traces(of=NAME) - before} >= OF_A_CLUSTER[kit.provider.name]
    assert left_since(before, of=NAME) == set()
    assert {line for line in before - traces(of=NAME) if line.startswith(STAYS)} == set()
    cluster.down()
