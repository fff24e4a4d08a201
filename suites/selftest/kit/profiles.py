"""Every kubelet profile of the repository."""

from crashloop.profiles import KUBELET_MANIFESTS, load_profile
from crashloop.spec.profile import KubeletProfile


def all_profiles() -> tuple[KubeletProfile, ...]:
    """Every profile of manifests/kubelet, by name."""
    return tuple(load_profile(path) for path in sorted(KUBELET_MANIFESTS.glob("*.yaml")))
