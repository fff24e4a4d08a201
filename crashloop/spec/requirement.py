"""A requirement: one MUST or SHOULD sentence about Kubernetes, where it holds and what its judgement needs; and known deviations.

A deviation says where kubelets break a requirement, in which releases, and which rule of the model says how.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from crashloop.spec.version import RELEASES, KubernetesVersion
from crashloop.verdict import VerdictMode

OLDEST_RELEASE = ".".join(map(str, RELEASES[0]))
"""The oldest Kubernetes release this suite knows; `since` of a requirement that names none."""


class Level(StrEnum):
    """How strong the promise is (RFC 2119). Only a MUST can fail a run; a SHOULD is measured and reported."""

    MUST = "MUST"
    SHOULD = "SHOULD"


class Basis(StrEnum):
    """What the sentence rests on."""

    PROMISE = "promise"
    """The documentation or a KEP says so."""
    SOURCE = "source"
    """No text of Kubernetes says so: a file of the source does, or an article about what kubelets do."""


class Bound(StrEnum):
    """Who says where the limit is that the requirement is judged by."""

    TEXT = "text"
    """A text of Kubernetes, or a file of its source."""
    OURS = "ours"
    """No text names a number: this suite does, with room for what a kubelet of today needs."""


class Scope(StrEnum):
    """The smallest scope whose runs can hold the least evidence; of the first three, a wider one includes the narrower."""

    QUICK = "quick"
    """Evidence within 90 s of watching."""
    FULL = "full"
    """Evidence within 20 min."""
    SOAK = "soak"
    VERSIONS = "versions"
    """Evidence on nodes whose kubelets have versions of their own; a run of its own."""


class State(StrEnum):
    """Whether a test of this suite judges the requirement today."""

    JUDGED = "judged"
    PLANNED = "planned"
    """Can be tested; no test does yet."""
    UNTESTABLE = "untestable"
    """Cannot be tested as it is written; `reason` says why."""


class Requirement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the catalogue."""

    id: str
    """Topic and number: CAP-3."""
    level: Level = Level.MUST
    sentence: str
    """The promise, in our words, with exactly one MUST or SHOULD of its own."""
    source: str
    """Where Kubernetes makes it: KEP and section, page of the documentation, or file of the source at a tag."""
    basis: Basis
    bound: Bound = Bound.TEXT
    since: str = OLDEST_RELEASE
    """First release it holds for."""
    until: str | None = None
    """Last release it holds for; None: no end is known."""
    gates: tuple[str, ...] = ()
    """Feature gates that must be on in the node's kubelet."""
    scope: Scope
    checkers: tuple[str, ...] = ()
    """Checkers that judge it, by their names in crashloop.checks."""
    slos: tuple[str, ...] = ()
    """Rows of manifests/slo and checks of a stress run that judge it, by their ids; each names it in turn."""
    everywhere: tuple[str, ...] = ()
    """Checkers that also judge it on every other pod of a conformance run."""
    parameters: dict[str, Any] = {}
    """Options of the checkers, such as the least evidence in numbers: {min_delays: 4}."""
    parameters_until: dict[str, dict[str, Any]] = {}
    """What differs from `parameters` up to a release: {'1.34': {min_delays: 5}}."""
    needs: tuple[str, ...] = ()
    """Capabilities that the provider must have (crashloop.cluster.provider.Capability)."""
    observation: bool = False
    """About a reason, a message or a Kubernetes Event, which upstream may reword, or about what no text promises: shown
    only, so that its FAIL fails no run."""
    about_text: bool = False
    """About the arithmetic of a text: what is wrong is the text, and no kubelet is accused."""
    moving: str = ""
    """The open change of upstream's that would turn it round, a key of crashloop.model.variants.IN_MOTION."""
    evidence: str
    """The least evidence for a PASS, in one line."""
    state: State = State.JUDGED
    reason: str = ""
    """Why it is not judged; empty for a judged requirement."""
    note: str = ""
    """Where the texts contradict each other: which reading is judged. Shown in the report."""

    @property
    def mode(self) -> VerdictMode:
        """What its verdicts decide: only a MUST that is neither an observation nor about a text gates."""
        if self.about_text:
            return VerdictMode.TEXT
        return VerdictMode.GATE if self.level is Level.MUST and not self.observation else VerdictMode.REPORT

    def parameters_for(self, version: KubernetesVersion) -> dict[str, Any]:
        """The parameters for a component of that version; of several releases that it does not exceed, the oldest counts."""
        newest_first = sorted(
            self.parameters_until, key=lambda each: KubernetesVersion.parse(each).release, reverse=True
        )
        found = dict(self.parameters)
        for release in newest_first:
            if version.release <= KubernetesVersion.parse(release).release:
                found |= self.parameters_until[release]
        return found

    @property
    def topic(self) -> str:
        """The part of the id before the number: CAP."""
        return self.id.rstrip("0123456789").rstrip("-")


def applies(requirement: Requirement, version: KubernetesVersion, gates: Mapping[str, bool]) -> str | None:
    """None if the requirement holds for a node, else the reason for a SKIPPED.

    `version` is the kubelet's, `gates` the effective gates of the node by upstream name; a gate that is not
    among them is one that this kubelet does not have.
    """
    if version.release < KubernetesVersion.parse(requirement.since).release:
        return f"needs Kubernetes {requirement.since} or newer; this kubelet is v{version}."
    if requirement.until is not None and version.release > KubernetesVersion.parse(requirement.until).release:
        return f"holds up to Kubernetes {requirement.until}; this kubelet is v{version}."
    for gate in requirement.gates:
        if gate not in gates:
            return f"needs gate {gate}; kubelet v{version} does not have it."
        if not gates[gate]:
            return f"needs gate {gate}; it is off on this node (kubelet v{version})."
    return None


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
    fixed_in: tuple[str, ...] = ()
    """First patch releases that keep the promise, one of a release: [1.37.3, 1.36.7] for a change that was picked for both."""
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
        fixes = (KubernetesVersion.parse(each) for each in self.fixed_in)
        if any(fix.release == version.release and version >= fix for fix in fixes):
            return False
        return KubernetesVersion.parse(self.since).release <= version.release and (
            self.until is None or version.release <= KubernetesVersion.parse(self.until).release
        )
