"""Which kubelet a profile runs with: its own path, its own version, or the cluster's."""

from pathlib import Path

from crashloop.cluster.binaries import check_kubelet, ensure_kubelet
from crashloop.cluster.local.node import KubeletProgram
from crashloop.cluster.local.plan import Blueprint
from crashloop.cluster.provider import Progress
from crashloop.settings import Settings
from crashloop.spec.profile import KubeletProfile


def kubelet_of(profile: KubeletProfile, blueprint: Blueprint, settings: Settings, progress: Progress) -> KubeletProgram:
    """The kubelet that a profile asks for, fetched or built where needed. Raises what `ensure_kubelet` raises."""
    api_server = blueprint.kubernetes_version
    if profile.kubelet_binary is not None:
        path = Path(profile.kubelet_binary).expanduser().absolute()
        version = check_kubelet(path, api_server=api_server, option=f"kubelet profile {profile.name!r}: kubelet_binary")
        return KubeletProgram(path=str(path), version=str(version))
    if profile.kubernetes_version is not None:
        path = ensure_kubelet(
            settings, kubernetes_version=profile.kubernetes_version, api_server=api_server, progress=progress
        )
        return KubeletProgram(path=str(path), version=profile.kubernetes_version)
    return KubeletProgram(path=blueprint.programs.kubelet, version=blueprint.kubelet_version)
