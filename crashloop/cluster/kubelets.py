"""Which kubelet a profile runs with: its own path, its own version, or the cluster's."""

from pathlib import Path

import msgspec

from crashloop.cluster.binaries.ensure import check_kubelet, ensure_kubelet
from crashloop.cluster.provider import Progress
from crashloop.settings import Settings
from crashloop.spec.profile import KubeletProfile


class KubeletProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A kubelet: its path, and its version."""

    path: str
    version: str


class Kubelets:
    """The kubelets of one cluster; every kubelet is found, downloaded or built once."""

    def __init__(self, default: KubeletProgram, *, api_server: str, settings: Settings) -> None:
        """`default` serves profiles that name no kubelet; `api_server` is the version of the cluster."""
        self._default = default
        self._api_server = api_server
        self._settings = settings
        self._known: dict[tuple[str | None, str | None], KubeletProgram] = {}

    def of(self, profile: KubeletProfile, progress: Progress) -> KubeletProgram:
        """The kubelet for a profile. Raises what `ensure_kubelet` and `check_kubelet` raise."""
        key = (profile.kubelet_binary, profile.kubernetes_version)
        if key not in self._known:
            self._known[key] = self._find(profile, progress)
        return self._known[key]

    def _find(self, profile: KubeletProfile, progress: Progress) -> KubeletProgram:
        api_server = self._api_server
        if profile.kubelet_binary is not None:
            path = Path(profile.kubelet_binary).expanduser().absolute()
            subject = f"kubelet profile {profile.name!r}: kubelet_binary"
            return KubeletProgram(
                path=str(path), version=str(check_kubelet(path, api_server=api_server, option=subject))
            )
        if profile.kubernetes_version is not None:
            version = profile.kubernetes_version
            path = ensure_kubelet(self._settings, kubernetes_version=version, api_server=api_server, progress=progress)
            return KubeletProgram(path=str(path), version=version)
        return self._default
