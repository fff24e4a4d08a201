"""The provider `existing`: a running cluster, named by a kubeconfig; works in one namespace and never changes a node."""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from crashloop.cluster.existing.leased_namespace import LeasedNamespace, borrow, make
from crashloop.cluster.existing.survey import ALWAYS, capabilities, connect, require_permissions, survey, why_unusable
from crashloop.cluster.provider import (
    Capability,
    ClusterInfo,
    ClusterRequest,
    ExistingOptions,
    Node,
    NodeRequest,
    Progress,
    Survey,
    lacking,
)
from crashloop.errors import ClusterError, UsageError
from crashloop.history.event import Event
from crashloop.kube.answers import ApiRefusal
from crashloop.kube.client import KubeApi
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import KubernetesVersion

log = logging.getLogger(__name__)


class ExistingCluster:
    """Implements `crashloop.cluster.provider.Cluster`."""

    outages = None
    registry = None

    def __init__(
        self, api: KubeApi, options: ExistingOptions, place: LeasedNamespace, *, name: str, version: str
    ) -> None:
        self._api = api
        self._options = options
        self._place = place
        self._name = name
        self._version = version
        self._nodes: tuple[Node, ...] = ()
        self._is_down = False

    @property
    def info(self) -> ClusterInfo:
        return ClusterInfo(
            name=self._name,
            provider="existing",
            kubernetes_version=self._version,
            kubeconfig=self._options.kubeconfig,
            context=self._options.context,
            namespace=self._place.namespace,
            nodes=self._nodes,
            capabilities=capabilities(self._options),
            image=self._options.image,
        )

    def add_nodes(self, nodes: tuple[NodeRequest, ...], progress: Progress) -> None:
        """Start using nodes. Raises ClusterError for a node that does not exist or can no longer be used."""
        for request in nodes:
            try:
                unusable = why_unusable(self._api.node(request.name), declared=True)
            except ApiRefusal as error:
                unusable = f"it cannot be read: {error}"
            if unusable is not None:
                raise ClusterError(f"node {request.name}: {unusable}, and the run needs it.")
        declared = not self._options.read_configz
        self._nodes += tuple(Node(name=each.name, profile=each.profile.name, declared=declared) for each in nodes)

    def remove_nodes(self, names: tuple[str, ...]) -> None:
        """Stop using nodes."""
        self._nodes = tuple(node for node in self._nodes if node.name not in names)

    def restart_kubelet(
        self,
        node: str,
        *,
        kill: bool = False,
        down_s: float = 0.0,
        profile: KubeletProfile | None = None,
    ) -> None:
        raise lacking("existing", node, Capability.KUBELET_RESTART)

    def write_kubelet_config(self, node: str, profile: KubeletProfile) -> None:
        raise lacking("existing", node, Capability.KUBELET_RECONFIGURATION)

    def write_static_pod(self, node: str, name: str, manifest: dict[str, Any] | None) -> None:
        raise lacking("existing", node, Capability.STATIC_PODS)

    def restart_runtime(self, node: str, *, down_s: float = 0.0, hangs: bool = False) -> None:
        raise lacking("existing", node, Capability.RUNTIME_RESTART)

    def take_network(self, node: str) -> None:
        raise lacking("existing", node, Capability.POD_NETWORK)

    def give_network(self, node: str) -> None:
        raise lacking("existing", node, Capability.POD_NETWORK)

    def state_metrics(self, pod_uid: str) -> bytes:
        raise ClusterError(f"pod {pod_uid}: provider existing does not read kube-state-metrics.")

    def try_kubelet(self, node: str, candidate: KubeletProfile, *, at_most_s: float) -> tuple[Event, ...]:
        raise lacking("existing", node, Capability.KUBELET_CANDIDATE)

    def load_images(self, archive: Path) -> None:
        raise ClusterError(f"{archive}: provider existing has no access to nodes.\nLet them pull the image.")

    def collect_logs(self, destination: Path) -> None:
        """Nothing: the provider has no access to logs."""
        log.info("provider existing has no access to nodes; nothing is copied to %s", destination)

    def release(self) -> None:
        """The cluster of somebody else has no owner among runs."""

    def down(self) -> None:
        """Leave the cluster as it was found."""
        if not self._is_down:
            self._place.leave()
            self._is_down = True
            self._api.close()


class ExistingProvider:
    """Implements `crashloop.cluster.provider.Provider` and `crashloop.cluster.providers.LendingProvider`."""

    name = "existing"
    capabilities = ALWAYS

    def survey(self, options: ExistingOptions, loads: Iterable[str] = ()) -> Survey:
        return survey(options, loads)

    def check(self, request: ClusterRequest) -> None:
        options = _existing_options(request)
        api, _ = connect(options.kubeconfig, options.context)
        try:
            require_permissions(api, options)
        finally:
            api.close()

    def up(self, request: ClusterRequest, progress: Progress) -> ExistingCluster:
        options = _existing_options(request)
        api, version = connect(options.kubeconfig, options.context)
        with progress.step(f"cluster at {api.server}: {options.namespace or 'a namespace of our own'}"):
            require_permissions(api, options)
            place = (
                make(api, request.name) if options.namespace is None else borrow(api, options.namespace, request.name)
            )
            try:
                found = str(KubernetesVersion.parse(version))
                cluster = ExistingCluster(api, options, place, name=request.name, version=found)
                cluster.add_nodes(request.nodes, progress)
            except BaseException:
                place.leave()
                raise
        return cluster


def _existing_options(request: ClusterRequest) -> ExistingOptions:
    if request.existing is None:
        raise UsageError(
            "provider existing: it makes no clusters; it uses an existing one.\n"
            "Name it with --kubeconfig and --context in `crashloop run` or `crashloop stress`, or choose another provider."
        )
    return request.existing
