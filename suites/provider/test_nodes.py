"""Nodes of a cluster: each with its own profile, and all of them fit to run pods."""

from pathlib import Path

from crashloop.cluster.provider import Capability, Cluster
from crashloop.kube.client import KubeApi
from crashloop.progress import SilentProgress
from crashloop.spec.profile import PROFILE_LABEL, RUNTIMES

from .conftest import NODES, Kit, node
from .pods import counting_pod


def test_every_node_is_ready(kit: Kit, api: KubeApi, cluster: Cluster) -> None:
    assert all(api.is_ready(name) for name in kit.nodes)
    assert {each.name: each.profile for each in cluster.info.nodes} == kit.nodes


def test_every_node_names_its_profile(kit: Kit, api: KubeApi) -> None:
    kit.needs(Capability.KUBELET_PROFILES)
    labels = {each["metadata"]["name"]: each["metadata"]["labels"].get(PROFILE_LABEL) for each in api.nodes()}
    assert {name: profile for name, profile in labels.items() if profile is not None} == NODES


def test_every_kubelet_runs_with_the_configuration_of_its_profile(kit: Kit, api: KubeApi, cluster: Cluster) -> None:
    kit.needs(Capability.CONFIGZ)
    periods = {name: api.configz(name)["crashLoopBackOff"]["maxContainerRestartPeriod"] for name in NODES}
    assert periods == {"node-stock": "5m0s", "node-max-2s": "2s"}


def test_a_pod_runs_on_every_node_and_its_log_can_be_read(kit: Kit, api: KubeApi, cluster: Cluster) -> None:
    for name in kit.nodes:
        with counting_pod(api, cluster, node=name) as pod:
            assert pod.container()[1] == 0


def test_logs_of_every_component_can_be_collected(kit: Kit, cluster: Cluster, tmp_path: Path) -> None:
    kit.needs(Capability.KUBELET_LOG)
    cluster.collect_logs(tmp_path)
    folders = {path.name for path in tmp_path.iterdir()}
    assert folders >= {"control-plane", *NODES}
    for name in NODES:
        assert "Started kubelet" in (tmp_path / name / "kubelet.log").read_text()


def test_a_node_comes_and_goes_with_all_it_has(kit: Kit, api: KubeApi, cluster: Cluster) -> None:
    kit.needs(Capability.KUBELET_PROFILES)
    kit.needs(Capability.NODES_CHANGE)
    cluster.add_nodes((node("node-extra", "max-1s"),), SilentProgress())
    assert api.is_ready("node-extra")
    assert [each.name for each in cluster.info.nodes] == [*NODES, "node-extra"]
    with counting_pod(api, cluster, node="node-extra"):
        cluster.remove_nodes(("node-extra",))
    assert {each["metadata"]["name"] for each in api.nodes()} == set(NODES)
    assert [each.name for each in cluster.info.nodes] == [*NODES]


def test_a_node_has_the_container_runtime_of_its_profile(kit: Kit, api: KubeApi, cluster: Cluster) -> None:
    kit.needs(Capability.RUNTIME_CHOICE)
    names = {runtime: f"node-{runtime.replace('.', '-')}" for runtime in RUNTIMES}
    cluster.add_nodes(tuple(node(names[runtime], f"max-2s+{runtime}") for runtime in RUNTIMES), SilentProgress())
    for name in names.values():
        with counting_pod(api, cluster, node=name) as pod:
            assert pod.container()[1] == 0
    older = api.node(names["containerd-1.7"])["status"]["nodeInfo"]["containerRuntimeVersion"]
    assert older.startswith("containerd://1.7.")
    cluster.remove_nodes(tuple(names.values()))
