"""One phase against another phase of the run, or against its prediction: a figure, kinds of events, the time to recover.

Theory of operation. A comparison within one run needs no absolute bound, so it holds on every host. The figure is taken
twice, in each phase from the nodes under load in it; the value is the ratio of the two, or their difference. Its interval
follows from theirs (MOVER, of a ratio on logarithms), so it covers what varies within the phases. What differs from one
phase to the next without a cause, such as a host that warms up, it does not cover: bounds of such rows leave room for it.
Source: Zou and Donner 2008 ("Construction of confidence limits about effect measures: a general approach").

Recovery: how long after a load healthy pods start as fast as before it. A load ends when its users are told to stop: that is
the end of its phase. The recovery is the create request of the first healthy pod of the phase after it from which on every one
starts within a bound: some times a percentile of those before the load. Healthy pods come from the start of that phase's users
on, before its measurement, but only when the load's own pods are gone. So the removal of these is part of the time, and a node
may have recovered earlier than is seen.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from crashloop.errors import ObservationError
from crashloop.slo.estimates import percentile_of
from crashloop.slo.events import SAMPLES, Counted, counted, in_groups
from crashloop.slo.increase import find_growth, notes
from crashloop.slo.measurements import Interval, Measured, Phase, SliResult
from crashloop.slo.rows import KindsSli, Other, RecoverySli, RelativeSli, SloRow, Target
from crashloop.slo.text import number

OPEN_S = 5.0
"""An event that is still open counts once it lasted as long as the official target of a start-up."""

Results = Callable[[SloRow, Measured, Phase], list[SliResult]]


def relative(row: SloRow, sli: RelativeSli, measured: Measured, window: Phase, results: Results) -> SliResult:
    """The ratio, or the difference. `results` takes an SLI in a window.

    Raises ObservationError without the other phase or its prediction; of a ratio, without values above zero.
    """
    mine = _figure_alone(row, sli, measured, window, results)
    if sli.to == "prediction":
        if window.predicted_per_s is None:
            why = window.unpredicted or "their delays grow, or another load restarts beside"
            raise ObservationError(f"nothing predicts its restarts: {why}.")
        other = SliResult(
            value=window.predicted_per_s, interval=Interval(window.predicted_per_s, window.predicted_per_s)
        )
        place, samples = "predicted", mine.samples
    else:
        against = other_phase(sli.to, measured, window)
        other = _figure_alone(row, sli, measured, against, results)
        place, samples = f"in phase {against.label}", min(mine.samples, other.samples)
    if mine.value is None or other.value is None:
        return SliResult(value=None, samples=samples)
    value, spread = _COMPARE[sli.by](mine.value, mine.interval, other.value, other.interval, sli.unit)
    return SliResult(
        value=value,
        interval=spread,
        samples=samples,
        compared=f"It is {number(mine.value)} {sli.unit}, and {number(other.value)} {sli.unit} {place}.",
        notes=(*mine.notes, *other.notes),
    )


def other_phase(to: Other, measured: Measured, window: Phase) -> Phase:
    """The nearest phase in time that a window is compared with. Raises ObservationError without one."""
    name, mix, arm = to.phase or window.name, to.mix or window.mix, to.arm or window.arm
    found = [each for each in measured.phases if (each.name, each.mix, each.arm) == (name, mix, arm)]
    if not found:
        wanted = Phase(name=name, mix=mix, arm=arm, from_ns=0, to_ns=0).label
        raise ObservationError(f"no phase {wanted!r} in this run to compare with.")
    return min(found, key=lambda each: abs(each.from_ns - window.from_ns))


def ratio_of(value: float, spread: Interval | None, other: float, around: Interval | None) -> Interval:
    """The interval of value / other by those of both; a side is None where one of them does not bound it."""
    if spread is None or around is None:
        return Interval(None, None)
    ratio = math.log(value / other)
    down, up = _log_distance(value, spread.lower), _log_distance(value, spread.upper)
    below, above = _log_distance(other, around.lower), _log_distance(other, around.upper)
    lower = None if down is None or above is None else math.exp(ratio - math.hypot(down, above))
    upper = None if up is None or below is None else math.exp(ratio + math.hypot(up, below))
    return Interval(lower, upper, spread.confidence)


def difference_of(value: float, spread: Interval | None, other: float, around: Interval | None) -> Interval:
    """The interval of value - other by those of both; a side is None where one of them does not bound it."""
    if spread is None or around is None:
        return Interval(None, None)
    apart = value - other
    down, up = (None if bound is None else abs(value - bound) for bound in (spread.lower, spread.upper))
    below, above = (None if bound is None else abs(other - bound) for bound in (around.lower, around.upper))
    lower = None if down is None or above is None else apart - math.hypot(down, above)
    upper = None if up is None or below is None else apart + math.hypot(up, below)
    return Interval(lower, upper, spread.confidence)


def in_percent(ratio: Interval) -> Interval:
    """The interval of the difference from 1 in either direction; its upper bound needs both of the ratio's."""
    if ratio.lower is None or ratio.upper is None:
        return Interval(None, None, ratio.confidence)
    ends = [abs(ratio.lower - 1), abs(ratio.upper - 1)]
    least = 0.0 if ratio.lower <= 1 <= ratio.upper else min(ends)
    return Interval(100 * least, 100 * max(ends), ratio.confidence)


def _log_distance(value: float, bound: float | None) -> float | None:
    """The distance of a bound in logarithms."""
    return None if bound is None or bound <= 0 else abs(math.log(bound / value))


def _ratio(
    value: float, spread: Interval | None, other: float, around: Interval | None, unit: str
) -> tuple[float, Interval]:
    if value <= 0 or other <= 0:
        raise ObservationError(f"{number(value)} and {number(other)} {unit} have no ratio.")
    return value / other, ratio_of(value, spread, other, around)


def _ratio_in_percent(
    value: float, spread: Interval | None, other: float, around: Interval | None, unit: str
) -> tuple[float, Interval]:
    ratio, found = _ratio(value, spread, other, around, unit)
    return 100 * abs(ratio - 1), in_percent(found)


def _difference(
    value: float, spread: Interval | None, other: float, around: Interval | None, _unit: str
) -> tuple[float, Interval]:
    return value - other, difference_of(value, spread, other, around)


_COMPARE = {"ratio": _ratio, "percent": _ratio_in_percent, "difference": _difference}


def _figure_alone(row: SloRow, sli: RelativeSli, measured: Measured, phase: Phase, results: Results) -> SliResult:
    alone = msgspec.structs.replace(row, sli=sli.of, target=Target(at_most=OPEN_S, unit=sli.unit))
    (found,) = results(alone, _on_nodes(measured, phase.nodes), phase)
    return found


def _on_nodes(measured: Measured, nodes: tuple[str, ...]) -> Measured:
    """What some nodes did, and what belongs to none; everything if none is named."""
    if not nodes:
        return measured
    here = frozenset(("", *nodes))
    return msgspec.structs.replace(
        measured,
        scrapes=tuple(
            msgspec.structs.replace(each, series=tuple(one for one in each.series if each.node_of(one) in here))
            for each in measured.scrapes
            if each.source.node in here
        ),
        lifecycles=tuple(each for each in measured.lifecycles if each.node in nodes),
    )


Kind = tuple[str, ...]


def kinds(sli: KindsSli, measured: Measured, window: Phase) -> SliResult:
    """The samples are the events of the phase that has fewer. Raises ObservationError without scrapes or the other phase."""
    against = other_phase(sli.to, measured, window)
    mine, lacks = _counts_by_kind(sli, measured, window)
    others, lack_too = _counts_by_kind(sli, measured, against)
    only = [
        f"{_kind_in_words(kind)}: {count:.0f} in phase {here.label}, none in phase {there.label}."
        for here, found, there, missing in ((window, mine, against, others), (against, others, window, mine))
        for kind, count in sorted(found.items())
        if count >= sli.least and not missing.get(kind)
    ]
    return SliResult(
        value=float(len(only)),
        samples=round(min(sum(mine.values()), sum(others.values()))),
        notes=(*only, *lacks, *lack_too),
    )


def _counts_by_kind(sli: KindsSli, measured: Measured, phase: Phase) -> tuple[Mapping[Kind, float], tuple[str, ...]]:
    found = find_growth(measured, sli, phase.from_ns, phase.to_ns)
    counts: defaultdict[Kind, float] = defaultdict(float)
    for source in found:
        for growth in source.growths:
            counts[tuple(growth.labels.get(label, "") for label in sli.each)] += growth.total
    if not counts:
        raise ObservationError(f"metric {sli.metric!r} of {sli.source} has no series with such labels.")
    return counts, notes(found)


def _kind_in_words(kind: Kind) -> str:
    return " ".join(filter(None, kind))


STARTUP = SAMPLES["pod-startup"]
LEAST_FAST = 5
"""Pods in a row that start within the bound up to the end of the phase; fewer show no recovery."""


class PodStart(NamedTuple):
    """The start of one pod."""

    asked_s: float
    """When it was asked for, after the end of the load."""
    took_s: float


def recovery(row: SloRow, sli: RecoverySli, measured: Measured, window: Phase) -> SliResult:
    """Seconds; without a recovery those until the last pod that was too slow, if they alone miss the target.

    Raises ObservationError without one of the other phases, without enough pods before the load, and where the pods had not
    recovered when the phase ended but might have within the target.
    """
    load, before = _last_phase(sli.after, measured, window), other_phase(sli.to, measured, window)
    known = _startups(sli, measured, before, OPEN_S).values
    if len(known) < row.min_samples:
        raise ObservationError(
            f"its bound is unknown, since phase {before.label} had {len(known)} of the {row.min_samples} pods needed."
        )
    usual_s = percentile_of(known, sli.percentile)
    bound_s = sli.times * usual_s
    came = msgspec.structs.replace(window, from_ns=window.from_ns if window.came_ns is None else window.came_ns)
    found = _startups(sli, measured, came, bound_s)
    starts = sorted(
        PodStart((t_ns - load.to_ns) / 1e9, took_s) for t_ns, took_s in zip(found.times_ns, found.values, strict=True)
    )
    slow = [each.asked_s for each in starts if each.took_s > bound_s]
    recovered = recovered_s(starts, bound_s)
    value = recovered if recovered is not None or not slow else slow[-1]
    words = f"{number(bound_s)} s, {sli.times:g} times the p{sli.percentile:g} of phase {before.label}"
    if slow and row.target.keeps(slow[-1]):
        _require_recovered(starts, recovered, words, load)
    return SliResult(
        value=value,
        samples=len(starts),
        compared=_recovery_in_words(starts, recovered, len(slow), words, load),
    )


def _require_recovered(starts: list[PodStart], recovered: float | None, words: str, load: Phase) -> None:
    """The last pod that was too slow proves nothing; so the pods after it have to."""
    fast = sum(each.asked_s >= recovered for each in starts) if recovered is not None else 0
    if not fast:
        raise ObservationError(
            f"the last of {len(starts)} pods, {number(starts[-1].asked_s)} s after the end of phase {load.label}, still took "
            f"longer to start than {words}."
        )
    if fast < LEAST_FAST:
        raise ObservationError(
            f"{fast} of {len(starts)} pods, the last ones, started within {words}; {LEAST_FAST} in a row are needed."
        )


def recovered_s(starts: list[PodStart], bound_s: float) -> float | None:
    """When the first pod was asked for from which on all start within a bound; None if there is none. In order of time."""
    first = None
    for each in reversed(starts):
        if each.took_s > bound_s:
            break
        first = each.asked_s
    return first


def _startups(sli: RecoverySli, measured: Measured, phase: Phase, bound_s: float) -> Counted:
    return counted(STARTUP, in_groups(measured.lifecycles, sli.groups), phase, lambda took_s: took_s <= bound_s)


def _last_phase(name: str, measured: Measured, window: Phase) -> Phase:
    """The last phase of that name before a window."""
    earlier = [each for each in measured.phases if each.name == name and each.to_ns <= window.from_ns]
    if not earlier:
        raise ObservationError(f"the run had no phase {name!r} before it.")
    return max(earlier, key=lambda each: each.to_ns)


def _recovery_in_words(starts: list[PodStart], recovered: float | None, slow: int, words: str, load: Phase) -> str:
    if not starts:
        return ""
    if recovered is None:
        return (
            f"At that time after the end of phase {load.label} the last pod still took longer to start than {words}; {slow} of "
            f"{len(starts)} pods did."
        )
    return (
        f"It counts from the end of phase {load.label} to the first pod from which on all start within {words}; {slow} of "
        f"{len(starts)} pods took longer, and the first was asked for after {number(starts[0].asked_s)} s."
    )
