"""Where a run takes place: a cluster of its own, which goes with it, or a kept one, which stays as it was; and a namespace."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from crashloop.cluster.ownership import mark_kept
from crashloop.cluster.provider import Cluster, ClusterInfo, ClusterRequest, Progress
from crashloop.cluster.providers import owning_provider, provider
from crashloop.errors import UsageError
from crashloop.kube.client import KubeApi
from crashloop.pods.manifest import RUN_LABEL

NAMESPACE_PREFIX = "crashloop-"

log = logging.getLogger(__name__)


@contextmanager
def own_cluster(
    maker: str,
    request: ClusterRequest,
    interruptible: AbstractContextManager[None],
    progress: Progress,
    *,
    logs: Path,
    keep: bool,
) -> Iterator[Cluster]:
    """A cluster of the provider `maker`; afterwards its logs are collected and it is gone, unless it is to be kept.

    It comes up inside of `interruptible`. Raises the provider's errors.
    """
    with interruptible:
        provider(maker).check(request)
        cluster = provider(maker).up(request, progress)
    try:
        yield cluster
    finally:
        try:
            cluster.collect_logs(logs)
        finally:
            if keep:
                mark_kept(cluster.info.name)
                log.info("cluster %s is kept; its kubeconfig: %s", cluster.info.name, cluster.info.kubeconfig)
            else:
                cluster.down()


@contextmanager
def kept_cluster(
    name: str, maker: str, *, version: str, gates: dict[str, bool] | None = None, logs: Path
) -> Iterator[Cluster]:
    """A cluster that was up before; nodes that the run adds are gone afterwards.

    Raises UsageError for another version, or other feature gates of its control plane unless `gates` is None.
    """
    cluster = owning_provider(maker).attach(name)
    require_version(name, cluster.info.kubernetes_version, version)
    if gates not in (None, cluster.info.feature_gates):
        has = " ".join(f"--feature-gate {gate}={str(on).lower()}" for gate, on in cluster.info.feature_gates.items())
        raise UsageError(
            f"cluster {name!r}: its control plane was started with other feature gates than the run's.\n"
            f"Use {has or 'no --feature-gate'}."
        )
    lent = {node.name for node in cluster.info.nodes}
    try:
        yield cluster
    finally:
        cluster.collect_logs(logs)
        cluster.remove_nodes(tuple(sorted({node.name for node in cluster.info.nodes} - lent)))


def require_version(name: str, has: str, needs: str) -> None:
    """Raise UsageError if a kept cluster runs another version of Kubernetes than the run needs."""
    if has != needs:
        raise UsageError(
            f"cluster {name!r}: it runs Kubernetes {has}, the run needs {needs}.\nUse --kubernetes-version {has}."
        )


@contextmanager
def run_namespace(api: KubeApi, info: ClusterInfo, label: str, remove: Callable[[str], None]) -> Iterator[str]:
    """A new namespace, which `remove` takes away afterwards; or that which an existing cluster lends."""
    if info.namespace is not None:
        yield info.namespace
        return
    name = api.create_namespace(prefix=NAMESPACE_PREFIX, labels={RUN_LABEL: label})
    try:
        api.wait_for_default_service_account(name)
        yield name
    finally:
        remove(name)
