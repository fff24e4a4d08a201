"""`crashloop_cluster`: the clusters of a session, one per combination of profiles, version and gates."""

import os
from collections.abc import Mapping

import pytest

from crashloop.cluster.provider import ClusterRequest, NodeRequest
from crashloop.cluster.providers import owning_provider
from crashloop.profiles import load_profile, validate_for_cluster
from crashloop.pytest_plugin.k8s_options import K8sOptions
from crashloop.pytest_plugin.manager import CrashloopManager
from crashloop.settings import resolve_settings
from crashloop.spec.profile import node_name
from crashloop.spec.version import KubernetesVersion

Wanted = tuple[tuple[str, ...], str, tuple[tuple[str, bool], ...]]


class Clusters:
    """Made when they are first wanted, and removed together."""

    def __init__(self, config: pytest.Config) -> None:
        """Raises UsageError for options of pytest-kubernetes that such clusters cannot have."""
        self._options = K8sOptions.of(config)
        self._provider = owning_provider(self._options.provider_for_profiles(config.getoption("--crashloop-provider")))
        self._base = self._options.cluster_name or f"pytest-{os.getpid()}"
        worker = getattr(config, "workerinput", {}).get("workerid")  # of pytest-xdist: each has clusters of its own
        if self._options.cluster_name and worker:
            self._base += f"-{worker}"
        self._made: dict[Wanted, CrashloopManager] = {}

    def with_nodes(
        self, *profiles: str, version: str | None = None, feature_gates: Mapping[str, bool] | None = None
    ) -> CrashloopManager:
        """A cluster that is up, with a node per kubelet profile (name or file). `feature_gates` are the control plane's.

        Default version: --k8s-version, else the version that crashloop runs by default. Raises UsageError for a profile with
        which the kubelet does not start.
        """
        chosen = version or self._options.version or resolve_settings().versions.kubernetes
        gates = dict(feature_gates or {})
        wanted = (profiles, chosen, tuple(sorted(gates.items())))
        manager = self._made.get(wanted) or CrashloopManager(self._provider, self._request(profiles, chosen, gates))
        manager.create()
        self._made[wanted] = manager
        return manager

    def delete(self) -> None:
        """Remove all of them."""
        for manager in self._made.values():
            manager.delete()

    def _request(self, profiles: tuple[str, ...], version: str, gates: dict[str, bool]) -> ClusterRequest:
        parsed = KubernetesVersion.parse(version)
        loaded = [load_profile(each) for each in profiles]
        validate_for_cluster(loaded, parsed)
        return ClusterRequest(
            name=self._base if not self._made else f"{self._base}-{len(self._made) + 1}",
            kubernetes_version=str(parsed),
            nodes=tuple(NodeRequest(name=node_name(each.name), profile=each) for each in loaded),
            feature_gates=gates,
            any_node_image=True,
        )
