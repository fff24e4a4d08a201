"""Pods that the load generator creates and deletes per second of its CPU, beside kube-burner if there is one.

    python -m bench.pods_per_cpu_second                                     # kube-burner of PATH
    KUBE_BURNER=./kube-burner python -m bench.pods_per_cpu_second           # that executable

Both work against a control plane without nodes, so that only the API calls are compared: pods that no node takes, PODS of
them at PODS_PER_S, CPU of all processes from start to end.
"""

import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bench.figures import Figure, load_average, options, publish
from crashloop.cluster.provider import ClusterInfo, ClusterRequest
from crashloop.cluster.providers import provider
from crashloop.errors import UsageError
from crashloop.kube.client import KubeApi
from crashloop.pods.manifest import RUN_LABEL, pod_manifest
from crashloop.progress import SilentProgress
from crashloop.settings import resolve_settings
from crashloop.stress.assignment import Operation, Order
from crashloop.stress.folder import read_jsonl
from crashloop.stress.generator import Generator
from crashloop.stress.loads import Churn
from crashloop.stress.pods import scenario_of
from crashloop.stress.profile import Stage
from crashloop.waiting import wait_until

PODS_PER_S, SECONDS = 40, 25
PODS = PODS_PER_S * SECONDS
TARGET, TARGET_RATIO = 200.0, 1.3
CRASHLOOP, KUBE_BURNER_ITSELF = "crashloop (Locust)", "kube-burner"
NOWHERE = "no-such-node"
LOAD = Churn(node="storm", rate_per_s=PODS_PER_S, hold_s=0, start_within_s=1, in_flight=100)


def cpu_s() -> float:
    """CPU of all children that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


class Made(NamedTuple):
    """Pods that a tool has created, and those that it left out or did not get."""

    pods: int
    lost: int = 0


def locust(info: ClusterInfo, namespace: str, folder: Path) -> Made:
    """By our own load generator, whose dropped arrivals and failed creates are lost."""
    order = Order(
        kubeconfig=info.kubeconfig,
        context=info.context,
        namespace=namespace,
        run="bench",
        image=info.image,
        hosts={"storm": NOWHERE},
        loads={"healthy": LOAD},
        stages=(Stage(name="storm", duration_s=SECONDS, users={"healthy": 1}, settle_s=0),),
        folder=str(folder),
        ends_after_s=600,
    )
    path = folder / "load.json"
    path.write_bytes(msgspec.json.encode(order))
    generator = Generator(path, workers=0)
    generator.start()
    wait_until("the load to be over", generator.has_ended, timeout_s=10 * SECONDS)
    generator.stop(within_s=10)
    operations = list(read_jsonl(folder / "operations-0.jsonl", Operation))
    made = sum(1 for each in operations if each.what == "create" and not each.error)
    return Made(made, sum(1 for each in operations if each.what in ("create", "dropped")) - made)


def kube_burner(binary: Path, info: ClusterInfo, namespace: str, folder: Path) -> Made:
    """By kube-burner, which ends with an error if it fails."""
    pod = pod_manifest(scenario_of(LOAD, "pod", profile=""), node=NOWHERE, image=info.image, run="bench")
    del pod["spec"]["nodeName"]
    pod["spec"]["nodeSelector"] = {"kubernetes.io/hostname": NOWHERE}
    pod["metadata"]["name"] = "pod-{{.Iteration}}-{{.Replica}}"
    (folder / "pod.yaml").write_bytes(msgspec.yaml.encode(pod))
    job: dict[str, Any] = {
        "name": "pods",
        "jobIterations": PODS,
        "qps": PODS_PER_S,
        "burst": PODS_PER_S,
        "namespace": namespace,
        "namespacedIterations": False,
        "waitWhenFinished": False,
        "podWait": False,
        "cleanup": False,
        "preLoadImages": False,
        "verifyObjects": False,
        "objects": [{"objectTemplate": "pod.yaml", "replicas": 1}],
    }
    away: dict[str, Any] = {
        "name": "away",
        "jobType": "delete",
        "qps": PODS_PER_S,
        "burst": PODS_PER_S,
        "waitForDeletion": True,
        "objects": [{"kind": "Pod", "apiVersion": "v1", "labelSelector": {RUN_LABEL: "bench"}}],
    }
    (folder / "burner.yaml").write_bytes(msgspec.yaml.encode({"global": {"gc": False}, "jobs": [job, away]}))
    command = [str(binary), "init", "--config", "burner.yaml", "--kubeconfig", info.kubeconfig]
    with (folder / "kube-burner.log").open("wb") as log:
        subprocess.run(command, cwd=folder, stdout=log, stderr=log, check=True)
    return Made(PODS)


KUBE_BURNER = "KUBE_BURNER"


def kube_burner_of(environ: Mapping[str, str]) -> Path | None:
    """The executable that the variable names, or that of PATH; None without either. Raises UsageError if the named is none."""
    named = environ.get(KUBE_BURNER)
    if not named:
        found = shutil.which("kube-burner", path=environ.get("PATH", ""))
        return None if found is None else Path(found)
    path = Path(named).absolute()
    if not path.is_file() or not os.access(path, os.X_OK):
        raise UsageError(f"{KUBE_BURNER}={named}: no executable file; expected the path of kube-burner.")
    return path


def main(write: bool) -> None:
    burner, load = kube_burner_of(os.environ), load_average()
    figures: dict[str, Figure] = {}
    tools: dict[str, Callable[[ClusterInfo, str, Path], Made]] = {CRASHLOOP: locust}
    if burner is None:
        print(f"kube-burner: not on PATH, and {KUBE_BURNER} names none, so there is no comparison.")
    else:
        tools[KUBE_BURNER_ITSELF] = partial(kube_burner, burner)
    request = ClusterRequest(name="bench-pods", kubernetes_version=resolve_settings().versions.kubernetes, nodes=())
    cluster = provider("local").up(request, SilentProgress())
    api = KubeApi(cluster.info.kubeconfig, context=cluster.info.context)
    lost = 0
    try:
        for name, create in tools.items():
            namespace = api.create_namespace(prefix="bench-", labels={})
            api.wait_for_default_service_account(namespace)
            with tempfile.TemporaryDirectory() as folder:
                began_s, spent_s = time.monotonic(), cpu_s()
                made = create(cluster.info, namespace, Path(folder))
                took_s, spent_s = time.monotonic() - began_s, cpu_s() - spent_s
            lost += made.lost
            figures[name] = Figure(
                quantity=f"pods created and deleted per CPU second by {name}",
                value=made.pods / spent_s,
                target=TARGET if name == CRASHLOOP else None,
                more_is_better=True,
                note=f"{made.pods:,} pods in {took_s:.0f} s, {made.lost} lost, {spent_s:.1f} s of CPU",
            )
    finally:
        api.close()
        cluster.down()
    if burner is not None:
        ratio = figures[CRASHLOOP].value / figures[KUBE_BURNER_ITSELF].value
        figures["ratio"] = Figure(quantity="that ratio", value=ratio, target=TARGET_RATIO, more_is_better=True)
    if lost:
        raise SystemExit("No comparison: arrivals were dropped or creates failed, so the loads differ.")
    publish("pods_per_cpu_second", figures.values(), write=write, load_average=load)


if __name__ == "__main__":
    parser = options(__doc__)
    try:
        main(parser.parse_args().write)
    except UsageError as error:
        parser.error(str(error))
