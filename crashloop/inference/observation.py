"""observe.json: the observations and inferences of `crashloop observe`."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from crashloop.inference.judging import Agreement, NodeFinding, worst
from crashloop.inference.loops import CrashLoop
from crashloop.verdict import ExitCode

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
    """Restarted containers that are no evidence: probes or RestartAllContainers restart them without a wait."""
    gaps: int
    """Number of losses of the watch that may have dropped statuses."""
    unheard: Unheard | None = None
    """The watch was lost, and did not come back before the end."""


def observation(
    nodes: Iterable[NodeFinding],
    loops: Iterable[CrashLoop],
    *,
    crashloop_version: str,
    started: datetime,
    finished: datetime,
    kubernetes_version: str,
    namespace: str | None,
    left_out: int,
    gaps: int,
    unheard: Unheard | None = None,
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
        left_out=left_out,
        gaps=gaps,
        unheard=unheard,
    )


_EXIT_CODES = {
    Agreement.CONTRADICTS: ExitCode.FAIL,
    Agreement.TOO_LITTLE: ExitCode.INCONCLUSIVE,
    Agreement.AGREES: ExitCode.OK,
    Agreement.NOT_COMPARED: ExitCode.INCONCLUSIVE,
}
"""Worst first."""
