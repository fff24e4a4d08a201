"""The pods in what people have of a cluster: output of `kubectl get`, a manifest, must-gather, `kubectl cluster-info dump`."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from crashloop.errors import UsageError
from crashloop.kube.objects import misspelt_kind
from crashloop.stress.pod_template import pods_in
from crashloop.words import count
from crashloop.yaml_text import Json, Unreadable, documents, text_of

MAX_FILES = 20_000
_OF_INTEREST = ("pod", "node", "event")
"""A dump's file is read if its path, below the folder, has one of these words; others if no pod was in those."""
_SUFFIXES = (".json", ".yaml", ".yml")
_PRINTED = re.compile(r"_-o_?(json|yaml)")
"""Files that `sos report` calls by the command whose output they are, kubectl_get_-o_json_pods."""
_PACKED = (".gz", ".tgz", ".xz", ".zip", ".tar", ".zst", ".bz2")


class Evidence(NamedTuple):
    """What was found, as the API server sent it."""

    pods: tuple[Json, ...]
    """Pods, and the pod templates of other objects: those have no status."""
    versions: dict[str, str]
    """The kubelet's version by node."""
    events: tuple[Json, ...]


def read_text(text: str, subject: str) -> Evidence:
    """Raises Unreadable for what is neither JSON nor YAML, and UsageError for a misspelt kind and a text without a pod."""
    read = documents(text, is_strict=True)
    if fault := _misspelt(read):
        raise UsageError(f"{subject}: {fault}.")
    found = evidence_of(read)
    if not found.pods:
        kinds = ", ".join(dict.fromkeys(str(each["kind"]) for each in _objects(read) if each.get("kind")))
        raise UsageError(
            f"{subject}: no pod in it{f' ({kinds[:100]})' if kinds else ''}; "
            "expected a Pod, a list of pods, or an object with a pod template, as "
            "`kubectl get -o yaml` and `-o json` print them."
        )
    return found


def read_folder(folder: Path) -> Evidence:
    """Raises UsageError for a folder without a pod.

    A file that cannot be read, or has a misspelt kind, is left out if another has a pod.
    """
    objects: list[Any] = []
    faults: list[UsageError] = []
    files = sorted(each for each in folder.rglob("*") if each.suffix in _SUFFIXES or _PRINTED.search(each.name))
    of_interest: list[Path] = []
    others: list[Path] = []
    for each in files:
        named = any(word in str(each.relative_to(folder)).lower() for word in _OF_INTEREST)
        (of_interest if named else others).append(each)
    found = Evidence((), {}, ())
    for some in (of_interest, others):
        if found.pods:
            break
        for path in some[:MAX_FILES]:
            try:
                read = documents(text_of(path))
                if fault := _misspelt(read):
                    faults.append(UsageError(f"{path}: {fault}."))
                else:
                    objects += read
            except Unreadable as fault:
                faults.append(UsageError(f"{path}: cannot be read ({fault})."))
        found = evidence_of(objects)
    if not found.pods:
        faults += _closed(folder)
        number = sum(each.suffix in _PACKED for each in folder.rglob("*"))
        packed = f"; {count(number, 'packed file')} in it: unpack it first" if number else ""
        raise (
            faults[0]
            if faults
            else UsageError(
                f"{folder}: no file with a pod in it, as kubectl prints one (*.yaml, *.yml, *.json){packed}.\n"
                "Logs alone, as of `kind export logs`, say of no pod when it ended: keep `kubectl get pods -A -o json` too.\n"
                "For a pod that is called like the folder, give --namespace."
            )
        )
    return found


def _misspelt(read: Iterable[Any]) -> str:
    """A sentence without its full stop about the first object whose kind no API server knows; empty without one.

    What a list or a tool leaves without an API is what it says.
    """
    objects = (each for each in _objects(read) if each.get("apiVersion"))
    return next(filter(None, map(misspelt_kind, objects)), "")


def _closed(folder: Path) -> Iterator[UsageError]:
    """A fault for each folder that cannot be listed, as of a dump that root has made."""
    for each in (folder, *folder.rglob("*")):
        try:
            if each.is_dir():
                any(each.iterdir())
        except OSError as error:
            yield UsageError(f"{each}: cannot be read ({error.strerror}).")


def evidence_of(documents: Iterable[Any]) -> Evidence:
    """Pods, nodes and Events among objects and lists of them; of a pod that stands there twice the last counts.

    Raises UsageError if kubelets of two versions have one node name: the files are of two clusters.
    """
    pods: dict[str, Json] = {}
    versions: dict[str, str] = {}
    events: list[Json] = []
    for each in _objects(documents):
        metadata = _mapping(each.get("metadata"))
        match each.get("kind"):
            case "Node":
                name, version = str(metadata.get("name")), str(at(each, "status", "nodeInfo", "kubeletVersion") or "")
                if version and versions.setdefault(name, version) != version:
                    raise UsageError(
                        f"node {name}: it is there twice, with kubelets {versions[name]} and {version}: two clusters, or one at "
                        "two times.\nGive the objects of one of them."
                    )
            case "Event":
                event = _of_core(each)
                events += [event] if isinstance(event.get("involvedObject"), dict) else []
            case "Pod":
                pods[str(metadata.get("uid") or len(pods))] = each
            case _:
                pods |= {f"template {len(pods)} {number}": pod for number, pod in enumerate(_templates(each))}
    return Evidence(tuple(pods.values()), versions, tuple(events))


def _objects(documents: Iterable[Any]) -> Iterator[Json]:
    for each in documents:
        if isinstance(each, list):  # `jq .items`
            yield from _objects(each)
        if not isinstance(each, dict):
            continue
        items, seen = each.get("items", each.get("rows")), each.get("object")
        if isinstance(seen, dict):  # an event of a watch, or a row of a Table
            yield from _objects([seen])
        elif isinstance(items, list):
            kind = str(each.get("kind", "")).removesuffix("List")
            yield from _objects({"kind": kind, **item} for item in items if isinstance(item, dict))
        else:
            yield each


def _of_core(event: Json) -> Json:
    """An Event with the names that its fields have in core/v1; those of events.k8s.io/v1 are others."""
    return {_IN_CORE.get(name, name): value for name, value in event.items() if value is not None}


_IN_CORE = {"regarding": "involvedObject", "note": "message", "deprecatedLastTimestamp": "lastTimestamp"}


def _templates(workload: Json) -> Iterator[Json]:
    """The pod templates of an object, each as a pod without a status."""
    namespace = _mapping(workload.get("metadata")).get("namespace", "")
    for name, pod in pods_in(workload):
        if isinstance(pod.get("status"), dict):  # a pod inside an object of a tool
            yield pod
            continue
        about = {"name": name.partition("/")[2], "namespace": namespace}
        yield {"kind": workload.get("kind"), "metadata": about, "spec": pod["spec"]}


def at(value: Any, *place: str) -> Any:
    """What is at that path; None where it ends before."""
    for key in place:
        value = _mapping(value).get(key)
    return value


def _mapping(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
