"""The one narrow protocol between this suite and whatever makes or lends a cluster.

What a provider or a host cannot do is a missing Capability, never an `if provider == ...` elsewhere.
"""

from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import msgspec

from crashloop.history.event import Event
from crashloop.spec.profile import KubeletProfile


class Capability(StrEnum):
    """What a cluster lets us do. A skip names the one that is missing."""

    KUBELET_PROFILES = "kubelet-profiles"
    """Every node can run a kubelet configuration of our choice."""
    RUNTIME_EVENTS = "runtime-events"
    """The runtime's own event stream can be read (Node.runtime_socket)."""
    KUBELET_LOG = "kubelet-log"
    """The kubelet's log can be read while it runs (Node.kubelet_log)."""
    KUBELET_RESTART = "kubelet-restart"
    RUNTIME_RESTART = "runtime-restart"
    KUBELET_CANDIDATE = "kubelet-candidate"
    """A second kubelet can be started inside a node to see whether it accepts a configuration."""
    CONFIGZ = "configz"
    """The kubelet's effective configuration can be read."""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node that is up."""

    name: str
    """Name of the Node object."""
    profile: str
    runtime_socket: str | None = None
    """containerd's socket as a path on this host."""
    kubelet_log: str | None = None
    """Path on this host of the kubelet's log, which grows."""


class ClusterInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster as its users see it; written to the run directory."""

    name: str
    provider: str
    kubernetes_version: str
    kubeconfig: str
    nodes: tuple[Node, ...]
    capabilities: frozenset[Capability]
    image: str
    """Image for container programs: has a POSIX shell, present on every node (imagePullPolicy Never), or pullable."""


class NodeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A node that is wanted."""

    name: str
    profile: KubeletProfile


class ClusterRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster that is wanted."""

    name: str
    kubernetes_version: str
    nodes: tuple[NodeRequest, ...]
    feature_gates: dict[str, bool] = {}
    """Gates of the control plane."""
    kubelet_binary: str | None = None
    """The user's own kubelet for all nodes; runs where it lies."""
    bin_dir: str | None = None
    """Folder with the user's own binaries; what is missing there comes from the cache."""


class Progress(Protocol):
    """Tells a person what takes so long."""

    def step(self, text: str) -> AbstractContextManager[None]:
        """Announce a step and, when it ends, how long it took."""


class Cluster(Protocol):
    """A cluster that is up. Every method raises ClusterError with the log's last lines when it cannot do its work."""

    @property
    def info(self) -> ClusterInfo: ...

    def add_nodes(self, nodes: tuple[NodeRequest, ...], progress: Progress) -> None:
        """Bring further nodes up; returns when all are Ready."""

    def remove_nodes(self, names: tuple[str, ...]) -> None:
        """Take nodes down with everything on them."""

    def restart_kubelet(self, node: str, *, kill: bool = False, down_s: float = 0.0) -> None:
        """Stop the node's kubelet (SIGTERM, or SIGKILL), stay down, start it again; returns once it runs."""

    def restart_runtime(self, node: str) -> None:
        """Restart the node's container runtime; containers live on."""

    def try_kubelet(self, node: str, candidate: KubeletProfile, *, at_most_s: float) -> tuple[Event, ...]:
        """Start a second kubelet in the node with the candidate's configuration; what it did (PROCESS_* events)."""

    def collect_logs(self, destination: Path) -> None:
        """Copy logs and configurations of every component into a folder."""

    def down(self) -> None:
        """Remove all that up() made. Safe to call twice."""


class Provider(Protocol):
    """Makes clusters, or finds them."""

    name: str
    capabilities: frozenset[Capability]
    """What its clusters let us do, as far as that is known before one is up."""

    def check(self, request: ClusterRequest) -> None:
        """Raise UsageError or PrerequisiteError, listing everything that stands in the way, before anything is touched."""

    def up(self, request: ClusterRequest, progress: Progress) -> Cluster:
        """Bring the cluster up; on failure or interruption nothing is left behind."""
