"""Reads SLO rows; an error names file, row, field and value."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import msgspec

from crashloop.errors import UsageError
from crashloop.slo.estimates import least_samples
from crashloop.slo.events import COUNTS, SAMPLES, SECONDS, SHARES
from crashloop.slo.measurements import Phase
from crashloop.slo.preconditions import FACTS
from crashloop.slo.rows import (
    ConservationSli,
    GaugeSli,
    GrowthSli,
    HistogramSli,
    MovesSli,
    Other,
    Precondition,
    RateSli,
    RatioSli,
    ReadSli,
    RelativeSli,
    SampleSli,
    Selection,
    ServedSli,
    ShareSli,
    SloFile,
    SloRow,
    Target,
    row_of,
)
from crashloop.slo.scrapes import SOURCES
from crashloop.slo.servers import SERVER_FIGURES
from crashloop.words import in_words
from crashloop.yaml_text import Unreadable, read_yaml

_TIMED = (HistogramSli, SampleSli)
_OF_PODS = (SampleSli, ShareSli, RateSli, ConservationSli)


def read_rows(text: str, *, name: str) -> SloFile:
    """The rows of a file. Raises UsageError naming the file, the row, the field and what was expected."""
    try:
        raw = read_yaml(text, is_strict=True)
    except Unreadable as error:
        raise UsageError(f"{name}: {in_words(error)}.") from error
    rows = raw.get("slos") if isinstance(raw, dict) else None
    if not isinstance(rows, list) or not rows:
        raise UsageError(f"{name}: expected a description and a list of slos with at least one row.")
    slos = tuple(_row(name, index, row) for index, row in enumerate(rows, start=1))
    twice = [row_id for row_id, count in Counter(row.id for row in slos).items() if count > 1]
    if twice:
        raise UsageError(f"{name}: {', '.join(twice)} is defined more than once; an id must be unique.")
    try:
        return msgspec.structs.replace(msgspec.convert({**raw, "slos": ()}, SloFile), slos=slos)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: {in_words(error)}.") from error


def _row(name: str, index: int, raw: Any) -> SloRow:
    named = raw.get("id", f"row {index}") if isinstance(raw, dict) else f"row {index}"
    try:
        row = row_of(raw)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: {named}: {in_words(error)}.") from error
    fault = next(faults(row), None)
    if fault is not None:
        raise UsageError(f"{name}: {named}: {fault}.")
    return row


def faults(row: SloRow) -> Iterator[str]:
    """Rules beyond the types."""
    if not row.id.replace("-", "").isalnum() or row.id != row.id.lower():
        yield f"id {row.id!r}: expected words in small letters, joined by dashes"
    if not row.definition.strip() or not row.source.strip():
        yield "definition and source cannot be empty"
    yield from _target(row.target, row)
    yield from _percentile(row)
    yield from _names(row)
    if row.slice_s is not None and not 0 < row.slice_s < float("inf"):
        yield f"slice_s is {row.slice_s:g}; expected seconds above zero"
    if row.deviation is not None and row.target.keeps(row.deviation.up_to):
        yield f"deviation: up_to is {row.deviation.up_to:g}, which keeps the target; expected a value that misses it"
    if row.min_samples < 1:
        yield f"min_samples is {row.min_samples}; expected 1 or more"
    if row.requirement_preconditions and row.requirement is None:
        yield "requirement_preconditions is given, but no requirement"
    for condition in dict.fromkeys((*row.for_itself.preconditions, *row.requirement_preconditions)):
        yield from _precondition(condition)


def unfit(row: SloRow, *, groups: Iterable[str], phases: Iterable[Phase], loads: Iterable[str]) -> Iterator[str]:
    """Names in a row that a profile with these groups of pods, phases and loads lacks."""
    names, mixes, arms = ({getattr(each, name): None for each in phases} for name in ("name", "mix", "arm"))
    sli = row.figure
    if isinstance(sli, ServedSli):
        for load in filter(None, (sli.load, sli.relative_to)):
            yield from _known("load", load, tuple(loads))
    for group in sli.groups if isinstance(sli, _OF_PODS) else ():
        yield from _known("groups", group, tuple(groups))
    if row.phase is not None:
        yield from _known("phase", row.phase, names)
    for mix in row.mixes:
        yield from _known("mixes", mix, mixes)
    if row.arm is not None:
        yield from _known("arm", row.arm, arms)
    if isinstance(sli, RatioSli) and sli.idle is not None:
        yield from _known("idle", sli.idle, names)
    if isinstance(sli, GaugeSli) and sli.relative_to is not None:
        yield from _known("relative_to", sli.relative_to, names)
    to = row.other or Other()
    for field, value, known in (("phase", to.phase, names), ("mix", to.mix, mixes), ("arm", to.arm, arms)):
        if value is not None:
            yield from _known(f"to.{field}", value, known)


def _target(target: Target, row: SloRow) -> Iterator[str]:
    bounds = [each for each in (target.at_most, target.below, target.at_least) if each is not None]
    if target.reported:
        if bounds or row.mode == "gate" or row.decided_by == "interval":
            yield "target is reported; then there is no bound, and nothing to gate or to decide by its interval"
    elif len(bounds) != 1:
        yield f"target has {len(bounds)} bounds; expected one of at_most, below, at_least"
    elif not 0 <= bounds[0] < float("inf"):
        yield f"target is {bounds[0]:g} {target.unit}; expected a number that is not negative"
    if isinstance(row.sli, ShareSli) and (target.unit != "%" or not all(each < 100 for each in bounds)):
        yield f"target is {bounds[0] if bounds else '':g} {target.unit}; expected a share below 100 %"
    if isinstance(row.sli, ShareSli) and target.at_least is not None:
        yield "target is at_least; a share is of what went wrong, and has an upper bound"
    latency = isinstance(row.sli, ReadSli) and row.percentile is not None
    if latency or isinstance(row.sli, _TIMED):
        if target.unit != "s":
            yield f"target has the unit {target.unit!r}; an SLI of kind {_kind(row)} is in s"
        if target.at_least is not None:
            yield f"target is at_least; an SLI of kind {_kind(row)} is a duration, which has an upper bound"
    if isinstance(row.sli, RelativeSli) and target.unit != _unit(row.sli):
        yield f"target has the unit {target.unit!r}; it is in {_unit(row.sli)}"
    if isinstance(row.sli, ConservationSli) and target.at_most != 0:
        yield "target of a conservation is at_most: 0; what starts is counted exactly"
    if isinstance(row.sli, ConservationSli) and row.decided_by != "interval":
        yield "a conservation is decided_by: interval, which is the uncertainty from starts near the ends of the window"


def _percentile(row: SloRow) -> Iterator[str]:
    sli = row.figure
    if isinstance(sli, ReadSli) and row.percentile is None:
        return
    if not isinstance(sli, (*_TIMED, ReadSli)):
        if row.percentile is not None:
            yield f"percentile is {row.percentile:g}; an SLI of kind {_kind(row)} has none"
    elif row.percentile is None:
        yield f"percentile is missing; an SLI of kind {_kind(row)} needs one"
    elif not 0 < row.percentile < 100:
        yield f"percentile is {row.percentile:g}; expected more than 0 and less than 100"
    elif row.min_samples < least_samples(row.percentile):
        yield _largest(row.min_samples, row.percentile)


def _largest(samples: int, percentile: float) -> str:
    least = least_samples(percentile)
    return f"min_samples is {samples}; p{percentile:g} of fewer than {least} is simply the largest"


def _names(row: SloRow) -> Iterator[str]:
    sli = row.figure
    if isinstance(row.sli, RelativeSli):
        yield from _compared(row.sli)
    if row.other == Other():
        yield "to names nothing; expected a phase, mix or arm to compare with"
    if isinstance(sli, Selection):
        yield from _known("source", sli.source, SOURCES)
        if not sli.metric:
            yield "metric is empty"
    if isinstance(sli, MovesSli):
        yield from _known("source", sli.source, SOURCES)
        for name in sli.names:
            yield from _known("metrics", name, SOURCES.get(sli.source, ()))
        if not sli.metrics:
            yield "metrics is empty"
    if type(sli) in _KNOWN:
        field, known = _KNOWN[type(sli)]
        yield from _known(field, getattr(sli, field), known)


_KNOWN: Mapping[type, tuple[str, Collection[str]]] = {
    SampleSli: ("of", SAMPLES),
    ShareSli: ("of", SHARES),
    RateSli: ("of", COUNTS),
    RatioSli: ("per", (*COUNTS, SECONDS)),
    GrowthSli: ("per", COUNTS),
    ServedSli: ("of", SERVER_FIGURES),
}
"""The field of an SLI that names what it counts, and the names that there are."""


def _compared(sli: RelativeSli) -> Iterator[str]:
    if sli.to == "prediction" and (not isinstance(sli.of, RateSli) or sli.of.of != "restarts"):
        yield "to is prediction, which is one of restarts; expected the rate of restarts"


def _unit(sli: RelativeSli) -> str:
    return {"ratio": "times", "percent": "%", "difference": sli.unit}[sli.by]


def _precondition(condition: Precondition) -> Iterator[str]:
    yield from _known("precondition", condition.fact, FACTS)
    bounds = (condition.at_most, condition.at_least, condition.at_most_per_core, condition.at_least_per_core)
    given = [each for each in bounds if each is not None]
    if not given:
        yield f"precondition {condition.fact} has no bound; expected at_most or at_least, with or without _per_core"
    elif not all(0 <= each < float("inf") for each in given):
        yield f"precondition {condition.fact}: bound {min(given):g}; expected a number that is not negative"


def _known(field: str, value: str, known: Iterable[str] | Mapping[str, object]) -> Iterator[str]:
    if value not in known:
        close = get_close_matches(value, tuple(known), n=1)
        yield f"{field} {value!r} is not known; expected {close[0] if close else ', '.join(sorted(known))}"


def _kind(row: SloRow) -> str:
    return str(row.figure.__struct_config__.tag)
