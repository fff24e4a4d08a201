"""What is to be judged: a requirement on one recorded scenario."""

import msgspec

from crashloop.checks.case import Memo
from crashloop.history.recording import Recording
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
    recording: Recording
    memo: Memo = msgspec.field(default_factory=Memo)
    """Shared by the judgements on one recorded scenario."""
