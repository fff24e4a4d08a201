"""Which container runtime a profile runs with: the one that it names, or the cluster's."""

from collections.abc import Callable

import msgspec

from crashloop.cluster.binaries.ensure import SHIM, ensure_containerd_1, ensure_crun
from crashloop.cluster.local.plan import Blueprint
from crashloop.cluster.provider import Progress
from crashloop.cluster.runtime_config import CONTAINERD_1
from crashloop.settings import Settings
from crashloop.spec.profile import KubeletProfile


class Runtimes:
    """The container runtimes of one cluster; each is found, downloaded or built once."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._known: dict[str, dict[str, str | int]] = {}

    def blueprint_for(self, blueprint: Blueprint, profile: KubeletProfile, progress: Progress) -> Blueprint:
        """The blueprint with the programs of the profile's runtime. Raises what `ensure_binaries` raises."""
        if profile.runtime is None:
            return blueprint
        if profile.runtime not in self._known:
            self._known[profile.runtime] = _FINDERS[profile.runtime](self.settings, progress)
        programs = msgspec.structs.replace(blueprint.programs, **self._known[profile.runtime])
        return msgspec.structs.replace(blueprint, programs=programs)


def _containerd_1(settings: Settings, progress: Progress) -> dict[str, str | int]:
    found = ensure_containerd_1(settings, progress)
    return {
        "containerd": str(found.path("containerd")),
        "containerd_config": CONTAINERD_1,
        "shim_dir": str(found.path(SHIM).parent),
        "ctr": str(found.path("ctr")),
    }


def _crun(settings: Settings, progress: Progress) -> dict[str, str | int]:
    return {"runc": str(ensure_crun(settings, progress))}


_FINDERS: dict[str, Callable[[Settings, Progress], dict[str, str | int]]] = {
    "containerd-1.7": _containerd_1,
    "crun": _crun,
}
"""By name, the fields of `Programs` in which a runtime of crashloop.spec.profile.RUNTIMES differs."""
