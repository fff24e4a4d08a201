"""A known deviation: where kubelets break a requirement, in which releases, and which rule of the model says how."""

import msgspec

from crashloop.spec.version import KubernetesVersion


class Deviation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of deviations.yaml."""

    id: str
    requirement: str
    """The promise that is broken."""
    also: tuple[str, ...] = ()
    """Further requirements that the same rule breaks."""
    variant: str
    """Name of the kubelet's own rule in crashloop.model.variants."""
    company: tuple[str, ...] = msgspec.field(default=(), name="with")
    """Further variants that it needs to explain the observation."""
    since: str
    """First release that does so."""
    until: str | None = None
    """Last release that does so; None while no release is known to keep the promise."""
    sentence: str
    evidence: str
    """The measurement, and its place in the kubelet's source."""
    link: str | None = None
    """The upstream issue."""

    def explains(self, requirement: str) -> bool:
        """Whether it can be why the requirement is broken."""
        return requirement == self.requirement or requirement in self.also

    def holds_in(self, version: KubernetesVersion) -> bool:
        """Whether a kubelet of that version is expected to deviate."""
        return KubernetesVersion.parse(self.since).release <= version.release and (
            self.until is None or version.release <= KubernetesVersion.parse(self.until).release
        )
