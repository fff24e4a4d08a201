"""The judge of SLOs: a row and the measurements, to one verdict.

Theory of operation. First the windows of the row, then the SLI in every window. Every group and window with enough samples
has to keep the target; one with too few is a FAIL only if it missed the target more often than `min_samples` would allow. A
window with a broken precondition or without evidence cannot FAIL, and prevents a PASS: there nothing was promised, or
nothing is known. For the requirement of a row only the windows count that have what the requirement takes for granted, if any
has it. An unknown metric is a fault of the row: ERROR.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from crashloop.errors import ObservationError
from crashloop.slo import text
from crashloop.slo.estimates import rank
from crashloop.slo.increase import UnknownMetric
from crashloop.slo.indicators import results
from crashloop.slo.measurements import Measured, Phase, SliResult, SloVerdict, Strength, strength
from crashloop.slo.metrics import COUNTER
from crashloop.slo.preconditions import facts_of
from crashloop.slo.relative import other_phase
from crashloop.slo.rows import ConservationSli, Precondition, ShareSli, SloRow
from crashloop.slo.scrapes import NodeSample, sample_of
from crashloop.verdict import Outcome, worst


def judge(row: SloRow, measured: Measured) -> SloVerdict:
    """The verdict of one row. Raises nothing: a crash of the judge is an ERROR."""
    return _guarded(row.for_itself, measured, ())


def judge_step(row: SloRow, measured: Measured) -> SloVerdict:
    """The verdict of one row in a step of a load whose limit is looked for, in the same way."""
    return _guarded(row, measured, ())


def judge_requirement(row: SloRow, measured: Measured) -> SloVerdict:
    """The verdict of one row on its requirement, in the same way."""
    return _guarded(row.for_requirement, measured, row.requirement_preconditions)


def _guarded(row: SloRow, measured: Measured, granted: Sequence[Precondition]) -> SloVerdict:
    try:
        return _judged_row(row, measured, granted)
    except UnknownMetric as fault:
        return _verdict_on_row(row, Outcome.ERROR, str(fault))
    except ObservationError as missing:
        return _verdict_on_row(row, Outcome.INCONCLUSIVE, str(missing))
    except Exception as crash:  # noqa: BLE001 - a crash of one judgement must not end the others
        crashed = (
            f"the judge crashed: {type(crash).__name__} {crash}. This is a fault of the suite; the samples are kept."
        )
        return _verdict_on_row(row, Outcome.ERROR, crashed)


class _Window(NamedTuple):
    """One window of a row."""

    phase: str
    facts: dict[str, float]
    obstacles: tuple[str, ...]
    """Broken preconditions and missing evidence."""
    results: tuple[SliResult, ...]


def windows(row: SloRow, measured: Measured) -> Iterator[Phase]:
    """The windows of a row: its phases, or whole slices of them. The rest of a phase is not judged.

    A phase that is shorter than a slice is one window. Conservation covers the whole recording, and a share for which the row
    names no phase covers all of them together, for events that are rare and belong to no load of a certain size.
    """
    if isinstance(row.sli, ConservationSli):
        yield from _whole_run(measured)
        return
    if isinstance(row.sli, ShareSli) and row.phase is None and measured.phases:
        yield _together(measured.phases)
        return
    for phase in measured.phases:
        if not row.judges(phase.name, phase.mix, phase.arm):
            continue
        slices = 0 if row.slice_s is None else int(phase.seconds // row.slice_s)
        if slices == 0:
            yield phase
        for number in range(slices):
            from_ns = phase.from_ns + round(number * (row.slice_s or 0) * 1e9)
            to_ns = from_ns + round((row.slice_s or 0) * 1e9)
            yield msgspec.structs.replace(phase, from_ns=from_ns, to_ns=to_ns)


def _together(phases: Sequence[Phase]) -> Phase:
    return Phase(name="run", from_ns=min(each.from_ns for each in phases), to_ns=max(each.to_ns for each in phases))


def _whole_run(measured: Measured) -> Iterator[Phase]:
    times = [t_ns for each in measured.scrapes if each.source.source == COUNTER.source for t_ns in each.t_ns]
    if not times:
        raise ObservationError(f"nothing was scraped from {COUNTER.source}.")
    yield Phase(name="run", from_ns=min(times), to_ns=max(times))


def _judged_row(row: SloRow, measured: Measured, granted: Sequence[Precondition]) -> SloVerdict:
    every = [_judged_window(row, measured, window, granted) for window in windows(row, measured)]
    parts = [part for part in every if not any(text.unmet(granted, part.facts))] or every
    if not parts:
        seen = ", ".join(dict.fromkeys(phase.label for phase in measured.phases)) or "none at all"
        asked = f"phase {', '.join(filter(None, (row.phase, *row.mixes, row.arm)))!r}" if row.phase else "phase"
        raise ObservationError(f"the run had no {asked}; it had {seen}.")
    each = [(part, result, _outcome_in(row, part, result)) for part in parts for result in part.results]
    outcomes = [outcome for _, _, outcome in each if outcome is not None]
    sure = [part for part in parts if any(one is part and found is not None for one, _, found in each)]
    hindered = [part for part in parts if part.obstacles]
    shown = min(each, key=lambda one: _badness(row, one[1], one[2]), default=None)
    decided = worst([*outcomes, *(Outcome.INCONCLUSIVE for _ in hindered)]) if outcomes else Outcome.INCONCLUSIVE
    story = text.Story(
        row=row,
        outcome=decided,
        shown=shown[1] if shown and shown[1].value is not None else None,
        facts=(shown[0] if shown else parts[0]).facts,
        obstacles=tuple(dict.fromkeys(obstacle for part in hindered for obstacle in part.obstacles)),
        judged=len(outcomes),
        few=tuple(result for _, result, outcome in each if outcome is None),
        phase=shown[1].phase if shown else "",
        judged_in=tuple(part.results[0].phase for part in sure),
        windows=len(every),
        left_out=tuple(text.unmet_in(granted, part.facts, part.phase) for part in every if part not in parts),
        sample=_node_sample(row, measured),
    )
    found = [result for _, result, _ in each]
    return _verdict_on_row(row, decided, text.verdict(story), shown=story.shown, found=found)


def _node_sample(row: SloRow, measured: Measured) -> NodeSample | None:
    """The sample of nodes that a row's metric was scraped on; None for all nodes, and for a row without metrics of nodes."""
    source = COUNTER.source if isinstance(row.sli, ConservationSli) else getattr(row.figure, "source", None)
    return None if source is None else sample_of(measured.scrapes, source)


def _judged_window(row: SloRow, measured: Measured, window: Phase, granted: Sequence[Precondition]) -> _Window:
    facts = facts_of(measured, window, _facts_needed((*row.preconditions, *granted)))
    obstacles = list(text.broken(row.preconditions, facts, window.label))
    try:
        if row.other is not None:
            other = other_phase(row.other, measured, window)
            there = facts_of(measured, other, _facts_needed(row.preconditions))
            obstacles += text.broken(row.preconditions, there, other.label)
        found = tuple(results(row, measured, window))
    except ObservationError as missing:
        return _Window(window.label, facts, (*obstacles, f"Phase {window.label}: {missing}"), ())
    return _Window(window.label, facts, tuple(obstacles), found)


def _facts_needed(conditions: Iterable[Precondition]) -> set[str]:
    return {name for each in conditions for name in each.facts}


def _outcome_in(row: SloRow, part: _Window, result: SliResult) -> Outcome | None:
    found = outcome(row, result)
    return Outcome.INCONCLUSIVE if part.obstacles and found is not None else found


def outcome(row: SloRow, result: SliResult) -> Outcome | None:
    """The outcome of one window and group; None with too few samples."""
    if result.value is None:
        return None
    if result.samples < row.min_samples:
        proven = row.percentile is not None and (result.bad or 0) > _allowed(row, row.min_samples)
        return Outcome.FAIL if proven else None
    if row.decided_by == "interval" and result.interval is not None:
        return _by_interval(row, result)
    if row.percentile is None or result.bad is None:
        return Outcome.PASS if row.target.keeps(result.value) else Outcome.FAIL
    allowed = _allowed(row, result.samples)
    if result.bad > allowed:
        return Outcome.FAIL
    most = result.bad if result.bad_at_most is None else result.bad_at_most
    return Outcome.PASS if most <= allowed else Outcome.INCONCLUSIVE


def _by_interval(row: SloRow, result: SliResult) -> Outcome:
    assert result.interval is not None
    best, least = result.interval.lower, result.interval.upper
    if row.target.at_least is not None:
        best, least = least, best
    if least is not None and row.target.keeps(least):
        return Outcome.PASS
    # A bucket excludes its lower edge.
    beyond = result.edges is not None and best is not None and best >= row.target.bound
    if beyond or (best is not None and not row.target.keeps(best)):
        return Outcome.FAIL
    return Outcome.INCONCLUSIVE


def _allowed(row: SloRow, samples: int) -> int:
    """How many samples may miss the target."""
    return samples - rank(row.percentile or 0.0, samples)


_WORST_FIRST = (Outcome.FAIL, Outcome.ERROR, Outcome.INCONCLUSIVE, Outcome.PASS, None)


def _badness(row: SloRow, result: SliResult, found: Outcome | None) -> tuple[int, float]:
    """Sort key; the smallest is shown: the worst outcome, and of these the worst value."""
    sign = 1 if row.target.at_least is not None else -1
    return _WORST_FIRST.index(found), sign * (result.value or 0.0)


def _verdict_on_row(
    row: SloRow,
    decided: Outcome,
    sentence: str,
    *,
    shown: SliResult | None = None,
    found: Iterable[SliResult] = (),
) -> SloVerdict:
    results = tuple(found)
    return SloVerdict(
        slo=row.id,
        outcome=decided,
        mode=row.mode,
        sentence=f"{row.id}: {sentence}",
        target=None if row.target.reported else row.target.bound,
        unit=row.target.unit,
        percentile=row.percentile,
        value=shown.value if shown else None,
        interval=shown.interval if shown else None,
        samples=shown.samples if shown else 0,
        budget=row.budget,
        budget_used=budget_used(row, shown) if shown else None,
        deviation=row.id if decided is Outcome.FAIL and shown is not None and row.explains(shown.value) else None,
        evidence=_strength_of_evidence(row, decided, shown) if shown else None,
        results=results,
        notes=tuple(dict.fromkeys(note for each in results for note in each.notes)),
    )


def _strength_of_evidence(row: SloRow, decided: Outcome, shown: SliResult) -> Strength | None:
    if decided not in (Outcome.PASS, Outcome.FAIL) or not row.budget or shown.bad is None or not shown.samples:
        return None
    return strength(shown.bad, shown.samples, shown.effective_samples, row.budget, kept=decided is Outcome.PASS)


def budget_used(row: SloRow, result: SliResult) -> float | None:
    """The share that missed the target, divided by the allowed share; None for an SLI without single samples."""
    if not row.budget or result.bad is None or not result.samples:
        return None
    return result.bad / result.samples / row.budget
