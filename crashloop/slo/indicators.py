"""The value of an SLI in one window: one result, or one for each group of labels."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from crashloop.errors import ObservationError
from crashloop.slo import estimates
from crashloop.slo.blocks import UNKNOWN, Effective, block_of, blocks_in, effective, percentile_interval, rate_interval
from crashloop.slo.bucket_blocks import Bucket, effective_within
from crashloop.slo.conservation import conservation
from crashloop.slo.events import COUNTS, SAMPLES, SHARES, counted, in_groups
from crashloop.slo.gauge import gauge
from crashloop.slo.growth import growth_per_event
from crashloop.slo.histogram import Histogram
from crashloop.slo.kinds import kinds
from crashloop.slo.moves import moves
from crashloop.slo.ratio import ratio
from crashloop.slo.reads import reads
from crashloop.slo.recovery import recovery
from crashloop.slo.relative import relative
from crashloop.slo.rows import (
    ConservationSli,
    GaugeSli,
    GrowthSli,
    HistogramSli,
    KindsSli,
    MovesSli,
    RateSli,
    RatioSli,
    ReadSli,
    RecoverySli,
    RelativeSli,
    SampleSli,
    ServedSli,
    ShareSli,
    SloRow,
)
from crashloop.slo.served import served
from crashloop.slo.sources import Found, find, notes
from crashloop.slo.types import Interval, Measured, Phase, SliResult


def results(row: SloRow, measured: Measured, window: Phase) -> list[SliResult]:
    """The SLI of a row in a window. Raises UnknownMetric, or ObservationError where the evidence is missing."""
    return _KINDS[type(row.sli)](row, row.sli, measured, window)


def _histogram(row: SloRow, sli: HistogramSli, measured: Measured, window: Phase) -> list[SliResult]:
    found = find(measured, sli, window.from_ns, window.to_ns, suffix="_bucket")
    lacks = notes(found)
    return [
        _of_histogram(row, buckets, dict(zip(sli.each, group, strict=True)), window, lacks)
        for group, buckets in sorted(_buckets(sli, found).items())
    ] or [SliResult(value=None, from_ns=window.from_ns, to_ns=window.to_ns, notes=lacks)]


def _buckets(sli: HistogramSli, found: Iterable[Found]) -> Mapping[tuple[str, ...], list[Bucket]]:
    groups: dict[tuple[str, ...], list[Bucket]] = {}
    for source in found:
        times = np.asarray(source.scrapes.t_ns[source.window.first : source.window.last + 1], dtype=np.int64)
        for growth in source.growths:
            key = tuple(growth.labels.get(label, "") for label in sli.each)
            groups.setdefault(key, []).append(Bucket(float(growth.labels["le"]), times, growth.steps))
    return {key: buckets for key, buckets in groups.items() if any(each.total > 0 for each in buckets)}


def _of_histogram(
    row: SloRow, buckets: Sequence[Bucket], group: dict[str, str], window: Phase, lacks: tuple[str, ...]
) -> SliResult:
    assert row.percentile is not None
    histogram = Histogram.of((each.edge, each.total) for each in buckets)
    quantile = histogram.quantile(row.percentile)
    least, most = histogram.at_most(row.target.bound)
    known = effective_within(buckets, quantile)
    return SliResult(
        value=quantile.value,
        interval=UNKNOWN if known is None else histogram.interval(row.percentile, known),
        samples=histogram.samples,
        effective_samples=None if known is None else known.samples,
        bad=histogram.samples - most,
        bad_at_most=histogram.samples - least,
        group=group,
        from_ns=window.from_ns,
        to_ns=window.to_ns,
        edges=(quantile.lower, quantile.upper if math.isfinite(quantile.upper) else None),
        notes=lacks,
    )


def _samples(row: SloRow, sli: SampleSli, measured: Measured, window: Phase) -> list[SliResult]:
    assert row.percentile is not None
    kind = SAMPLES[sli.of]
    found = counted(kind, in_groups(measured.lifecycles, sli.groups), window, row.target.keeps)
    values = found.values
    lacks = []
    if found.overdue:
        lacks.append(f"Still open, counted with their duration so far: {found.overdue} of the {kind.of}.")
    if found.pending:
        lacks.append(f"Left out, since still open within the target: {found.pending} of the {kind.of}.")
    if not values:
        return [SliResult(value=None, from_ns=window.from_ns, to_ns=window.to_ns, notes=tuple(lacks))]
    spread, known = UNKNOWN, None
    if blocks_in(window.from_ns, window.to_ns):
        places = block_of(found.times_ns, window.from_ns, window.to_ns)
        spread, known = percentile_interval(values, places, row.percentile)
    return [
        SliResult(
            value=estimates.percentile_of(values, row.percentile),
            interval=spread,
            samples=len(values),
            effective_samples=None if known is None else known.samples,
            bad=sum(1 for value in values if not row.target.keeps(value)),
            from_ns=window.from_ns,
            to_ns=window.to_ns,
            notes=tuple(lacks),
        )
    ]


def _share(_row: SloRow, sli: ShareSli, measured: Measured, window: Phase) -> list[SliResult]:
    kind, pods = SHARES[sli.of], list(in_groups(measured.lifecycles, sli.groups))
    seen = [(t_ns, bad) for pod in pods for t_ns, bad in kind.events(pod) if window.from_ns <= t_ns < window.to_ns]
    bad = [each for _, each in seen]
    known = _effective_share([t_ns for t_ns, _ in seen], bad, window)
    spread = UNKNOWN
    if known is not None:
        share = estimates.wilson(sum(bad) / len(bad) * known.samples, known.samples, freedom=known.freedom)
        spread = Interval(100 * (share.lower or 0.0), 100 * (share.upper or 0.0), share.confidence)
    return [
        SliResult(
            value=100 * sum(bad) / len(bad) if bad else None,
            interval=spread,
            samples=len(bad),
            effective_samples=None if known is None else known.samples,
            bad=sum(bad),
            from_ns=window.from_ns,
            to_ns=window.to_ns,
        )
    ]


def _effective_share(times_ns: Sequence[int], hits: Sequence[bool], window: Phase) -> Effective | None:
    if not times_ns or not blocks_in(window.from_ns, window.to_ns):
        return None
    places = block_of(times_ns, window.from_ns, window.to_ns)
    return effective(np.bincount(places, hits), np.bincount(places))


def _rate(_row: SloRow, sli: RateSli, measured: Measured, window: Phase) -> list[SliResult]:
    if not measured.lifecycles:
        raise ObservationError("no lifecycles were recorded, so the number of events is unknown.")
    pods = in_groups(measured.lifecycles, sli.groups)
    times = [t_ns for pod in pods for t_ns in COUNTS[sli.of].times(pod) if window.from_ns <= t_ns < window.to_ns]
    return [
        SliResult(
            value=len(times) / window.seconds,
            interval=rate_interval(times, window.from_ns, window.to_ns),
            samples=len(times),
            from_ns=window.from_ns,
            to_ns=window.to_ns,
        )
    ]


def _ratio(_row: SloRow, sli: RatioSli, measured: Measured, window: Phase) -> list[SliResult]:
    return [ratio(sli, measured, window)]


def _conservation(_row: SloRow, sli: ConservationSli, measured: Measured, window: Phase) -> list[SliResult]:
    return conservation(sli, measured, window)


def _moves(_row: SloRow, sli: MovesSli, measured: Measured, window: Phase) -> list[SliResult]:
    return [moves(sli, measured, window)]


def _gauge(_row: SloRow, sli: GaugeSli, measured: Measured, window: Phase) -> list[SliResult]:
    return list(gauge(sli, measured, window))


def _growth(_row: SloRow, sli: GrowthSli, measured: Measured, window: Phase) -> list[SliResult]:
    return list(growth_per_event(sli, measured, window))


def _reads(row: SloRow, sli: ReadSli, measured: Measured, window: Phase) -> list[SliResult]:
    return [reads(row, sli, measured, window)]


def _relative(row: SloRow, sli: RelativeSli, measured: Measured, window: Phase) -> list[SliResult]:
    return [relative(row, sli, measured, window, results)]


def _kinds(_row: SloRow, sli: KindsSli, measured: Measured, window: Phase) -> list[SliResult]:
    return [kinds(sli, measured, window)]


def _recovery(row: SloRow, sli: RecoverySli, measured: Measured, window: Phase) -> list[SliResult]:
    return [recovery(row, sli, measured, window)]


def _served(row: SloRow, sli: ServedSli, measured: Measured, window: Phase) -> list[SliResult]:
    return list(served(sli, measured, window, row.target))


_KINDS: Mapping[type, Callable[[SloRow, Any, Measured, Phase], list[SliResult]]] = {
    HistogramSli: _histogram,
    SampleSli: _samples,
    ShareSli: _share,
    RateSli: _rate,
    RatioSli: _ratio,
    ConservationSli: _conservation,
    MovesSli: _moves,
    GaugeSli: _gauge,
    GrowthSli: _growth,
    ReadSli: _reads,
    RelativeSli: _relative,
    KindsSli: _kinds,
    RecoverySli: _recovery,
    ServedSli: _served,
}
