"""The cluster of a stress run: a new or a kept one; the nodes of the profile, a namespace, and the objects of the load in it.

Objects are counted, and removed with everything they own.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from crashloop.cluster.binaries.ensure import ensure_busybox
from crashloop.cluster.images import write_large_image
from crashloop.cluster.processes import slowness
from crashloop.cluster.provider import Capability, Cluster, ClusterInfo, ClusterRequest, ExistingOptions, Node, Progress
from crashloop.kube.answers import CredentialsRefused, KubeError
from crashloop.kube.client import KubeApi
from crashloop.pods.manifest import RUN_LABEL
from crashloop.record.run_cluster import (
    kept_cluster,
    own_cluster,
    place_nodes,
    read_environment,
    run_name,
    run_namespace,
)
from crashloop.record.scenario_loop import Lifeline
from crashloop.settings import resolve_settings
from crashloop.stress.folder import StressDir
from crashloop.stress.loads import LOAD_LABEL, AnyLoad, Demand, Jobs, Rollout, large_images
from crashloop.stress.plan import StressPlan
from crashloop.waiting import WaitTimeout, wait_until

_COLLECTIONS_BY_KIND = {
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Service": "/api/v1/namespaces/{}/services",
}
"""By kind, owners of pods first."""
_KIND_MADE = {Jobs: "Job", Rollout: "Deployment"}
"""By the kind of load; all others make pods."""
ASK_EVERY_S = 2.0
"""An owner may have made a pod during its own removal, so the removal is requested again."""
REFUSALS = 5
"""So many in a row, and the credentials are not accepted any more."""


class Objects(msgspec.Struct, frozen=True):
    """Number of objects by kind."""

    count: Mapping[str, int]

    def __bool__(self) -> bool:
        return any(self.count.values())

    def __str__(self) -> str:
        """Such as `1 Job and 3 Pods`."""
        words = [f"{number} {kind}{'s' * (number != 1)}" for kind, number in self.count.items() if number]
        return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


class Cleared(msgspec.Struct, frozen=True):
    """The result of clearing a namespace of a load."""

    found: Objects
    """Objects at the first look."""
    still: Objects
    """Objects at the last look: none, unless the time was up."""


def kinds_of(loads: Collection[AnyLoad]) -> tuple[str, ...]:
    """The kinds of object that loads make, owners of pods first."""
    made = {_KIND_MADE.get(type(load), "Pod") for load in loads} | {"Pod"}
    made |= {"Service" for load in loads if isinstance(load, Demand) and load.service is not None}
    return tuple(kind for kind in _COLLECTIONS_BY_KIND if kind in made)


def objects_left(api: KubeApi, namespace: str, selector: str, kinds: Iterable[str] = _COLLECTIONS_BY_KIND) -> Objects:
    """The objects of these kinds with these labels. Raises KubeError."""
    query = {"labelSelector": selector}
    return Objects(
        {
            kind: len(
                api.call(
                    f"list {kind}s ({selector})", "GET", _COLLECTIONS_BY_KIND[kind].format(namespace), query=query
                )["items"]
            )
            for kind in kinds
        }
    )


def remove_objects(api: KubeApi, namespace: str, selector: str, kinds: Iterable[str] = _COLLECTIONS_BY_KIND) -> None:
    """Request the removal of all objects of these kinds with these labels. Raises KubeError."""
    query = {"labelSelector": selector, "propagationPolicy": "Background"}
    for kind in kinds:
        path = _COLLECTIONS_BY_KIND[kind].format(namespace)
        api.call(f"delete the remains of a load ({selector})", "DELETE", path, query=query)


def removal(namespace: str, selector: str, kinds: Iterable[str]) -> str:
    """The command that removes what is left of these kinds with these labels."""
    resources = ",".join(_COLLECTIONS_BY_KIND[kind].rpartition("/")[2] for kind in kinds)
    return f"kubectl delete {resources} --namespace {namespace} --selector {selector}"


def clear(
    api: KubeApi, namespace: str, selector: str, kinds: Sequence[str] = tuple(_COLLECTIONS_BY_KIND), *, within_s: float
) -> Cleared:
    """Remove all objects of these kinds with these labels and wait until they are gone; retries while the API server is away.

    Raises KubeError if the API server is still away at the end of that time, and soon if it refuses the credentials.
    """
    looks: list[Objects] = []
    away: list[KubeError] = []

    def gone() -> bool:
        try:
            looks.append(objects_left(api, namespace, selector, kinds))
            if looks[-1]:
                remove_objects(api, namespace, selector, kinds)
        except KubeError as error:
            away.append(error)
            if len(away) >= REFUSALS and all(isinstance(each, CredentialsRefused) for each in away[-REFUSALS:]):
                raise
            return False
        away.clear()
        return not looks[-1]

    try:
        wait_until("the remains of a load to be gone", gone, timeout_s=within_s, every_s=ASK_EVERY_S)
    except WaitTimeout:
        if away:
            raise away[-1] from None
    return Cleared(looks[0], looks[-1])


def remove_namespace(api: KubeApi, name: str, *, within_s: float) -> None:
    """Delete a namespace and wait until it is gone. Raises KubeError, WaitTimeout."""
    api.delete_namespace(name)
    wait_until(
        f"namespace {name} to be gone",
        lambda: not api.exists(f"read namespace {name}", f"/api/v1/namespaces/{name}"),
        timeout_s=within_s,
        every_s=0.5,
    )


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
            request = ClusterRequest(
                name=label, kubernetes_version=version, nodes=nodes, existing=existing, shortcuts=plan.load.shortcuts
            )
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
        run.write(run.environment_json, read_environment(api.nodes(), etcd_disk=up.info.etcd_disk))

        def remove(namespace: str) -> None:
            # Wait for it only where the cluster stays.
            if cluster is not None or keep:
                remove_namespace(api, namespace, within_s=NAMESPACE_GONE_S * slowness())

        namespace = stack.enter_context(run_namespace(api, up.info, label, remove))
        yield Site(cluster=up, api=api, nodes=place_nodes(plan.taken, up.info.nodes), namespace=namespace, run=label)
