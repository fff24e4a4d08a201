"""The objects of loads, in the spelling of the Kubernetes API. Pure.

Pods are those of the conformance suite (crashloop.pods.manifest): the same program, the same security context.
"""

from collections.abc import Callable
from typing import NamedTuple
from uuid import uuid4

import msgspec

from crashloop.pods.manifest import HOSTNAME_LABEL, RUN_LABEL, SCENARIO_LABEL, pod_manifest
from crashloop.stress.assignment import Order
from crashloop.stress.loads import (
    ASKED_ANNOTATION,
    LOAD_LABEL,
    WORKER_LABEL,
    AnyLoad,
    Canary,
    Churn,
    Crash,
    Demand,
    Finish,
    Jobs,
    Rollout,
    Volume,
)
from crashloop.stress.pod_template import PodTemplate
from crashloop.stress.pods import name_of, scenario_of
from crashloop.yaml_text import Json
from load.server import PORT, as_server

_ASKED = f"asked-{uuid4().hex}".encode()
_SERIAL = uuid4().int
"""A serial number whose name stands in no other text."""
_SERVICE_LABEL = "crashloop.dev/service"
_VOLUME = "volume"
_SOURCES: dict[Volume, Json] = {
    "memory": {"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
    "host": {"hostPath": {"path": "/usr", "type": "Directory"}},
}


class Maker(msgspec.Struct, frozen=True, kw_only=True):
    """Makes the objects of one load on one worker."""

    order: Order
    load: str
    worker: int

    def crashing(self, load: Crash, serial: int) -> Json:
        """A pod of a crash storm, bound to its node, or spread over those that it stands for."""
        return self._pod(load, serial) if load.own is None else self._of_template(load.own, load.node, serial)

    def healthy(self, load: Churn, serial: int) -> Json:
        """A pod that runs until it is deleted, bound to its node by the scheduler."""
        return _scheduled(self._pod(load, serial))

    def finishing(self, load: Finish, serial: int) -> Json:
        """A pod that ends, bound to its node."""
        return self._pod(load, serial)

    def read(self, load: Canary, serial: int) -> Json:
        """A pod that runs until it is deleted, to be read."""
        return self._pod(load, serial)

    def job(self, load: Jobs, serial: int) -> Json:
        """A Job whose pod fails `failures` times before it succeeds."""
        template = _template(self._pod(load, serial))
        # The pod's own deadline is not enough: a Job replaces a failed pod.
        spec = {
            "activeDeadlineSeconds": self._lives_s(),
            "backoffLimit": load.failures + 3,
            "completions": 1,
            "template": template,
        }
        return self._object("batch/v1", "Job", serial, spec)

    def deployment(self, load: Rollout, serial: int) -> Json:
        """A Deployment whose pods crash.

        Its life has no bound: pkg/apis/apps/validation@v1.37.1 forbids activeDeadlineSeconds in templates of endless pods.
        """
        template = self._pod(load, serial)
        del template["spec"]["activeDeadlineSeconds"]
        rollout = {"crashloop.dev/rollout": self.name(serial)}
        template["metadata"]["labels"] |= rollout
        spec = {
            "replicas": load.replicas,
            "selector": {"matchLabels": rollout},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "50%", "maxUnavailable": "50%"}},
            "template": _template(template),
        }
        return self._object("apps/v1", "Deployment", serial, spec)

    def server(self, load: Demand, serial: int) -> Json:
        """A pod that answers HTTP requests with some work."""
        pod = self._pod(load, serial)
        (container,) = pod["spec"]["containers"]
        as_server(container, load)
        if load.service is not None:
            pod["metadata"]["labels"][_SERVICE_LABEL] = load.service
        return pod

    def service(self, name: str) -> Json:
        """A Service without an address of its own, whose endpoints are the servers of the loads that share it."""
        labels = self._labels() | {RUN_LABEL: self.order.run}
        spec = {"clusterIP": "None", "selector": {_SERVICE_LABEL: name}, "ports": [{"port": PORT}]}
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "labels": labels},
            "spec": spec,
        }

    def name(self, serial: int) -> str:
        return name_of(self.load, self.worker, serial)

    def _pod(self, load: AnyLoad, serial: int) -> Json:
        scenario = scenario_of(load, self.name(serial), profile="")
        host = self.order.hosts[load.node]
        large = load.large_image if isinstance(load, Crash) else None
        manifest = pod_manifest(scenario, node=host, image=large or self.order.image, run=self.order.run)
        manifest["metadata"]["labels"] |= self._labels()
        manifest["spec"]["activeDeadlineSeconds"] = self._lives_s()
        if self.order.spread:
            del manifest["spec"]["nodeName"]
            manifest["spec"] |= self._spread()
        if isinstance(load, Crash) and load.host_network:
            manifest["spec"]["hostNetwork"] = True
        if isinstance(load, Crash | Churn) and load.volume is not None:
            _mount(manifest["spec"], load.volume)
        return manifest

    def _of_template(self, template: PodTemplate, node: str, serial: int) -> Json:
        """A pod of the user's own, as it is but for its name, labels, node and deadline."""
        name = self.name(serial)
        tolerations = [*(template.spec.get("tolerations") or ()), {"operator": "Exists"}]
        spec = {
            "activeDeadlineSeconds": self._lives_s(),
            # As of all pods of the suite: a node that is not ready must not cost the pod.
            "tolerations": tolerations,
        }
        if self.order.spread:
            where = self._spread()
            ours = where["topologySpreadConstraints"]
            own = [each for each in template.spec.get("topologySpreadConstraints") or () if not _repeats(each, ours[0])]
            spec |= where | {"topologySpreadConstraints": [*own, *ours]}
        else:
            spec["nodeName"] = self.order.hosts[node]
        labels = {SCENARIO_LABEL: name, RUN_LABEL: self.order.run} | self._labels()
        metadata = {"name": name, "labels": template.labels | labels, "annotations": template.annotations}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.spec | spec}

    def _spread(self) -> Json:
        """The fields by which the scheduler places a pod: on a node of the group, as many pods of the load on each."""
        names = {"key": HOSTNAME_LABEL, "operator": "In", "values": sorted(self.order.spread.values())}
        alike = {RUN_LABEL: self.order.run, LOAD_LABEL: self.load}
        evenly = {
            "maxSkew": 1,
            "topologyKey": HOSTNAME_LABEL,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": alike},
        }
        return {"affinity": _node_affinity({"matchExpressions": [names]}), "topologySpreadConstraints": [evenly]}

    def _lives_s(self) -> int:
        return max(1, round(self.order.ends_after_s))

    def _labels(self) -> dict[str, str]:
        return {LOAD_LABEL: self.load, WORKER_LABEL: str(self.worker)}

    def _object(self, version: str, kind: str, serial: int, spec: Json) -> Json:
        labels = self._labels() | {RUN_LABEL: self.order.run}
        metadata = {"name": self.name(serial), "labels": labels}
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _mount(spec: Json, volume: Volume) -> None:
    """A further volume for all containers. Nothing is written to that of the host."""
    spec["volumes"] = [*spec["volumes"], {"name": _VOLUME, **_SOURCES[volume]}]
    for container in spec["containers"]:
        mount = {"name": _VOLUME, "mountPath": f"/{_VOLUME}", "readOnly": True}
        container["volumeMounts"] = [*container["volumeMounts"], mount]


def _scheduled(manifest: Json) -> Json:
    """The pod without its binding: the scheduler has to find that no other node fits. One that is spread has none."""
    spec = manifest["spec"]
    if "nodeName" in spec:
        there = {"key": "metadata.name", "operator": "In", "values": [spec.pop("nodeName")]}
        spec["affinity"] = _node_affinity({"matchFields": [there]})
    return manifest


def _repeats(constraint: Json, ours: Json) -> bool:
    """The API server refuses two constraints of one pair (pkg/apis/core/validation@v1.37.1); ours is the stricter."""
    return all(constraint.get(name) == ours[name] for name in ("topologyKey", "whenUnsatisfiable"))


def _node_affinity(term: Json) -> Json:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def _template(manifest: Json) -> Json:
    """The pod as a template of an owning object."""
    _scheduled(manifest)
    return {"metadata": {"labels": manifest["metadata"]["labels"]}, "spec": manifest["spec"]}


class Made(NamedTuple):
    """An object as a request asks for it."""

    kind: str
    name: str
    text: bytes
    """JSON, with a mark in place of the time of the request."""

    def asked(self, sent_ns: int) -> bytes:
        """With the time of its request, for the recorder."""
        return self.text.replace(_ASKED, b"%d" % sent_ns)


def made(manifest: Json) -> Made:
    """The object of a manifest, annotated with the time of its request."""
    metadata = manifest["metadata"]
    annotations = metadata.get("annotations", {}) | {ASKED_ANNOTATION: _ASKED.decode()}
    whole = manifest | {"metadata": metadata | {"annotations": annotations}}
    return Made(manifest["kind"], metadata["name"], msgspec.json.encode(whole))


class Series:
    """Objects that differ in their serial numbers alone: one is made and encoded, the others are its text with their names."""

    def __init__(self, name: Callable[[int], str], make: Callable[[int], Json]) -> None:
        self._name = name
        self._first = made(make(_SERIAL))

    def of(self, serial: int) -> Made:
        """The object with that serial number."""
        name = self._name(serial)
        return self._first._replace(name=name, text=self._first.text.replace(self._first.name.encode(), name.encode()))
