"""Which component of a cluster a process is, and of which node."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from crashloop.cluster.processes import NODE_MARK, ROLE_MARK, STATE_MARK
from crashloop.cluster.provider import ClusterInfo

KUBELET = "kubelet"
GO_THREADS = 4
"""A kubelet has more threads from its first moments on; what it starts, and a script that starts it, has fewer."""
_SHIM = "containerd-shim-runc-v2"
"""A runtime runs one per pod; of any other program a second process is the same component after a restart."""
_COMPONENTS = {
    "kubelet": KUBELET,
    "containerd": "runtime",
    _SHIM: "runtime",
    "kube-apiserver": "apiserver",
    "etcd": "etcd",
    "kube-controller-manager": "controller-manager",
    "kube-scheduler": "scheduler",
}
"""By name of the program."""


class ProcessRole(NamedTuple):
    """The component and node of a process."""

    component: str
    node: str
    is_main: bool


class Components:
    """Recognizes the processes of one cluster."""

    def __init__(self, info: ClusterInfo) -> None:
        self._mark = f"{STATE_MARK}={Path(info.kubeconfig).parent}".encode()
        self._container = f"crashloop-{info.name}-"
        self._nodes = {node.host_name or node.name: node.name for node in info.nodes}

    def member(self, process: psutil.Process) -> ProcessRole | None:
        """Component and node of a process; None for any other process. Raises psutil.Error or OSError if it has ended."""
        name = process.name()
        component = _COMPONENTS.get(name)
        if component is None and process.num_threads() < GO_THREADS:
            return None
        environment = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
        if component is None and f"{ROLE_MARK}={KUBELET}".encode() in environment:
            component = KUBELET
        node = self._node(process.pid, environment) if component else None
        if component is None or node is None:
            return None
        return ProcessRole(component, self._nodes.get(node, ""), name != _SHIM)

    def _node(self, pid: int, environment: Sequence[bytes]) -> str | None:
        """The node of a process, by its own mark or host name; None if it belongs to no node of this cluster.

        Processes of a local cluster carry marks in their environment; the nodes of kind are containers with a host name.
        """
        if self._mark in environment:
            node = next((each for each in environment if each.startswith(f"{NODE_MARK}=".encode())), b"=")
            return node.decode().partition("=")[2]
        name = host_name(pid)
        return name if name.startswith(self._container) else None


def host_name(pid: int) -> str:
    """What a process sees as its host's name; empty without one. Raises OSError if it has ended."""
    file = Path(f"/proc/{pid}/root/etc/hostname")
    return file.read_text(encoding="utf-8").strip() if file.exists() else ""
