"""What a local cluster's hub does on demand: outages of the control plane, an image registry, kube-state-metrics.

Registry and kube-state-metrics run in the hub's namespaces, so their ports are the cluster's own, and the ledger and the mark of
the state folder make them go with the cluster, however its owner ends.
"""

import shutil
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

import msgspec

from crashloop.cluster import registry_server
from crashloop.cluster.binaries.components import architecture
from crashloop.cluster.binaries.ensure import ensure_state_metrics
from crashloop.cluster.files import write_file
from crashloop.cluster.images import layer_of, registry_images
from crashloop.cluster.local.bring_up import Admin, Machinery, RequestFailed, accepts
from crashloop.cluster.local.control_plane import HUB, control_plane_plan
from crashloop.cluster.local.namespaces import set_cable
from crashloop.cluster.local.plan import REGISTRY_PORT, STATE_METRICS_PORT, Blueprint, ProcessPlan
from crashloop.cluster.processes import signal_daemon, wait_gone
from crashloop.cluster.provider import RegistryOffer, RegistryRequest
from crashloop.errors import ClusterError
from crashloop.progress import SilentProgress
from crashloop.settings import Settings
from crashloop.spec.control_plane import Component
from crashloop.waiting import wait_until


class LocalOutages:
    """Implements `crashloop.cluster.provider.Outages`."""

    def __init__(self, machinery: Machinery, blueprint: Callable[[], Blueprint]) -> None:
        """`blueprint` returns the present one."""
        self._machinery = machinery
        self._blueprint = blueprint

    def stop(self, component: Component) -> None:
        plan = self._plan(component, {})
        daemon = self._machinery.daemon(plan.role, plan.node)
        # An API server that may end in order first waits for its open watches.
        signal_daemon(daemon, signal.SIGKILL)
        wait_gone(daemon, describe=f"{component} to end")

    def start(self, component: Component, feature_gates: Mapping[str, bool]) -> None:
        plan, blueprint = self._plan(component, feature_gates), self._blueprint()
        if self._machinery.runs(plan):
            raise ClusterError(f"{component} of cluster {blueprint.cluster}: it runs already. Stop it first.")
        daemon, admin = self._machinery.start(plan), Admin(blueprint.layout)

        def answers() -> bool:
            self._machinery.require_alive(plan, daemon, subject="control plane")
            return admin.answers(f"{blueprint.network.api_server}/readyz", "ok")

        wait_until(
            f"the API server to answer with {component}",
            answers,
            timeout_s=2 * self._machinery.ready_s,
            not_yet=RequestFailed,
        )

    def cut_off(self, node: str) -> None:
        set_cable(self._machinery.holder(HUB), self._blueprint().node(node).index, "down")

    def connect(self, node: str) -> None:
        set_cable(self._machinery.holder(HUB), self._blueprint().node(node).index, "up")

    def _plan(self, component: Component, feature_gates: Mapping[str, bool]) -> ProcessPlan:
        blueprint = self._blueprint()
        gates = {**blueprint.feature_gates, **feature_gates}
        planned = control_plane_plan(msgspec.structs.replace(blueprint, feature_gates=gates)).first
        return next(each for each in planned if each.role == component)


class LocalRegistry:
    """Implements `crashloop.cluster.provider.Registry`. Its methods may be called from several threads."""

    def __init__(self, machinery: Machinery, blueprint: Callable[[], Blueprint]) -> None:
        """`blueprint` returns the present one."""
        self._machinery = machinery
        self._blueprint = blueprint
        self._root = machinery.layout.registry
        self._lock = threading.Lock()
        self._manifests: dict[int, str] = {}

    @property
    def address(self) -> str:
        return self._blueprint().network.registry

    def offer(self, repository: str, offer: RegistryOffer) -> None:
        with self._lock:
            self._ensure()
        folder = self._folder(repository)
        folder.mkdir(parents=True, exist_ok=True)
        manifest = None if offer.version is None else self._manifests[offer.version]
        answer = {"manifest": manifest, "password": offer.password, "answers_after_s": offer.answers_after_s}
        write_file(folder / "offer.json", msgspec.json.encode(answer))

    def requests(self, repository: str) -> tuple[RegistryRequest, ...]:
        log = self._folder(repository) / "requests.jsonl"
        lines = log.read_bytes().splitlines() if log.exists() else ()
        return tuple(
            sorted((msgspec.json.decode(each, type=RegistryRequest) for each in lines), key=lambda each: each.t_ns)
        )

    def forget(self, repository: str) -> None:
        shutil.rmtree(self._folder(repository), ignore_errors=True)

    def _folder(self, repository: str) -> Path:
        return self._root / "repositories" / repository

    def _ensure(self) -> None:
        """Write the images and start the process, unless that was done."""
        if not self._manifests:
            images = registry_images(layer_of(Path(self._blueprint().images.archive)), arch=architecture())
            blobs = self._root / "blobs"
            blobs.mkdir(parents=True, exist_ok=True)
            for digest, content in images.blobs.items():
                write_file(blobs / digest, content)
            self._manifests = images.manifests
        plan = self._plan()
        if self._machinery.runs(plan):
            return
        daemon, hub = self._machinery.start(plan), self._blueprint().network.hub

        def answers() -> bool:
            self._machinery.require_alive(plan, daemon, subject="image registry")
            return accepts((hub, REGISTRY_PORT))

        wait_until(
            "the image registry to answer", answers, timeout_s=self._machinery.ready_s, every_s=0.05, not_yet=OSError
        )

    def _plan(self) -> ProcessPlan:
        # Isolated and without site packages, since it needs none: it answers after a tenth of a second.
        program = (sys.executable, "-I", "-S", registry_server.__file__)
        argv = (*program, str(self._root), self._blueprint().network.hub, str(REGISTRY_PORT))
        log = self._machinery.layout.log("registry")
        return ProcessPlan(role="registry", node=HUB, namespace=HUB, argv=argv, log=str(log))


class LocalStateMetrics:
    """Reads its metrics, for one reader after the other."""

    def __init__(self, machinery: Machinery, blueprint: Callable[[], Blueprint], settings: Settings) -> None:
        """`blueprint` returns the present one."""
        self._machinery = machinery
        self._blueprint = blueprint
        self._settings = settings
        self._lock = threading.Lock()

    def read(self, pod_uid: str) -> bytes:
        """Its metrics once it knows that pod, which it then states as a whole. Raises ClusterError."""
        with self._lock:
            plan = self._plan()
            daemon = self._machinery.start(plan)

            def answer() -> bytes | None:
                self._machinery.require_alive(plan, daemon, subject="kube-state-metrics")
                text = self._answer()
                return text if pod_uid.encode() in text else None

            try:
                return wait_until(
                    f"kube-state-metrics to know pod {pod_uid}",
                    answer,
                    timeout_s=self._machinery.ready_s,
                    not_yet=(OSError, HTTPException),
                )
            finally:
                signal_daemon(daemon, signal.SIGTERM)
                wait_gone(daemon, describe="kube-state-metrics to end")

    def _answer(self) -> bytes:
        with urlopen(f"http://{self._blueprint().network.hub}:{STATE_METRICS_PORT}/metrics", timeout=5) as answer:
            text: bytes = answer.read()
            return text

    def _plan(self) -> ProcessPlan:
        layout, hub = self._machinery.layout, self._blueprint().network.hub
        argv = (
            str(ensure_state_metrics(self._settings, SilentProgress())),
            f"--kubeconfig={layout.kubeconfig}",
            "--resources=pods",
            f"--host={hub}",
            f"--port={STATE_METRICS_PORT}",
            f"--telemetry-host={hub}",
            f"--telemetry-port={STATE_METRICS_PORT + 1}",
        )
        role = "kube-state-metrics"
        return ProcessPlan(role=role, node=HUB, namespace=HUB, argv=argv, log=str(layout.log(role)))
