"""Pods that the load generator creates and deletes per second of its CPU, beside kube-burner if there is one.

    python -m bench.pods_per_cpu_second                                     # kube-burner of PATH
    KUBE_BURNER=./kube-burner python -m bench.pods_per_cpu_second           # that executable

Both work against one control plane without nodes, so that only the API calls are compared: pods that no node takes, at
PODS_PER_S, CPU of all processes from start to end. Each makes FEW pods and MANY, in turn: what a further pod costs is the
difference, without the start of the tool. A comparison of different loads has failed: lost pods are those that a tool left out
or did not get.
"""

import itertools
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
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
from crashloop.stress.assignment import Operation, Order, read_jsonl
from crashloop.stress.generator import Generator
from crashloop.stress.loads import Churn
from crashloop.stress.pods import scenario_of
from crashloop.stress.profile import Stage
from crashloop.waiting import wait_until

PODS_PER_S = 40
FEW, MANY = 320, 1000
TARGET_RATIO, TARGET_SLOPE = 1.3, 2.0
CRASHLOOP, KUBE_BURNER_ITSELF = "crashloop (Locust)", "kube-burner"
NOWHERE = "no-such-node"
WITHIN_S = 300.0
LOAD = Churn(node="storm", rate_per_s=PODS_PER_S, hold_s=0, start_within_s=1, in_flight=1000)


def cpu_s() -> float:
    """CPU of all children that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


class Made(NamedTuple):
    """Pods that a tool has created, and those that it left out or did not get."""

    pods: int
    lost: int = 0


def locust(pods: int, info: ClusterInfo, namespace: str, folder: Path) -> Made:
    """By our own load generator, whose dropped arrivals and failed creates are lost."""
    order = Order(
        kubeconfig=info.kubeconfig,
        context=info.context,
        namespace=namespace,
        run="bench",
        image=info.image,
        hosts={"storm": NOWHERE},
        loads={"healthy": LOAD},
        stages=(Stage(name="storm", duration_s=pods / PODS_PER_S, users={"healthy": 1}, settle_s=0),),
        folder=str(folder),
        ends_after_s=600,
    )
    path = folder / "load.json"
    path.write_bytes(msgspec.json.encode(order))
    generator = Generator(path, workers=0)
    generator.start()
    wait_until("the load to be over", generator.has_ended, timeout_s=WITHIN_S)
    generator.stop(within_s=10)
    operations = list(read_jsonl(folder / "operations-0.jsonl", Operation))
    made = sum(1 for each in operations if each.what == "create" and not each.error)
    return Made(made, sum(1 for each in operations if each.what in ("create", "dropped")) - made)


def kube_burner(binary: Path, pods: int, info: ClusterInfo, namespace: str, folder: Path) -> Made:
    """By kube-burner, which ends with an error if it fails."""
    pod = pod_manifest(scenario_of(LOAD, "pod", profile=""), node=NOWHERE, image=info.image, run="bench")
    del pod["spec"]["nodeName"]
    pod["spec"]["nodeSelector"] = {"kubernetes.io/hostname": NOWHERE}
    pod["metadata"]["name"] = "pod-{{.Iteration}}-{{.Replica}}"
    (folder / "pod.yaml").write_bytes(msgspec.yaml.encode(pod))
    job: dict[str, Any] = {
        "name": "pods",
        "jobIterations": pods,
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
    return Made(pods)


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


class Cost(NamedTuple):
    """What a tool took for some pods."""

    made: Made
    cpu_s: float
    took_s: float

    @property
    def note(self) -> str:
        return f"{self.made.pods:,} pods in {self.took_s:.0f} s, {self.made.lost} lost, {self.cpu_s:.2f} s of CPU"


def further(few: Cost, many: Cost) -> float:
    """Pods per CPU second without the start of the tool: those of the larger run beyond the smaller one."""
    return (many.made.pods - few.made.pods) / (many.cpu_s - few.cpu_s)


def figures(costs: Mapping[str, tuple[Cost, Cost]]) -> Iterator[Figure]:
    """Of FEW and MANY pods by each tool; ratios to kube-burner if it is there."""
    what = "pods created and deleted per CPU second by"
    for name, (few, many) in costs.items():
        yield Figure(quantity=f"{what} {name}", value=many.made.pods / many.cpu_s, more_is_better=True, note=many.note)
        yield Figure(
            quantity=f"further {what} {name}", value=further(few, many), more_is_better=True, note=f"beyond {few.note}"
        )
    if KUBE_BURNER_ITSELF in costs:
        (few, many), (their_few, their_many) = costs[CRASHLOOP], costs[KUBE_BURNER_ITSELF]
        ratio = (many.made.pods / many.cpu_s) / (their_many.made.pods / their_many.cpu_s)
        slope = further(few, many) / further(their_few, their_many)
        yield Figure(quantity="ratio, all in", value=ratio, target=TARGET_RATIO, more_is_better=True)
        yield Figure(quantity="ratio of further pods", value=slope, target=TARGET_SLOPE, more_is_better=True)


def main(write: bool) -> None:
    burner, load = kube_burner_of(os.environ), load_average()
    tools: dict[str, Callable[[int, ClusterInfo, str, Path], Made]] = {CRASHLOOP: locust}
    if burner is None:
        print(f"kube-burner: not on PATH, and {KUBE_BURNER} names none, so there is no comparison.")
    else:
        tools[KUBE_BURNER_ITSELF] = partial(kube_burner, burner)
    request = ClusterRequest(name="bench-pods", kubernetes_version=resolve_settings().versions.kubernetes, nodes=())
    cluster = provider("local").up(request, SilentProgress())
    api = KubeApi(cluster.info.kubeconfig, context=cluster.info.context)
    costs: dict[tuple[str, int], Cost] = {}
    try:
        for pods, (name, create) in itertools.product((FEW, MANY), tools.items()):
            namespace = api.create_namespace(prefix="bench-", labels={})
            api.wait_for_default_service_account(namespace)
            with tempfile.TemporaryDirectory() as folder:
                began_s, spent_s = time.monotonic(), cpu_s()
                made = create(pods, cluster.info, namespace, Path(folder))
                costs[name, pods] = Cost(made, cpu_s() - spent_s, time.monotonic() - began_s)
    finally:
        api.close()
        cluster.down()
    found = list(figures({name: (costs[name, FEW], costs[name, MANY]) for name in tools}))
    is_fair = not any(each.made.lost for each in costs.values())
    publish("pods_per_cpu_second", found, write=write and is_fair, load_average=load)
    if not is_fair:
        raise SystemExit("No comparison: arrivals were dropped or creates failed, so the loads differ.")


if __name__ == "__main__":
    parser = options(__doc__)
    try:
        main(parser.parse_args().write)
    except UsageError as error:
        parser.error(str(error))
