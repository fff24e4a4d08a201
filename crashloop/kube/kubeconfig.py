"""Kubeconfig files: which cluster and user a context names.

Rules of kubectl ("Organizing Cluster Access Using kubeconfig Files" in the Kubernetes documentation; loader.go of
k8s.io/client-go/tools/clientcmd): of several files the first to name an entry wins, and a relative path is relative to the
file that holds it. Nothing here reaches the network, and no module of it may be one that Locust patches.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from crashloop.errors import UsageError

Entry = dict[str, Any]

_SECTIONS = {"contexts": "context", "clusters": "cluster", "users": "user"}
_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


class Named(NamedTuple):
    """The cluster and the user of a context, as they are written, with absolute paths."""

    source: str
    """The kubeconfig and the context, for messages."""
    cluster: Entry
    user: Entry


def default_kubeconfig(option: str | None, environ: Mapping[str, str]) -> str:
    """The kubeconfig as kubectl finds it: option, KUBECONFIG, ~/.kube/config. An absolute path, or a list of them."""
    named = option or environ.get("KUBECONFIG") or "~/.kube/config"
    return os.pathsep.join(str(path) for path in _paths(named))


def read_context(kubeconfig: str, context: str | None = None) -> Named:
    """The context of that name, or the current one.

    Raises UsageError for a file that is missing, cannot be read or is no kubeconfig, and for a context, cluster or user
    that it lacks.
    """
    merged: dict[str, dict[str, Entry]] = {section: {} for section in _SECTIONS}
    current = context
    for path in _files(kubeconfig):
        document = _document(path)
        current = current or document.get("current-context")
        for section, field in _SECTIONS.items():
            for name, entry in _entries(path, document, section, field):
                merged[section].setdefault(name, entry)
    if current not in merged["contexts"]:
        known = ", ".join(sorted(merged["contexts"])) or "none"
        if context is None:
            raise UsageError(
                f"kubeconfig {kubeconfig}: it has no current context; its contexts: {known}.\nName one with --context."
            )
        raise UsageError(f"kubeconfig {kubeconfig}: it has no context {context!r}; its contexts: {known}.")
    source = f"{kubeconfig}, context {current!r}"
    chosen = merged["contexts"][current]

    def entry_of(section: str, field: str) -> Entry:
        name = chosen.get(field)
        if name not in merged[section]:
            raise UsageError(f"kubeconfig {source}: it names {field} {name!r}, which is missing.")
        return merged[section][name]

    cluster = entry_of("clusters", "cluster")
    if not isinstance(cluster.get("server"), str):
        raise UsageError(f"kubeconfig {source}: its cluster has no server.")
    return Named(source, cluster, entry_of("users", "user"))


def _files(kubeconfig: str) -> list[Path]:
    """Of a list, files that are missing are left out, as kubectl does."""
    found = [path for path in _paths(kubeconfig) if path.exists()]
    if not found:
        raise UsageError(f"kubeconfig {kubeconfig}: there is no such file.\nName another with --kubeconfig.")
    return found


def _paths(kubeconfig: str) -> list[Path]:
    return [Path(each).expanduser().absolute() for each in kubeconfig.split(os.pathsep) if each]


def _document(path: Path) -> Entry:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"kubeconfig {path}: cannot be read ({reason}).\nName another with --kubeconfig.") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"kubeconfig {path}: cannot be used (it is not YAML: {error}).") from error
    if not isinstance(document, dict) or not any(section in document for section in _SECTIONS):
        raise UsageError(f"kubeconfig {path}: cannot be used (it has no contexts, clusters or users).")
    return document


def _entries(path: Path, document: Entry, section: str, field: str) -> Iterator[tuple[str, Entry]]:
    for each in document.get(section) or ():
        if not isinstance(each, dict) or not isinstance(each.get("name"), str) or not isinstance(each.get(field), dict):
            raise UsageError(f"kubeconfig {path}: cannot be used ({section}: expected entries with name and {field}).")
        entry = dict(each[field])
        for name in _PATHS:
            if entry.get(name):
                entry[name] = str(path.parent / str(entry[name]))
        if isinstance(entry.get("exec"), dict):
            entry["exec"] = _with_folder(entry["exec"], path.parent)
        yield each["name"], entry


def _with_folder(plugin: Entry, folder: Path) -> Entry:
    """A command with a slash is relative to the kubeconfig; a bare name is found on PATH."""
    command = str(plugin.get("command") or "")
    return {**plugin, "command": str(folder / command) if "/" in command else command}
