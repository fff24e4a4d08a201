"""`crashloop_cluster`: the clusters of a session, one per combination of profiles, version and gates.

Each is a manager of pytest-kubernetes."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pytest_kubernetes.options import ClusterOptions
from pytest_kubernetes.providers.base import AClusterManager

from crashloop.cluster.provider import Cluster, ClusterRequest, NodeRequest
from crashloop.cluster.providers import OwningProvider, owning_provider
from crashloop.errors import ClusterError, UsageError
from crashloop.profiles import load_profile, validate_for_cluster
from crashloop.progress import default_progress
from crashloop.pytest_plugin.access import K8sOptions
from crashloop.settings import resolve_settings
from crashloop.spec.profile import node_name
from crashloop.spec.version import KubernetesVersion


class CrashloopManager(AClusterManager):  # type: ignore[misc]
    """One node per kubelet profile, of the profile's name."""

    def __init__(self, provider: OwningProvider, request: ClusterRequest) -> None:
        """Unlike the base it needs no program on PATH but kubectl, and changes no name."""
        self._provider, self._request = provider, request
        self._cluster: Cluster | None = None
        self._cluster_options = ClusterOptions(cluster_name=request.name, api_version=request.kubernetes_version)

    @classmethod
    def get_binary_name(cls) -> str:
        return "kubectl"

    @property
    def cluster(self) -> Cluster:
        """What crashloop can do with it, such as `restart_kubelet(node)`. Raises ClusterError unless it is up."""
        if self._cluster is None:
            raise ClusterError(f"cluster {self.cluster_name!r}: it is not up.\nCall create() first.")
        return self._cluster

    @property
    def kubeconfig(self) -> Path | None:
        """None unless it is up."""
        return None if self._cluster is None else Path(self._cluster.info.kubeconfig)

    @property
    def image(self) -> str:
        """An image with a POSIX shell that every node has."""
        return self.cluster.info.image

    def create(self, cluster_options: object = None, timeout: int = 20, **kwargs: Any) -> None:  # noqa: ARG002
        """Bring it up, unless it is; returns when every node is Ready."""
        if cluster_options is not None or kwargs:
            raise UsageError("crashloop_cluster: create() takes no options; profiles and version are given before.")
        if self._cluster is None:
            self._on_create(self._cluster_options)

    def delete(self) -> None:
        """Remove it, unless it is removed."""
        if self._cluster is not None:
            self._on_delete()

    def ready(self, timeout: int = 20) -> bool:  # noqa: ARG002
        """Whether it is up."""
        return self._cluster is not None

    def load_image(self, image: str) -> None:
        """Give every node the images of an archive (`docker save`)."""
        if not Path(image).is_file():
            raise UsageError(f"load_image {image!r}: no such file; expected an archive, as of `docker save -o FILE`.")
        self.cluster.load_images(Path(image).absolute())

    def _on_create(self, cluster_options: object, **_: Any) -> None:  # noqa: ARG002
        self._cluster = self._provider.up(self._request, default_progress())

    def _on_delete(self) -> None:
        self.cluster.down()
        self._cluster = None


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
