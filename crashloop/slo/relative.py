"""One phase against another phase of the run, or against its prediction: a figure, or kinds of events.

Theory of operation. A comparison within one run needs no absolute bound, so it holds on every host. The figure is taken
twice, in each phase from the nodes under load in it; the value is the ratio of the two, or their difference. Its interval
follows from theirs (MOVER, of a ratio on logarithms), so it covers what varies within the phases. What differs from one
phase to the next without a cause, such as a host that warms up, it does not cover: bounds of such rows leave room for it.
Source: Zou and Donner 2008 ("Construction of confidence limits about effect measures: a general approach").
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping

import msgspec

from crashloop.errors import ObservationError
from crashloop.slo.increase import find_growth, notes
from crashloop.slo.measurements import Interval, Measured, Phase, SliResult
from crashloop.slo.rows import KindsSli, Other, RelativeSli, SloRow, Target
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
