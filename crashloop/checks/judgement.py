"""What is to be judged: a requirement on one recorded scenario, or on several that are compared."""

import msgspec

from crashloop.history.recording import Recording
from crashloop.restarts.case import Memo
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.requirement import Requirement
from crashloop.spec.scenario import Scenario
from crashloop.spec.version import KubernetesVersion


class JudgementInput(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement to be judged on one recorded scenario."""

    requirement: Requirement
    scenario: Scenario
    profile: KubeletProfile
    """Of the component that is judged: the node's, the candidate of a startup scenario, or the gates of the API server."""
    version: KubernetesVersion
    """The cluster's; a profile may have its own."""
    later: tuple[KubeletProfile, ...] = ()
    """Further profiles that kubelets were restarted with in mid-scenario."""
    recording: Recording
    memo: Memo = msgspec.field(default_factory=Memo)
    """Shared by the judgements on one recorded scenario."""

    @property
    def name(self) -> str:
        return self.scenario.name

    @property
    def subject(self) -> str:
        """The judged kubelet profile, or another judged component."""
        return self.scenario.subject

    @property
    def histories(self) -> "tuple[JudgementInput, ...]":
        return (self,)


class ComparisonInput(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement to be judged on several recorded scenarios together."""

    requirement: Requirement
    name: str
    histories: tuple[JudgementInput, ...]
    """In the order of the comparison, each with this requirement."""

    @property
    def subject(self) -> str:
        return ", ".join(dict.fromkeys(each.subject for each in self.histories))


Question = JudgementInput | ComparisonInput
"""Both have requirement, name, subject and histories."""
