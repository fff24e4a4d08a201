"""Where the pods come from: a file, standard input, a folder, or a cluster, of which one or two objects are read."""

import re
import sys
from collections.abc import Iterator
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
_REQUIREMENT = r"!?[\w./-]+(?: *(?:==?|!=) *[\w.-]*| +(?:not)?in +\([\w., -]+\))?"
_SELECTOR = re.compile(rf"{_REQUIREMENT}(?:, *{_REQUIREMENT})*")
BAD_REQUEST = 400
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
    """A pod, or the pods of a workload or a selector. Raises UsageError for one that is not there, and KubeError."""
    pods = pods_of(api, subject, namespace)
    nodes = dict.fromkeys(node for pod in pods if (node := at(pod, "spec", "nodeName")))
    versions = {node: _version_of(api, node) for node in nodes}
    return Evidence(tuple(pods), versions, tuple(_events(api, namespace, pods)))


def _events(api: KubeApi, namespace: str, pods: list[Json]) -> list[Json]:
    """None where they may not be listed: they only tell who killed a container."""
    ran = [at(pod, "metadata", "name") for pod in pods if pod.get("status")]
    try:
        return api.events_of(namespace, ran[0] if len(ran) == 1 else None) if ran else []
    except KubeError:
        return []


def pods_of(api: KubeApi, subject: str, namespace: str) -> list[Json]:
    """A pod (`NAME`), or the pods of a workload (`deploy/NAME`) or of a selector (`app=web`).

    A workload without pods gives its template. Raises UsageError for what is not there, and KubeError.
    """
    kind, slash, name = subject.rpartition("/")
    try:
        if _SELECTOR.fullmatch(subject) and any(each in subject for each in "=! ,"):  # signs that no name has
            found = _selected(api, subject, namespace)
            if not found:
                raise UsageError(f"{subject}: no pod in namespace {namespace} has these labels.")
            return found
        if not SUBDOMAIN.fullmatch(name):
            raise UsageError(f"{subject!r}: no pod or workload has such a name, and there is no such file.")
        if not slash or kind in ("pod", "pods", "po"):
            return [api.get_pod(namespace, name)]
        if kind in WORKLOADS:
            return _pods_of(api, WORKLOADS[kind], name, namespace)
    except ApiRefusal as error:
        if error.code == BAD_REQUEST:
            raise UsageError(f"{subject}: it is no selector of labels ({error.message}).") from error
        if error.code != NOT_FOUND:
            raise
        raise UsageError(f"{subject}: there is no such object in namespace {namespace}; it may be gone.") from error
    known = ", ".join(WORKLOADS)
    raise UsageError(f"{subject}: expected a pod, a file, - or one of {known} with a name, such as deploy/web.")


def _version_of(api: KubeApi, node: str) -> str:
    """The API server's version where the node may not be read."""
    try:
        return str(at(api.node(node), "status", "nodeInfo", "kubeletVersion") or api.version())
    except KubeError:
        return api.version()


def _pods_of(api: KubeApi, resource: str, name: str, namespace: str) -> list[Json]:
    place = f"/apis/apps/v1/namespaces/{quote(namespace)}/{resource}/{quote(name)}"
    workload = api.call(f"read {resource} {name}", "GET", place)
    selector = ",".join(_requirements(at(workload, "spec", "selector")))
    return (_selected(api, selector, namespace) if selector else []) or list(evidence_of([workload]).pods)


def _selected(api: KubeApi, selector: str, namespace: str) -> list[Json]:
    chosen = urlencode({"labelSelector": selector})
    found = api.call("list its pods", "GET", f"/api/v1/namespaces/{quote(namespace)}/pods?{chosen}")
    return [{"kind": "Pod", **each} for each in found.get("items") or ()]


_WRITTEN = {"In": "{key} in ({values})", "NotIn": "{key} notin ({values})", "Exists": "{key}", "DoesNotExist": "!{key}"}


def _requirements(selector: Any) -> Iterator[str]:
    """A LabelSelector as the text of a query."""
    yield from (f"{key}={value}" for key, value in (at(selector, "matchLabels") or {}).items())
    for each in at(selector, "matchExpressions") or ():
        yield _WRITTEN[each["operator"]].format(key=each["key"], values=",".join(each.get("values") or ()))
