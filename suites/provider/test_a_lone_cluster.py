"""A cluster that is alone on its host gives everything back, the host's own settings included."""

from crashloop.cluster.ownership import list_clusters
from crashloop.kube.client import KubeApi

from .conftest import Kit, node
from .pods import counting_pod
from .traces import traces


def test_nothing_is_left_of_a_cluster_that_was_taken_down(kit: Kit) -> None:
    others = tuple(record.name for record in list_clusters())
    before = traces(except_of=others)
    with kit.up("kit-lone", node("node-stock", "stock")) as cluster:
        with counting_pod(KubeApi(cluster.info.kubeconfig), cluster, node="node-stock") as pod:
            pod.count_beyond(3)
        assert len(traces(except_of=others)) > len(before)
    assert traces(except_of=others) == before
    cluster.down()
