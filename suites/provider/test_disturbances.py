"""What is done to nodes on purpose: kubelets and runtimes restart, kubelet configurations are tried."""

import re
from pathlib import Path

import msgspec
import pytest

from crashloop.cluster.provider import Capability, Cluster
from crashloop.errors import ProcessEnded
from crashloop.history.event import Kind
from crashloop.kube.client import KubeApi
from crashloop.profiles import load_profile
from crashloop.waiting import wait_until

from .conftest import Kit
from .pods import NAMESPACE, CountingPod, counting_manifest, counting_pod

NODE = "node-max-2s"


def kubelet_processes(cluster: Cluster) -> list[int]:
    """Process ids of all kubelets that have started on the node, from the header of their log's lines (klog)."""
    (log,) = [node.kubelet_log for node in cluster.info.nodes if node.name == NODE]
    assert log is not None
    return [
        int(pid) for pid in re.findall(r'^I\S+ \S+ +(\d+) \S+ "Started kubelet"', Path(log).read_text(), re.MULTILINE)
    ]


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
def test_pods_live_on_while_their_kubelet_restarts(kit: Kit, api: KubeApi, cluster: Cluster, kill: bool) -> None:
    kit.needs(Capability.KUBELET_RESTART)
    # A log that comes by way of the node's journal is behind the kubelet.
    before = wait_until("the kubelet's start in its log", lambda: kubelet_processes(cluster), timeout_s=60)
    with counting_pod(api, cluster, node=NODE) as pod:
        container = pod.container()
        cluster.restart_kubelet(NODE, kill=kill, down_s=1.0)
        pod.count_beyond(pod.count() + 5)
        assert pod.container() == container
    wait_until("its next start", lambda: len(kubelet_processes(cluster)) > len(before), timeout_s=60)
    after = kubelet_processes(cluster)
    assert after[:-1] == before
    assert after[-1] not in before


@pytest.mark.parametrize("hangs", [False, True], ids=["restarts", "hangs"])
def test_containers_live_on_while_their_runtime_is_away(kit: Kit, api: KubeApi, cluster: Cluster, hangs: bool) -> None:
    kit.needs(Capability.RUNTIME_RESTART)
    with counting_pod(api, cluster, node=NODE) as pod:
        container = pod.container()
        cluster.restart_runtime(NODE, down_s=1.0, hangs=hangs)
        pod.count_beyond(pod.count() + 5)
        assert pod.container() == container


def test_a_node_without_its_pod_network_is_not_ready_and_its_pods_live_on(
    kit: Kit, api: KubeApi, cluster: Cluster
) -> None:
    kit.needs(Capability.POD_NETWORK)
    with counting_pod(api, cluster, node=NODE) as pod:
        container = pod.container()
        cluster.take_network(NODE)
        wait_until("the node to see that", lambda: not api.is_ready(NODE), timeout_s=60)
        cluster.give_network(NODE)
        wait_until("the node to be Ready again", lambda: api.is_ready(NODE), timeout_s=60)
        pod.count_beyond(pod.count() + 5)
        assert pod.container() == container


def test_a_kubelet_that_refuses_its_configuration_says_so_and_exits(kit: Kit, cluster: Cluster) -> None:
    kit.needs(Capability.KUBELET_CANDIDATE)
    events = cluster.try_kubelet(NODE, load_profile("max-301s"), at_most_s=30)
    assert [event.kind for event in events] == [Kind.PROCESS_STARTED, Kind.PROCESS_EXITED]
    assert events[1].data["exit_code"] == 1
    assert "MaxContainerRestartPeriod (got: 301 seconds) must be set between 1s and 300s" in events[1].data["stderr"]


def test_a_kubelet_that_accepts_its_configuration_becomes_healthy(kit: Kit, api: KubeApi, cluster: Cluster) -> None:
    kit.needs(Capability.KUBELET_CANDIDATE)
    with counting_pod(api, cluster, node=NODE) as pod:
        container = pod.container()
        events = cluster.try_kubelet(NODE, load_profile("max-300s"), at_most_s=60)
        pod.count_beyond(pod.count() + 5)
        assert pod.container() == container
    assert [event.kind for event in events] == [Kind.PROCESS_STARTED, Kind.PROCESS_HEALTHY]
    assert events[1].data["configz"]["crashLoopBackOff"] == {"maxContainerRestartPeriod": "5m0s"}
    assert all(event.node == NODE for event in events)
    assert events[0].t_ns < events[1].t_ns


def test_a_drop_in_file_overrides_the_file(kit: Kit, cluster: Cluster) -> None:
    kit.needs(Capability.KUBELET_CANDIDATE)
    events = cluster.try_kubelet(NODE, load_profile("drop-ins-60s-20s"), at_most_s=60)
    assert events[1].data["configz"]["crashLoopBackOff"] == {"maxContainerRestartPeriod": "20s"}


def test_a_file_of_a_node_is_a_pod_until_it_is_removed(kit: Kit, api: KubeApi, cluster: Cluster) -> None:
    kit.needs(Capability.STATIC_PODS)
    manifest = counting_manifest(NODE, cluster.info.image)
    manifest["metadata"]["namespace"] = NAMESPACE
    cluster.write_static_pod(NODE, "static", manifest)
    pod = CountingPod(api, NAMESPACE, f"{manifest['metadata']['name']}-{NODE}")
    pod.count_beyond(0)
    assert "kubernetes.io/config.mirror" in api.get_pod(NAMESPACE, pod.name)["metadata"]["annotations"]
    cluster.write_static_pod(NODE, "static", None)
    wait_until("the mirror pod to be gone", lambda: not api.has_pod(NAMESPACE, pod.name), timeout_s=120)


def test_a_kubelet_says_which_flag_it_does_not_know(kit: Kit, cluster: Cluster) -> None:
    kit.needs(Capability.KUBELET_CANDIDATE)
    candidate = msgspec.structs.replace(load_profile("max-300s"), arguments=("--no-such-flag",))
    events = cluster.try_kubelet(NODE, candidate, at_most_s=30)
    assert (events[1].kind, events[1].data["exit_code"]) == (Kind.PROCESS_EXITED, 1)
    assert "unknown flag: --no-such-flag" in events[1].data["stderr"]


def test_a_kubelet_restarts_with_another_profile_and_with_its_own_again(
    kit: Kit, api: KubeApi, cluster: Cluster
) -> None:
    kit.needs(Capability.KUBELET_RECONFIGURATION)
    with counting_pod(api, cluster, node=NODE) as pod:
        container = pod.container()
        for name, maximum in (("max-20s", "20s"), ("max-2s", "2s")):
            cluster.restart_kubelet(NODE, profile=load_profile(name))
            assert api.configz(NODE)["crashLoopBackOff"] == {"maxContainerRestartPeriod": maximum}
        pod.count_beyond(pod.count() + 5)
        assert pod.container() == container


def test_a_written_configuration_waits_for_the_restart(kit: Kit, api: KubeApi, cluster: Cluster) -> None:
    kit.needs(Capability.KUBELET_RECONFIGURATION)
    cluster.write_kubelet_config(NODE, load_profile("max-20s"))
    assert api.configz(NODE)["crashLoopBackOff"] == {"maxContainerRestartPeriod": "2s"}
    cluster.restart_kubelet(NODE)
    assert api.configz(NODE)["crashLoopBackOff"] == {"maxContainerRestartPeriod": "20s"}
    cluster.restart_kubelet(NODE, profile=load_profile("max-2s"))


def test_a_kubelet_that_refuses_its_configuration_comes_back_with_a_valid_one(
    kit: Kit, api: KubeApi, cluster: Cluster
) -> None:
    kit.needs(Capability.KUBELET_RECONFIGURATION)
    with counting_pod(api, cluster, node=NODE) as pod:
        container = pod.container()
        with pytest.raises(ProcessEnded, match="must be set between 1s and 300s"):
            cluster.restart_kubelet(NODE, profile=load_profile("max-301s"))
        cluster.restart_kubelet(NODE, profile=load_profile("max-2s"))
        pod.count_beyond(pod.count() + 5)
        assert pod.container() == container
