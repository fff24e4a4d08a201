"""`crashloop profile check` answers as a kubelet of 1.37.1 did that was given each of these files (`kubelet --config FILE`)."""

import base64
import gzip
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from crashloop.run.profile_check import ACCEPTED, REFUSED, UNREADABLE, Row, checked
from crashloop.spec.version import KubernetesVersion

V1_37 = KubernetesVersion(1, 37, 1)
HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
FAST = "crashLoopBackOff: {maxContainerRestartPeriod: 1m0s}\n"
FAST_IN_JSON = '"crashLoopBackOff": {"maxContainerRestartPeriod": "1m0s"}'
TO_60_S = "0, 10, 20, 40, 60 s"

TAKEN = [
    "port: 0",
    "readOnlyPort: 10255",
    "evictionHard: {memory.available: '100Mi', foo.bar: '1'}",
    "syncFrequency: 0s",
    "serializeImagePulls: yes",
    "maxParallelImagePulls: 5",
    "featureGates: {EventedPLEG: true}",
    "clusterDNS: [10.0.0.10]",
    "registerWithTaints: [{key: a, effect: NoSchedule}]",
    "logging: {flushFrequency: 5s}",
    "systemReserved: {cpu: 100m}",
    "maxPods: 110.0",
    "crashLoopBackOff: null",
    "crashLoopBackOff: {maxContainerRestartPeriod: 1m30s}",
    "cgroupDriver: foo",
    "imageMinimumGCAge: 1m\nimageMaximumGCAge: 2m",
    "enforceNodeAllocatable: [none]",
    "4: 5",
    "metadata: {name: config}",
    "serializeImagePulls: n",
    "maxPods: 0O17",
    "maxPods: 0x6E",
    "logging: {verbosity: 3.0, vmodule: [{filePattern: a, verbosity: 3}]}",
    "logging: {flushFrequency: 0}",
    "memoryThrottlingFactor: 0.9",
    "tracing: {endpoint: 'dns:///a:4317'}",
    "tracing: {endpoint: '[::1]:4317'}",
    "reservedSystemCPUs: 0-3,5",
    "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi, hugepages-2Mi: 2Mi}}]",
    "registerWithTaints: [{key: a.b/c, value: 'true', effect: NoExecute}]",
    "podLogsDir: /var/log/pods",
    "featureGates: {NodeLogQuery: true}\nenableSystemLogQuery: true\nenableSystemLogHandler: true",
    "featureGates: {MemoryQoS: true}\nmemoryThrottlingFactor: 0.8",
    "nodeStatusMaxImages: -1",
]
NOT_TAKEN = [
    "maxPods: -1",
    "maxPods: '110'",
    "maxPods: 1.5",
    "maxPods: 99999999999",
    "podsPerCore: -3",
    "port: 70000",
    "oomScoreAdj: -2000",
    "evictionHard:\n  memory.available: 100",
    "evictionHard: [a]",
    "syncFrequency: '10'",
    "syncFrequency: 10",
    "serializeImagePulls: 'false'",
    "serializeImagePulls: true\nmaxParallelImagePulls: 5",
    "maxParallelImagePulls: 0",
    "containerLogMaxFiles: 1",
    "topologyManagerPolicy: foo",
    "featureGates: {KubeletPSI: true, Foo: true}",
    "featureGates: []",
    "featureGates: {NodeSwap: false}",
    "featureGates: {GracefulNodeShutdown: false}",
    'featureGates: {KubeletPSI: "true"}',
    "clusterDNS: 10.0.0.10",
    "authentication: {anonymous: {enabled: 'no'}}",
    "authentication: {webhook: {cacheTTL: 2}}",
    "memorySwap: {swapBehavior: Foo}",
    "logging: {format: xml}",
    "hairpinMode: foo",
    "kubeAPIQPS: -1",
    "nodeLeaseDurationSeconds: -1",
    "imageGCHighThresholdPercent: 101",
    "imageGCLowThresholdPercent: 90",
    "shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 20s",
    "shutdownGracePeriod: 0.5s",
    "cgroupsPerQOS: false",
    "systemReserved: {cpu: 1}",
    "crashLoopBackOff: 5",
    "crashLoopBackOff: {maxContainerRestartPeriod: 5}",
    "cpuCFSQuotaPeriod: 2s",
    "imageMaximumGCAge: 1s",
    "enforceNodeAllocatable: [foo]",
    "protectKernelDefaults: 1",
    "clusterDomain: y",
    "registerWithTaints: [{effect: NoSchedule}]",
    "registerWithTaints: [{key: a, effect: No}]",
    "registerWithTaints: [{key: a, value: 5}]",
    "registerWithTaints: [{key: a, effect: Foo}]",
    "reservedSystemCPUs: abc",
    "reservedSystemCPUs: 3-1",
    "reservedSystemCPUs: 0-3\nsystemReservedCgroup: /a",
    "reservedMemory: [{numaNode: 0, limits: {foo: 1Gi}}]",
    "reservedMemory: [{numaNode: 0, limits: {memory: 0}}]",
    "logging: {verbosity: '3'}",
    "logging: {verbosity: -1}",
    "logging: {vmodule: a=3}",
    "logging: {flushFrequency: -5s}",
    "logging: {options: {json: {infoBufferSize: 1Ki}}}",
    "tracing: {samplingRatePerMillion: 5000000}",
    "tracing: {endpoint: 'a:b:c'}",
    "tracing: {endpoint: 'http://a:4317'}",
    "memoryThrottlingFactor: 0",
    "featureGates: {MemoryQoS: false}\nmemoryThrottlingFactor: 0.8",
    "featureGates: {MemoryQoS: false}\nmemoryReservationPolicy: TieredReservation",
    "imagePullCredentialsVerificationPolicy: Foo",
    "preloadedImagesVerificationAllowlist: [a]",
    "nodeStatusMaxImages: -2",
    "systemCgroups: /a",
    "enforceNodeAllocatable: [pods, none]",
    "enforceNodeAllocatable: [pods, pods]",
    "enforceNodeAllocatable: [pods, kube-reserved]",
    "shutdownGracePeriodByPodPriority: [{priority: 0, shutdownGracePeriodSeconds: 10}]\nshutdownGracePeriod: 10s",
    "shutdownGracePeriodCriticalPods: -1s",
    "containerLogMonitorInterval: 1s",
    "cpuCFSQuotaPeriod: 0s",
    "enableSystemLogQuery: true\nenableSystemLogHandler: false",
    "showHiddenMetricsForVersion: '1.0'",
    "serverTLSBootstrap: true\nfeatureGates: {RotateKubeletServerCertificate: false}",
    "podLogsDir: /var/log/pods/",
    "runOnce: true",
    "failCgroupV1: false\nuserNamespaces: {idsPerPod: 5}",
    "syncFrequency: null",
]


def row(folder: Path, text: str, name: str = "own.yaml") -> Row:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return checked(str(path), V1_37)


@pytest.mark.parametrize("fields", TAKEN)
def test_what_a_kubelet_takes_is_accepted(tmp_path: Path, fields: str) -> None:
    assert row(tmp_path, f"{HEAD}{fields}\n").outcome == ACCEPTED


@pytest.mark.parametrize("fields", NOT_TAKEN)
def test_what_a_kubelet_does_not_take_is_refused(tmp_path: Path, fields: str) -> None:
    assert row(tmp_path, f"{HEAD}{fields}\n").outcome == REFUSED


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"kubeletconfig": {"crashLoopBackOff":\t{"maxContainerRestartPeriod": "1m0s"}}}', "configz.json"),
        (
            f"kind: ConfigMap\napiVersion: v1\ndata:\n  kubelet: |\n    {(HEAD + FAST).replace(chr(10), chr(10) + '    ')}",
            "map",
        ),
        (
            "kind: KubeletConfig\napiVersion: machineconfiguration.openshift.io/v1\nspec:\n  kubeletConfig:\n    "
            + FAST,
            "o.yaml",
        ),
        ("apiVersion: v1alpha1\nkind: KubeletConfig\nconfig:\n  " + FAST, "talos.yaml"),
        ("version: v1alpha1\nmachine:\n  kubelet:\n    extraConfig:\n      " + FAST, "machine.yaml"),
        ("kubeletConfig:\n  " + FAST, "gke.yaml"),
        ("name: pool\nconfig:\n  machineType: e2\n  kubeletConfig:\n    " + FAST, "pool.yaml"),
        ("nodePools:\n- config:\n    kubeletConfig:\n      " + FAST, "cluster.yaml"),
        (
            "kind: ClusterConfig\napiVersion: eksctl.io/v1alpha5\nmanagedNodeGroups:\n- name: a\n  kubeletExtraConfig:\n    "
            + FAST,
            "eksctl.yaml",
        ),
        (
            "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      " + FAST,
            "node.conf",
        ),
        (
            "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nkubeadmConfigPatches:\n- |\n  "
            + HEAD.replace("\n", "\n  ")
            + FAST,
            "k",
        ),
        ("kind: ClusterConfiguration\napiVersion: kubeadm.k8s.io/v1beta4\n---\n" + HEAD + FAST, "kubeadm.yaml"),
        (HEAD + FAST + "---\nkind: InitConfiguration\napiVersion: kubeadm.k8s.io/v1beta4\n", "kubelet-first.yaml"),
    ],
    ids=[
        "configz",
        "configmap",
        "openshift",
        "talos",
        "talos-machine",
        "gke",
        "gke-pool",
        "gke-cluster",
        "eksctl",
        "eks",
        "kind",
        "kubeadm-first",
        "kubelet-first",
    ],
)
def test_a_configuration_is_found_where_tools_keep_it_and_that_is_said(tmp_path: Path, text: str, name: str) -> None:
    found = row(tmp_path, text, name)
    assert (found.outcome, found.text, len(found.notes)) == (ACCEPTED, TO_60_S, 1)


NODE_CONFIG = f"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      {FAST}"
IN_BASE64 = base64.b64encode((HEAD + FAST).encode()).decode()
GZIPPED = base64.b64encode(gzip.compress((HEAD + FAST).encode())).decode()


def machine_config(source: str) -> str:
    files = [{"path": "/etc/kubernetes/kubelet.conf", "contents": {"source": source}}]
    return json.dumps({"kind": "MachineConfig", "spec": {"config": {"storage": {"files": files}}}})


@pytest.mark.parametrize(
    "text",
    [
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/x-shellscript\n\n"
        f"#!/bin/sh\nset -x: [\n--B\nContent-Type: application/node.eks.aws\n\n---\n{NODE_CONFIG}\n--B--\n",
        machine_config(f"data:,{quote(HEAD + FAST)}"),
        machine_config(f"data:text/plain;charset=utf-8;base64,{IN_BASE64}"),
        machine_config(f"data:;base64,{GZIPPED}"),
        f"write_files:\n- encoding: gz+b64\n  content: {GZIPPED}\n",
        f"write_files:\n- content: !!binary {IN_BASE64}\n",
        f"kind: Secret\ndata: {{kubelet: {IN_BASE64}}}\n",
        f"kind: EC2NodeClass\nspec:\n  userData: |\n    {NODE_CONFIG.replace(chr(10), chr(10) + '    ')}\n",
        f"kind: ClusterConfig\nspec:\n  workerProfiles:\n  - name: fast\n    values:\n      {FAST}",
        f"spec:\n  k0s:\n    config:\n      spec:\n        workerProfiles:\n        - values:\n            {FAST}",
        f"spec:\n  nodeConfig:\n    kubeletConfig:\n      {FAST}",
        f"spec:\n  workerNodeGroupConfigurations:\n  - kubeletConfiguration:\n      {FAST}",
        f"kubelet_config_extra_args:\n  {FAST}",
        f"- hosts: all\n  tasks:\n  - copy:\n      content: |\n        {(HEAD + FAST).replace(chr(10), chr(10) + '        ')}",
        base64.b64encode(NODE_CONFIG.encode()).decode(),
    ],
    ids=[
        *("nodeadm", "url", "base64", "gzip", "cloud-init", "binary", "secret", "karpenter", "k0s", "k0sctl"),
        *("config-connector", "eks-anywhere", "kubespray", "ansible", "user-data"),
    ],
)
def test_a_configuration_is_found_in_what_starts_a_machine(tmp_path: Path, text: str) -> None:
    found = row(tmp_path, text)
    assert (found.outcome, found.text, len(found.notes)) == (ACCEPTED, TO_60_S, 1)


@pytest.mark.parametrize(
    "text", ["--max-pods=3\n--config=/x\n", "kubelet-arg: [max-pods=3]\n", "A='--node-labels=b'\n"]
)
def test_flags_of_a_kubelet_are_told_from_its_configuration(tmp_path: Path, text: str) -> None:
    found = row(tmp_path, text)
    assert (found.outcome, "no flag of a kubelet sets its delays" in found.text) == (UNREADABLE, True)


@pytest.mark.parametrize(
    "text", ["nodePools: [1]\n", "spec: {workerProfiles: {values: {}}}\n", "values: {maxPods: 1}\n"]
)
def test_names_that_other_objects_have_too_are_no_place_of_a_configuration(tmp_path: Path, text: str) -> None:
    assert row(tmp_path, text).outcome == UNREADABLE


def test_other_configurations_of_an_object_are_named_and_not_passed_over(tmp_path: Path) -> None:
    pools = "".join(f"- config: {{kubeletConfig: {{maxPods: {pods}}}}}\n" for pods in (10, 20))
    found = row(tmp_path, f"nodePools:\n{pools}")
    assert found.notes[1] == "other configurations in it are not checked: nodePools[1].config.kubeletConfig"


def test_a_config_that_is_of_no_kubelet_is_none(tmp_path: Path) -> None:
    assert row(tmp_path, "config: {machineType: e2}\n").outcome == UNREADABLE


def test_a_file_of_a_drop_in_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "20-b.conf").write_text(FAST, encoding="utf-8")
    assert "20-b.conf: it is an object without a kind" in checked(str(tmp_path), V1_37).text


def test_flags_of_a_node_config_set_gates(tmp_path: Path) -> None:
    text = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      " + FAST
    assert row(tmp_path, f"{text}    flags: ['--feature-gates=Foo=true,KubeletPSI=true']\n").text.endswith("gate: Foo")


@pytest.mark.parametrize("text", ["", "---\n", f"{HEAD}---\n", f"---\n{HEAD}", f"{HEAD}---\n---\n"])
def test_empty_documents_are_nothing_but_before_the_configuration(tmp_path: Path, text: str) -> None:
    assert row(tmp_path, text).outcome == (ACCEPTED if HEAD in text else UNREADABLE)
    assert row(tmp_path, f"---\n---\n{HEAD}").outcome == REFUSED


def test_dropped_fields_are_listed_with_what_they_look_like(tmp_path: Path) -> None:
    found = row(tmp_path, f"{HEAD}nodefs.available: 10%\ncrashLoopBackoff:\n  maxContainerRestartPeriod: 2s\n")
    assert (found.outcome, found.dropped) == (ACCEPTED, ("nodefs.available", "crashLoopBackoff"))
    assert found.notes[1] == (
        "the kubelet drops crashLoopBackoff, which it does not know (did you mean crashLoopBackOff?)"
    )


def test_a_folder_is_a_drop_in_directory(tmp_path: Path) -> None:
    (tmp_path / "10-a.conf").write_text(
        f"{HEAD}crashLoopBackOff: {{maxContainerRestartPeriod: 20s}}\n", encoding="utf-8"
    )
    (tmp_path / "20-b.conf").write_text(f"{HEAD}{FAST}", encoding="utf-8")
    assert checked(str(tmp_path), V1_37).text == TO_60_S


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "/nowhere/kubelet.yaml", "nosuch"])
def test_what_is_no_file_is_unreadable_in_one_sentence(name: str) -> None:
    found = checked(name, V1_37)
    assert found.outcome == UNREADABLE
    assert found.text


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("kind: Pod\napiVersion: v1\n", UNREADABLE),
        ("maxPods: {{ pods }}\n", UNREADABLE),
        ("- 1\n", UNREADABLE),
        ("kind: KubeletConfiguration\n" + FAST, REFUSED),
        ("kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1alpha1\n" + FAST, REFUSED),
    ],
    ids=["a-pod", "a-template", "a-list", "no-version", "another-version"],
)
def test_what_is_no_configuration_is_unreadable_and_what_none_can_decode_is_refused(
    tmp_path: Path, text: str, outcome: str
) -> None:
    assert row(tmp_path, text).outcome == outcome


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nspec: {kubelet: {maxPods: 110}}\n", "kOps"),
        ("apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nspec: {kubelet: {maxPods: 110}}\n", "kOps"),
        (
            "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nspec: {kubernetes: {kubelet: {maxPods: 1}}}\n",
            "Gardener",
        ),
        ("apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nspec: {kubelet: {maxPods: 20}}\n", "Karpenter"),
        ('{"cpuCfsQuota": true, "containerLogMaxSizeMB": 20}', "AKS"),
        ('{"kubeletConfig": {"imageGcHighThreshold": 90}}', "AKS"),
        ('{"properties": {"agentPoolProfiles": [{"kubeletConfig": {"imageGcHighThreshold": 90}}]}}', "AKS"),
    ],
)
def test_settings_by_the_names_of_a_tool_are_no_configuration(tmp_path: Path, text: str, tool: str) -> None:
    found = row(tmp_path, text)
    assert (found.outcome, found.dropped) == ("unreadable", ())
    assert f"by the names of {tool}, which makes a node's configuration of them" in found.text


@pytest.mark.parametrize(
    "text",
    [
        f'[{{"op": "add", "path": "/machine/kubelet/extraConfig", "value": {{{FAST_IN_JSON}}}}}]',
        '[{"op": "add", "path": "/machine/kubelet/extraConfig/crashLoopBackOff/maxContainerRestartPeriod", "value": "1m"}]',
        "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nkubeadmConfigPatches: ['{kind: KubeletConfiguration, "
        "crashLoopBackOff: {maxContainerRestartPeriod: 1m}}']\n",
        "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnodes: [{kubeadmConfigPatches: ['{kind: KubeletConfiguration, "
        "crashLoopBackOff: {maxContainerRestartPeriod: 1m}}']}]\n",
    ],
    ids=["talos-patch", "talos-patch-of-a-field", "kind", "kind-node"],
)
def test_a_configuration_is_found_in_patches(tmp_path: Path, text: str) -> None:
    assert row(tmp_path, text).text == TO_60_S


@pytest.mark.parametrize(
    "text", ["[]", "[3]", '[{"op": "add", "path": "/a", "value": 1}, {"op": "add", "path": "/a/b"}]']
)
def test_a_list_that_patches_no_kubelet_is_unreadable(tmp_path: Path, text: str) -> None:
    assert row(tmp_path, text).outcome == "unreadable"


def test_a_release_that_is_newer_than_every_model_is_told(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(HEAD)
    newer = checked(str(tmp_path / "own.yaml"), KubernetesVersion(1, 38, 0))
    assert newer.notes == ("by the rules of 1.37, the newest that this suite has, for 1.38.0",)
    assert checked(str(tmp_path / "own.yaml"), V1_37).notes == ()
