"""The narrow protocol between this suite and the providers of clusters, with what a cluster's image registry offers.

A provider or host that cannot do something lacks a Capability; no other module tests for a provider's name.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import msgspec

from crashloop.errors import ClusterError
from crashloop.history.event import Event
from crashloop.spec.control_plane import Component
from crashloop.spec.profile import KubeletProfile


class RegistryOffer(msgspec.Struct, frozen=True, kw_only=True):
    """What the registry answers about a repository."""

    version: int | None = None
    """The image that its only tag names, one of crashloop.spec.dependency.VERSIONS; None: every request is an error."""
    password: str | None = None
    """What it demands; None: nothing."""
    answers_after_s: float = 0.0
    """How long it takes for each answer."""


class RegistryRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that the registry has answered."""

    t_ns: int
    """When it came, UTC nanoseconds of the host."""
    method: str
    what: str
    """manifests or blobs."""
    reference: str
    """Tag or digest."""
    status: int
    """Of the answer; HTTP."""
    password: str | None = None
    """What it was sent with."""
    answered_ns: int | None = None
    """When its answer began, by the same clock."""


class Registry(Protocol):
    """An image registry that the cluster's nodes pull from. Every method may raise ClusterError."""

    @property
    def address(self) -> str:
        """Host and port, as images name it."""

    def offer(self, repository: str, offer: RegistryOffer) -> None:
        """From now on answer so about a repository."""

    def requests(self, repository: str) -> tuple[RegistryRequest, ...]:
        """All requests about it so far, in their order."""

    def forget(self, repository: str) -> None:
        """Drop it with its requests."""


class Capability(StrEnum):
    """An operation that a cluster supports. A skip names the missing capability."""

    KUBELET_PROFILES = "kubelet-profiles"
    """Every node can run a kubelet configuration of our choice."""
    RUNTIME_EVENTS = "runtime-events"
    """The runtime's own event stream can be read (Node.runtime_socket)."""
    KUBELET_LOG = "kubelet-log"
    """The kubelet's log can be read while it runs (Node.kubelet_log)."""
    KUBELET_RESTART = "kubelet-restart"
    KUBELET_RECONFIGURATION = "kubelet-reconfiguration"
    """The configuration of a kubelet can be changed while its node is up, and the kubelet restarted with it."""
    RUNTIME_RESTART = "runtime-restart"
    POD_NETWORK = "pod-network"
    """The pod network of a node can be taken away and given back."""
    RUNTIME_CHOICE = "runtime-choice"
    """A node can run another container runtime than the others (KubeletProfile.runtime)."""
    KUBELET_CANDIDATE = "kubelet-candidate"
    """A second kubelet can be started inside a node to see whether it accepts a configuration."""
    NODES_CHANGE = "nodes-change"
    """Nodes can be added to a cluster that is up, and taken away."""
    IMPERSONATION = "impersonation"
    """Requests can be sent for another user."""
    CONFIG_OBJECTS = "config-objects"
    """ConfigMaps and Secrets can be made in the run's namespace."""
    STATIC_PODS = "static-pods"
    """Files in the staticPodPath of a node can be written."""
    JOBS = "jobs"
    """Jobs can be made in the run's namespace."""
    CONFIGZ = "configz"
    """The kubelet's effective configuration can be read."""
    KUBELET_METRICS = "kubelet-metrics"
    """The kubelets' metrics can be read through the API server."""
    POD_LOGS = "pod-logs"
    """The folders of pods' logs on the nodes can be listed (Node.pod_logs)."""
    CONTROL_PLANES = "control-planes"
    """A further cluster can be made for one scenario; its components stop, and its nodes are cut off (Cluster.outages)."""
    IMAGE_REGISTRY = "image-registry"
    """The cluster has an image registry of its own (Cluster.registry)."""
    STATE_METRICS = "state-metrics"
    """kube-state-metrics can be read."""
    OWN_CPUS = "own-cpus"
    """Below `taskset` nodes and containers keep to the CPUs of the process that made them."""
    NODES_ON_HOST = "nodes-on-host"
    """The nodes run on this host and share its clock and its stalls; elsewhere a heartbeat pod on the node reports them."""


def lacking(provider: str, node: str, capability: Capability) -> ClusterError:
    """The error of an operation on a node that its provider does not support."""
    return ClusterError(f"node {node}: provider {provider} lacks the capability {capability}.")


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node that is up."""

    name: str
    """Name of the Node object."""
    host_name: str | None = None
    """What processes in the node see as /etc/hostname, if the node is a container on this host."""
    profile: str
    runtime_socket: str | None = None
    """containerd's socket as a path on this host."""
    kubelet_log: str | None = None
    """Path on this host of the kubelet's log, which grows."""
    pod_logs: str | None = None
    """Path on this host of the kubelet's podLogsDir."""
    declared: bool = False
    """Its profile is the user's declaration; the configuration was not read."""


class ClusterInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster as its users see it; written to the run directory."""

    name: str
    provider: str
    kubernetes_version: str
    kubeconfig: str
    context: str | None = None
    """Context of the kubeconfig; None: its current one."""
    namespace: str | None = None
    """The namespace to work in; None: the user of the cluster makes one, and removes it."""
    nodes: tuple[Node, ...]
    capabilities: frozenset[Capability]
    image: str
    """Image for container programs: has a POSIX shell, present on every node (imagePullPolicy Never), or pullable."""
    node_image: str | None = None
    """Image that the nodes were made from, where nodes are containers."""
    feature_gates: dict[str, bool] = {}
    """Gates that the control plane was started with, as far as they are known."""
    etcd_disk: str | None = None
    """The disk that etcd's writes wait for, such as `ext4 on /dev/vda1`; empty if they wait for none; None: not known."""


class NodeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A requested node."""

    name: str
    profile: KubeletProfile


class ExistingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """An existing cluster, and the limits of its use."""

    kubeconfig: str
    context: str | None = None
    """Default: the current one of the kubeconfig. --context."""
    namespace: str | None = None
    """An existing namespace to work in. Default: a new one, which is removed. --namespace."""
    image: str
    """Image for container programs, pulled by the nodes where they lack it: a POSIX shell and a `sleep` of fractions. --image."""
    max_pods: int = 40
    """The most pods at a time, heartbeats included; further pods wait until others have gone. --max-pods.

    Default 40: well below the usual quota of a namespace in a shared cluster.
    """
    node_selector: str = ""
    """Label selector of the nodes that may be used, in the form of Kubernetes. Default: all. --node-selector."""
    read_configz: bool = False
    """Whether to read the kubelets' configuration, which needs a permission on nodes. Default: no. --read-configz."""
    node_profiles: dict[str, str] = {}
    """Kubelet profile by node, as the user declares it. Default: stock on every node. --node-profile."""


class SurveyedNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node of an existing cluster, as surveyed."""

    name: str
    kubelet_version: str
    declared: str | None = None
    """Its kubelet profile by the user's declaration."""
    configz: dict[str, Any] | None = None
    """Its kubelet's effective configuration, where that was read."""
    cores: int | None = None
    """CPUs of the node, by its Node object."""
    hostname: str | None = None
    """Its label kubernetes.io/hostname."""
    unusable: str | None = None
    """Why no pod of the suite may run there, in a few words; None if it may."""


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """The usable nodes and the limits of an existing cluster."""

    kubernetes_version: str
    """Of the API server."""
    nodes: tuple[SurveyedNode, ...]
    max_pods: int
    """The most pods at a time: by the options, or by the namespace's quota if that is lower."""
    quota: int | None = None
    """Pods that the namespace's quota still admits; None without one."""
    capabilities: frozenset[Capability]


class ClusterRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A requested cluster."""

    name: str
    kubernetes_version: str
    nodes: tuple[NodeRequest, ...]
    feature_gates: dict[str, bool] = {}
    """Gates of the control plane."""
    controllers_version: str | None = None
    """Version of controller manager and scheduler, if it is not the cluster's; for providers with `control-planes`."""
    shortcuts: bool = True
    """Whether a local control plane may come up sooner than in production: etcd does not wait for its disk, and the controllers
    ask more often than by default."""
    kubelet_binary: str | None = None
    """The user's own kubelet for all nodes; runs where it lies."""
    bin_dir: str | None = None
    """Folder with the user's own binaries; what is missing there comes from the cache."""
    node_image: str | None = None
    """Image of nodes that are containers. Default: the official one of the version."""
    any_node_image: bool = False
    """Whether crashloop's own node image may replace one of kind's even under CI."""
    kind_binary: str | None = None
    """The user's own `kind`. Default: the release that this suite was tried with."""
    kind_config: str | None = None
    """The user's file for `kind`, merged under the nodes."""
    logs_dir: str | None = None
    """Folder for the logs of nodes that did not come up, which are gone otherwise."""
    existing: ExistingOptions | None = None
    """Which cluster to use, for a provider that makes none."""


class Progress(Protocol):
    """Reports long steps to a person."""

    def step(self, text: str) -> AbstractContextManager[None]:
        """Announce a step and, when it ends, how long it took."""


class Outages(Protocol):
    """Parts of a cluster become unavailable to each other, and available again. Every method may raise ClusterError."""

    def stop(self, component: Component) -> None:
        """End the component at once, as a crash does; what is stored is kept."""

    def start(self, component: Component, feature_gates: Mapping[str, bool]) -> None:
        """Start a stopped component; returns once the API server answers.

        `feature_gates` come on top of those that the cluster was made with.
        """

    def cut_off(self, node: str) -> None:
        """Let nothing through between the node and the control plane."""

    def connect(self, node: str) -> None:
        """End that."""


class Cluster(Protocol):
    """A cluster that is up. Every method raises ClusterError with the log's last lines when it cannot do its work."""

    @property
    def info(self) -> ClusterInfo: ...

    @property
    def outages(self) -> Outages | None:
        """What can be made unavailable; None without the capability CONTROL_PLANES."""

    @property
    def registry(self) -> Registry | None:
        """Its image registry; None without the capability IMAGE_REGISTRY."""

    def add_nodes(self, nodes: tuple[NodeRequest, ...], progress: Progress) -> None:
        """Bring further nodes up; returns when all are Ready."""

    def remove_nodes(self, names: tuple[str, ...]) -> None:
        """Take nodes down with everything on them."""

    def restart_kubelet(
        self, node: str, *, kill: bool = False, down_s: float = 0.0, profile: KubeletProfile | None = None
    ) -> None:
        """Stop the node's kubelet (SIGTERM, or SIGKILL), stay down, start it again; returns once it runs.

        With a `profile` it starts with that configuration, and keeps it until it is given another. Raises ProcessEnded if it
        ends while it starts; then the node has no kubelet until the next restart.
        """

    def write_kubelet_config(self, node: str, profile: KubeletProfile) -> None:
        """Write the configuration that the node's kubelet starts with next; the one that runs is left alone."""

    def write_static_pod(self, node: str, name: str, manifest: dict[str, Any] | None) -> None:
        """Write or replace the file of that name in the node's staticPodPath, all at once; None removes it."""

    def restart_runtime(self, node: str, *, down_s: float = 0.0, hangs: bool = False) -> None:
        """Restart the node's container runtime, with a pause before it starts again; containers live on.

        With `hangs` its process stays, and is stopped (SIGSTOP) for the pause: calls of the kubelet wait instead of failing.
        """

    def take_network(self, node: str) -> None:
        """Take the configuration of the pod network away from the node's runtime; what runs there keeps its network."""

    def give_network(self, node: str) -> None:
        """Give it back."""

    def state_metrics(self, pod_uid: str) -> bytes:
        """What kube-state-metrics states of pods once it knows this one, in the text format of Prometheus."""

    def try_kubelet(self, node: str, candidate: KubeletProfile, *, at_most_s: float) -> tuple[Event, ...]:
        """Start a second kubelet in the node with the candidate's configuration; what it did (PROCESS_* events)."""

    def load_images(self, archive: Path) -> None:
        """Give every node the images of a docker-archive or OCI archive."""

    def collect_logs(self, destination: Path) -> None:
        """Copy logs and configurations of every component into a folder."""

    def release(self) -> None:
        """Leave the cluster to the next process that attaches to it; nothing else may be called afterwards."""

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
