"""Objects that loads make, in the spelling of the Kubernetes API. Pure.

Pods are those of the conformance suite (crashloop.kube.manifests): the same program, the same security context.
"""

from typing import Any

import msgspec

from crashloop.kube.manifests import RUN_LABEL, pod_manifest
from crashloop.observe.program import EVIDENCE_DIR
from crashloop.spec.program import HOLDS, Life, Program, exits_with
from crashloop.spec.scenario import Container, Pod, PodScenario, Until
from crashloop.stress.loads import (
    ASKED_ANNOTATION,
    LOAD_LABEL,
    MAX_LIVES,
    WORKER_LABEL,
    Churn,
    Crash,
    Demand,
    Jobs,
    Rollout,
    succeeds,
)
from crashloop.stress.order import Order

Json = dict[str, Any]

SERVER_PORT = 8080
SERVER_PATH = "/cgi-bin/work"
_HOSTNAME_FIELD = "metadata.name"

_SERVER = f"""
mkdir -p {EVIDENCE_DIR}/www/cgi-bin
cat >{EVIDENCE_DIR}/www{SERVER_PATH} <<'END'
#!/bin/sh
i=0
while [ $i -lt WORK ]; do i=$((i + 1)); done
printf 'Content-Type: text/plain\\r\\n\\r\\ndone\\n'
END
chmod 755 {EVIDENCE_DIR}/www{SERVER_PATH}
exec httpd -f -p {SERVER_PORT} -h {EVIDENCE_DIR}/www
"""


class Maker(msgspec.Struct, frozen=True, kw_only=True):
    """Makes the objects of one load on one worker."""

    order: Order
    load: str
    worker: int

    def crashing(self, load: Crash, serial: int) -> Json:
        """A pod of a crash storm."""
        code = 0 if succeeds(load, serial) else load.exit_code
        program = exits_with(code, after_s=load.run_s, times=MAX_LIVES)
        names = ["app", *(f"app-{number}" for number in range(2, load.containers + 1))]
        policy, rules = (None, ()) if load.rule is None else (load.restart_policy, (load.rule,))
        crashers = (Container(name=name, program=program, restart_policy=policy, rules=rules) for name in names)
        beside = (Container(name=f"beside-{number}") for number in range(1, load.companions + 1))
        pod = Pod(containers=(*crashers, *beside), restart_policy=load.restart_policy)
        return self._pod(pod, serial, host=self.order.hosts[load.node])

    def healthy(self, load: Churn, serial: int) -> Json:
        """A pod that runs until it is deleted, bound to its node by the scheduler."""
        pod = Pod(containers=(Container(program=HOLDS),))
        return self._scheduled(self._pod(pod, serial, host=self.order.hosts[load.node]))

    def job(self, load: Jobs, serial: int) -> Json:
        """A Job whose pod fails some times before it succeeds."""
        failing = (Life(run_s=load.run_s, exit_code=1, times=load.failures),) if load.failures else ()
        program = Program((*failing, Life(run_s=load.run_s, exit_code=0)))
        template = self._pod(Pod(containers=(Container(program=program),)), serial, host=self.order.hosts[load.node])
        template["spec"]["restartPolicy"] = "OnFailure"
        spec = {"backoffLimit": load.failures + 3, "completions": 1, "template": self._template(template)}
        return self._object("batch/v1", "Job", serial, spec)

    def deployment(self, load: Rollout, serial: int) -> Json:
        """A Deployment whose pods crash."""
        program = exits_with(load.exit_code, after_s=load.run_s, times=MAX_LIVES)
        template = self._pod(Pod(containers=(Container(program=program),)), serial, host=self.order.hosts[load.node])
        rollout = {"crashloop.dev/rollout": self.name(serial)}
        template["metadata"]["labels"] |= rollout
        spec = {
            "replicas": load.replicas,
            "selector": {"matchLabels": rollout},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "50%", "maxUnavailable": "50%"}},
            "template": self._template(template, deadline=False),
        }
        return self._object("apps/v1", "Deployment", serial, spec)

    def server(self, load: Demand, serial: int) -> Json:
        """A pod that answers HTTP requests with some work, under a CPU limit and a liveness probe."""
        pod = self._pod(Pod(containers=(Container(name="server"),)), serial, host=self.order.hosts[load.node])
        (container,) = pod["spec"]["containers"]
        container["command"] = ["/bin/sh", "-c", _SERVER.replace("WORK", str(load.work)), "server"]
        container["resources"] = {"requests": {"cpu": "10m", "memory": "8Mi"}, "limits": {"cpu": load.cpu_limit}}
        container["livenessProbe"] = {
            "httpGet": {"path": SERVER_PATH, "port": SERVER_PORT},
            "periodSeconds": load.probe_period_s,
            "timeoutSeconds": load.probe_timeout_s,
            "failureThreshold": load.failure_threshold,
        }
        return pod

    def name(self, serial: int) -> str:
        """Name of the object with that serial number."""
        return f"{self.load}-{self.worker}-{serial}"

    def _pod(self, pod: Pod, serial: int, *, host: str) -> Json:
        scenario = PodScenario(name=self.name(serial), profile="", pod=pod, until=Until())
        manifest = pod_manifest(scenario, node=host, image=self.order.image, run=self.order.run)
        manifest["metadata"]["labels"] |= self._labels()
        manifest["spec"]["activeDeadlineSeconds"] = max(1, round(self.order.ends_after_s))
        return manifest

    def _labels(self) -> dict[str, str]:
        return {LOAD_LABEL: self.load, WORKER_LABEL: str(self.worker)}

    def _scheduled(self, manifest: Json) -> Json:
        """The pod without its binding: the scheduler has to find that no other node fits."""
        spec = manifest["spec"]
        there = [{"key": _HOSTNAME_FIELD, "operator": "In", "values": [spec.pop("nodeName")]}]
        spec["affinity"] = {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": there}]}
            }
        }
        return manifest

    def _template(self, manifest: Json, *, deadline: bool = True) -> Json:
        """The pod as a template. Pods of a Deployment may not have a deadline; it goes with its Deployment."""
        self._scheduled(manifest)
        if not deadline:
            del manifest["spec"]["activeDeadlineSeconds"]
        return {"metadata": {"labels": manifest["metadata"]["labels"]}, "spec": manifest["spec"]}

    def _object(self, version: str, kind: str, serial: int, spec: Json) -> Json:
        labels = self._labels() | {RUN_LABEL: self.order.run}
        metadata = {"name": self.name(serial), "labels": labels}
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def asked(manifest: Json, sent_ns: int) -> Json:
    """The object with the time at which it was asked for; whoever watches reads it there."""
    metadata = manifest["metadata"] | {"annotations": {ASKED_ANNOTATION: str(sent_ns)}}
    return manifest | {"metadata": metadata}
