"""Infers a node's curve from its crash loops, compares it with the configured one, and says what a test may assert; observe.json.

An assertion without evidence does not hold: what was not judged has not been shown.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING

import msgspec

from crashloop.inference.loops import CrashLoop, LeftOut
from crashloop.inference.windows import BASES, ONE_RESTART_S, Fit, Reading, grid, has_delay, window
from crashloop.model.config import Curve
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import ExitCode

if TYPE_CHECKING:
    from crashloop.inference.fitting import Fitter

MIN_WAITS = 3
"""Waits, without free first restarts, that a statement about a configuration needs."""
MAX_OBJECTIONS = 5
"""Objections that are written out."""


class Agreement(StrEnum):
    """Whether a node follows the curve it is configured for."""

    AGREES = "agrees"
    CONTRADICTS = "contradicts"
    TOO_LITTLE = "too little evidence"
    NOT_COMPARED = "not compared"
    """Its configuration was neither read nor declared."""


class CurveRange(msgspec.Struct, frozen=True, kw_only=True):
    """Curves with one initial delay and adjacent maxima."""

    initial_s: float
    lowest_maximum_s: float
    highest_maximum_s: float


class NodeFinding(msgspec.Struct, frozen=True, kw_only=True):
    """The finding about one node."""

    node: str
    kubelet_version: str
    loops: int
    """Crash loops of which at least one wait was seen."""
    waits: int
    used: int
    """Waits used as evidence: without free first restarts, and without waits disturbed by a change or a long run."""
    likely: Curve | None
    """The most likely curve; None if none fits."""
    confidence: float
    """Its probability among all curves that maxContainerRestartPeriod in whole seconds can select, and the configured one."""
    fitting: tuple[CurveRange, ...]
    """All curves that the waits do not rule out."""
    configured: Curve | None
    configured_by: str = ""
    """configz, or the declared profile."""
    agreement: Agreement
    objections: tuple[str, ...] = ()
    """Waits and stated delays that the configured curve does not allow, in words."""
    note: str = ""
    """Why waits of the node were not used."""


def judge_node(
    node: str,
    loops: Sequence[CrashLoop],
    version: KubernetesVersion,
    *,
    configured: Curve | None = None,
    configured_by: str = "",
    disturbed: str = "",
) -> NodeFinding:
    """Infer the node's curve and compare it with the configured one. `version` is the kubelet's.

    `disturbed` is the reason why the kubelet's counters were lost; then no deviation counts against it.
    """
    # A maximum of no whole seconds is a candidate only where it is configured or stated: waits cannot tell fractions apart.
    stated = (Curve(min(base.initial_s, delay_s), delay_s) for base in BASES for delay_s in stated_delays(loops))
    fitter = fitted(loops, tuple(dict.fromkeys((*grid(), *stated, *([configured] if configured else [])))), version)
    fits = fitter.fits()
    fitting = tuple(fit.curve for fit in fits if fit.fits)
    objections: tuple[str, ...] = ()
    agreement, used = Agreement.NOT_COMPARED, fitter.used
    if configured is not None:
        (own,) = fitted(loops, (configured,), version).fits()
        objections = tuple(objections_to(loops, configured, version))[:MAX_OBJECTIONS]
        agreement = _agreement(own, fitter.used, disturbed)
        used = own.shown if agreement is Agreement.AGREES else used
        if own.fits and agreement is not Agreement.AGREES and not disturbed:
            disturbed = _not_shown(own, fitter.used)
    return NodeFinding(
        node=node,
        kubelet_version=str(version),
        loops=sum(bool(loop.waits) for loop in loops),
        waits=sum(len(loop.waits) for loop in loops),
        used=used,
        likely=fits[0].curve if fitting and fitter.used else None,
        confidence=fits[0].probability if fitter.used else 0.0,
        fitting=ranges(fitting),
        configured=configured,
        configured_by=configured_by,
        agreement=agreement,
        objections=objections if agreement is Agreement.CONTRADICTS else (),
        note=disturbed,
    )


def unjudged(node: str, loops: Sequence[CrashLoop], *, kubelet_version: str, note: str) -> NodeFinding:
    """A node with crash loops that cannot be judged; `note` is the reason."""
    return NodeFinding(
        node=node,
        kubelet_version=kubelet_version,
        loops=len(loops),
        waits=sum(len(loop.waits) for loop in loops),
        used=0,
        likely=None,
        confidence=0.0,
        fitting=(),
        configured=None,
        agreement=Agreement.NOT_COMPARED,
        note=note,
    )


def fitted(loops: Sequence[CrashLoop], candidates: Sequence[Curve], version: KubernetesVersion) -> "Fitter":
    """The candidates, judged by all chains."""
    from crashloop.inference.fitting import Fitter  # needs an extra

    fitter = Fitter(candidates, version)
    for loop in loops:
        for chain in loop.chains:
            fitter.take(chain)
    for delay_s in stated_delays(loops):
        fitter.state(delay_s)
    return fitter


def stated_delays(loops: Iterable[CrashLoop]) -> list[float]:
    """The delays that the kubelet stated, each once, by length."""
    return sorted({each.seconds for loop in loops for each in loop.stated})


def readings(loop: CrashLoop, curve: Curve, version: KubernetesVersion) -> tuple[Reading, ...]:
    """The waits of a loop as one curve explains them."""
    from crashloop.inference.fitting import Fitter  # needs an extra

    fitter = Fitter((curve,), version)
    return tuple(reading for chain in loop.chains for reading in fitter.take(chain))


def ranges(curves: Iterable[Curve]) -> tuple[CurveRange, ...]:
    """The same curves with adjacent maxima grouped, by rising initial delay."""
    found = []
    in_order = sorted(curves, key=lambda curve: (curve.initial_s, curve.maximum_s))
    for initial_s, alike in groupby(in_order, key=lambda curve: curve.initial_s):
        maxima = [curve.maximum_s for curve in alike]
        first = last = maxima[0]
        for maximum_s in maxima[1:]:
            if maximum_s > last + 1:
                found.append(CurveRange(initial_s=initial_s, lowest_maximum_s=first, highest_maximum_s=last))
                first = maximum_s
            last = maximum_s
        found.append(CurveRange(initial_s=initial_s, lowest_maximum_s=first, highest_maximum_s=last))
    return tuple(found)


def _agreement(own: Fit, used: int, disturbed: str) -> Agreement:
    """Waits that only an unseen restart of the kubelet explains count against the curve, and never towards agreement.

    Nor does a delay that the kubelet states; one that the curve does not have contradicts it alone.
    """
    if disturbed or (used < MIN_WAITS and not own.misstated):
        return Agreement.TOO_LITTLE
    if not own.fits:
        return Agreement.CONTRADICTS
    if own.early or own.shown < MIN_WAITS or (own.cut and own.shown_whole < MIN_WAITS):
        return Agreement.TOO_LITTLE
    return Agreement.AGREES


def _not_shown(own: Fit, used: int) -> str:
    """Why a curve that is not ruled out is not shown either; empty where there are too few waits."""
    if own.early:
        return (
            f"waits shorter than due: {own.early + own.cut}, all within {ONE_RESTART_S} s as after a restart of the kubelet; "
            "observe for longer"
        )
    if own.cut:
        return (
            f"waits shorter than due: {own.cut}, which began before the observation; only a restart of the kubelet would "
            "explain them; observe for longer"
        )
    if own.shown < MIN_WAITS <= used:
        return (
            f"waits that show the configured curve: {own.shown} of the {MIN_WAITS} needed; the others are at an unknown step of "
            "it, below its longest delay; observe for longer"
        )
    return ""


def objections_to(
    loops: Iterable[CrashLoop],
    curve: Curve,
    version: KubernetesVersion,
    *,
    kinds: Collection[str] = ("stated", "early", "late"),
) -> Iterator[str]:
    """The stated delays and the waits that a curve does not allow, in words."""
    for loop in loops:
        for said in loop.stated if "stated" in kinds else ():
            if not has_delay(curve, said.seconds):
                yield (
                    f"{loop.name}: the kubelet states a back-off of {said.seconds:g} s before restart {said.restart}, a delay "
                    f"that {_words(curve)} does not have."
                )
        for reading in readings(loop, curve, version):
            if reading.objection in kinds:
                yield _objection(loop, reading, version)


def _objection(loop: CrashLoop, reading: Reading, version: KubernetesVersion) -> str:
    came = f"{loop.name}: restart {reading.wait.restart} came {reading.wait.seconds} s after the exit"
    if reading.objection == "early":
        return f"{came}; at least {reading.due_s:g} s was due."
    return f"{came}; {reading.due_s:g} s was due, at most {window(reading.due_s, version).latest} s."


def worst(findings: Iterable[NodeFinding]) -> Agreement:
    """The overall agreement of all compared nodes; too little evidence without any."""
    found = {finding.agreement for finding in findings}
    order = (Agreement.CONTRADICTS, Agreement.TOO_LITTLE, Agreement.AGREES)
    return next((each for each in order if each in found), Agreement.TOO_LITTLE)


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


OBSERVATION_FORMAT = "crashloop.observation/1"


class Unheard(msgspec.Struct, frozen=True, kw_only=True):
    """A loss of the connection to the watch of pods."""

    since: datetime
    why: str


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One observation of a cluster."""

    format: str = OBSERVATION_FORMAT
    crashloop_version: str
    started: datetime
    finished: datetime
    kubernetes_version: str
    """Of the API server."""
    namespace: str | None
    """None: all of them."""
    agreement: Agreement
    """The worst of the nodes that were compared."""
    exit_code: int
    nodes: tuple[NodeFinding, ...]
    loops: tuple[CrashLoop, ...]
    """All observed waits, so that they can be judged again."""
    left_out: int
    """Restarted containers that are no evidence."""
    gaps: int
    """Number of losses of the watch that may have dropped statuses."""
    unheard: Unheard | None = None
    """The watch was lost, and did not come back before the end."""
    restarting: int = 0
    """All containers that had restarted."""
    waiting: int = 0
    """Those of them that waited in CrashLoopBackOff at the end."""
    left_out_because: dict[str, int] = {}
    """`left_out` by the reason."""


def observation(
    nodes: Iterable[NodeFinding],
    loops: Iterable[CrashLoop],
    *,
    crashloop_version: str,
    started: datetime,
    finished: datetime,
    kubernetes_version: str,
    namespace: str | None,
    left_out: Mapping[LeftOut, int],
    gaps: int,
    unheard: Unheard | None = None,
    restarting: int = 0,
    waiting: int = 0,
) -> Observation:
    """The document, worst nodes first."""
    order = list(_EXIT_CODES)
    findings = tuple(sorted(nodes, key=lambda each: (order.index(each.agreement), each.node)))
    agreement = worst(findings)
    return Observation(
        crashloop_version=crashloop_version,
        started=started,
        finished=finished,
        kubernetes_version=kubernetes_version,
        namespace=namespace,
        agreement=agreement,
        exit_code=_EXIT_CODES[agreement],
        nodes=findings,
        loops=tuple(loops),
        left_out=sum(left_out.values()),
        gaps=gaps,
        unheard=unheard,
        restarting=restarting,
        waiting=waiting,
        left_out_because={reason.value: number for reason, number in left_out.items()},
    )


_EXIT_CODES = {
    Agreement.CONTRADICTS: ExitCode.FAIL,
    Agreement.TOO_LITTLE: ExitCode.INCONCLUSIVE,
    Agreement.AGREES: ExitCode.OK,
    Agreement.NOT_COMPARED: ExitCode.INCONCLUSIVE,
}
"""Worst first."""
