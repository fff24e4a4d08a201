"""Which cluster a fixture works on: a kubeconfig, a manager of pytest-kubernetes, or by default its fixture `k8s`."""

from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest

from crashloop.errors import UsageError
from crashloop.pytest_plugin.k8s_options import K8sOptions


class Manager(Protocol):
    """What is used of a manager of pytest-kubernetes."""

    @property
    def kubeconfig(self) -> Path | None: ...
    @property
    def cluster_name(self) -> str: ...
    @property
    def context(self) -> str | None: ...


ClusterLike = str | Path | Manager
"""The path of a kubeconfig, or a manager."""


class Access(NamedTuple):
    """A kubeconfig and one of its contexts; None: its current one."""

    kubeconfig: str
    context: str | None


def access_of(request: pytest.FixtureRequest, cluster: ClusterLike | None, context: str | None) -> Access:
    """`cluster` is a path, a manager, or None for `k8s`. Raises UsageError for a manager without a cluster."""
    if isinstance(cluster, str | Path):
        return Access(str(cluster), context)
    manager = _k8s(request) if cluster is None else cluster
    if manager.kubeconfig is None:
        raise UsageError(
            f"{type(manager).__name__} {manager.cluster_name!r}: it has no cluster yet.\nCall its create() first."
        )
    return Access(str(manager.kubeconfig), context or manager.context)


def _k8s(request: pytest.FixtureRequest) -> Manager:
    """The manager of the fixture `k8s`."""
    if not request.config.pluginmanager.hasplugin("pytest-kubernetes"):
        raise UsageError("no cluster is given, and pytest-kubernetes, whose `k8s` is the default, is not installed.")
    K8sOptions.of(request.config).check()
    manager: Manager = request.getfixturevalue("k8s")
    keep_kubeconfig(manager)
    return manager


def keep_kubeconfig(manager: Any) -> None:
    """Keep a manager of a cluster that is not its own from deleting the user's kubeconfig.

    pytest-kubernetes 0.9.0 takes every cluster for its own until create() has found it ready; delete() then unlinks the file.
    """
    from pytest_kubernetes.providers.external import ExternalManagerBase

    if isinstance(manager, ExternalManagerBase):
        manager._created = False
