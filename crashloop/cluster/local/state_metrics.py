"""kube-state-metrics of a local cluster: a process of its hub that is started for a reading, and ended after it."""

import signal
import threading
from collections.abc import Callable
from http.client import HTTPException
from urllib.request import urlopen

from crashloop.cluster.binaries.ensure import ensure_state_metrics
from crashloop.cluster.local.addresses import STATE_METRICS_PORT
from crashloop.cluster.local.control_plane import HUB
from crashloop.cluster.local.executor import Machinery
from crashloop.cluster.local.plan import Blueprint, ProcessPlan
from crashloop.cluster.processes import signal_daemon, wait_gone
from crashloop.progress import SilentProgress
from crashloop.settings import Settings
from crashloop.waiting import wait_until

KNOWS_WITHIN_S = 60.0
STOPS_WITHIN_S = 30.0


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
                    timeout_s=KNOWS_WITHIN_S,
                    not_yet=(OSError, HTTPException),
                )
            finally:
                signal_daemon(daemon, signal.SIGTERM)
                wait_gone(daemon, describe="kube-state-metrics to end", timeout_s=STOPS_WITHIN_S)

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
