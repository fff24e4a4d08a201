"""`crashloop profile check` answers as the kubelet itself: the same files are given to both. Nothing starts.

The kubelet gets a flag that is out of its range, so it ends while it validates its configuration, after it has decoded the file
and set the gates, and names every other invalid value beside that one. Source: cmd/kubelet/app/server.go@v1.37.1.
"""

import re
import subprocess
from pathlib import Path

import pytest

from crashloop.cluster.binaries.ensure import ensure_binaries
from crashloop.progress import SilentProgress
from crashloop.run.profile_check import ACCEPTED, REFUSED, checked
from crashloop.settings import resolve_settings
from crashloop.spec.version import KubernetesVersion
from suites.selftest.run.test_profile_check import NOT_TAKEN, TAKEN

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
ENDS_IT = "--max-open-files=-1"
OF_THE_TEST = (
    "invalid configuration: maxOpenFiles (--max-open-files) -1 must not be a negative number",
    "kubelet is configured to not run on a host using cgroup v1. "
    "cgroup v1 support is unsupported and will be removed in a future release",
)
"""What the flag and a host with cgroup v1 add to the errors; neither is about the file."""
KUBELET_WITHIN_S = 60

FIELDS = {
    "self-test": [*TAKEN, *NOT_TAKEN],
    "types": [
        "maxPods: 1.1e2",
        "maxPods: 1e2",
        "maxPods: .inf",
        "maxPods: 1e400",
        "clusterDomain: 1e400",
        "clusterDomain: 1e3",
        "clusterDomain: 2026-01-01T00:00:00Z",
        "maxPods: null",
        "maxPods: !!str 5",
        "clusterDomain: !!binary aGk=",
        "evictionHard: !!set {a, b}",
        "clusterDomain: !sub a",
        "syncFrequency: null",
        "logging: {flushFrequency: null}",
        "containerLogMonitorInterval: null",
        "maxPods: true",
        "maxPods: 0x6e",
        "maxPods: 1_000",
        "serializeImagePulls: 1",
        "syncFrequency: 1h1m1.5s",
        "syncFrequency: -1s",
        "syncFrequency: ''",
        "clusterDNS: [1]",
        "clusterDomain: 5",
        "clusterDomain: 2026-01-01",
        "evictionHard: {memory.available: 100}",
        "logging: {flushFrequency: 5000000000}",
        "registerWithTaints: [a]",
        "staticPodURLHeader: {a: [b]}",
        "staticPodURLHeader: {a: b}",
        "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]",
        "crashLoopBackOff: {}",
    ],
    "fields": [
        "nodefs.available: 10%",
        "x-period: &p 30s\nsyncFrequency: *p",
        "MaxPods: -1",
        "crashLoopBackoff: {maxContainerRestartPeriod: 2s}",
        "crashLoopBackOff: {MaxContainerRestartPeriod: 2s}",
        "crashLoopBackOff: {maxContainerRestartPeriod: 2s, other: 1}",
        "authentication: {anonymous: {enable: true}}",
        "maxPods: -1\nmaxPods: 5",
    ],
    "values": [
        "readOnlyPort: 70000",
        "healthzPort: -1",
        "imageGCLowThresholdPercent: 85",
        "imageMaximumGCAge: -1s",
        "imageMinimumGCAge: -1s",
        "kubeAPIBurst: -1",
        "eventBurst: -1",
        "registryPullQPS: -1",
        "nodeLeaseDurationSeconds: 0",
        "iptablesDropBit: 32",
        "serializeImagePulls: false\nmaxParallelImagePulls: 5",
        "containerLogMaxWorkers: 0",
        "topologyManagerScope: node",
        "shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 10s",
        "cgroupsPerQOS: false\nenforceNodeAllocatable: []",
        "cpuCFSQuotaPeriod: 10ms",
        "crashLoopBackOff: {maxContainerRestartPeriod: 0s}",
        "crashLoopBackOff: {maxContainerRestartPeriod: 999ms}",
        "crashLoopBackOff: {maxContainerRestartPeriod: 1s}",
        "crashLoopBackOff: {maxContainerRestartPeriod: 300s}",
        "crashLoopBackOff: {maxContainerRestartPeriod: 301s}",
        "featureGates: {KubeletCrashLoopBackOffMax: false}\ncrashLoopBackOff: {maxContainerRestartPeriod: 2s}",
    ],
    "gates": [
        "featureGates: null",
        "featureGates: {KubeletPSI: null}",
        "featureGates: {NodeSwap: true}",
        "featureGates: {CPUManager: true}",
        "featureGates: {AllBeta: false}",
        "featureGates: {AllAlpha: true}",
        "featureGates: {AllAlpha: true, AllBeta: true}",
        "featureGates: {AllBeta: false}\ncrashLoopBackOff: {maxContainerRestartPeriod: 2s}",
        "featureGates: {AllBeta: false, KubeletCrashLoopBackOffMax: true}\ncrashLoopBackOff: {maxContainerRestartPeriod: 2s}",
        "featureGates: {AllBeta: false, RestartAllContainersOnContainerExits: true}",
        "featureGates: {nodeSwap: true}",
        "featureGates: {LocalStorageCapacityIsolation: true}",
        "featureGates: {ReduceDefaultCrashLoopBackOffDecay: true}",
        "featureGates: {RestartAllContainersOnContainerExits: true, ContainerRestartRules: false}",
    ],
}
FILES = {
    "trailing-separator": f"{HEAD}---\n",
    "leading-separator": f"---\n{HEAD}",
    "empty-first-document": f"---\n---\n{HEAD}",
    "kubeadm-follows": f"{HEAD}---\nkind: InitConfiguration\napiVersion: kubeadm.k8s.io/v1beta4\n",
    "invalid-first": f"{HEAD}maxPods: -1\n---\nkind: InitConfiguration\napiVersion: kubeadm.k8s.io/v1beta4\n",
    "json-with-tabs": '{\n\t"apiVersion": "kubelet.config.k8s.io/v1beta1",\n\t"kind": "KubeletConfiguration", "maxPods": -1}\n',
    "json": '{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "maxPods": 5}',
    "another-version": "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1alpha1\n",
    "no-version": "kind: KubeletConfiguration\nmaxPods: 5\n",
    "byte-order-mark-and-crlf": "\ufeff" + HEAD.replace("\n", "\r\n") + "maxPods: -1\r\n",
    "comments": f"# a\n# b\n{HEAD}# c\n",
}
CASES = FILES | {each: f"{HEAD}{each}\n" for kind in FIELDS.values() for each in kind}


@pytest.fixture(scope="module")
def kubelet() -> Path:
    """The kubelet of the default version."""
    settings = resolve_settings()
    version = settings.versions.kubernetes
    return ensure_binaries(settings, kubernetes_version=version, progress=SilentProgress()).kubelet


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_profile_check_accepts_drops_and_refuses_what_the_kubelet_does(
    kubelet: Path, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "kubelet.conf"
    path.write_text(text, encoding="utf-8", newline="")
    said = what_the_kubelet_says(kubelet, path)
    ours = checked(str(path), KubernetesVersion.parse(resolve_settings().versions.kubernetes))
    refusal = refusal_in(said)
    assert ours.outcome == (REFUSED if refusal else ACCEPTED), (ours.text, refusal)
    if not refusal:
        assert sorted(ours.dropped) == sorted(set(re.findall(r'unknown field \\*"([^"\\]+)', said)))


def what_the_kubelet_says(kubelet: Path, path: Path) -> str:
    """The log of a kubelet that reads a file and ends."""
    done = subprocess.run(
        [kubelet, "--config", path, "--root-dir", path.parent / "root", ENDS_IT],
        capture_output=True,
        text=True,
        timeout=KUBELET_WITHIN_S,
        check=False,
    )
    assert done.returncode, done.stderr
    return done.stderr


def refusal_in(said: str) -> str:
    """Why the kubelet refuses the file; empty if it does not."""
    found = re.search(r"failed to validate kubelet configuration, error: (.*), path: ", said)
    if not found:
        return said[-2000:]
    reasons = found[1]
    for each in OF_THE_TEST:
        reasons = reasons.replace(each, "")
    return reasons.strip("[], ")
