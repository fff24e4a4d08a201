"""The provider `existing`: a running cluster, named by a kubeconfig; works in one namespace and never changes a node."""

from collections.abc import Iterable

from crashloop.cluster.existing.cluster import ExistingCluster
from crashloop.cluster.existing.connection import connect, require_permissions
from crashloop.cluster.existing.leased_namespace import borrow, make
from crashloop.cluster.existing.survey import ALWAYS, survey
from crashloop.cluster.provider import ClusterRequest, ExistingOptions, Progress, Survey
from crashloop.errors import UsageError
from crashloop.spec.version import KubernetesVersion


class ExistingProvider:
    """Implements `crashloop.cluster.provider.Provider` and `crashloop.cluster.providers.LendingProvider`."""

    name = "existing"
    capabilities = ALWAYS

    def survey(self, options: ExistingOptions, loads: Iterable[str] = ()) -> Survey:
        return survey(options, loads)

    def check(self, request: ClusterRequest) -> None:
        options = _options(request)
        api, _ = connect(options.kubeconfig, options.context)
        try:
            require_permissions(api, options)
        finally:
            api.close()

    def up(self, request: ClusterRequest, progress: Progress) -> ExistingCluster:
        options = _options(request)
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


def _options(request: ClusterRequest) -> ExistingOptions:
    if request.existing is None:
        raise UsageError(
            "provider existing: it makes no clusters; it uses an existing one.\n"
            "Name it with --kubeconfig and --context in `crashloop run` or `crashloop stress`, or choose another provider."
        )
    return request.existing
