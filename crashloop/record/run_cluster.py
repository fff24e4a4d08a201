"""The cluster of a run, for both suites: its settings, name, namespace, nodes for those of the plan, and environment.json.

A run has a cluster of its own, which goes with it, or a kept one, which stays as it was.
"""

import hashlib
import logging
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil

from crashloop import __version__
from crashloop.cluster.ownership import mark_kept
from crashloop.cluster.provider import Cluster, ClusterInfo, ClusterRequest, ExistingOptions, Node, Progress
from crashloop.cluster.providers import owning_provider, provider
from crashloop.errors import ClusterError, UsageError
from crashloop.kube.client import KubeApi
from crashloop.pods.manifest import RUN_LABEL
from crashloop.processors import available_processors
from crashloop.spec.plan import PlannedNode
from crashloop.yaml_text import Json


class RecorderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Read from `RunInfo.settings`; keys that are not named here are for others."""

    kubelet_binary: str | None = None
    """The user's own kubelet for all nodes. Default: the one of the plan's version. --kubelet-binary."""
    bin_dir: str | None = None
    """Folder with the user's own binaries. Default: cache and download only. --bin-dir."""
    node_image: str | None = None
    """Image of nodes that are containers; `own` is built here. Default: the official one of the plan's version. --node-image."""
    kind_binary: str | None = None
    """The user's own `kind`. Default: the release in the cache. --kind-binary."""
    kind_config: str | None = None
    """The user's file for `kind`, merged under the run's nodes. Default: none. --kind-config."""
    cluster: str | None = None
    """Name of a kept cluster to record on. Default: one is made for the run. --cluster."""
    existing: ExistingOptions | None = None
    """The cluster to use with the provider `existing`. Default: none. --kubeconfig and what goes with it."""
    keep: bool = False
    """Whether the cluster is left up. Default: it is removed once the last evidence is in. --keep."""


def recorder_settings(settings: Mapping[str, Any]) -> RecorderSettings:
    """The settings of a run, from those of run.json. Raises UsageError if one has the wrong type."""
    try:
        return msgspec.convert(settings, RecorderSettings)
    except msgspec.ValidationError as error:
        raise UsageError(f"run.json: the settings cannot be used ({error}).") from error


_MAX_STEM = 28
"""Leaves room for the rest of a socket's path below the cluster's folder (crashloop.settings, MAX_STATE_DIR_BYTES)."""


def run_name(run_dir: Path) -> str:
    """A name after the run directory's, as RFC 1123 has it, that no other directory of this host shares.

    Raises UsageError for a path that is no text in UTF-8, as the files of a run are.
    """
    try:
        whole = str(run_dir).encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"run directory {str(run_dir)!a}: its path is not in UTF-8; name another by --run-dir."
        ) from None
    stem = re.sub(r"[^a-z0-9]+", "-", run_dir.name.lower()).strip("-")[:_MAX_STEM].strip("-") or "run"
    return f"{stem}-{hashlib.sha256(whole).hexdigest()[:6]}"


def match_nodes(planned: Iterable[PlannedNode], nodes: Iterable[Node]) -> dict[str, Node]:
    """A node for as many planned ones as possible: that of the same name, else one of the same profile that nobody has.

    A provider may be unable to choose the names of its nodes, and the nodes of a kept cluster have theirs.
    """
    wanted, present = list(planned), list(nodes)
    by_name = {node.name: node for node in present}
    placed = {each.name: by_name[each.name] for each in wanted if each.name in by_name}
    taken = {node.name for node in placed.values()}
    spare = [node for node in present if node.name not in taken]
    for each in wanted:
        fitting = next((node for node in spare if node.profile == each.profile), None)
        if each.name not in placed and fitting is not None:
            spare.remove(fitting)
            placed[each.name] = fitting
    return placed


def place_nodes(planned: Iterable[PlannedNode], nodes: Iterable[Node]) -> dict[str, Node]:
    """A node for every planned one. Raises ClusterError if one has none."""
    wanted, present = list(planned), list(nodes)
    placed = match_nodes(wanted, present)
    for each in wanted:
        if each.name not in placed:
            have = ", ".join(f"{node.name} ({node.profile})" for node in present) or "none"
            raise ClusterError(
                f"cluster: no node with profile {each.profile!r} is left for {each.name!r} of the plan.\n"
                f"Its nodes: {have}."
            )
    return placed


NAMESPACE_PREFIX = "crashloop-"

log = logging.getLogger(__name__)


@contextmanager
def own_cluster(
    maker: str,
    request: ClusterRequest,
    interruptible: AbstractContextManager[None],
    progress: Progress,
    *,
    logs: Path,
    keep: bool,
) -> Iterator[Cluster]:
    """A cluster of the provider `maker`; afterwards its logs are collected and it is gone, unless it is to be kept.

    It comes up inside of `interruptible`. Raises the provider's errors.
    """
    with interruptible:
        provider(maker).check(request)
        cluster = provider(maker).up(request, progress)
    try:
        yield cluster
    finally:
        try:
            cluster.collect_logs(logs)
        finally:
            if keep:
                mark_kept(cluster.info.name)
                log.info("cluster %s is kept; its kubeconfig: %s", cluster.info.name, cluster.info.kubeconfig)
            else:
                cluster.down()


@contextmanager
def kept_cluster(
    name: str, maker: str, *, version: str, gates: dict[str, bool] | None = None, logs: Path
) -> Iterator[Cluster]:
    """A cluster that was up before; nodes that the run adds are gone afterwards.

    Raises UsageError for another version, or other feature gates of its control plane unless `gates` is None.
    """
    cluster = owning_provider(maker).attach(name)
    require_version(name, cluster.info.kubernetes_version, version)
    if gates not in (None, cluster.info.feature_gates):
        has = " ".join(f"--feature-gate {gate}={str(on).lower()}" for gate, on in cluster.info.feature_gates.items())
        raise UsageError(
            f"cluster {name!r}: its control plane was started with other feature gates than the run's.\n"
            f"Use {has or 'no --feature-gate'}."
        )
    lent = {node.name for node in cluster.info.nodes}
    try:
        yield cluster
    finally:
        cluster.collect_logs(logs)
        cluster.remove_nodes(tuple(sorted({node.name for node in cluster.info.nodes} - lent)))


def require_version(name: str, has: str, needs: str) -> None:
    """Raise UsageError if a kept cluster runs another version of Kubernetes than the run needs."""
    if has != needs:
        raise UsageError(
            f"cluster {name!r}: it runs Kubernetes {has}, the run needs {needs}.\nUse --kubernetes-version {has}."
        )


@contextmanager
def run_namespace(api: KubeApi, info: ClusterInfo, label: str, remove: Callable[[str], None]) -> Iterator[str]:
    """A new namespace, which `remove` takes away afterwards; or that which an existing cluster lends."""
    if info.namespace is not None:
        yield info.namespace
        return
    name = api.create_namespace(prefix=NAMESPACE_PREFIX, labels={RUN_LABEL: label})
    try:
        api.wait_for_default_service_account(name)
        yield name
    finally:
        remove(name)


ENVIRONMENT_FORMAT = "crashloop.environment/1"


class RecorderHost(msgspec.Struct, frozen=True, kw_only=True):
    """The machine of the recorder."""

    kernel: str
    machine: str
    cpu_model: str = ""
    """As the kernel names it; empty where it does not."""
    cpus: int
    memory_bytes: int
    cgroup_version: int
    has_cpu_pressure: bool
    """Whether the kernel counts CPU stalls (/proc/pressure/cpu)."""
    python: str


class NodeVersions(msgspec.Struct, frozen=True, kw_only=True):
    """`status.nodeInfo` of a node, as far as it names versions."""

    name: str
    kubelet: str
    container_runtime: str
    kernel: str
    os_image: str


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """environment.json."""

    format: str = ENVIRONMENT_FORMAT
    crashloop_version: str = __version__
    host: RecorderHost
    node_image: str | None = None
    """Image that the nodes were made from, where nodes are containers."""
    nodes: tuple[NodeVersions, ...]
    etcd_disk: str | None = None
    """The disk that etcd's writes wait for; empty if they wait for none; None: not known."""


def read_environment(nodes: list[Json], *, node_image: str | None = None, etcd_disk: str | None = None) -> Environment:
    """The facts of this host and of the Node objects given."""
    host = RecorderHost(
        kernel=platform.release(),
        machine=platform.machine(),
        cpu_model=_cpu_model(),
        cpus=available_processors(),
        memory_bytes=psutil.virtual_memory().total,
        cgroup_version=2 if Path("/sys/fs/cgroup/cgroup.controllers").exists() else 1,
        has_cpu_pressure=Path("/proc/pressure/cpu").exists(),
        python=sys.version.split()[0],
    )
    versions = tuple(_node_versions(node) for node in nodes)
    return Environment(host=host, node_image=node_image, nodes=versions, etcd_disk=etcd_disk)


def _cpu_model() -> str:
    """`model name` of the first CPU; ARM kernels do not have it."""
    lines = (line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines())
    return next((value.strip() for name, _, value in lines if name.strip() == "model name"), "")


def _node_versions(node: dict[str, Any]) -> NodeVersions:
    info = node["status"]["nodeInfo"]
    return NodeVersions(
        name=node["metadata"]["name"],
        kubelet=info["kubeletVersion"],
        container_runtime=info["containerRuntimeVersion"],
        kernel=info["kernelVersion"],
        os_image=info["osImage"],
    )
