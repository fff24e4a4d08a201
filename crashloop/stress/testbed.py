"""The cluster of a stress run: a new or a kept one; the nodes of the profile, and a namespace."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import msgspec

from crashloop.cluster.ownership import mark_kept
from crashloop.cluster.provider import Cluster, ClusterInfo, ClusterRequest, Node, Progress
from crashloop.cluster.providers import owning_provider, provider
from crashloop.errors import UsageError
from crashloop.kube.client import KubeApi
from crashloop.pods.manifest import RUN_LABEL
from crashloop.record.environment import read_environment
from crashloop.record.lifeline import Lifeline
from crashloop.record.naming import run_name
from crashloop.record.placement import place
from crashloop.stress.folder import StressDir
from crashloop.stress.objects import remove_namespace
from crashloop.stress.plan import StressPlan

NAMESPACE_GONE_S = 120.0


class Site(msgspec.Struct, kw_only=True):
    """The place of a stress run."""

    cluster: Cluster
    api: KubeApi
    nodes: dict[str, Node]
    """By their names in the profile."""
    namespace: str
    run: str
    """Value of the run's label."""

    @property
    def info(self) -> ClusterInfo:
        return self.cluster.info

    @property
    def selector(self) -> str:
        """Label selector of all objects of the run."""
        return f"{RUN_LABEL}={self.run}"


@contextmanager
def site(
    run: StressDir,
    plan: StressPlan,
    lifeline: Lifeline,
    progress: Progress,
    *,
    cluster: str | None = None,
    keep: bool = False,
) -> Iterator[Site]:
    """A site that is ready. A cluster that was made for it is removed afterwards, unless it is kept.

    Raises the provider's errors; Interrupted during bring-up.
    """
    with ExitStack() as stack:
        if cluster is None:
            up = stack.enter_context(_own(run, plan, lifeline, progress, keep=keep))
        else:
            up = stack.enter_context(_kept(run, plan, progress, name=cluster))
        api = KubeApi(up.info.kubeconfig, context=up.info.context)
        stack.callback(api.close)
        run.write(run.cluster_json, up.info)
        run.write(run.environment_json, read_environment(api.nodes()))
        label = run_name(run.root.absolute())
        namespace = stack.enter_context(_namespace(api, up.info, label, waits=cluster is not None or keep))
        nodes = place(plan.nodes, up.info.nodes)
        yield Site(cluster=up, api=api, nodes=nodes, namespace=namespace, run=label)


@contextmanager
def _own(run: StressDir, plan: StressPlan, lifeline: Lifeline, progress: Progress, *, keep: bool) -> Iterator[Cluster]:
    request = ClusterRequest(
        name=run_name(run.root.absolute()), kubernetes_version=plan.kubernetes_version, nodes=plan.requests
    )
    maker = provider(plan.provider)
    with lifeline.raising():
        maker.check(request)
        cluster = maker.up(request, progress)
    try:
        yield cluster
    finally:
        try:
            cluster.collect_logs(run.logs_dir)
        finally:
            if keep:
                mark_kept(cluster.info.name)
            else:
                cluster.down()


@contextmanager
def _kept(run: StressDir, plan: StressPlan, progress: Progress, *, name: str) -> Iterator[Cluster]:
    """A kept cluster; nodes that the run adds are removed afterwards."""
    cluster = owning_provider(plan.provider).attach(name)
    if cluster.info.kubernetes_version != plan.kubernetes_version:
        raise UsageError(
            f"cluster {name!r}: it runs Kubernetes {cluster.info.kubernetes_version}, the run needs "
            f"{plan.kubernetes_version}.\nUse --kubernetes-version {cluster.info.kubernetes_version}."
        )
    lent = {node.name for node in cluster.info.nodes}
    added = tuple(request for request in plan.requests if request.name not in lent)
    cluster.add_nodes(added, progress)
    try:
        yield cluster
    finally:
        cluster.collect_logs(run.logs_dir)
        cluster.remove_nodes(tuple(request.name for request in added))


@contextmanager
def _namespace(api: KubeApi, info: ClusterInfo, label: str, *, waits: bool) -> Iterator[str]:
    """A new namespace, or the lent cluster's. `waits`: the cluster stays, so wait for the namespace's removal."""
    if info.namespace is not None:
        yield info.namespace
        return
    name = api.create_namespace(prefix="crashloop-", labels={RUN_LABEL: label})
    try:
        api.wait_for_default_service_account(name)
        yield name
    finally:
        if waits:
            remove_namespace(api, name, within_s=NAMESPACE_GONE_S)
