"""Kinds of counted events that one of two phases has and the other lacks."""

from collections import defaultdict
from collections.abc import Mapping

from crashloop.errors import ObservationError
from crashloop.slo.relative import other_phase
from crashloop.slo.rows import KindsSli
from crashloop.slo.sources import find, notes
from crashloop.slo.types import Measured, Phase, SliResult

Kind = tuple[str, ...]


def kinds(sli: KindsSli, measured: Measured, window: Phase) -> SliResult:
    """The samples are the events of the phase that has fewer. Raises ObservationError without scrapes or the other phase."""
    against = other_phase(sli.to, measured, window)
    mine, lacks = _counts(sli, measured, window)
    others, lack_too = _counts(sli, measured, against)
    only = [
        f"{_words(kind)}: {count:.0f} in phase {here.label}, none in phase {there.label}."
        for here, found, there, missing in ((window, mine, against, others), (against, others, window, mine))
        for kind, count in sorted(found.items())
        if count >= sli.least and not missing.get(kind)
    ]
    return SliResult(
        value=float(len(only)),
        samples=round(min(sum(mine.values()), sum(others.values()))),
        from_ns=window.from_ns,
        to_ns=window.to_ns,
        notes=(*only, *lacks, *lack_too),
    )


def _counts(sli: KindsSli, measured: Measured, phase: Phase) -> tuple[Mapping[Kind, float], tuple[str, ...]]:
    found = find(measured, sli, phase.from_ns, phase.to_ns)
    counts: defaultdict[Kind, float] = defaultdict(float)
    for source in found:
        for growth in source.growths:
            counts[tuple(growth.labels.get(label, "") for label in sli.each)] += growth.total
    if not counts:
        raise ObservationError(f"metric {sli.metric!r} of {sli.source} has no series with such labels.")
    return counts, notes(found)


def _words(kind: Kind) -> str:
    return " ".join(filter(None, kind))
