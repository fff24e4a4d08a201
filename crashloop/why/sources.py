"""Where the pods come from: a file, standard input, a folder, or a cluster, of which one or two objects are read."""

import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from crashloop.errors import UsageError
from crashloop.kube.answers import ApiRefusal, KubeError
from crashloop.kube.client import NOT_FOUND, KubeApi
from crashloop.kube.objects import SUBDOMAIN
from crashloop.why.objects import Evidence, at, evidence_of, read_folder, read_text
from crashloop.yaml_text import Unreadable, text_from, text_of

Json = dict[str, Any]
_SUFFIXES = (".yaml", ".yml", ".json")
WORKLOADS = {
    "deploy": "deployments",
    "deployment": "deployments",
    "sts": "statefulsets",
    "statefulset": "statefulsets",
    "ds": "daemonsets",
    "daemonset": "daemonsets",
}


def from_files(subject: str) -> Evidence | None:
    """None for what is no file. Raises UsageError."""
    path, is_stdin = Path(subject), subject == "-"
    if not subject:
        return None
    if not is_stdin and path.is_dir():
        return read_folder(path)
    if not is_stdin and not path.exists() and path.suffix not in _SUFFIXES and not subject.startswith((".", "/")):
        return None
    named = "standard input" if is_stdin else subject
    try:
        return read_text(text_from(sys.stdin.buffer) if is_stdin else text_of(path), named)
    except Unreadable as error:
        raise UsageError(f"{named}: cannot be read ({error}).") from error


def from_cluster(api: KubeApi, subject: str, namespace: str) -> Evidence:
    """A pod, or the pods of a workload (`deploy/NAME`). Raises UsageError for one that is not there, and KubeError."""
    kind, slash, name = subject.rpartition("/")
    if not SUBDOMAIN.fullmatch(name):
        raise UsageError(f"{subject!r}: no pod or workload has such a name, and there is no such file.")
    try:
        if not slash or kind in ("pod", "pods", "po"):
            pods = [api.get_pod(namespace, name)]
        elif kind in WORKLOADS:
            pods = _pods_of(api, WORKLOADS[kind], name, namespace)
        else:
            known = ", ".join(WORKLOADS)
            raise UsageError(f"{subject}: expected a pod, a file, - or one of {known} with a name, such as deploy/web.")
    except ApiRefusal as error:
        if error.code != NOT_FOUND:
            raise
        raise UsageError(f"{subject}: there is no such object in namespace {namespace}; it may be gone.") from error
    nodes = dict.fromkeys(node for pod in pods if (node := at(pod, "spec", "nodeName")))
    return Evidence(tuple(pods), {node: _version_of(api, node) for node in nodes}, ())


def _version_of(api: KubeApi, node: str) -> str:
    """The API server's version where the node may not be read."""
    try:
        return str(at(api.node(node), "status", "nodeInfo", "kubeletVersion") or api.version())
    except KubeError:
        return api.version()


def _pods_of(api: KubeApi, resource: str, name: str, namespace: str) -> list[Json]:
    place = f"/apis/apps/v1/namespaces/{quote(namespace)}/{resource}/{quote(name)}"
    workload = api.call(f"read {resource} {name}", "GET", place)
    labels = at(workload, "spec", "selector", "matchLabels") or {}
    chosen = urlencode({"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items())})
    found = api.call("list its pods", "GET", f"/api/v1/namespaces/{quote(namespace)}/pods?{chosen}")
    pods = [{"kind": "Pod", **each} for each in found.get("items") or ()] if labels else []
    return pods or list(evidence_of([workload]).pods)
