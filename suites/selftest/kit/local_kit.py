"""A blueprint of a local cluster whose paths are placeholders."""

from crashloop.cluster.kubelets import KubeletProgram
from crashloop.cluster.local.node import node_plan, own_place
from crashloop.cluster.local.plan import Blueprint, Images, Network, NodePlan, Programs
from crashloop.spec.profile import KubeletProfile

PROGRAMS = Programs(
    etcd="<BIN>/etcd",
    kube_apiserver="<BIN>/kube-apiserver",
    kube_controller_manager="<BIN>/kube-controller-manager",
    kube_scheduler="<BIN>/kube-scheduler",
    kubelet="<BIN>/kubelet",
    containerd="<BIN>/containerd",
    shim_dir="<BIN>",
    ctr="<BIN>/ctr",
    runc="<BIN>/runc",
    cni_dir="<CNI>",
)

BLUEPRINT = Blueprint(
    cluster="demo",
    state_folder="<STATE>",
    kubernetes_version="1.37.1",
    kubelet_version="1.37.1",
    programs=PROGRAMS,
    images=Images(archive="<CACHE>/images.tar", program="localhost/program:1", sandbox="localhost/pause:1"),
    network=Network(prefix="10.101"),
    cgroup_version=2,
)


def plan_of(profile: KubeletProfile, *, index: int = 0, blueprint: Blueprint = BLUEPRINT) -> NodePlan:
    """Plan of a node named after its profile."""
    kubelet = KubeletProgram(path=blueprint.programs.kubelet, version=blueprint.kubelet_version)
    return node_plan(blueprint, own_place(blueprint, profile.name, index), profile=profile, kubelet=kubelet)
