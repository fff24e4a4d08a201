"""Carries out the plans of the control plane and of the nodes, in parallel where their order allows it.

Machinery starts the processes of one cluster and knows their ids. Admin makes the requests of bring-up to API server and
kubelets: JSON over HTTPS with the administrator's certificate.
"""

import http.client
import json
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from crashloop.cluster import processes
from crashloop.cluster.files import last_lines, write_file
from crashloop.cluster.local import cgroups
from crashloop.cluster.local.control_plane import ADMIN, HUB
from crashloop.cluster.local.credentials import Authority, create_signing_key, self_contained_kubeconfig
from crashloop.cluster.local.namespaces import HOLDER, enter, wire_hub, wire_node
from crashloop.cluster.local.plan import (
    ClusterLayout,
    ControlPlanePlan,
    FilePlan,
    LinkPlan,
    Network,
    NodePlan,
    ProcessPlan,
)
from crashloop.cluster.local.teardown import Cgroup, HostLink, Ledger, Process
from crashloop.cluster.processes import Daemon, Starter, exit_code, is_alive, slowness
from crashloop.errors import ClusterError, ProcessEnded
from crashloop.settings import Waits
from crashloop.waiting import WaitTimeout, wait_until

HOLDER_ROLE = "holder"


class Machinery:
    """Starts the processes of one cluster and writes each into the ledger."""

    def __init__(self, layout: ClusterLayout, waits: Waits = Waits()) -> None:
        self.layout = layout
        self._waits = waits
        self.ledger = Ledger(layout.root)
        self.starter = Starter(layout.root)

    @property
    def ready_s(self) -> float:
        """How long a process may run without being ready on this host, whose speed is measured once."""
        return self._waits.ready_s * slowness()

    def write(self, folders: tuple[str, ...], files: tuple[FilePlan, ...], links: tuple[LinkPlan, ...] = ()) -> None:
        """Make folders, write files, and make links or let them point elsewhere."""
        for folder in folders:
            Path(folder).mkdir(parents=True, exist_ok=True)
        for file in files:
            write_file(Path(file.path), file.text)
        for link in links:
            Path(link.path).unlink(missing_ok=True)
            Path(link.path).symlink_to(link.target)

    def hold(self, node: str, log: Path) -> int:
        """Make the namespaces of the hub or a node; the holder's process id."""
        daemon = self.starter.start_holder(HOLDER, node=node, log=log)
        self.ledger.add(Process(role=HOLDER_ROLE, node=node, daemon=daemon))
        return daemon.pid

    def holder(self, node: str) -> int:
        """The holder's process id. Raises ClusterError if it has gone."""
        return self.daemon(HOLDER_ROLE, node).pid

    def start(self, plan: ProcessPlan) -> Daemon:
        """Start a process in its namespaces."""
        argv = enter(self.holder(plan.namespace), plan.argv)
        daemon = self.starter.start(
            argv, node=plan.node, log=Path(plan.log), search_path=plan.search_path, role=plan.role
        )
        self.ledger.add(Process(role=plan.role, node=plan.node, daemon=daemon))
        return daemon

    def daemon(self, role: str, node: str) -> Daemon:
        """The running process of a role. Raises ClusterError if there is none."""
        daemon = self.ledger.daemon(role, node)
        if daemon is None or not is_alive(daemon):
            raise ClusterError(f"{role} of {node}: it is not running.")
        return daemon

    def runs(self, plan: ProcessPlan) -> bool:
        """Whether the process runs; one that has ended while it was starting does not."""
        daemon = self.ledger.daemon(plan.role, plan.node)
        return daemon is not None and is_alive(daemon)

    def require_alive(self, plan: ProcessPlan, daemon: Daemon, *, subject: str) -> None:
        """Raise ProcessEnded with the log's last lines if the process has ended."""
        if is_alive(daemon):
            return
        code = exit_code(daemon)
        how = "" if code is None else f" with exit code {code}" if code >= 0 else f" by signal {-code}"
        raise ProcessEnded(f"{subject}: {plan.role} ended{how} while it was starting.\n{log_excerpt(plan)}")


def log_excerpt(plan: ProcessPlan) -> str:
    """The last lines of a process's log, introduced."""
    path = Path(plan.log)
    text = "\n".join(f"  {line[:400]}" for line in last_lines(path).splitlines())
    return f"Last lines of {path.name}:\n{text}"


class RequestFailed(ClusterError):
    """A request had no success: base of the errors below."""


class Unanswered(RequestFailed):
    """No answer came: no connection, no trust in the server's certificate, or a broken answer."""


class Refused(RequestFailed):
    """The server answered with an HTTP error."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Admin:
    """Speaks as the cluster's administrator. All of its methods raise Unanswered."""

    def __init__(self, layout: ClusterLayout) -> None:
        self._tls = ssl.create_default_context(cafile=str(layout.ca_certificate))
        # As Python 3.13 does by default: on every version a certificate of ours has to keep to RFC 5280.
        self._tls.verify_flags |= ssl.VERIFY_X509_STRICT
        self._tls.load_cert_chain(layout.certificate("admin"), layout.key("admin"))

    def ask(self, url: str, *, method: str = "GET", body: dict[str, Any] | None = None, timeout_s: float = 5.0) -> str:
        """The answer's text. Raises Refused on an HTTP error."""
        request = urllib.request.Request(url, method=method)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self._tls)
        )
        try:
            with opener.open(request, timeout=timeout_s) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode(errors="replace")[:500]
            raise Refused(f"{method} {url}: answered {error.code}, expected success.\n{text}", error.code) from error
        except (OSError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            raise Unanswered(f"{method} {url}: no answer ({reason}).") from error

    def ask_json(self, url: str) -> Any:
        """The answer, decoded."""
        return json.loads(self.ask(url))

    def answers(self, url: str, expected: str) -> bool:
        """Whether the answer is exactly `expected`. Raises Refused on an HTTP error, whose text lists the checks that fail."""
        return self.ask(url) == expected

    def exists(self, url: str) -> bool:
        """Whether the object is there. Raises Refused for another reason than 404."""
        try:
            self.ask(url)
        except Refused as refused:
            if refused.status == 404:
                return False
            raise
        return True

    def forget_node(self, api_server: str, name: str) -> None:
        """Delete the pods of a node that is being removed, and its Node object. Raises Refused."""
        pods = self.ask_json(f"{api_server}/api/v1/pods?fieldSelector=spec.nodeName={name}")
        for pod in pods["items"]:
            meta = pod["metadata"]
            self.delete(f"{api_server}/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}")
        self.delete(f"{api_server}/api/v1/nodes/{name}")

    def delete(self, url: str) -> None:
        """Delete an object without a grace period; a missing object is no error."""
        try:
            self.ask(url, method="DELETE", body={"gracePeriodSeconds": 0})
        except Refused as refused:
            if refused.status != 404:
                raise


_POLL_S = 0.05
_AT_ONCE = 16
"""Parts that start side by side on a host of usual speed. A controller manager ends if the API server is starved for 10 s."""


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
        cgroups.make(self._cgroup_host, f"{cgroups.PARENT}/{layout.root.name}")
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
        with ThreadPoolExecutor(max_workers=max(round(_AT_ONCE / slowness()), 2)) as pool:
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
        )
        if images:
            processes.run(plan.import_images, describe=f"{subject}: image import", timeout_s=machinery.ready_s)

    def _wait_for_api(self, subject: str) -> None:
        def ready() -> bool:
            self._stop_if_given_up(subject)
            return self._api_ready.is_set()

        wait_until(f"{subject}: the API server", ready, timeout_s=self._machinery.ready_s, every_s=_POLL_S)

    def _until(
        self,
        condition: str,
        probe: Callable[[], bool],
        *,
        subject: str,
        processes: list[tuple[ProcessPlan, Daemon]],
        blame: ProcessPlan,
        not_yet: type[Exception] = RequestFailed,
    ) -> None:
        def probed() -> bool:
            self._stop_if_given_up(subject)
            for plan, daemon in processes:
                self._machinery.require_alive(plan, daemon, subject=subject)
            return probe()

        try:
            wait_until(condition, probed, timeout_s=self._machinery.ready_s, every_s=_POLL_S, not_yet=not_yet)
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
