"""The restarts that an API server can carry: the requests of many kubelets, replayed at rising rates.

    python -m bench.status_writes [RESTARTS_PER_S ...]         (as root; two minutes)

The cluster is a control plane without nodes. Nodes and their pods are objects; every request of a restart is that of their
kubelet (user system:node:NAME, group system:nodes), in the mix that a restart was measured to cost: two GET and two PATCH of
the pod's status, two events. Restarts are due at even times whatever the API server does, so a late one is due to it or to
the host, which it shares with etcd and this script. etcd does not wait for the disk here (--unsafe-no-fsync).
"""

import argparse
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
import psutil
import urllib3
from rich.console import Console
from rich.table import Table

from crashloop.cluster.provider import ClusterRequest
from crashloop.cluster.providers import provider
from crashloop.kube.client import KubeApi
from crashloop.kube.credential_plugin import read_access
from crashloop.predict.costs import MEASURED
from crashloop.progress import SilentProgress
from crashloop.settings import resolve_settings
from crashloop.slo.exposition import Exposition
from crashloop.yaml_text import Json

NODES, PODS_PER_NODE = 20, 10
STEP_S = 12.0
WORKERS = 48
RATES = (5, 10, 20, 40, 60, 80, 120)
"""Restarts per second."""
KEPT_UP = 0.95
"""The share of the due restarts that a step has to complete in its time."""
REQUESTS, WRITES = 6, 4
"""Of one restart; measured are MEASURED.api_requests and MEASURED.api_writes."""
NAMESPACE = "default"


class Step(NamedTuple):
    """What one rate led to. Latencies in seconds; CPU in cores."""

    due_per_s: float
    done_per_s: float
    refused: int
    patch_p50_s: float
    patch_p99_s: float
    late_p99_s: float
    apiserver_cores: float
    harness_cores: float
    host_busy: float
    """Share of the host's CPU, other work included."""
    stored_bytes_per_restart: float

    @property
    def kept_up(self) -> bool:
        return self.done_per_s >= KEPT_UP * self.due_per_s and not self.refused


class Kubelets:
    """The requests of the kubelets of all nodes. Thread-safe."""

    def __init__(self, kubeconfig: str) -> None:
        access = read_access(kubeconfig, None)
        self._server = access.server
        self._pool = urllib3.PoolManager(maxsize=WORKERS, ssl_context=access.tls)
        self._events = itertools.count()

    def restart(self, number: int) -> Iterator[tuple[str, int, float]]:
        """Method, code and seconds of every request of a restart; `number` counts them over all pods."""
        pod = number % (NODES * PODS_PER_NODE)
        count = number // (NODES * PODS_PER_NODE)
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod_name(pod)}"
        for running in (False, True):
            yield self._request(pod, "GET", path)
            yield self._request(pod, "PATCH", f"{path}/status", {"status": status(count, running=running)})
            yield self._request(
                pod, "POST", f"/api/v1/namespaces/{NAMESPACE}/events", self._event(pod, running=running)
            )

    def _request(self, pod: int, method: str, path: str, body: Json | None = None) -> tuple[str, int, float]:
        headers = {
            "Impersonate-User": f"system:node:{node_name(pod)}",
            "Impersonate-Group": "system:nodes",
            "Content-Type": "application/strategic-merge-patch+json" if method == "PATCH" else "application/json",
        }
        began = time.monotonic()
        answer = self._pool.request(
            method,
            f"{self._server}{path}",
            body=None if body is None else json.dumps(body),
            headers=headers,
            retries=False,
        )
        return method, answer.status, time.monotonic() - began

    def _event(self, pod: int, *, running: bool) -> Json:
        return {
            "metadata": {"name": f"{pod_name(pod)}.{next(self._events):x}", "namespace": NAMESPACE},
            "involvedObject": {"kind": "Pod", "namespace": NAMESPACE, "name": pod_name(pod), "apiVersion": "v1"},
            "reason": "Started" if running else "BackOff",
            "message": "Container started" if running else "Back-off restarting failed container app in pod",
            "source": {"component": "kubelet", "host": node_name(pod)},
            "firstTimestamp": now(),
            "lastTimestamp": now(),
            "count": 1,
            "type": "Normal" if running else "Warning",
        }


def node_name(pod: int) -> str:
    return f"replayed-{pod % NODES}"


def pod_name(pod: int) -> str:
    return f"crashing-{pod}"


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def status(restarts: int, *, running: bool) -> Json:
    """The status of a pod whose container waits for its next restart, or runs."""
    ended = {
        "exitCode": 1,
        "reason": "Error",
        "startedAt": now(),
        "finishedAt": now(),
        "containerID": f"containerd://{restarts:064x}",
    }
    waits = {
        "waiting": {
            "reason": "CrashLoopBackOff",
            "message": "back-off 10s restarting failed container=app pod=crashing",
        }
    }
    container = {
        "name": "app",
        "image": "app:1",
        "imageID": f"sha256:{0:064x}",
        "containerID": f"containerd://{restarts:064x}",
        "restartCount": restarts + running,
        "ready": running,
        "started": running,
        "state": {"running": {"startedAt": now()}} if running else waits,
        "lastState": {"terminated": ended},
    }
    ready = {"lastTransitionTime": now(), "lastProbeTime": None, "status": str(running)}
    return {
        "phase": "Running",
        "conditions": [{"type": kind, **ready} for kind in ("Ready", "ContainersReady")],
        "containerStatuses": [container],
    }


def create_objects(api: KubeApi) -> None:
    for number in range(NODES):
        api.call("create a node", "POST", "/api/v1/nodes", body={"metadata": {"name": node_name(number)}})
    for number in range(NODES * PODS_PER_NODE):
        container = {"name": "app", "image": "app:1", "command": ["/bin/sh", "-c", "exit 1"]}
        spec = {"nodeName": node_name(number), "containers": [container], "automountServiceAccountToken": False}
        api.create_pod(NAMESPACE, {"metadata": {"name": pod_name(number), "labels": {"app": "crashing"}}, "spec": spec})


def step(kubelets: Kubelets, read: Callable[[], tuple[float, float]], rate: float, numbers: Iterator[int]) -> Step:
    """Restarts at that rate for STEP_S, or as many of them as come about in that time."""
    due = iter(range(round(rate * STEP_S)))
    patches: list[float] = []
    late: list[float] = []
    refused: list[int] = []
    lock = threading.Lock()
    (cpu_s, stored), own_s, began = read(), time.process_time(), time.monotonic()
    psutil.cpu_percent()

    def work() -> None:
        while True:
            with lock:
                index, number = next(due, None), next(numbers)
            if index is None or time.monotonic() - began >= STEP_S:
                return
            due_s = began + index / rate
            threading.Event().wait(max(0.0, due_s - time.monotonic()))
            for method, code, took_s in kubelets.restart(number):
                patches.extend([took_s] if method == "PATCH" else [])
                refused.extend([code] if code >= 300 else [])
            late.append(time.monotonic() - due_s)

    workers = [threading.Thread(target=work) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    host_busy = psutil.cpu_percent() / 100
    took_s, own_s, (cpu_after_s, stored_after) = time.monotonic() - began, time.process_time() - own_s, read()
    return Step(
        due_per_s=rate,
        done_per_s=len(late) / max(took_s, STEP_S),
        refused=len(refused),
        patch_p50_s=float(np.percentile(patches, 50)),
        patch_p99_s=float(np.percentile(patches, 99)),
        late_p99_s=float(np.percentile(late, 99)),
        apiserver_cores=(cpu_after_s - cpu_s) / took_s,
        harness_cores=own_s / took_s,
        host_busy=host_busy,
        stored_bytes_per_restart=(stored_after - stored) / len(late),
    )


def reader(api: KubeApi) -> Callable[[], tuple[float, float]]:
    """Reads the API server's CPU seconds, and the bytes of etcd's database."""
    exposition = Exposition(("process_cpu_seconds_total", "apiserver_storage_size_bytes"))

    def read() -> tuple[float, float]:
        values = {series.name: value for _, series, value in exposition.read(api.get_raw("/metrics"))}
        return values["process_cpu_seconds_total"], values["apiserver_storage_size_bytes"]

    return read


def main(rates: tuple[float, ...]) -> None:
    request = ClusterRequest(name="bench-status", kubernetes_version=resolve_settings().versions.kubernetes, nodes=())
    provider("local").check(request)
    cluster = provider("local").up(request, SilentProgress())
    try:
        api = KubeApi(cluster.info.kubeconfig)
        api.wait_for_default_service_account(NAMESPACE)
        create_objects(api)
        kubelets, read, numbers = Kubelets(cluster.info.kubeconfig), reader(api), itertools.count()
        steps = [step(kubelets, read, rate, numbers) for rate in rates]
    finally:
        cluster.down()
    columns = ("restarts/s due", "done", "requests/s", "refused", "PATCH p50 (ms)", "p99", "restart late p99 (s)")
    table = Table(*columns, "API server cores", "this script", "host busy", "bytes stored/restart", box=None)
    for each in steps:
        table.add_row(
            f"{each.due_per_s:g}",
            f"{each.done_per_s:.1f}{'' if each.kept_up else ' (behind)'}",
            f"{REQUESTS * each.done_per_s:.0f}",
            f"{each.refused}",
            f"{1000 * each.patch_p50_s:.1f}",
            f"{1000 * each.patch_p99_s:.0f}",
            f"{each.late_p99_s:.2f}",
            f"{each.apiserver_cores:.2f}",
            f"{each.harness_cores:.2f}",
            f"{each.host_busy:.0%}",
            f"{each.stored_bytes_per_restart:,.0f}",
        )
    Console(width=180).print(table)
    knee = max((each.done_per_s for each in steps if each.kept_up), default=0.0)
    Console(width=180).print(
        f"Kept up to {knee:.0f} restarts/s, {REQUESTS * knee:.0f} requests/s ({WRITES * knee:.0f} of them writes); "
        f"predicted from one node: {MEASURED.apiserver_cpu_s:.4f} s of the API server's CPU a restart, "
        f"here {min(each.apiserver_cores / each.done_per_s for each in steps):.4f} to "
        f"{max(each.apiserver_cores / each.done_per_s for each in steps):.4f} s."
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rates", metavar="RESTARTS_PER_S", type=float, nargs="*", default=RATES)
    main(tuple(parser.parse_args().rates))
