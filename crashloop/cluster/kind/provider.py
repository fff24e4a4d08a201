"""The provider `kind`: nodes as Docker containers, one per kubelet profile and one for the control plane."""

import os
from pathlib import Path

import msgspec

from crashloop.cluster.binaries.ensure import check_kubelet, ensure_busybox, ensure_kind
from crashloop.cluster.images import archive_of
from crashloop.cluster.kind.cluster import ALWAYS, IN_REACH, KindCluster
from crashloop.cluster.kind.docker import chosen_docker, may_reach
from crashloop.cluster.kind.kind_file import KindFile, read_kind_file
from crashloop.cluster.kind.node_image import OWN, Choice
from crashloop.cluster.kind.plan import (
    IMAGES_OWN,
    Blueprint,
    Init,
    NodeImage,
    NodePlan,
    container_names,
    describe,
    mounted,
)
from crashloop.cluster.kind.prerequisites import check_docker, check_request, docker_facts
from crashloop.cluster.kubelets import KubeletProgram, Kubelets
from crashloop.cluster.ownership import ClusterStore, new_facts
from crashloop.cluster.processes import signals_as_exit
from crashloop.cluster.provider import ClusterRequest, Progress
from crashloop.cluster.removal import reap
from crashloop.errors import UsageError
from crashloop.settings import resolve_settings


class KindProvider:
    """Implements `crashloop.cluster.provider.Provider` and `crashloop.cluster.providers.OwningProvider`."""

    name = "kind"

    def __init__(self, *, store: ClusterStore | None = None) -> None:
        self._settings = resolve_settings()
        self._store = store or ClusterStore(self._settings.paths.state_dir)
        self.capabilities = ALWAYS | (IN_REACH if may_reach() else frozenset())

    def check(self, request: ClusterRequest) -> None:
        check_request(request)
        # An image that is not crashloop's own is taken to be one of kind's.
        systemd = request.node_image != OWN and request.bin_dir is None
        check_docker(docker_facts(), nodes=len(request.nodes), systemd=systemd)

    def up(self, request: ClusterRequest, progress: Progress) -> KindCluster:
        self.check(request)
        reap(self._store)
        with signals_as_exit():
            blueprint, kubelets = self._blueprint(request, progress)
            return self._up(request, blueprint, kubelets, progress)

    def describe_plan(self, request: ClusterRequest, progress: Progress) -> str:
        self.check(request)
        return describe(self._blueprint(request, progress)[0])

    def attach(self, name: str) -> KindCluster:
        """A handle on a kept cluster; this process owns it from now on. Raises UsageError."""
        state, blueprint = self._store.attach(name, Blueprint)
        default = KubeletProgram(path=IMAGES_OWN, version=blueprint.image.kubernetes_version)
        return KindCluster(blueprint, state=state, store=self._store, kubelets=self._kubelets(default, blueprint))

    def _up(self, request: ClusterRequest, blueprint: Blueprint, kubelets: Kubelets, progress: Progress) -> KindCluster:
        facts = new_facts(
            name=request.name,
            provider=self.name,
            owner_pid=os.getpid(),
            kubernetes_version=blueprint.image.kubernetes_version,
            nodes=tuple(node.name for node in request.nodes),
        )
        cluster = None
        try:
            with self._store.locked():
                state = self._store.create(facts)
                cluster = KindCluster(blueprint, state=state, store=self._store, kubelets=kubelets)
            cluster.start(progress)
        except BaseException as error:
            if cluster is not None:
                cluster.abandon(error, logs=_path(request.logs_dir))
            raise
        return cluster

    def _blueprint(self, request: ClusterRequest, progress: Progress) -> tuple[Blueprint, Kubelets]:
        """The plan; afterwards its images and programs are available."""
        docker = chosen_docker()
        kind = ensure_kind(self._settings, kind_binary=_path(request.kind_binary), progress=progress)
        image = Choice(docker, self._settings, progress).image(request)
        archive = archive_of(ensure_busybox(self._settings, progress), self._settings)
        blueprint = Blueprint(
            cluster=request.name,
            state_folder=str(self._store.root / request.name),
            kind=str(kind),
            docker=docker.environment,
            image=image,
            program_image=archive.program_image,
            program_archive=str(archive.path),
            cgroup_version=docker.cgroup_version(),
            feature_gates=request.feature_gates,
            kind_file=_kind_file(request, image, progress),
        )
        default = KubeletProgram(path=IMAGES_OWN, version=image.kubernetes_version)
        if request.kubelet_binary is not None:
            path = Path(request.kubelet_binary).expanduser().absolute()
            version = check_kubelet(path, api_server=image.kubernetes_version)
            default = KubeletProgram(path=str(path), version=str(version))
        kubelets = self._kubelets(default, blueprint)
        nodes = _nodes(request, image.kubernetes_version, kubelets, progress)
        return msgspec.structs.replace(blueprint, nodes=nodes), kubelets

    def _kubelets(self, default: KubeletProgram, blueprint: Blueprint) -> Kubelets:
        return Kubelets(default, api_server=blueprint.image.kubernetes_version, settings=self._settings)


def _nodes(
    request: ClusterRequest, kubernetes_version: str, kubelets: Kubelets, progress: Progress
) -> tuple[NodePlan, ...]:
    first, *others = container_names(request.name, len(request.nodes))
    control_plane = NodePlan(name=first, container=first, index=0, profile=None, kubelet_version=kubernetes_version)
    workers = []
    for index, (node, container) in enumerate(zip(request.nodes, others, strict=True), start=1):
        kubelet = kubelets.of(node.profile, progress)
        workers.append(
            NodePlan(
                name=node.name,
                container=container,
                index=index,
                profile=node.profile,
                kubelet=mounted(kubelet),
                kubelet_version=kubelet.version,
            )
        )
    return (control_plane, *workers)


def _kind_file(request: ClusterRequest, image: NodeImage, progress: Progress) -> KindFile:
    if request.kind_config is None:
        return KindFile()
    file = read_kind_file(request.kind_config)
    if file.has_containerd_patches and image.init is Init.SERVICE:
        raise UsageError(
            f"--kind-config {request.kind_config}: it patches containerd, and kind restarts containerd with systemd, which "
            "crashloop's own node image lacks.\nName an image of kind's with --node-image."
        )
    for each in file.left_out(len(request.nodes)):
        with progress.step(f"{request.kind_config}: without {each}"):
            pass
    return file


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
