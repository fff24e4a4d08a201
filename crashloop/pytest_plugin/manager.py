"""A cluster of crashloop as a manager of pytest-kubernetes: kubeconfig, kubectl, apply, wait, logs, port_forwarding."""

from pathlib import Path
from typing import Any

from pytest_kubernetes.options import ClusterOptions
from pytest_kubernetes.providers.base import AClusterManager

from crashloop.cluster.provider import Cluster, ClusterRequest
from crashloop.cluster.providers import OwningProvider
from crashloop.errors import ClusterError, UsageError
from crashloop.progress import default_progress


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
