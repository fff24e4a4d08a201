"""The provider `local`: real Kubernetes as plain processes on this host, one kubelet and one containerd per node.

`crashloop up --plan` prints the plan of a cluster as a text for people.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent

import msgspec

from crashloop.cluster.binaries.components import BinarySet
from crashloop.cluster.binaries.ensure import ensure_binaries, ensure_controllers
from crashloop.cluster.images import ImageArchive, ensure_image_archive
from crashloop.cluster.kubelets import KubeletProgram, Kubelets
from crashloop.cluster.local import cgroups
from crashloop.cluster.local.cluster import LocalCluster
from crashloop.cluster.local.control_plane import control_plane_plan
from crashloop.cluster.local.credentials import CertificatePlan
from crashloop.cluster.local.namespaces import HOLDER_SCRIPT, networks_in_use
from crashloop.cluster.local.node import node_plan, own_place, with_runtime
from crashloop.cluster.local.plan import (
    Blueprint,
    ControlPlanePlan,
    FilePlan,
    Images,
    LinkPlan,
    Network,
    NodePlan,
    ProcessPlan,
    Programs,
    free_network,
)
from crashloop.cluster.local.prerequisites import (
    HostFacts,
    check_host,
    check_request,
    host_facts,
    install_missing_tools,
)
from crashloop.cluster.ownership import ClusterStore, new_facts
from crashloop.cluster.prerequisites import MIB, room_problem
from crashloop.cluster.processes import signals_as_exit
from crashloop.cluster.provider import Capability, ClusterRequest, Progress
from crashloop.cluster.removal import reap
from crashloop.errors import ClusterError
from crashloop.settings import Settings, resolve_settings


def describe_control_plane(plan: ControlPlanePlan) -> str:
    """The control plane's part of a plan."""
    network = plan.network
    lines = [
        "# Control plane",
        "",
        f"network    {network.all}, API server at {network.api_server}, host at {network.host} on {network.host_link}",
        f"namespaces hub: a network and mounts of its own; in them {HOLDER_SCRIPT}",
        "",
        *_certificate_lines(plan.certificates),
        *_file_lines(plan.files),
        *_process_lines("start at once", plan.first),
        *_process_lines("start once /readyz answers ok", plan.once_ready),
    ]
    return "\n".join(lines)


def describe_node(plan: NodePlan) -> str:
    """A node's part of a plan."""
    lines = [
        f"# Node {plan.name}, profile {plan.profile}",
        "",
        f"network    {plan.address}, pods in {plan.network.pods(plan.index)}",
        f"cgroup     /{plan.cgroup}",
        "",
        *_certificate_lines((plan.certificate,)),
        *_file_lines(plan.files),
        *_link_lines(plan.links),
        *_process_lines("start at once", (plan.runtime,)),
        f"## run once {plan.runtime_socket} accepts connections",
        "",
        *_argv_lines(plan.import_images),
        "",
        *_process_lines("start once the API server's /readyz answers ok", (plan.kubelet,)),
    ]
    return "\n".join(lines)


def _certificate_lines(plans: tuple[CertificatePlan, ...]) -> Iterator[str]:
    for plan in plans:
        groups = "".join(f", O={each}" for each in plan.organizations)
        hosts = ", ".join((*plan.addresses, *plan.names))
        yield f"## certificate {plan.certificate}"
        yield ""
        yield f"    CN={plan.common_name}{groups}" + (f", for {hosts}" if hosts else "")
        yield ""


def _link_lines(plans: tuple[LinkPlan, ...]) -> Iterator[str]:
    for plan in plans:
        yield f"## link {plan.path} to {plan.target}"
        yield ""


def _file_lines(plans: tuple[FilePlan, ...]) -> Iterator[str]:
    for plan in plans:
        yield f"## file {plan.path}"
        yield ""
        yield indent(plan.text, "    ")


def _process_lines(when: str, plans: tuple[ProcessPlan, ...]) -> Iterator[str]:
    for plan in plans:
        yield f"## {when}: {plan.role}, in the namespaces of {plan.namespace}, log {plan.log}"
        yield ""
        yield from _argv_lines(plan.argv)
        yield ""


def _argv_lines(argv: tuple[str, ...]) -> Iterator[str]:
    last = len(argv) - 1
    for position, word in enumerate(argv):
        yield ("    " if position == 0 else "      ") + word + ("" if position == last else " \\")


class LocalProvider:
    """Implements `crashloop.cluster.provider.Provider` and `crashloop.cluster.providers.OwningProvider`."""

    name = "local"
    capabilities = frozenset(Capability)

    def __init__(self, *, settings: Settings | None = None, store: ClusterStore | None = None) -> None:
        self._settings = settings or resolve_settings()
        self._store = store or ClusterStore(self._settings.paths.state_dir)

    def check(self, request: ClusterRequest) -> None:
        check_request(request, state_folder=self._store.root / request.name)
        check_host(self._host(), nodes=len(request.nodes))

    def up(self, request: ClusterRequest, progress: Progress) -> LocalCluster:
        self.check(request)
        install_missing_tools(self._host(), progress)
        blueprint = self._blueprint(request, progress)
        kubelets = self._kubelets(blueprint)
        for node in request.nodes:
            kubelets.of(node.profile, progress)
            with_runtime(blueprint, node.profile, self._settings, progress)
        reap(self._store)
        with signals_as_exit():
            return self._up(request, blueprint, kubelets, progress)

    def describe_plan(self, request: ClusterRequest, progress: Progress) -> str:
        check_request(request, state_folder=self._store.root / request.name)
        blueprint = self._with_free_network(self._blueprint(request, progress))
        kubelets = self._kubelets(blueprint)
        nodes = [
            node_plan(
                with_runtime(blueprint, node.profile, self._settings, progress),
                own_place(blueprint, node.name, index),
                profile=node.profile,
                kubelet=kubelets.of(node.profile, progress),
            )
            for index, node in enumerate(request.nodes)
        ]
        control_plane = control_plane_plan(blueprint)
        return "\n".join([describe_control_plane(control_plane), *(describe_node(node) for node in nodes)])

    def attach(self, name: str) -> LocalCluster:
        """A handle on a kept cluster; this process owns it from now on. Raises UsageError."""
        state, blueprint = self._store.attach(name, Blueprint)
        cgroups.make(cgroups.cgroup_host(), f"{cgroups.PARENT}/{name}")
        return LocalCluster(
            blueprint, state=state, store=self._store, kubelets=self._kubelets(blueprint), settings=self._settings
        )

    def _up(
        self, request: ClusterRequest, blueprint: Blueprint, kubelets: Kubelets, progress: Progress
    ) -> LocalCluster:
        cluster = None
        facts = new_facts(
            name=request.name,
            provider=self.name,
            owner_pid=os.getpid(),
            kubernetes_version=blueprint.kubernetes_version,
            nodes=tuple(node.name for node in request.nodes),
        )
        try:
            with self._store.locked():
                blueprint = self._with_free_network(blueprint)
                plan = control_plane_plan(blueprint)
                state = self._store.create(facts)
                cluster = LocalCluster(
                    blueprint, state=state, store=self._store, kubelets=kubelets, settings=self._settings
                )
                cluster.make_hub(plan)
            cluster.start(plan, request.nodes, progress)
        except BaseException as error:
            full = room_problem(self._store.root, least=_ETCD_LOG) if isinstance(error, Exception) else None
            if cluster is not None:
                cluster.down()
            if full:
                raise ClusterError(full) from error
            raise
        return cluster

    def _kubelets(self, blueprint: Blueprint) -> Kubelets:
        default = KubeletProgram(path=blueprint.programs.kubelet, version=blueprint.kubelet_version)
        return Kubelets(default, api_server=blueprint.kubernetes_version, settings=self._settings)

    def _host(self) -> HostFacts:
        return host_facts(self._store.root.parent, self._settings.paths.cache_dir)

    def _with_free_network(self, blueprint: Blueprint) -> Blueprint:
        return msgspec.structs.replace(blueprint, network=free_network(networks_in_use()))

    def _blueprint(self, request: ClusterRequest, progress: Progress) -> Blueprint:
        binaries = ensure_binaries(
            self._settings,
            kubernetes_version=request.kubernetes_version,
            bin_dir=_optional_path(request.bin_dir),
            kubelet_binary=_optional_path(request.kubelet_binary),
            progress=progress,
        )
        controllers = binaries
        if request.controllers_version is not None:
            controllers = ensure_controllers(
                self._settings,
                kubernetes_version=request.controllers_version,
                api_server=binaries.kubernetes_version,
                progress=progress,
            )
        archive = ensure_image_archive(binaries, self._settings)
        return Blueprint(
            cluster=request.name,
            state_folder=str(self._store.root / request.name),
            kubernetes_version=binaries.kubernetes_version,
            kubelet_version=binaries.versions["kubelet"],
            programs=programs_of(binaries, controllers),
            images=images_of(archive),
            network=Network(prefix="0.0"),
            cgroup_version=cgroups.cgroup_host().version,
            feature_gates=request.feature_gates,
            shortcuts=request.shortcuts,
        )


_ETCD_LOG = 64 * MIB
"""What etcd takes at its start (SegmentSizeBytes of server/storage/wal in etcd): with less, the disk is why a start fails."""


def programs_of(binaries: BinarySet, controllers: BinarySet) -> Programs:
    """Paths of the programs that this provider starts; controller manager and scheduler are those of `controllers`."""
    return Programs(
        etcd=str(binaries.etcd),
        kube_apiserver=str(binaries.kube_apiserver),
        kube_controller_manager=str(controllers.kube_controller_manager),
        kube_scheduler=str(controllers.kube_scheduler),
        kubelet=str(binaries.kubelet),
        containerd=str(binaries.containerd),
        shim_dir=str(binaries.shim_dir),
        ctr=str(binaries.ctr),
        runc=str(binaries.runc),
        cni_dir=str(binaries.cni_dir),
    )


def images_of(archive: ImageArchive) -> Images:
    return Images(archive=str(archive.path), program=archive.program_image, sandbox=archive.sandbox_image)


def _optional_path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
