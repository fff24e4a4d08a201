"""Plan of a node: its own containerd and its own kubelet, with the profile's configuration.

Pure but for `with_runtime`, which gets the container runtime that a profile names; other profiles run with the cluster's.
"""

from pathlib import Path

import msgspec

from crashloop.cluster.binaries.ensure import SHIM, ensure_containerd_1
from crashloop.cluster.components import KUBELET
from crashloop.cluster.kubelets import (
    HEALTHZ_PORT,
    KUBELET_PORT,
    KubeletProgram,
    KubeletSetting,
    as_yaml,
    drop_in_files,
    kubelet_config,
)
from crashloop.cluster.local.cgroups import PARENT
from crashloop.cluster.local.credentials import CertificatePlan, kubeconfig
from crashloop.cluster.local.plan import Blueprint, FilePlan, LinkPlan, NodePlan, ProcessPlan
from crashloop.cluster.node_files import (
    CONTAINERD_1,
    SNAPSHOTTER,
    NodeLayout,
    cni_conflist,
    containerd_toml,
    hosts_toml,
)
from crashloop.cluster.provider import Progress
from crashloop.settings import Settings
from crashloop.spec.profile import PROFILE_LABEL, KubeletProfile, node_name

NODE_USER = "system:node:"
"""Before a node's name: the user whom the authorizer Node knows as its kubelet."""
RUNTIME = "containerd"


class KubeletPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a kubelet runs. A candidate is tried in the namespace of another node, so its ports differ."""

    name: str
    index: int
    namespace: str
    address: str
    register: bool = True
    port: int = KUBELET_PORT
    healthz_port: int = HEALTHZ_PORT


def own_place(blueprint: Blueprint, name: str, index: int) -> KubeletPlace:
    """A node in a namespace of its own."""
    return KubeletPlace(name=name, index=index, namespace=name, address=blueprint.network.node(index))


def candidate_place(node: NodePlan, index: int) -> KubeletPlace:
    """A second kubelet in a node's namespace, on other ports, which does not register."""
    return KubeletPlace(
        name=f"candidate-{index}",
        index=index,
        namespace=node.name,
        address=node.address,
        register=False,
        port=20000 + index,
        healthz_port=21000 + index,
    )


def node_plan(
    blueprint: Blueprint, place: KubeletPlace, *, profile: KubeletProfile, kubelet: KubeletProgram
) -> NodePlan:
    """A kubelet and its runtime at a place."""
    layout = blueprint.layout.node(place.name, place.index)
    # A process is called like its file, and those of a kubelet are found by that name (crashloop.cluster.processes).
    is_named = Path(kubelet.path).name == KUBELET
    program = kubelet.path if is_named else str(layout.kubelet_program)
    cgroup = f"{PARENT}/{blueprint.cluster}/{place.name}"
    config = kubelet_config(
        KubeletSetting(
            layout=layout,
            client_ca=str(blueprint.layout.ca_certificate),
            cgroup_root=f"/{cgroup}",
            cgroup_version=blueprint.cgroup_version,
            kubernetes_version=kubelet.version,
            register=place.register,
            port=place.port,
            healthz_port=place.healthz_port,
        ),
        profile.config,
    )
    drop_ins = layout.drop_ins / profile.name
    registry = layout.registries / blueprint.network.registry
    texts = {
        layout.kubeconfig: _node_kubeconfig(blueprint, layout),
        layout.kubelet_config: as_yaml(config),
        layout.resolv_conf: "# Pods of this cluster have no name service.\n",
        layout.runtime_config: _runtime_toml(blueprint, layout),
        layout.cni_config: cni_conflist(pods=blueprint.network.pods(place.index), addresses=layout.cni_addresses),
        registry / "hosts.toml": hosts_toml(blueprint.network.registry),
        **{drop_ins / name: text for name, text in drop_in_files(profile).items()},
    }
    return NodePlan(
        name=place.name,
        index=place.index,
        profile=profile.name,
        network=blueprint.network,
        cgroup=cgroup,
        folders=tuple(str(folder) for folder in (*layout.folders(), drop_ins, registry)),
        certificate=_node_certificate(layout, place),
        files=tuple(FilePlan(path=str(path), text=text) for path, text in texts.items()),
        address=place.address,
        kubelet_port=config["port"],
        runtime=_runtime_process(blueprint, layout, place),
        runtime_socket=str(layout.runtime_socket),
        pod_logs=str(layout.pod_logs),
        chosen_runtime=profile.runtime,
        import_images=_import_images(blueprint, layout.runtime_socket),
        links=() if is_named else (LinkPlan(path=program, target=kubelet.path),),
        kubelet=_kubelet_process(layout, place, profile=profile, program=program),
    )


def _kubelet_process(layout: NodeLayout, place: KubeletPlace, *, profile: KubeletProfile, program: str) -> ProcessPlan:
    argv = (
        program,
        f"--config={layout.kubelet_config}",
        *((f"--config-dir={layout.drop_ins / profile.name}",) if profile.drop_ins else ()),
        f"--kubeconfig={layout.kubeconfig}",
        f"--root-dir={layout.kubelet_root}",
        f"--cert-dir={layout.certificates}",
        f"--hostname-override={place.name}",
        f"--node-ip={place.address}",
        f"--node-labels={PROFILE_LABEL}={node_name(profile.name)}",
        "--v=2",
        *profile.arguments,
    )
    return ProcessPlan(role=KUBELET, node=place.name, namespace=place.namespace, argv=argv, log=str(layout.kubelet_log))


def _runtime_process(blueprint: Blueprint, layout: NodeLayout, place: KubeletPlace) -> ProcessPlan:
    return ProcessPlan(
        role=RUNTIME,
        node=place.name,
        namespace=place.namespace,
        argv=(blueprint.programs.containerd, f"--config={layout.runtime_config}"),
        log=str(layout.runtime_log),
        search_path=(blueprint.programs.shim_dir,),
    )


def _node_certificate(layout: NodeLayout, place: KubeletPlace) -> CertificatePlan:
    return CertificatePlan(
        certificate=str(layout.certificate),
        key=str(layout.key),
        common_name=f"{NODE_USER}{place.name}",
        organizations=("system:nodes",),
        addresses=(place.address,),
        names=(place.name,),
    )


def _node_kubeconfig(blueprint: Blueprint, layout: NodeLayout) -> str:
    return kubeconfig(
        cluster=blueprint.cluster,
        server=blueprint.network.api_server,
        ca=str(blueprint.layout.ca_certificate),
        certificate=str(layout.certificate),
        key=str(layout.key),
    )


def _runtime_toml(blueprint: Blueprint, layout: NodeLayout) -> str:
    return containerd_toml(
        layout,
        sandbox_image=blueprint.images.sandbox,
        runc=blueprint.programs.runc,
        cni_plugins=blueprint.programs.cni_dir,
        config=blueprint.programs.containerd_config,
    )


def _import_images(blueprint: Blueprint, runtime_socket: Path) -> tuple[str, ...]:
    """The command that gives a node the images of an archive, which comes last. Its options outdo CONTAINERD_* of the user's."""
    runtime = (blueprint.programs.ctr, f"--address={runtime_socket}", "--namespace=k8s.io")
    return (*runtime, "images", "import", f"--snapshotter={SNAPSHOTTER}", blueprint.images.archive)


def with_runtime(blueprint: Blueprint, profile: KubeletProfile, settings: Settings, progress: Progress) -> Blueprint:
    """The blueprint with the programs of the profile's runtime. Raises what `ensure_binaries` raises."""
    if profile.runtime is None:
        return blueprint
    found = ensure_containerd_1(settings, progress)
    programs = msgspec.structs.replace(
        blueprint.programs,
        containerd=str(found.path("containerd")),
        containerd_config=CONTAINERD_1,
        shim_dir=str(found.path(SHIM).parent),
        ctr=str(found.path("ctr")),
    )
    return msgspec.structs.replace(blueprint, programs=programs)
