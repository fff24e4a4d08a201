"""Where the pods come from: a file, standard input, a folder, or a cluster, of which one or two objects are read."""

import re
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from crashloop.errors import UsageError
from crashloop.kube.answers import ApiRefusal, KubeError
from crashloop.kube.client import NOT_FOUND, KubeApi
from crashloop.kube.objects import SUBDOMAIN
from crashloop.why.objects import Evidence, at, evidence_of, read_folder, read_text
from crashloop.yaml_text import Json, Unreadable, text_from, text_of

_SUFFIXES = (".yaml", ".yml", ".json")
_REQUIREMENT = r"!?[\w./-]+(?: *(?:==?|!=) *[\w.-]*| +(?:not)?in +\([\w., -]+\))?"
_SELECTOR = re.compile(rf"{_REQUIREMENT}(?:, *{_REQUIREMENT})*")
BAD_REQUEST = 400
WORKLOADS = {
    "apps/v1": {"deploy": "deployment", "sts": "statefulset", "ds": "daemonset", "rs": "replicaset"},
    "batch/v1": {"job": "job"},
}
"""By API the kinds that have a selector of pods, by their short names."""


def from_files(subject: str, *, of_a_cluster: str = "") -> Evidence | None:
    """None for what is no file. Raises UsageError.

    `of_a_cluster`: an option that only a cluster obeys, if one was given; a name that both may have is then the cluster's.
    """
    path, is_stdin = Path(subject), subject == "-"
    if not subject or (of_a_cluster and SUBDOMAIN.fullmatch(subject) and path.suffix not in _SUFFIXES):
        return None
    if of_a_cluster and (is_stdin or path.exists()):
        raise UsageError(f"{of_a_cluster}: {subject} is read as it is, without a cluster.")
    if not is_stdin and path.is_dir():
        return read_folder(path)
    if not is_stdin and not path.exists() and path.suffix not in _SUFFIXES and not subject.startswith((".", "/")):
        return None
    named = "standard input" if is_stdin else subject
    try:
        return read_text(text_from(sys.stdin.buffer) if is_stdin else text_of(path), named)
    except Unreadable as error:
        raise UsageError(
            f"{named}: cannot be read ({error}).\nExpected what `kubectl get pods -o yaml` or `-o json` prints, and nothing else."
        ) from error


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
        kind = kind.partition(".")[0].removesuffix("s") or kind  # kubectl writes deployment.apps/web
        if not slash or kind in ("pod", "po"):
            return [api.get_pod(namespace, name)]
        for group, kinds in WORKLOADS.items():
            for short, long in kinds.items():
                if kind in (short.removesuffix("s"), long):
                    return _pods_of(api, f"{group}/namespaces/{quote(namespace)}/{long}s", name)
    except ApiRefusal as error:
        if error.code == BAD_REQUEST:
            raise UsageError(f"{subject}: it is no selector of labels ({error.message}).") from error
        if error.code != NOT_FOUND:
            raise
        raise UsageError(f"{subject}: there is no such object in namespace {namespace}; it may be gone.") from error
    names = [each for kinds in WORKLOADS.values() for pair in kinds.items() for each in pair]
    near = next(iter(get_close_matches(kind.lower(), [*names, "pod"], 1)), "")
    known = ", ".join(short for kinds in WORKLOADS.values() for short in kinds)
    raise UsageError(
        f"{subject}: {f'did you mean {near}/{name}? E' if near else 'e'}xpected a pod, a file, - or one of {known} with a name, "
        "such as deploy/web.\n"
        "A namespace is given with --namespace."
    )


def _version_of(api: KubeApi, node: str) -> str:
    """The API server's version where the node may not be read."""
    try:
        return str(at(api.node(node), "status", "nodeInfo", "kubeletVersion") or api.version())
    except KubeError:
        return api.version()


def _pods_of(api: KubeApi, place: str, name: str) -> list[Json]:
    *_, namespace, resource = place.split("/")
    workload = api.call(f"read {resource} {name}", "GET", f"/apis/{place}/{quote(name)}")
    selector = ",".join(_requirements(at(workload, "spec", "selector")))
    templates = [each for each in evidence_of([workload]).pods if each.get("status") is None]
    return (_selected(api, selector, namespace) if selector else []) or templates


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
