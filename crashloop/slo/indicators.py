"""The value of an SLI in one window: one result, or one for each group of labels.

Reads of the API server are made by the load itself: their latency counts from the intended moment. The API server's own
histograms begin when it has accepted a request. A reader outside also waits for a connection and in queues, and sees refusals;
and a read that starts late because the one before hung is late, too.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from crashloop.errors import ObservationError
from crashloop.slo import estimates
from crashloop.slo.estimates import (
    UNKNOWN,
    Bucket,
    Effective,
    Histogram,
    block_of,
    blocks_in,
    effective,
    effective_within,
    percentile_interval,
    percentile_of,
    rate_interval,
)
from crashloop.slo.events import COUNTS, SAMPLES, SHARES, counted, in_groups
from crashloop.slo.increase import Found, find_growth, notes
from crashloop.slo.measurements import ApiRead, Interval, Measured, Phase, ServedPod, SliResult
from crashloop.slo.metrics import conservation, gauge, growth_per_event, moves, ratio
from crashloop.slo.relative import kinds, relative
from crashloop.slo.rows import (
    Better,
    ConservationSli,
    GaugeSli,
    GrowthSli,
    HistogramSli,
    KindsSli,
    MovesSli,
    RateSli,
    RatioSli,
    ReadSli,
    RelativeSli,
    SampleSli,
    ServedSli,
    ShareSli,
    SloRow,
    Target,
)
from crashloop.slo.servers import SERVER_FIGURES
from crashloop.slo.text import number

WATCH_LIST = "watch-list"
"""A streaming list: not every API server serves them, nor does every load make them."""


def reads(row: SloRow, sli: ReadSli, measured: Measured, window: Phase) -> SliResult:
    """With a percentile of the row: that of the latency, a failed read being a miss. Without: the number of failed reads.

    Raises ObservationError where a run has no streaming lists, and the row is about these.
    """
    if sli.of == WATCH_LIST:
        _require_watch_lists([each for each in measured.reads if each.kind == WATCH_LIST])
    found = _reads_in(measured.reads, sli, window)
    failed = sum(each.failed for each in found)
    if row.percentile is None or not found:
        return SliResult(value=float(failed) if found else None, samples=len(found))
    took = [each.took_s for each in found]
    spread, known = _spread(took, [each.intended_ns for each in found], window, row.percentile)
    return SliResult(
        value=percentile_of(took, row.percentile),
        interval=spread,
        samples=len(found),
        effective_samples=None if known is None else known.samples,
        bad=sum(1 for each in found if each.failed or not row.target.keeps(each.took_s)),
        notes=(f"Failed: {failed} of the reads.",) if failed else (),
    )


def _spread(
    values: Sequence[float], times_ns: Sequence[int], window: Phase, percentile: float
) -> tuple[Interval, Effective | None]:
    """The interval of a percentile of single events, and how many independent ones they are worth."""
    if not blocks_in(window.from_ns, window.to_ns):
        return UNKNOWN, None
    return percentile_interval(values, block_of(times_ns, window.from_ns, window.to_ns), percentile)


def _reads_in(reads: Iterable[ApiRead], sli: ReadSli, window: Phase) -> list[ApiRead]:
    served = (each for each in reads if sli.of in (None, each.kind) and not each.unserved)
    return [each for each in served if window.from_ns <= each.intended_ns < window.to_ns]


def _require_watch_lists(asked: Sequence[ApiRead]) -> None:
    if not asked:
        raise ObservationError("this load asked for no streaming lists; a canary with watch_lists does.")
    if all(each.unserved for each in asked):
        raise ObservationError(
            f"the API server serves no streaming lists, it answered {asked[0].unserved}: they need its feature gate WatchList, "
            "on by default from Kubernetes 1.34 on, and an etcd that reports progress."
        )


OPEN_VALUE = "It is that or more: requests that were never answered count with the time until they were given up."


def served(sli: ServedSli, measured: Measured, window: Phase, target: Target) -> Iterator[SliResult]:
    """One result per pod.

    Raises ObservationError without a pod, where what it is divided by is 0 or may be more, or where a value that may be more
    keeps its target.
    """
    figure, divisor, other = SERVER_FIGURES[sli.of].of_pod, 1.0, ""
    if sli.relative_to is not None:
        others = [figure(pod, measured, window) for pod in pods_in(measured.served, sli.relative_to, window)]
        divisor = sum(each.value for each in others) / len(others)
        if any(each.is_least for each in others):
            raise ObservationError(
                f"{sli.of} of {sli.relative_to} is {number(divisor)} or more, so the ratio is unknown."
            )
        if divisor <= 0:
            raise ObservationError(f"{sli.of} of {sli.relative_to} is 0, so there is nothing to compare with.")
        other = f", and {number(divisor)} of {sli.relative_to}."
    for pod in pods_in(measured.served, sli.load, window):
        found = figure(pod, measured, window)
        if found.is_least and not target.reported and _may_miss_target(found.value / divisor, target):
            raise ObservationError(
                f"{sli.of} of {pod.pod} is {number(found.value)} or more, and that may miss the target."
            )
        yield SliResult(
            value=found.value / divisor,
            samples=found.samples,
            group={"pod": pod.pod},
            compared=f"It is {number(found.value)}{other}" if other else "",
            notes=(OPEN_VALUE,) if found.is_least else (),
        )


def _may_miss_target(value: float, target: Target) -> bool:
    """Whether a larger value may be on the other side of the target."""
    return target.keeps(value) is (target.better is Better.LOWER)


def pods_in(pods: Iterable[ServedPod], load: str, window: Phase) -> list[ServedPod]:
    """The pods of a load with demand in a window. Raises ObservationError without any."""
    found = [pod for pod in pods if pod.load == load and pod.has_demand_in(window)]
    if not found:
        raise ObservationError(f"load {load} had no pod with demand.")
    return found


def results(row: SloRow, measured: Measured, window: Phase) -> list[SliResult]:
    """The SLI of a row in a window. Raises UnknownMetric, or ObservationError where the evidence is missing."""
    found = _BY_KIND[type(row.sli)](row, row.sli, measured, window)
    return [_within(window, each) for each in ((found,) if isinstance(found, SliResult) else found)]


def _within(window: Phase, result: SliResult) -> SliResult:
    """A result of a window; one by scrapes is of the time between them."""
    begin_ns, end_ns = (result.from_ns, result.to_ns) if result.to_ns else (window.from_ns, window.to_ns)
    return msgspec.structs.replace(result, phase=window.label, from_ns=begin_ns, to_ns=end_ns)


def _histogram(row: SloRow, sli: HistogramSli, measured: Measured, window: Phase) -> list[SliResult]:
    found = find_growth(measured, sli, window.from_ns, window.to_ns, suffix="_bucket")
    lacks = notes(found)
    return [
        _result_of_histogram(row, buckets, dict(zip(sli.each, group, strict=True)), lacks)
        for group, buckets in sorted(_buckets_by_group(sli, found).items())
    ] or [SliResult(value=None, notes=lacks)]


def _buckets_by_group(sli: HistogramSli, found: Iterable[Found]) -> Mapping[tuple[str, ...], list[Bucket]]:
    groups: dict[tuple[str, ...], list[Bucket]] = {}
    for source in found:
        times = source.times_ns
        for growth in source.growths:
            key = tuple(growth.labels.get(label, "") for label in sli.each)
            groups.setdefault(key, []).append(Bucket(float(growth.labels["le"]), times, growth.steps))
    return {key: buckets for key, buckets in groups.items() if any(each.total > 0 for each in buckets)}


def _result_of_histogram(
    row: SloRow, buckets: Sequence[Bucket], group: dict[str, str], lacks: tuple[str, ...]
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
        edges=(quantile.lower, quantile.upper if math.isfinite(quantile.upper) else None),
        notes=lacks,
    )


def _samples(row: SloRow, sli: SampleSli, measured: Measured, window: Phase) -> SliResult:
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
        return SliResult(value=None, notes=tuple(lacks))
    spread, known = _spread(values, found.times_ns, window, row.percentile)
    return SliResult(
        value=estimates.percentile_of(values, row.percentile),
        interval=spread,
        samples=len(values),
        effective_samples=None if known is None else known.samples,
        bad=sum(1 for value in values if not row.target.keeps(value)),
        notes=tuple(lacks),
    )


def _share(_row: SloRow, sli: ShareSli, measured: Measured, window: Phase) -> SliResult:
    kind, pods = SHARES[sli.of], list(in_groups(measured.lifecycles, sli.groups))
    seen = [(t_ns, bad) for pod in pods for t_ns, bad in kind.events(pod) if window.from_ns <= t_ns < window.to_ns]
    bad = [each for _, each in seen]
    known = _effective_share([t_ns for t_ns, _ in seen], bad, window)
    spread = UNKNOWN
    if known is not None:
        share = estimates.wilson(sum(bad) / len(bad) * known.samples, known.samples, freedom=known.freedom)
        spread = Interval(100 * (share.lower or 0.0), 100 * (share.upper or 0.0), share.confidence)
    return SliResult(
        value=100 * sum(bad) / len(bad) if bad else None,
        interval=spread,
        samples=len(bad),
        effective_samples=None if known is None else known.samples,
        bad=sum(bad),
    )


def _effective_share(times_ns: Sequence[int], hits: Sequence[bool], window: Phase) -> Effective | None:
    if not times_ns or not blocks_in(window.from_ns, window.to_ns):
        return None
    places = block_of(times_ns, window.from_ns, window.to_ns)
    return effective(np.bincount(places, hits), np.bincount(places))


def _rate(_row: SloRow, sli: RateSli, measured: Measured, window: Phase) -> SliResult:
    if not measured.lifecycles:
        raise ObservationError("no lifecycles were recorded, so the number of events is unknown.")
    pods = in_groups(measured.lifecycles, sli.groups)
    times = [t_ns for pod in pods for t_ns in COUNTS[sli.of].times(pod) if window.from_ns <= t_ns < window.to_ns]
    return SliResult(
        value=len(times) / window.seconds,
        interval=rate_interval(times, window.from_ns, window.to_ns),
        samples=len(times),
    )


_BY_KIND: Mapping[type, Callable[[SloRow, Any, Measured, Phase], SliResult | Iterable[SliResult]]] = {
    HistogramSli: _histogram,
    SampleSli: _samples,
    ShareSli: _share,
    RateSli: _rate,
    RatioSli: lambda _, sli, measured, window: ratio(sli, measured, window),
    ConservationSli: lambda _, sli, measured, window: conservation(sli, measured, window),
    MovesSli: lambda _, sli, measured, window: moves(sli, measured, window),
    GaugeSli: lambda _, sli, measured, window: gauge(sli, measured, window),
    GrowthSli: lambda _, sli, measured, window: growth_per_event(sli, measured, window),
    ReadSli: reads,
    RelativeSli: lambda row, sli, measured, window: relative(row, sli, measured, window, results),
    KindsSli: lambda _, sli, measured, window: kinds(sli, measured, window),
    ServedSli: lambda row, sli, measured, window: served(sli, measured, window, row.target),
}
