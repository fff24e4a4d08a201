"""Explains an unusable kubeconfig, with a remedy."""

import os
from collections.abc import Mapping
from pathlib import Path

import yaml
from kubernetes import config

from crashloop.errors import UsageError

UNREADABLE = (config.ConfigException, OSError, yaml.YAMLError, TypeError, ValueError, LookupError, AttributeError)
"""Exceptions of the client about a kubeconfig: its own, and those that a file of another shape causes."""


def unusable_kubeconfig(kubeconfig: str, context: str | None, error: Exception) -> UsageError:
    """The error for a kubeconfig, or a context of it, that could not be used because of `error`."""
    try:
        contexts, current = config.list_kube_config_contexts(kubeconfig)
    except UNREADABLE as worse:
        return UsageError(f"kubeconfig {kubeconfig}: cannot be used ({worse}).\nName another with --kubeconfig.")
    known = ", ".join(sorted(each["name"] for each in contexts)) or "none"
    if context is not None and context not in {each["name"] for each in contexts}:
        return UsageError(f"kubeconfig {kubeconfig}: it has no context {context!r}; its contexts: {known}.")
    chosen = context or (current or {}).get("name")
    return UsageError(f"kubeconfig {kubeconfig}, context {chosen!r}: cannot be used ({error}).")


def default_kubeconfig(option: str | None, environ: Mapping[str, str]) -> str:
    """The kubeconfig as kubectl finds it: option, KUBECONFIG, ~/.kube/config. The client handles a list of files."""
    named = option or environ.get("KUBECONFIG") or "~/.kube/config"
    return named if os.pathsep in named else str(Path(named).expanduser().absolute())
