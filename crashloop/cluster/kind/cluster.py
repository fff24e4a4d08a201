"""A kind cluster that is up, and the logs and configurations of its nodes, copied into one folder per node."""

import itertools
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from crashloop.cluster.files import write_file
from crashloop.cluster.kind.bring_up import BringUp, kind_of
from crashloop.cluster.kind.docker import RUNTIME_SOCKET, Docker, roots
from crashloop.cluster.kind.kubelet_trial import candidate_plan, try_candidate
from crashloop.cluster.kind.plan import CONTROL_PLANE, DIALECTS, KUBELET, RUNTIME, Blueprint, Dialect, Init, NodePlan
from crashloop.cluster.kind.teardown import remove_cluster, require_unused
from crashloop.cluster.kubelets import Kubelets
from crashloop.cluster.ownership import ClusterStore, StateFolder
from crashloop.cluster.processes import CommandFailed, Starter, slowness
from crashloop.cluster.provider import Capability, ClusterInfo, Node, NodeRequest, Progress, lacking
from crashloop.errors import ClusterError
from crashloop.history.event import Event
from crashloop.kube.answers import KubeError
from crashloop.kube.client import KubeApi
from crashloop.progress import SilentProgress
from crashloop.spec.profile import KubeletProfile
from crashloop.waiting import pause, wait_until

_CONFIGURATIONS = {
    "kubelet.yaml": "/var/lib/kubelet/config.yaml",
    "kubelet-arguments.env": "/var/lib/kubelet/kubeadm-flags.env",
    "containerd.toml": "/etc/containerd/config.toml",
}
_COPY_S = 120.0
_AT_ONCE = 4

log = logging.getLogger(__name__)


def collect_logs(blueprint: Blueprint, destination: Path) -> None:
    """Copy all logs, readable for every user; unreadable ones are logged and left out."""
    docker = Docker(blueprint.docker)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda node: _collect_node(blueprint, docker, node, destination), blueprint.nodes))
    pods = destination / CONTROL_PLANE / "pods"
    container = blueprint.control_plane.container
    try:
        docker.run(
            "cp", f"{container}:/var/log/pods", str(pods), describe="logs of the control plane", timeout_s=_COPY_S
        )
        if blueprint.image.init is Init.SYSTEMD:
            kind_of(blueprint).export_logs(destination / "kind")
    except CommandFailed as error:
        log.warning("%s", error)
    make_readable(destination)


def make_readable(folder: Path) -> None:
    """Make a folder and its contents readable for every user (`chmod -R a+rX`): Docker copies modes, and pod logs have 0640."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (0o555 if path.is_dir() or mode & 0o111 else 0o444))


def _collect_node(blueprint: Blueprint, docker: Docker, node: NodePlan, destination: Path) -> None:
    dialect = DIALECTS[blueprint.image.init]
    commands = {f"{service}.log": dialect.argv(dialect.log, service) for service in (KUBELET, RUNTIME)}
    commands |= {name: ("cat", path) for name, path in _CONFIGURATIONS.items()}
    folder = destination / (CONTROL_PLANE if node.profile is None else node.name)
    folder.mkdir(parents=True, exist_ok=True)
    for name, command in commands.items():
        try:
            text = docker.execute(node.container, *command, describe=f"{name} of {node.name}", timeout_s=_COPY_S)
        except CommandFailed as error:
            log.warning("%s", error)
        else:
            (folder / name).write_text(text)


STOPS_WITHIN_S = 60.0
RUNS_WITHIN_S = 30.0
IN_REACH = frozenset({Capability.RUNTIME_EVENTS, Capability.NODES_ON_HOST})
"""Capabilities if Docker runs on this host and this user is root."""
BEYOND = frozenset(
    {
        Capability.NODES_CHANGE,
        Capability.KUBELET_RECONFIGURATION,
        Capability.STATIC_PODS,
        Capability.POD_LOGS,
        Capability.CONTROL_PLANES,
        Capability.IMAGE_REGISTRY,
        Capability.POD_NETWORK,
        Capability.STATE_METRICS,
        Capability.OWN_CPUS,
        Capability.RUNTIME_CHOICE,
    }
)
ALWAYS = frozenset(Capability) - {*BEYOND, *IN_REACH}
"""Capabilities of every cluster."""


class KindCluster:
    """Implements `crashloop.cluster.provider.Cluster`. Its methods may be called from several threads."""

    outages = None
    registry = None

    def __init__(self, blueprint: Blueprint, *, state: StateFolder, store: ClusterStore, kubelets: Kubelets) -> None:
        self._blueprint = blueprint
        self._state = state
        self._store = store
        self._kubelets = kubelets
        self._docker = Docker(blueprint.docker)
        self._dialect: Dialect = DIALECTS[blueprint.image.init]
        self._indices = itertools.count(1)
        self._lock = threading.Lock()

    @cached_property
    def info(self) -> ClusterInfo:
        blueprint = self._blueprint
        reached = roots(self._docker, tuple(node.container for node in blueprint.workers))
        sockets = {
            node.name: str(reached[node.container] / RUNTIME_SOCKET)
            for node in blueprint.workers
            if node.container in reached
        }
        return ClusterInfo(
            name=blueprint.cluster,
            provider="kind",
            kubernetes_version=blueprint.image.kubernetes_version,
            kubeconfig=str(blueprint.layout.kubeconfig),
            nodes=tuple(
                Node(
                    name=node.name,
                    host_name=node.container,
                    profile=_worker_profile(node).name,
                    runtime_socket=sockets.get(node.name),
                    kubelet_log=str(self._kubelet_log(node, reached.get(node.container))),
                )
                for node in blueprint.workers
            ),
            capabilities=ALWAYS | (IN_REACH if len(sockets) == len(blueprint.workers) else frozenset()),
            image=blueprint.program_image,
            node_image=blueprint.image.name,
            feature_gates=blueprint.feature_gates,
            etcd_disk="",
        )

    def start(self, progress: Progress) -> None:
        """Make the cluster; returns when all nodes are Ready."""
        blueprint = self._blueprint
        require_unused(self._docker, blueprint)
        write_file(blueprint.layout.blueprint, msgspec.json.encode(blueprint), mode=0o600)
        bring_up = BringUp(blueprint)
        bring_up.write_files()
        bring_up.require_sight()
        subject = (
            f"cluster {blueprint.cluster}: control plane and {len(blueprint.workers)} nodes of {blueprint.image.name}"
        )
        with progress.step(subject):
            bring_up.create()
            bring_up.wait_until_ready()
        self._follow_logs()

    def add_nodes(self, nodes: tuple[NodeRequest, ...], progress: Progress) -> None:  # noqa: ARG002
        if nodes:
            raise _nodes_do_not_change(self._blueprint)

    def remove_nodes(self, names: tuple[str, ...]) -> None:
        if names:
            raise _nodes_do_not_change(self._blueprint)

    def restart_kubelet(
        self, node: str, *, kill: bool = False, down_s: float = 0.0, profile: KubeletProfile | None = None
    ) -> None:
        plan = self._node(node)
        if profile is not None:
            raise lacking("kind", node, Capability.KUBELET_RECONFIGURATION)
        self._service(plan, self._dialect.kill if kill else self._dialect.stop, KUBELET)
        pause(down_s)
        self._service(plan, self._dialect.start, KUBELET)
        api = KubeApi(str(self._blueprint.layout.kubeconfig))

        try:
            wait_until(
                f"the kubelet of {node} to answer",
                lambda: api.configz(node),
                timeout_s=RUNS_WITHIN_S * slowness(),
                not_yet=KubeError,
            )
        finally:
            api.close()

    def write_kubelet_config(self, node: str, profile: KubeletProfile) -> None:  # noqa: ARG002
        raise lacking("kind", node, Capability.KUBELET_RECONFIGURATION)

    def write_static_pod(self, node: str, name: str, manifest: dict[str, Any] | None) -> None:  # noqa: ARG002
        raise lacking("kind", node, Capability.STATIC_PODS)

    def take_network(self, node: str) -> None:
        raise lacking("kind", node, Capability.POD_NETWORK)

    def give_network(self, node: str) -> None:
        raise lacking("kind", node, Capability.POD_NETWORK)

    def state_metrics(self, pod_uid: str) -> bytes:
        raise ClusterError(f"pod {pod_uid}: provider kind brings up no kube-state-metrics.")

    def restart_runtime(self, node: str, *, down_s: float = 0.0, hangs: bool = False) -> None:
        plan = self._node(node)
        if hangs:
            for wait_s, name in ((down_s, "STOP"), (0.0, "CONT")):
                command = f"kill -{name} $(pidof {RUNTIME})"
                self._docker.execute(plan.container, "sh", "-c", command, describe=f"runtime of {node}")
                pause(wait_s)
            return
        self._service(plan, self._dialect.stop, RUNTIME)
        pause(down_s)
        self._service(plan, self._dialect.start, RUNTIME)

        def answers() -> bool:
            self._docker.execute(plan.container, "ctr", "version", describe=f"runtime of {node}")
            return True

        wait_until(
            f"the runtime of {node} to answer", answers, timeout_s=RUNS_WITHIN_S * slowness(), not_yet=CommandFailed
        )

    def try_kubelet(self, node: str, candidate: KubeletProfile, *, at_most_s: float) -> tuple[Event, ...]:
        where = self._node(node)
        with self._lock:
            index = next(self._indices)
        plan = candidate_plan(
            self._blueprint, where, index, candidate, kubelet=self._kubelets.of(candidate, SilentProgress())
        )
        return try_candidate(plan, blueprint=self._blueprint, node=where, docker=self._docker, at_most_s=at_most_s)

    def load_images(self, archive: Path) -> None:
        kind_of(self._blueprint).load_archive(archive)

    def collect_logs(self, destination: Path) -> None:
        collect_logs(self._blueprint, destination)

    def abandon(self, error: BaseException, *, logs: Path | None) -> None:
        """Remove the parts of a cluster that `error` prevented from coming up.

        Raises ClusterError with the same message and the folder, if logs of its nodes could be kept there.
        """
        try:
            kept = logs is not None and isinstance(error, ClusterError) and self._keep_logs(logs)
        finally:
            self.down()
        if kept:
            raise ClusterError(f"{error}\nLogs of its nodes: {logs}") from error

    def release(self) -> None:
        self._state.release()

    def down(self) -> None:
        if self._state.path.exists():
            if self._blueprint.layout.blueprint.exists():  # without it nothing was begun
                remove_cluster(self._blueprint)
            self._store.delete(self._state)

    def _keep_logs(self, folder: Path) -> bool:
        """Whether there were any."""
        self.collect_logs(folder)
        return any(folder.rglob("*.log"))

    def _service(self, node: NodePlan, command: str, service: str) -> None:
        self._docker.execute(
            node.container,
            *self._dialect.argv(command, service),
            describe=f"{service} of node {node.name}",
            timeout_s=STOPS_WITHIN_S * slowness(),
        )

    def _kubelet_log(self, node: NodePlan, root: Path | None) -> Path:
        if root is not None and self._dialect.log_file is not None:
            return root / self._dialect.log_file.format(service=KUBELET).lstrip("/")
        return self._blueprint.layout.kubelet_log(node.name)

    def _follow_logs(self) -> None:
        """Follow the kubelets' logs in nodes whose files are out of reach; the followers end with the cluster."""
        starter = Starter(self._state.path)
        here = {node.name: Path(node.kubelet_log) for node in self.info.nodes if node.kubelet_log}
        for node in self._blueprint.workers:
            log = self._blueprint.layout.kubelet_log(node.name)
            if here[node.name] == log:
                follow = self._dialect.argv(self._dialect.follow_log, KUBELET)
                starter.start(self._docker.command("exec", node.container, *follow), node=node.name, log=log)

    def _node(self, name: str) -> NodePlan:
        for node in self._blueprint.workers:
            if node.name == name:
                return node
        known = ", ".join(node.name for node in self._blueprint.workers)
        raise ClusterError(f"cluster {self._blueprint.cluster}: there is no node {name!r}; its nodes: {known}.")


def _worker_profile(node: NodePlan) -> KubeletProfile:
    assert node.profile is not None
    return node.profile


def _nodes_do_not_change(blueprint: Blueprint) -> ClusterError:
    return ClusterError(
        f"cluster {blueprint.cluster}: `kind` cannot add nodes to a cluster or take them away.\n"
        "Request all nodes when the cluster is brought up."
    )
