"""Reads of the API server by the load itself: their latency from the intended moment, and how many failed.

The API server's own histograms begin when it has accepted a request. A reader outside also waits for a connection and in
queues, and sees refusals; and a read that starts late because the one before hung is late, too.
"""

from collections.abc import Iterable

from crashloop.slo.blocks import UNKNOWN, block_of, blocks_in, percentile_interval
from crashloop.slo.estimates import percentile_of
from crashloop.slo.rows import ReadSli, SloRow
from crashloop.slo.types import ApiRead, Measured, Phase, SliResult


def reads(row: SloRow, sli: ReadSli, measured: Measured, window: Phase) -> SliResult:
    """With a percentile of the row: that of the latency, a failed read being a miss. Without: the number of failed reads."""
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
    return [each for each in reads if sli.of in (None, each.kind) and window.from_ns <= each.intended_ns < window.to_ns]
