"""Which container runtime a profile runs with: the one that it names, or the cluster's."""

import msgspec

from crashloop.cluster.binaries.ensure import SHIM, ensure_containerd_1
from crashloop.cluster.local.plan import Blueprint
from crashloop.cluster.provider import Progress
from crashloop.cluster.runtime_config import CONTAINERD_1
from crashloop.settings import Settings
from crashloop.spec.profile import KubeletProfile


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
