"""Reads of the API server by the load itself: their latency from the intended moment, and how many failed.

The API server's own histograms begin when it has accepted a request. A reader outside also waits for a connection and in
queues, and sees refusals; and a read that starts late because the one before hung is late, too.
"""

from collections.abc import Iterable, Sequence

from crashloop.errors import ObservationError
from crashloop.slo.blocks import UNKNOWN, block_of, blocks_in, percentile_interval
from crashloop.slo.estimates import percentile_of
from crashloop.slo.rows import ReadSli, SloRow
from crashloop.slo.types import ApiRead, Measured, Phase, SliResult

WATCH_LIST = "watch-list"
"""A streaming list: not every API server serves them, nor does every load make them."""


def reads(row: SloRow, sli: ReadSli, measured: Measured, window: Phase) -> SliResult:
    """With a percentile of the row: that of the latency, a failed read being a miss. Without: the number of failed reads.

    Raises ObservationError where a run has no streaming lists, and the row is about these.
    """
    if sli.of == WATCH_LIST:
        _need_watch_lists([each for each in measured.reads if each.kind == WATCH_LIST])
    found = _in(measured.reads, sli, window)
    failed = sum(1 for each in found if each.failed)
    result = SliResult(
        value=float(failed) if found and row.percentile is None else None,
        samples=len(found),
        from_ns=window.from_ns,
        to_ns=window.to_ns,
    )
    if row.percentile is None or not found:
        return result
    took = [each.took_s for each in found]
    spread, known = UNKNOWN, None
    if blocks_in(window.from_ns, window.to_ns):
        places = block_of([each.intended_ns for each in found], window.from_ns, window.to_ns)
        spread, known = percentile_interval(took, places, row.percentile)
    return SliResult(
        value=percentile_of(took, row.percentile),
        interval=spread,
        samples=len(found),
        effective_samples=None if known is None else known.samples,
        bad=sum(1 for each in found if each.failed or not row.target.keeps(each.took_s)),
        from_ns=window.from_ns,
        to_ns=window.to_ns,
        notes=(f"Failed: {failed} of the reads.",) if failed else (),
    )


def _in(reads: Iterable[ApiRead], sli: ReadSli, window: Phase) -> list[ApiRead]:
    served = (each for each in reads if sli.of in (None, each.kind) and not each.unserved)
    return [each for each in served if window.from_ns <= each.intended_ns < window.to_ns]


def _need_watch_lists(asked: Sequence[ApiRead]) -> None:
    if not asked:
        raise ObservationError("this load asked for no streaming lists; a canary with watch_lists does.")
    if all(each.unserved for each in asked):
        raise ObservationError(
            f"the API server serves no streaming lists, it answered {asked[0].unserved}: they need its feature gate WatchList, "
            "on by default from Kubernetes 1.34 on, and an etcd that reports progress."
        )
