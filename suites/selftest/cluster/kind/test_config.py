"""What `kind` and kubeadm read for a cluster. `pytest --snapshot-update` writes the golden files anew."""

from typing import Any

import msgspec
import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from crashloop.cluster.kind.plan import (
    IMAGES_OWN,
    Blueprint,
    cluster_config,
    container_names,
    describe,
    kubelet_patch,
    mounted,
    node_files,
)
from crashloop.cluster.kubelets import KubeletProgram
from crashloop.spec.profile import KubeletProfile, merged
from suites.selftest.kit.kind_kit import OFFICIAL, blueprint
from suites.selftest.kit.snapshots import YamlFile


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(YamlFile)


def kubeadm_patches(made_from: Blueprint) -> dict[str, dict[str, Any]]:
    """kind -> patch, of the patches that hold for all nodes."""
    patches = yaml.safe_load(cluster_config(made_from))["kubeadmConfigPatches"]
    return {patch["kind"]: patch for patch in map(yaml.safe_load, patches)}


def test_the_configuration_of_a_cluster(golden: SnapshotAssertion) -> None:
    assert cluster_config(blueprint("stock", "max-2s")) == golden


def test_the_plan_of_a_cluster_has_the_configuration_and_every_file_of_every_node() -> None:
    made_from = blueprint("stock", "max-2s")
    titles = [line for line in describe(made_from).splitlines() if line.startswith("#")]
    files = [
        f"## file {made_from.layout.node(node.name) / path}"
        for node in made_from.nodes
        for path in node_files(made_from, node)
    ]
    assert titles == [f"# kind create cluster --name {made_from.kind_name}", *files]


def test_the_patch_of_a_kubelet_on_our_own_image(golden: SnapshotAssertion) -> None:
    made_from = blueprint("max-2s", cgroup_version=1)
    assert node_files(made_from, made_from.workers[0])["patches/kubeletconfiguration+merge.yaml"] == golden


def test_every_node_sees_a_pod_network_of_its_own() -> None:
    made_from = blueprint("stock", "max-2s")
    subnets = [
        yaml.safe_load(node_files(made_from, node)["10-crashloop.conflist"])["plugins"][0]["ipam"]["ranges"]
        for node in made_from.nodes
    ]
    assert subnets == [[[{"subnet": f"10.244.{index}.0/24"}]] for index in range(3)]


def test_the_control_plane_gets_a_storage_class_without_the_provisioner_of_kinds_own_images() -> None:
    made_from = blueprint("stock", image=OFFICIAL)
    control_plane, worker = yaml.safe_load(cluster_config(made_from))["nodes"]
    mounts = {mount["containerPath"]: mount["hostPath"] for mount in control_plane["extraMounts"]}
    (storage,) = yaml.safe_load_all(node_files(made_from, made_from.control_plane)["storage.yaml"])
    assert storage["kind"] == "StorageClass"
    assert mounts["/kind/manifests/default-storage.yaml"].endswith("-control-plane/storage.yaml")
    assert "storage.yaml" not in node_files(made_from, made_from.workers[0])
    assert all("manifests" not in mount["containerPath"] for mount in worker["extraMounts"])


def test_arguments_have_the_shape_of_the_versions_kubeadm() -> None:
    new = kubeadm_patches(blueprint("stock"))["ClusterConfiguration"]
    old = kubeadm_patches(blueprint("stock", image=OFFICIAL))["ClusterConfiguration"]
    assert new["scheduler"] == {"extraArgs": [{"name": "leader-elect", "value": "false"}]}
    assert old["scheduler"] == {"extraArgs": {"leader-elect": "false"}}


def test_gates_of_the_control_plane_reach_its_components_and_no_kubelet() -> None:
    made_from = blueprint("stock", image=OFFICIAL, feature_gates={"B": False, "A": True})
    patch = kubeadm_patches(made_from)["ClusterConfiguration"]
    for component in ("apiServer", "controllerManager", "scheduler"):
        assert patch[component]["extraArgs"]["feature-gates"] == "A=true,B=false"
        assert "runtime-config" not in patch[component]["extraArgs"]
    assert "featureGates" not in yaml.safe_load(cluster_config(made_from))
    assert "featureGates" not in kubelet_patch(made_from, made_from.workers[0])


def test_an_api_server_with_all_gates_of_a_stage_serves_the_groups_of_that_stage() -> None:
    made_from = blueprint("stock", image=OFFICIAL, feature_gates={"AllAlpha": True})
    patch = kubeadm_patches(made_from)["ClusterConfiguration"]
    assert patch["apiServer"]["extraArgs"]["runtime-config"] == "api/all=true"
    assert "runtime-config" not in patch["scheduler"]["extraArgs"]


def test_a_kubelet_of_the_users_is_mounted_over_the_images() -> None:
    made_from = blueprint("stock")
    own = msgspec.structs.replace(made_from.workers[0], kubelet="/home/me/kubelet")
    made_from = msgspec.structs.replace(made_from, nodes=(made_from.control_plane, own))
    control_plane, worker = yaml.safe_load(cluster_config(made_from))["nodes"]
    mount = {"hostPath": "/home/me/kubelet", "containerPath": "/usr/bin/kubelet", "readOnly": True}
    assert mount in worker["extraMounts"]
    assert mount not in control_plane["extraMounts"]
    assert mounted(KubeletProgram(path="/home/me/kubelet", version="1.37.1")) == "/home/me/kubelet"
    assert mounted(KubeletProgram(path=IMAGES_OWN, version="1.37.1")) is None


def test_a_profile_has_the_last_word() -> None:
    made_from = blueprint("stock")
    profile = KubeletProfile(name="own", config={"oomScoreAdj": 7, "evictionHard": None, "logging": {"format": "text"}})
    node = msgspec.structs.replace(made_from.workers[0], profile=profile)
    patch = kubelet_patch(made_from, node)
    assert (patch["oomScoreAdj"], patch["evictionHard"]) == (7, None)
    assert patch["logging"] == {"verbosity": 2, "format": "text"}


def test_drop_in_files_of_a_profile_are_merged_into_its_configuration() -> None:
    made_from = blueprint("max-11s")
    patch = kubelet_patch(made_from, made_from.workers[0])
    assert patch["crashLoopBackOff"] == {"maxContainerRestartPeriod": "11s"}
    assert patch["featureGates"] == {"KubeletCrashLoopBackOffMax": True}


def test_nodes_with_systemd_keep_its_cgroups_and_only_the_control_plane_has_pods_from_files() -> None:
    systemd, service = blueprint("stock", image=OFFICIAL), blueprint("stock")
    assert "cgroupRoot" not in kubelet_patch(systemd, systemd.workers[0])
    assert kubelet_patch(service, service.workers[0])["cgroupRoot"] == "/"
    assert "staticPodPath" not in kubelet_patch(service, service.control_plane)
    assert kubelet_patch(service, service.workers[0])["staticPodPath"] is None


def test_a_kubelet_differs_from_one_of_the_provider_local_in_its_places_only() -> None:
    made_from = blueprint("stock", cgroup_version=1)
    stock, capped = (
        kubelet_patch(made_from, msgspec.structs.replace(made_from.workers[0], profile=profile))
        for profile in (KubeletProfile(name="a"), KubeletProfile(name="b", config={"maxPods": 5}))
    )
    assert merged(stock, {"maxPods": 5}) == capped


def test_containers_are_named_as_kind_names_them() -> None:
    assert container_names("x", 0) == ("crashloop-x-control-plane",)
    assert container_names("x", 3) == (
        "crashloop-x-control-plane",
        "crashloop-x-worker",
        "crashloop-x-worker2",
        "crashloop-x-worker3",
    )
