"""What kubeadm stores of a kubelet's configuration. It stands in for the requirement CONFIG-15, and needs no cluster."""

import os
import subprocess
from pathlib import Path

import yaml

from crashloop.cluster.binaries.ensure import ensure_binaries
from crashloop.progress import SilentProgress
from crashloop.settings import resolve_settings

CONFIGURATION = """\
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v{version}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
crashLoopBackOff:
  maxContainerRestartPeriod: 7s
  inventedBackOff: 7s
inventedField: 7s
"""
NOBODY = """\
apiVersion: v1
kind: Config
clusters: [{name: nobody, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: nobody, context: {cluster: nobody, user: nobody}}]
users: [{name: nobody, user: {}}]
current-context: nobody
"""
KUBEADM_WITHIN_S = 120


def test_fields_that_the_configuration_api_does_not_know_are_dropped_before_it_is_stored(tmp_path: Path) -> None:
    settings = resolve_settings()
    version = settings.versions.kubernetes
    kubeadm = ensure_binaries(settings, kubernetes_version=version, progress=SilentProgress()).kubeadm
    given, kubeconfig = tmp_path / "kubeadm.yaml", tmp_path / "admin.conf"
    given.write_text(CONFIGURATION.format(version=version))
    kubeconfig.write_text(NOBODY)
    upload = ("init", "phase", "upload-config", "kubelet", "--dry-run", "--config", given, "--kubeconfig", kubeconfig)
    done = subprocess.run(
        [kubeadm, *upload],
        env=os.environ | {"KUBEADM_INIT_DRYRUN_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=KUBEADM_WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for field in ("crashLoopBackOff.inventedBackOff", "inventedField"):
        assert f'unknown field "{field}"' in done.stderr
    stored = shown_object(done.stdout, "kubelet-config")["data"]["kubelet"]
    assert yaml.safe_load(stored)["crashLoopBackOff"] == {"maxContainerRestartPeriod": "7s"}
    assert "invented" not in stored


def shown_object(said: str, name: str) -> dict[str, dict[str, str]]:
    """The object of that name among those that a dry run of kubeadm would create."""
    shown = (part.partition("[dryrun]")[0] for part in said.split("[dryrun] Attached object:\n")[1:])
    (found,) = (each for each in map(yaml.safe_load, shown) if each["metadata"]["name"] == name)
    return dict(found)
