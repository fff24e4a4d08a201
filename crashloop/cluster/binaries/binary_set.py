"""The programs of a cluster, and the source of each program."""

from pathlib import Path

import msgspec

from crashloop.cluster.binaries.components import BinarySource


class BinarySet(msgspec.Struct, frozen=True, kw_only=True):
    """Every program that a provider needs.

    Start them by exactly these paths: the built ones are symbolic links to one binary, which acts by the name that it is
    started under.
    """

    kubelet: Path
    kube_apiserver: Path
    kube_controller_manager: Path
    kube_scheduler: Path
    kube_proxy: Path
    kubeadm: Path
    kubectl: Path
    etcd: Path
    containerd: Path
    ctr: Path
    shim_dir: Path
    """Folder of containerd-shim-runc-v2; put it, and the folder of runc, on containerd's PATH."""
    runc: Path
    cni_dir: Path
    """Folder with the CNI plugins ptp, loopback and host-local."""
    busybox: Path
    """Statically linked."""
    versions: dict[str, str]
    """Program -> version without `v`, as the program reports it."""
    source: dict[str, BinarySource]
    """Program -> its source."""

    @property
    def kubernetes_version(self) -> str:
        """The cluster's version: that of its API server."""
        return self.versions["kube-apiserver"]
