"""A user's file for kind under the nodes of a run. The shapes are those of kind's documentation and of public repositories."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from crashloop.cli import main
from crashloop.cluster.kind.kind_file import KindFile, read_kind_file
from crashloop.cluster.kind.plan import cluster_config, node_files
from crashloop.errors import UsageError
from crashloop.run.options import OPTIONS
from crashloop.run.requested import run_settings
from crashloop.verdict import ExitCode
from suites.selftest.kit.kind_kit import OFFICIAL, blueprint

HEAD = "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\n"
INGRESS = (
    HEAD
    + """
name: app
networking: {apiServerAddress: 127.0.0.1, apiServerPort: 6443, disableDefaultCNI: false, podSubnet: 192.168.0.0/16}
nodes:
- role: control-plane
  kubeadmConfigPatches:
  - |
    kind: InitConfiguration
    nodeRegistration:
      kubeletExtraArgs:
        node-labels: "ingress-ready=true"
  extraPortMappings:
  - {containerPort: 80, hostPort: 80, protocol: tcp}
  extraMounts:
  - {hostPath: /etc/docker/config.json, containerPath: /var/lib/kubelet/config.json}
- role: worker
  labels: {zone: 1, tier: front}
  extraPortMappings: [{containerPort: 30080, hostPort: 8080}]
- role: worker
  extraMounts: [{hostPath: ./data, containerPath: /data, propagation: Bidirectional}]
containerdConfigPatches:
- |-
  [plugins."io.containerd.grpc.v1.cri".registry.mirrors."localhost:5001"]
    endpoint = ["http://kind-registry:5001"]
"""
)
MOUNT_FOR_ALL = HEAD + "nodes:\n- role: control-plane\n  extraMounts: [{hostPath: /dev/kvm, containerPath: /dev/kvm}]\n"
COMMENTED = HEAD + "networking:\n# ipFamily: dual\nruntimeConfig:\n  api/all: true\nfeatureGates:\n  NodeSwap: true\n"
AUDITED = (
    HEAD
    + """
kubeadmConfigPatches:
- |
  kind: ClusterConfiguration
  controllerManager:
    extraArgs: [{name: v, value: "5"}, {name: leader-elect, value: "true"}]
  apiServer:
    certSANs: [localhost]
"""
)


def file_of(text: str, folder: Path) -> KindFile:
    path = folder / "kind.yaml"
    path.write_text(text)
    return read_kind_file(str(path))


def merged(text: str, folder: Path, *profiles: str) -> dict[str, Any]:
    config = cluster_config(blueprint(*profiles, image=OFFICIAL, kind_file=file_of(text, folder)))
    found: dict[str, Any] = yaml.safe_load(config)
    return found


def patches_of_kind(config: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [each for each in map(yaml.safe_load, config["kubeadmConfigPatches"]) if each["kind"] == kind]


@pytest.mark.parametrize("text", [HEAD, INGRESS, MOUNT_FOR_ALL, COMMENTED, AUDITED])
def test_kind_decodes_what_is_merged(text: str, tmp_path: Path) -> None:
    config = merged(text, tmp_path, "stock", "max-2s", "max-10s")
    msgspec.convert(config, KindFile)
    assert [each["role"] for each in config["nodes"]] == ["control-plane", "worker", "worker", "worker"]
    assert config["name"] == "crashloop-demo"
    assert config["networking"]["disableDefaultCNI"]
    assert config["networking"]["kubeProxyMode"] == "none"


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    assert merged(HEAD, tmp_path, "stock") == yaml.safe_load(cluster_config(blueprint("stock", image=OFFICIAL)))


def test_mounts_ports_labels_and_patches_of_the_file_are_on_the_nodes_of_the_run(tmp_path: Path) -> None:
    config = merged(INGRESS, tmp_path, "stock", "max-2s", "max-10s")
    head, first, second, third = config["nodes"]
    assert head["extraMounts"][0] == {
        "hostPath": "/etc/docker/config.json",
        "containerPath": "/var/lib/kubelet/config.json",
    }
    assert head["extraPortMappings"] == [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]
    assert [yaml.safe_load(each)["kind"] for each in head["kubeadmConfigPatches"]] == ["InitConfiguration"] * 2
    assert first["labels"] == {"zone": "1", "tier": "front", "crashloop.dev/profile": "stock"} | first["labels"]
    assert second["extraMounts"][0]["propagation"] == "Bidirectional"
    assert config["containerdConfigPatches"][0].startswith("[plugins.")
    assert config["networking"]["apiServerPort"] == 6443
    assert "extraPortMappings" in first
    assert "extraPortMappings" not in third  # a port of the host has one owner
    assert third["labels"] == {"zone": "1", "tier": "front"} | third["labels"]


def test_a_file_with_one_node_gives_its_mounts_to_every_node(tmp_path: Path) -> None:
    for node in merged(MOUNT_FOR_ALL, tmp_path, "stock", "max-2s")["nodes"]:
        assert node["extraMounts"][0] == {"hostPath": "/dev/kvm", "containerPath": "/dev/kvm"}


def test_arguments_of_the_file_stand_beside_those_of_the_run(tmp_path: Path) -> None:
    made = blueprint("stock", image=OFFICIAL, kind_file=file_of(AUDITED, tmp_path))
    made = msgspec.structs.replace(made, image=msgspec.structs.replace(OFFICIAL, kubernetes_version="1.37.1"))
    theirs, ours = patches_of_kind(yaml.safe_load(cluster_config(made)), "ClusterConfiguration")
    arguments = {each["name"]: each["value"] for each in ours["controllerManager"]["extraArgs"]}
    assert arguments | {"v": "5", "leader-elect": "false"} == arguments
    assert theirs["apiServer"] == {"certSANs": ["localhost"]}


def test_pods_have_addresses_of_the_files_range(tmp_path: Path) -> None:
    made = blueprint("stock", image=OFFICIAL, kind_file=file_of(INGRESS, tmp_path))
    assert '"192.168.1.0/24"' in node_files(made, made.workers[0])["10-crashloop.conflist"]


def test_what_a_run_does_without_is_said(tmp_path: Path) -> None:
    assert list(file_of(INGRESS, tmp_path).left_out(1)) == [
        "name app",
        "kindnet: pods have crashloop's own network",
        "1 of 2 workers: the run has 1",
    ]


def test_gates_of_the_file_are_gates_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "kind.yaml").write_text(
        HEAD + "featureGates: {NodeSwap: true}\nnodes: [{role: control-plane, image: kindest/node:v1.33.4}]\n"
    )
    options = {each.name: [] if each.repeats else each.default for each in OPTIONS}
    found = run_settings(options | {"--provider": "kind", "--kind-config": str(tmp_path / "kind.yaml")})
    assert found["feature_gates"] == found["kubelet_gates"] == {"NodeSwap": True}
    assert (found["kubernetes_version"], found["node_image"]) == ("1.33.4", "kindest/node:v1.33.4")
    assert found["arguments"][-1] == f"--kind-config={tmp_path / 'kind.yaml'}"


THREE = "- role: control-plane\n" * 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + f"nodes:\n{THREE}", "its control plane has 3 nodes, and a run has one"),
        (HEAD + "nodes: [{role: worker}]", "no node with the role control-plane"),
        (HEAD + "nodes: [{role: master}]", "nodes[0].role"),
        ("kind: Deployment\napiVersion: apps/v1\n", "it is Deployment of apps/v1; expected Cluster of kind.x-k8s.io/v1alpha4"),
        ("kind: Cluster\napiVersion: kind.sigs.k8s.io/v1alpha3\n", "expected Cluster of kind.x-k8s.io/v1alpha4"),
        ("kind: Cluster\napiVersion: cluster.x-k8s.io/v1beta1\n", "it is Cluster of cluster.x-k8s.io/v1beta1"),
        ("[]", "it is no mapping"),
        ("", "it is no mapping"),
        (HEAD + "node:\n- role: control-plane\n", "node is no field of kind; did you mean nodes"),
        (HEAD + "nodes:\n- role: control-plane\n  extraMount: []\n", "[0].extraMount is no field of kind; did you mean"),
        (HEAD + "nodes:\n- role: control-plane\nextraPortMappings: []\n", "extraPortMappings is no field of kind; it belongs"),
        (HEAD + "nodes: {role: control-plane}\n", "nodes: expected"),
        (HEAD + "networking: {ipFamily: ipv6}", "pods of a run have IPv4 addresses"),
        (HEAD + "networking: {podSubnet: 10.0.0.0/33}", "networking.podSubnet"),
        (HEAD + "networking: {podSubnet: 10.0.0.0/24}", "expected /19 or more"),
        (HEAD + "networking: {podSubnet: 'fd00::/56'}", "expected one range of IPv4"),
        (HEAD + "networking: {apiServerPort: 99999}", "networking.apiServerPort"),
        (HEAD + "networking: {apiServerAddress: localhost}", "networking.apiServerAddress"),
        (HEAD + "containerdConfigPatches: ['[a']", "containerdConfigPatches[0]: it is no TOML"),
        (HEAD + "kubeadmConfigPatches: [{kind: InitConfiguration}]", "kubeadmConfigPatches[0]: expected text, not a mapping"),
        (HEAD + "kubeadmConfigPatches: ['a: [']", "kubeadmConfigPatches[0]: it is neither JSON nor YAML"),
        (
            HEAD + "kubeadmConfigPatches: ['{kind: KubeletConfiguration, crashLoopBackOff: {maxContainerRestartPeriod: 2s}}']",
            "crashLoopBackOff is set by kubelet profiles; say it with --profile",
        ),
        (
            HEAD + "nodes: [{role: control-plane, image: a}, {role: worker, image: b}]",
            "its nodes have different images (a, b), and the nodes of a run have one",
        ),
        (
            HEAD + "nodes: [{extraMounts: [{hostPath: /a, containerPath: /usr/bin/kubelet}]}]",
            "a run has its own files at /usr/bin/kubelet",
        ),
        (
            HEAD + "nodes: [{extraPortMappings: [{hostPort: 80, containerPort: 1}, {hostPort: 80, containerPort: 2}]}]",
            "port 80 of the host is mapped twice",
        ),
        (HEAD + "nodes: [{extraPortMappings: [{hostPort: 1, containerPort: 1, protocol: HTTP}]}]", "protocol HTTP"),
        (HEAD + "name: a\nname: b\n", 'key "name" already set in map'),
        (HEAD + "featureGates: {NodeSwap: 'yes please'}", "featureGates"),
    ],
)  # fmt: skip
def test_what_no_run_can_use_is_refused_in_a_sentence(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        file_of(text, tmp_path)
    assert said in str(refused.value)


@pytest.mark.parametrize("path", ["nowhere.yaml", ".", "/dev/zero"])
def test_what_is_no_file_is_refused(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        read_kind_file(path)


@pytest.mark.parametrize("command", [["up", "--plan"], ["run", "--dry-run"]])
def test_commands_end_with_2(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kind.yaml").write_text(HEAD + f"nodes:\n{THREE}")
    for provider, said in {"kind": "its control plane has 3 nodes", "local": "only for --provider kind"}.items():
        arguments = [*command, "--provider", provider, "--kind-config", str(tmp_path / "kind.yaml")]
        monkeypatch.setattr("sys.argv", ["crashloop", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == ExitCode.USAGE
        assert said in capsys.readouterr().err
