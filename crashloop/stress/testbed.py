"""The cluster of a stress run: a new or a kept one; the nodes of the profile, and a namespace."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from crashloop.cluster.binaries.ensure import ensure_busybox
from crashloop.cluster.large_image import write_large_image
from crashloop.cluster.provider import Capability, Cluster, ClusterInfo, ClusterRequest, ExistingOptions, Node, Progress
from crashloop.kube.client import KubeApi
from crashloop.pods.manifest import RUN_LABEL
from crashloop.record.environment import read_environment
from crashloop.record.lifeline import Lifeline
from crashloop.record.naming import run_name
from crashloop.record.placement import place
from crashloop.record.run_cluster import kept_cluster, own_cluster, run_namespace
from crashloop.settings import resolve_settings
from crashloop.stress.folder import StressDir
from crashloop.stress.loads import LOAD_LABEL, large_images
from crashloop.stress.objects import remove_namespace
from crashloop.stress.plan import StressPlan

NAMESPACE_GONE_S = 120.0


class Site(msgspec.Struct, kw_only=True):
    """The place of a stress run."""

    cluster: Cluster
    api: KubeApi
    nodes: dict[str, Node]
    """By their names in the profile; those that one of it stands for by the names of their Node objects."""
    namespace: str
    run: str
    """Value of the run's label."""

    @property
    def info(self) -> ClusterInfo:
        return self.cluster.info

    @property
    def has_runtime_events(self) -> bool:
        return Capability.RUNTIME_EVENTS in self.info.capabilities

    @property
    def selector(self) -> str:
        """Label selector of all objects of the loads."""
        return f"{RUN_LABEL}={self.run},{LOAD_LABEL}"


@contextmanager
def site(
    run: StressDir,
    plan: StressPlan,
    lifeline: Lifeline,
    progress: Progress,
    *,
    cluster: str | None = None,
    keep: bool = False,
    existing: ExistingOptions | None = None,
    image_archives: Sequence[Path] = (),
) -> Iterator[Site]:
    """A site that is ready. A cluster that was made for it is removed afterwards, unless it is kept; one that exists is left
    as it was. `image_archives`, and large images of the loads, are loaded into each of its nodes.

    Raises the provider's errors; Interrupted during bring-up.
    """
    with ExitStack() as stack:
        label = run_name(run.root.absolute())
        if cluster is None:
            version, nodes = plan.kubernetes_version, plan.requests
            request = ClusterRequest(name=label, kubernetes_version=version, nodes=nodes, existing=existing)
            own = own_cluster(plan.provider, request, lifeline.raising(), progress, logs=run.logs_dir, keep=keep)
            up = stack.enter_context(own)
        else:
            kept = kept_cluster(cluster, plan.provider, version=plan.kubernetes_version, logs=run.logs_dir)
            up = stack.enter_context(kept)
            lent = {node.name for node in up.info.nodes}
            up.add_nodes(tuple(each for each in plan.requests if each.name not in lent), progress)
        for archive in image_archives:
            with progress.step(f"images of {archive.name}"):
                up.load_images(archive)
        for image, mib in large_images(plan.load.loads.values()).items():
            with progress.step(f"image of {mib} MiB"), TemporaryDirectory(dir=run.root) as folder:
                busybox = ensure_busybox(resolve_settings(), progress)
                up.load_images(write_large_image(image, busybox, mib=mib, folder=Path(folder)))
        api = KubeApi(up.info.kubeconfig, context=up.info.context)
        stack.callback(api.close)
        run.write(run.cluster_json, up.info)
        run.write(run.environment_json, read_environment(api.nodes()))

        def remove(namespace: str) -> None:
            # Wait for it only where the cluster stays.
            if cluster is not None or keep:
                remove_namespace(api, namespace, within_s=NAMESPACE_GONE_S)

        namespace = stack.enter_context(run_namespace(api, up.info, label, remove))
        yield Site(cluster=up, api=api, nodes=place(plan.taken, up.info.nodes), namespace=namespace, run=label)
