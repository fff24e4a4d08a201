"""What somebody else's test may assert about crash loops, from findings: the reasons why an assertion does not hold.

An assertion without evidence does not hold: what was not judged has not been shown.
"""

from collections.abc import Iterable, Mapping, Sequence

from crashloop.inference.judging import Agreement, NodeFinding, objections_to
from crashloop.inference.loops import CrashLoop
from crashloop.model.config import Curve
from crashloop.spec.version import KubernetesVersion

NOTHING_RESTARTED = "no restart with a due delay was seen, so nothing was judged."
NO_CURVE = "its configuration is not known"


def is_decided(findings: Sequence[NodeFinding], *, waits: int) -> bool:
    """Whether a longer watch is needless: a node contradicts, or every node agrees by that many waits."""
    agreements = {each.agreement for each in findings}
    return Agreement.CONTRADICTS in agreements or (
        agreements == {Agreement.AGREES} and min(each.used for each in findings) >= waits
    )


def why_not_followed(findings: Sequence[NodeFinding], *, waits: int) -> list[str]:
    """One reason per node that was not seen to follow its configured curve by that many waits; empty if all were."""
    if not findings:
        return [NOTHING_RESTARTED]
    return [reason for each in findings for reason in _of_node(each, waits)]


def why_early(
    findings: Sequence[NodeFinding], loops: Mapping[str, Iterable[CrashLoop]], curves: Mapping[str, Curve]
) -> list[str]:
    """The restarts of each node that came before its curve allows, or why that cannot be said; empty if none did."""
    if not any(each.used for each in findings):
        return [NOTHING_RESTARTED]
    reasons = []
    for each in findings:
        if each.agreement is Agreement.NOT_COMPARED:
            reasons.append(f"node {each.node}: {each.note or NO_CURVE}.")
            continue
        version = KubernetesVersion.parse(each.kubelet_version)
        early = list(objections_to(loops[each.node], curves[each.node], version, kinds=("early",)))
        if early and each.note:
            early.append(f"node {each.node}: {each.note}.")
        reasons += early
    return reasons


def _of_node(finding: NodeFinding, waits: int) -> Iterable[str]:
    if finding.agreement is Agreement.CONTRADICTS:
        assert finding.configured is not None
        yield f"node {finding.node} does not follow {_words(finding.configured)}."
        yield from finding.objections
        if finding.likely is not None:
            yield f"Most likely it follows {_words(finding.likely)}."
    elif finding.agreement is Agreement.NOT_COMPARED:
        yield f"node {finding.node}: {finding.note or NO_CURVE}."
    elif finding.note:
        yield f"node {finding.node}: {finding.note}."
    elif finding.used < waits:
        yield f"node {finding.node}: waits that count as evidence: {finding.used} of {waits}."


def _words(curve: Curve) -> str:
    return f"the curve from {curve.initial_s:g} s to {curve.maximum_s:g} s"
