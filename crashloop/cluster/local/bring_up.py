"""Carries out the plans of the control plane and of the nodes, in parallel where their order allows it."""

import socket
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path

from crashloop.cluster import runner
from crashloop.cluster.files import write_file
from crashloop.cluster.local import cgroups
from crashloop.cluster.local.addresses import Network
from crashloop.cluster.local.api import Admin, RequestFailed
from crashloop.cluster.local.certificates import Authority, create_signing_key
from crashloop.cluster.local.control_plane import ADMIN, HUB
from crashloop.cluster.local.executor import Machinery, log_excerpt
from crashloop.cluster.local.kubeconfigs import self_contained_kubeconfig
from crashloop.cluster.local.layout import ClusterLayout
from crashloop.cluster.local.ledger import Cgroup, HostLink
from crashloop.cluster.local.namespaces import wire_hub, wire_node
from crashloop.cluster.local.plan import ControlPlanePlan, NodePlan, ProcessPlan
from crashloop.cluster.processes import Daemon
from crashloop.errors import ClusterError
from crashloop.waiting import WaitTimeout, wait_until

API_READY_S = 60.0
NODE_READY_S = 60.0
RUNTIME_READY_S = 30.0
_POLL_S = 0.05
_AT_ONCE = 16


class BringUp:
    """Brings up one cluster, or further nodes of it."""

    def __init__(self, machinery: Machinery, cgroup_host: cgroups.CgroupHost) -> None:
        self._machinery = machinery
        self._cgroup_host = cgroup_host
        self._api_ready = threading.Event()
        self._given_up = threading.Event()

    def hub(self, plan: ControlPlanePlan) -> None:
        """Make the hub's namespaces and its network."""
        machinery, layout = self._machinery, self._machinery.layout
        machinery.write(plan.folders, plan.files)
        machinery.ledger.add(HostLink(name=plan.network.host_link, alias=str(layout.root)))
        wire_hub(machinery.hold(HUB, layout.log("namespaces")), plan.network, alias=str(layout.root))

    def certificates(self, plan: ControlPlanePlan, *, cluster: str) -> None:
        """Make the certificate authority, its certificates, and the administrator's kubeconfig."""
        layout = self._machinery.layout
        authority = Authority.create(layout.ca_certificate, layout.ca_key)
        create_signing_key(layout.service_account_key)
        for certificate in plan.certificates:
            authority.issue(certificate)
        write_file(layout.kubeconfig, _admin_kubeconfig(layout, plan.network, cluster), mode=0o600)

    def all(self, control_plane: ControlPlanePlan | None, nodes: tuple[NodePlan, ...], admin: Admin) -> None:
        """Start everything and return when the API server answers and all nodes are Ready. The first failure aborts the rest."""
        if control_plane is None:
            self._api_ready.set()
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            futures: list[Future[None]] = []
            if control_plane is not None:
                # First, since the threads of the nodes wait for it.
                futures.append(pool.submit(self._control_plane, control_plane, admin))
            futures += [pool.submit(self._node, plan, admin) for plan in nodes]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
            except BaseException:
                self._given_up.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _control_plane(self, plan: ControlPlanePlan, admin: Admin) -> None:
        started = [(process, self._machinery.start(process)) for process in plan.first]
        api_server = plan.first[-1]
        self._until(
            "the API server to be ready",
            lambda: admin.answers(f"{plan.network.api_server}/readyz", "ok"),
            subject="control plane",
            processes=started,
            blame=api_server,
            timeout_s=API_READY_S,
        )
        self._api_ready.set()
        started += [(process, self._machinery.start(process)) for process in plan.once_ready]
        account = f"{plan.network.api_server}/api/v1/namespaces/default/serviceaccounts/default"
        self._until(
            "the default service account",
            lambda: admin.exists(account),
            subject="control plane",
            processes=started,
            blame=plan.once_ready[0],
            timeout_s=API_READY_S,
        )

    def _node(self, plan: NodePlan, admin: Admin) -> None:
        machinery, layout = self._machinery, self._machinery.layout
        subject = f"node {plan.name} (profile {plan.profile})"
        machinery.write(plan.folders, plan.files, plan.links)
        Authority.load(layout.ca_certificate, layout.ca_key).issue(plan.certificate)
        holder = machinery.hold(plan.name, Path(plan.runtime.log))
        wire_node(machinery.holder(HUB), holder, plan.network, plan.index)
        self.start_runtime(plan, subject=subject)
        self._wait_for_api(subject)
        kubelet = machinery.start(plan.kubelet)
        self._until(
            "its Node object to be Ready",
            lambda: is_ready(admin, plan),
            subject=subject,
            processes=[(plan.kubelet, kubelet)],
            blame=plan.kubelet,
            timeout_s=NODE_READY_S,
        )

    def start_runtime(self, plan: NodePlan, *, subject: str, images: bool = True) -> None:
        """Make the node's cgroup, start its containerd and, unless it runs no pods, give it the images."""
        machinery = self._machinery
        machinery.ledger.add(Cgroup(path=plan.cgroup))
        cgroups.make(self._cgroup_host, plan.cgroup)
        runtime = machinery.start(plan.runtime)
        self._until(
            "the runtime's socket",
            lambda: accepts(plan.runtime_socket),
            not_yet=OSError,
            subject=subject,
            processes=[(plan.runtime, runtime)],
            blame=plan.runtime,
            timeout_s=RUNTIME_READY_S,
        )
        if images:
            runner.run(plan.import_images, describe=f"{subject}: image import", timeout_s=RUNTIME_READY_S)

    def _wait_for_api(self, subject: str) -> None:
        def ready() -> bool:
            self._stop_if_given_up(subject)
            return self._api_ready.is_set()

        wait_until(f"{subject}: the API server", ready, timeout_s=API_READY_S, every_s=_POLL_S)

    def _until(
        self,
        condition: str,
        probe: Callable[[], bool],
        *,
        subject: str,
        processes: list[tuple[ProcessPlan, Daemon]],
        blame: ProcessPlan,
        timeout_s: float,
        not_yet: type[Exception] = RequestFailed,
    ) -> None:
        def probed() -> bool:
            self._stop_if_given_up(subject)
            for plan, daemon in processes:
                self._machinery.require_alive(plan, daemon, subject=subject)
            return probe()

        try:
            wait_until(condition, probed, timeout_s=timeout_s, every_s=_POLL_S, not_yet=not_yet)
        except WaitTimeout as error:
            raise ClusterError(f"{subject}: {error}\n{log_excerpt(blame)}") from error

    def _stop_if_given_up(self, subject: str) -> None:
        if self._given_up.is_set():
            raise ClusterError(f"{subject}: abandoned, because another part of the cluster did not start.")


def accepts(address: str | tuple[str, int]) -> bool:
    """True once a process accepts connections at a socket's path, or at a host and port. Raises OSError before."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        probe.connect(address)
    return True


def is_ready(admin: Admin, plan: NodePlan) -> bool:
    """Whether the node's condition Ready is True. Raises RequestFailed."""
    node = admin.ask_json(f"{plan.network.api_server}/api/v1/nodes/{plan.name}")
    conditions = node.get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _admin_kubeconfig(layout: ClusterLayout, network: Network, name: str) -> str:
    return self_contained_kubeconfig(
        cluster=f"crashloop-{name}",
        server=network.api_server,
        ca=layout.ca_certificate.read_bytes(),
        certificate=layout.certificate(ADMIN).read_bytes(),
        key=layout.key(ADMIN).read_bytes(),
    )
