"""A local cluster that is up, and trials of kubelet configurations in the namespaces of its nodes."""

import shutil
import signal
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from crashloop.cluster.files import disk_of, write_file
from crashloop.cluster.kubelets import Kubelets, candidate_event, watch_candidate
from crashloop.cluster.local import cgroups
from crashloop.cluster.local.bring_up import Admin, BringUp, Machinery, RequestFailed, Unanswered, accepts
from crashloop.cluster.local.control_plane import HUB
from crashloop.cluster.local.credentials import Authority
from crashloop.cluster.local.hub import LocalOutages, LocalRegistry, LocalStateMetrics
from crashloop.cluster.local.namespaces import unwire_node
from crashloop.cluster.local.node import KubeletPlace, candidate_place, node_plan, own_place, with_runtime
from crashloop.cluster.local.plan import Blueprint, ControlPlanePlan, NodePlan, ProcessPlan
from crashloop.cluster.local.teardown import remove_cluster, remove_node
from crashloop.cluster.ownership import ClusterStore, StateFolder
from crashloop.cluster.processes import run, signal_daemon, slowness, wait_gone
from crashloop.cluster.provider import Capability, ClusterInfo, Node, NodeRequest, Progress
from crashloop.errors import UsageError
from crashloop.history.event import Event, Kind
from crashloop.progress import SilentProgress
from crashloop.settings import Settings
from crashloop.spec.profile import KubeletProfile
from crashloop.waiting import pause, wait_until


def try_candidate(
    plan: NodePlan, *, machinery: Machinery, bring_up: BringUp, admin: Admin, at_most_s: float
) -> tuple[Event, ...]:
    """Start the candidate, watch it and end it; its PROCESS_* events."""
    layout, node = machinery.layout, plan.kubelet.namespace
    kubelet_url = f"https://{plan.address}:{plan.kubelet_port}"
    machinery.write(plan.folders, plan.files, plan.links)
    Authority.load(layout.ca_certificate, layout.ca_key).issue(plan.certificate)
    try:
        bring_up.start_runtime(plan, subject=f"candidate {plan.profile}", images=False)
        kubelet = machinery.start(plan.kubelet)
        started = candidate_event(node, Kind.PROCESS_STARTED, pid=kubelet.pid, argv=list(plan.kubelet.argv))
        return started, *watch_candidate(
            node,
            kubelet,
            Path(plan.kubelet.log),
            healthy=lambda: admin.answers(f"{kubelet_url}/healthz", "ok"),
            configz=lambda: _candidate_configz(admin, kubelet_url),
            not_yet=RequestFailed,
            at_most_s=at_most_s,
        )
    finally:
        _end_candidate(plan, machinery)


def _candidate_configz(admin: Admin, kubelet_url: str) -> object:
    try:
        return admin.ask_json(f"{kubelet_url}/configz").get("kubeletconfig")
    except RequestFailed:
        return None


def _end_candidate(plan: NodePlan, machinery: Machinery) -> None:
    for process in (plan.kubelet, plan.runtime):
        daemon = machinery.ledger.daemon(process.role, process.node)
        if daemon is not None:
            signal_daemon(daemon, signal.SIGKILL)
            wait_gone(daemon, describe=f"{process.role} of {process.node}")


IMPORTED_WITHIN_S = 300.0
TAKEN = ".taken"
"""Suffix of a file that the runtime overlooks."""


class LocalCluster:
    """Implements `crashloop.cluster.provider.Cluster`. Its methods may be called from several threads."""

    def __init__(
        self,
        blueprint: Blueprint,
        *,
        state: StateFolder,
        store: ClusterStore,
        kubelets: Kubelets,
        settings: Settings,
    ) -> None:
        self._blueprint = blueprint
        self._state = state
        self._store = store
        self._kubelets = kubelets
        self._settings = settings
        self._machinery = Machinery(blueprint.layout, settings.waits)
        self._cgroup_host = cgroups.cgroup_host()
        self._lock = threading.Lock()
        self._indices = {node.index for node in blueprint.nodes}
        self.outages = LocalOutages(self._machinery, lambda: self._blueprint)
        self.registry = LocalRegistry(self._machinery, lambda: self._blueprint)
        self._state_metrics = LocalStateMetrics(self._machinery, lambda: self._blueprint, settings)

    @property
    def info(self) -> ClusterInfo:
        blueprint = self._blueprint
        return ClusterInfo(
            name=blueprint.cluster,
            provider="local",
            kubernetes_version=blueprint.kubernetes_version,
            kubeconfig=str(blueprint.layout.kubeconfig),
            nodes=tuple(
                Node(
                    name=node.name,
                    profile=node.profile,
                    runtime_socket=node.runtime_socket,
                    kubelet_log=node.kubelet.log,
                    pod_logs=node.pod_logs,
                )
                for node in blueprint.nodes
            ),
            capabilities=frozenset(Capability),
            image=blueprint.images.program,
            feature_gates=blueprint.feature_gates,
            etcd_disk="" if blueprint.shortcuts else disk_of(blueprint.layout.etcd_data),
        )

    def make_hub(self, plan: ControlPlanePlan) -> None:
        """Take the cluster's network; the number stays free only while the store is locked."""
        BringUp(self._machinery, self._cgroup_host).hub(plan)

    def start(self, plan: ControlPlanePlan, nodes: tuple[NodeRequest, ...], progress: Progress) -> None:
        """Bring up the control plane and the first nodes, side by side."""
        plans = self._plans(nodes, progress)
        bring_up = BringUp(self._machinery, self._cgroup_host)
        with progress.step(f"cluster {self._blueprint.cluster}: control plane and {len(plans)} nodes"):
            bring_up.certificates(plan, cluster=self._blueprint.cluster)
            bring_up.all(plan, plans, self._admin())
        self._now_has((*self._blueprint.nodes, *plans))

    def add_nodes(self, nodes: tuple[NodeRequest, ...], progress: Progress) -> None:
        plans = self._plans(nodes, progress)
        with progress.step(f"cluster {self._blueprint.cluster}: {len(plans)} more nodes"):
            try:
                BringUp(self._machinery, self._cgroup_host).all(None, plans, self._admin())
            except BaseException:
                for plan in plans:
                    self._remove(plan)
                raise
        self._now_has((*self._blueprint.nodes, *plans))

    def remove_nodes(self, names: tuple[str, ...]) -> None:
        plans = [self._blueprint.node(name) for name in names]
        self._now_has(tuple(node for node in self._blueprint.nodes if node.name not in names))
        for plan in plans:
            self._remove(plan)

    def restart_kubelet(
        self, node: str, *, kill: bool = False, down_s: float = 0.0, profile: KubeletProfile | None = None
    ) -> None:
        plan = self._blueprint.node(node)
        if self._machinery.runs(plan.kubelet):
            self._stop(plan.kubelet, signal.SIGKILL if kill else signal.SIGTERM)
        if profile is not None:
            plan = self._reconfigured(plan, profile)
        pause(down_s)
        self._start(plan.kubelet, (plan.address, plan.kubelet_port))

    def write_kubelet_config(self, node: str, profile: KubeletProfile) -> None:
        self._reconfigured(self._blueprint.node(node), profile)

    def write_static_pod(self, node: str, name: str, manifest: dict[str, Any] | None) -> None:
        plan = self._blueprint.node(node)
        file = self._blueprint.layout.node(plan.name, plan.index).static_pods / f"{name}.json"
        if manifest is None:
            file.unlink(missing_ok=True)
        else:
            write_file(file, msgspec.json.encode(manifest))

    def restart_runtime(self, node: str, *, down_s: float = 0.0, hangs: bool = False) -> None:
        plan = self._blueprint.node(node)
        if hangs:
            daemon = self._machinery.daemon(plan.runtime.role, plan.runtime.node)
            signal_daemon(daemon, signal.SIGSTOP)
            try:
                pause(down_s)
            finally:
                signal_daemon(daemon, signal.SIGCONT)
            return
        self._stop(plan.runtime, signal.SIGTERM)
        pause(down_s)
        self._start(plan.runtime, plan.runtime_socket)

    def take_network(self, node: str) -> None:
        file = self._network_file(node)
        file.rename(file.with_suffix(TAKEN))

    def give_network(self, node: str) -> None:
        file = self._network_file(node)
        file.with_suffix(TAKEN).rename(file)

    def _network_file(self, node: str) -> Path:
        """What its runtime reads whenever the folder changes."""
        plan = self._blueprint.node(node)
        return self._blueprint.layout.node(plan.name, plan.index).cni_config

    def state_metrics(self, pod_uid: str) -> bytes:
        return self._state_metrics.read(pod_uid)

    def try_kubelet(self, node: str, candidate: KubeletProfile, *, at_most_s: float) -> tuple[Event, ...]:
        where = self._blueprint.node(node)
        index = self._take_index()
        plan = self._plan(candidate_place(where, index), candidate, SilentProgress())
        try:
            return try_candidate(
                plan,
                machinery=self._machinery,
                bring_up=BringUp(self._machinery, self._cgroup_host),
                admin=self._admin(),
                at_most_s=at_most_s,
            )
        finally:
            self._forget(plan)

    def load_images(self, archive: Path) -> None:
        for node in self._blueprint.nodes:
            argv = (*node.import_images[:-1], str(archive))
            run(argv, describe=f"node {node.name}: import of {archive}", timeout_s=IMPORTED_WITHIN_S * slowness())

    def collect_logs(self, destination: Path) -> None:
        layout = self._blueprint.layout
        control_plane = destination / "control-plane"
        control_plane.mkdir(parents=True, exist_ok=True)
        for log in layout.control_plane.glob("*.log"):
            shutil.copy(log, control_plane)
        for folder in layout.nodes.iterdir():
            for file in layout.node(folder.name, 0).evidence():
                if file.exists():
                    (destination / folder.name).mkdir(exist_ok=True)
                    shutil.copy(file, destination / folder.name)

    def release(self) -> None:
        self._state.release()

    def down(self) -> None:
        if self._state.path.exists():
            remove_cluster(self._state.path)
            self._store.delete(self._state)

    def _plans(self, nodes: tuple[NodeRequest, ...], progress: Progress) -> tuple[NodePlan, ...]:
        taken = [node.name for node in self._blueprint.nodes]
        for request in nodes:
            if request.name in taken:
                raise UsageError(f"cluster {self._blueprint.cluster}: node {request.name!r} exists already.")
            taken.append(request.name)
        indices = [self._take_index() for _ in nodes]
        return tuple(
            self._plan(own_place(self._blueprint, request.name, index), request.profile, progress)
            for request, index in zip(nodes, indices, strict=True)
        )

    def _plan(self, place: KubeletPlace, profile: KubeletProfile, progress: Progress) -> NodePlan:
        kubelet = self._kubelets.of(profile, progress)
        blueprint = with_runtime(self._blueprint, profile, self._settings, progress)
        return node_plan(blueprint, place, profile=profile, kubelet=kubelet)

    def _reconfigured(self, node: NodePlan, profile: KubeletProfile) -> NodePlan:
        """The node with the kubelet and the files of another profile, which are written; its runtime runs on."""
        profile = msgspec.structs.replace(profile, runtime=node.chosen_runtime)
        wanted = self._plan(own_place(self._blueprint, node.name, node.index), profile, SilentProgress())
        self._machinery.write(wanted.folders, wanted.files, wanted.links)
        changed = msgspec.structs.replace(node, files=wanted.files, links=wanted.links, kubelet=wanted.kubelet)
        self._now_has(tuple(changed if each.name == node.name else each for each in self._blueprint.nodes))
        return changed

    def _take_index(self) -> int:
        with self._lock:
            index = next(index for index in range(len(self._indices) + 1) if index not in self._indices)
            self._indices.add(index)
            return index

    def _now_has(self, nodes: tuple[NodePlan, ...]) -> None:
        with self._lock:
            self._blueprint = msgspec.structs.replace(self._blueprint, nodes=nodes)
            write_file(self._blueprint.layout.blueprint, msgspec.json.encode(self._blueprint), mode=0o600)
            self._state.set_nodes(tuple(node.name for node in nodes))

    def _stop(self, process: ProcessPlan, how: signal.Signals) -> None:
        daemon = self._machinery.daemon(process.role, process.node)
        signal_daemon(daemon, how)
        wait_gone(daemon, describe=f"{process.role} of {process.node}")

    def _start(self, process: ProcessPlan, address: str | tuple[str, int]) -> None:
        daemon = self._machinery.start(process)

        def runs() -> bool:
            self._machinery.require_alive(process, daemon, subject=f"node {process.node}")
            return accepts(address)

        wait_until(
            f"{process.role} of {process.node} to answer",
            runs,
            timeout_s=self._machinery.ready_s,
            every_s=0.05,
            not_yet=OSError,
        )

    def _remove(self, plan: NodePlan) -> None:
        """Remove a node: its pods and its Node object, its processes, its cable, its bulk data."""
        with suppress(Unanswered):
            self._admin().forget_node(plan.network.api_server, plan.name)
        self._forget(plan)
        unwire_node(self._machinery.holder(HUB), plan.index)

    def _forget(self, plan: NodePlan) -> None:
        remove_node(self._state.path, plan)
        for folder in self._blueprint.layout.node(plan.name, plan.index).bulk():
            shutil.rmtree(folder, ignore_errors=True)
        with self._lock:
            self._indices.discard(plan.index)

    def _admin(self) -> Admin:
        return Admin(self._blueprint.layout)
