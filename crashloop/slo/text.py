"""SLO verdicts as sentences: value, samples, target, condition; then the error budget; then what is missing."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from crashloop.slo.estimates import BLOCK_S, LEAST_BLOCKS
from crashloop.slo.events import COUNTS, SAMPLES, SECONDS, SHARES
from crashloop.slo.measurements import SliResult, strength
from crashloop.slo.preconditions import fact_in_words, value_in_words
from crashloop.slo.rows import (
    ConservationSli,
    GaugeSli,
    GrowthSli,
    HistogramSli,
    KindsSli,
    MovesSli,
    Precondition,
    RateSli,
    RatioSli,
    ReadSli,
    SampleSli,
    ServedSli,
    ShareSli,
    SloRow,
)
from crashloop.slo.scrapes import NodeSample
from crashloop.slo.servers import SERVER_FIGURES
from crashloop.verdict import Outcome


class Story(NamedTuple):
    """The contents of a verdict's sentences."""

    row: SloRow
    outcome: Outcome
    shown: SliResult | None
    """The worst window and group."""
    facts: Mapping[str, float]
    obstacles: Sequence[str]
    """Sentences on obstacles to the judgement of windows: `broken`, and missing evidence."""
    judged: int
    """Windows and groups with enough samples for an outcome."""
    few: Sequence[SliResult]
    """Those with too few."""
    phase: str
    """Of the window that is shown; empty if there is none."""
    judged_in: Sequence[str]
    """Phases of the windows that were judged."""
    windows: int
    left_out: Sequence[str] = ()
    """Windows that do not count, with the reason: `unmet_in`."""
    sample: NodeSample | None = None
    """The nodes that the row's metric was scraped on, where that was not all of them."""


def verdict(story: Story) -> str:
    """The sentences of a verdict, in one line."""
    parts = (
        _promise,
        _sampled,
        _compared,
        _worst,
        _budget,
        _known,
        _strength,
        _unmoved,
        _bucket,
        _proven,
        _too_few,
        _left_out,
        _obstacles,
        _undecided,
    )
    return " ".join(sentence for part in parts for sentence in part(story))


def _promise(story: Story) -> Iterator[str]:
    row, target = story.row, story.row.target
    bound = f"target {target.word} {amount(target.bound, target.unit)}"
    promised = "reported without a target" if target.reported else bound
    yield f"{_seen(row, story.shown)}, {promised}, {_where(story)}{_load(row, story.facts)}."


def _sampled(story: Story) -> Iterator[str]:
    if story.sample is not None:
        yield f"Judged by {story.sample.words}."


def _compared(story: Story) -> Iterator[str]:
    if story.shown is not None and story.shown.compared:
        yield story.shown.compared


def _worst(story: Story) -> Iterator[str]:
    if story.shown is not None and story.shown.group and story.judged > 1:
        yield f"Shown is the worst of {story.judged}: {_group(story.shown)}."


def _budget(story: Story) -> Iterator[str]:
    shown, budget = story.shown, story.row.budget
    if budget and shown is not None and shown.bad is not None and shown.samples:
        yield f"{number(100 * shown.bad / shown.samples)} % missed the target, budget {number(100 * budget)} %."


def _known(story: Story) -> Iterator[str]:
    known = story.row.deviation
    if known is not None and story.outcome is Outcome.FAIL and story.shown and story.row.explains(story.shown.value):
        yield f"A known deviation: {known.sentence}"


def _strength(story: Story) -> Iterator[str]:
    shown, budget = story.shown, story.row.budget
    if story.outcome not in (Outcome.PASS, Outcome.FAIL) or not budget or shown is None or shown.bad is None:
        return
    known = shown.effective_samples
    found = strength(shown.bad, shown.samples, known, budget, kept=story.outcome is Outcome.PASS)
    yield f"The evidence is {found} ({'unknown' if known is None else number(known)} effective samples)."


def _unmoved(story: Story) -> Iterator[str]:
    if isinstance(story.row.sli, MovesSli | KindsSli) and story.shown is not None:
        yield from story.shown.notes


def _bucket(story: Story) -> Iterator[str]:
    shown, bound = story.shown, story.row.target.bound
    if shown is None or shown.edges is None:
        return
    lower, upper = shown.edges
    if lower < bound and (upper is None or bound < upper):
        yield f"The target lies inside the bucket {_bounds(lower, upper)}: the share of its samples that keep it is unknown."


def _too_few(story: Story) -> Iterator[str]:
    if not story.few:
        return
    needed = f"the {story.row.min_samples} {noun(story.row)} needed"
    if not story.judged:
        most = max(each.samples for each in story.few)
        yield f"{_counted(most, story.row)} {'is' if most == 1 else 'are'} fewer than {needed}."
        return
    few, all_parts, names = (
        len(story.few),
        story.judged + len(story.few),
        tuple(dict.fromkeys(each.phase for each in story.few)),
    )
    them = "was" if few == 1 else "were"
    if any(each.group for each in story.few):
        yield f"{few} of {all_parts} groups and phases had fewer than {needed} and {them} not judged."
    elif len(names) == few and not set(names) & set(story.judged_in):
        phases = f"Phase {names[0]}" if few == 1 else f"Phases {', '.join(names[:-1])} and {names[-1]}"
        yield f"{phases} had fewer than {needed} and {them} not judged."
    else:
        yield f"{few} of {all_parts} phases had fewer than {needed} and {them} not judged."


def _proven(story: Story) -> Iterator[str]:
    shown, least = story.shown, story.row.min_samples
    if story.outcome is Outcome.FAIL and shown is not None and shown.samples < least:
        yield f"That is more than may miss it of the {least} {noun(story.row)} needed."


def _left_out(story: Story) -> Iterator[str]:
    if story.left_out:
        yield f"Left out: {'; '.join(story.left_out)}."


def _obstacles(story: Story) -> Iterator[str]:
    yield from story.obstacles


def _undecided(story: Story) -> Iterator[str]:
    undecided = story.outcome is Outcome.INCONCLUSIVE and story.judged and not story.obstacles
    if undecided and story.row.decided_by == "interval":
        spread = story.shown.interval if story.shown else None
        if spread is None or (spread.lower is None and spread.upper is None):
            yield f"Its spread is unknown: fewer than {LEAST_BLOCKS} blocks of {BLOCK_S:g} s have samples."
        else:
            yield "The target lies within the interval."


def _seen(row: SloRow, result: SliResult | None) -> str:
    if result is None or result.value is None:
        return f"no {noun(row)} seen"
    prefix = f"p{row.percentile:g} " if row.percentile is not None else ""
    lower, upper = result.edges or (None, None)
    more = "more than " if lower is not None and upper is None else ""
    value = f"{prefix}{more}{amount(result.value, row.target.unit)}"
    if lower is not None:
        value += f" (in the bucket {_bounds(lower, upper)})"
    value += f" of {_counted(result.samples, row)}"
    spread = result.interval
    bounds = None if spread is None else spread.bounds
    if spread is None or bounds is None or bounds[0] == bounds[1]:
        return value
    kind = (
        "by starts near the ends"
        if isinstance(row.sli, ConservationSli)
        else f"{100 * spread.confidence:g} % within this run"
    )
    return f"{value} ({kind} {' to '.join(map(number, bounds))})"


def _where(story: Story) -> str:
    """The judged part of the run; with unjudged parts, the shown phase is named."""
    if isinstance(story.row.sli, ConservationSli) or (isinstance(story.row.sli, ShareSli) and story.row.phase is None):
        return "the whole run"
    if not story.phase or (story.shown is None and story.windows > 1):
        return f"phase {story.row.phase}" if story.row.phase else "every phase"
    if len(story.judged_in) < story.windows or len(set(story.judged_in)) == 1:
        return f"phase {story.phase}"
    return f"every phase, the worst is {story.phase}"


def _load(row: SloRow, facts: Mapping[str, float]) -> str:
    stated = [fact_in_words(each.fact, facts[each.fact]) for each in row.preconditions if each.fact in facts]
    return f" at {', '.join(stated)}" if stated else ""


def broken(conditions: Iterable[Precondition], facts: Mapping[str, float], phase: str) -> Iterator[str]:
    """One sentence per precondition that is not met, or unknown, in a phase."""
    return (f"Precondition not met in phase {phase}: {each}." for each in unmet(conditions, facts))


def unmet_in(conditions: Iterable[Precondition], facts: Mapping[str, float], phase: str) -> str:
    """`phase storm (8 pods per node, at least 16 is promised)`."""
    return f"phase {phase} ({', '.join(unmet(conditions, facts))})"


def unmet(conditions: Iterable[Precondition], facts: Mapping[str, float]) -> Iterator[str]:
    """What is there instead of each precondition that is not met, or unknown."""
    return filter(None, (_unmet(each, facts) for each in conditions))


def _unmet(condition: Precondition, facts: Mapping[str, float]) -> str | None:
    value = facts.get(condition.fact)
    if value is None:
        return f"{condition.fact} is not known"
    most, least = condition.most(facts.get("cores")), condition.least(facts.get("cores"))
    if condition.depends_on_cores and "cores" not in facts:
        return f"{condition.fact} depends on cores, which is not known"
    if most is not None and value > most:
        return f"{fact_in_words(condition.fact, value)}, at most {value_in_words(condition.fact, most)} is promised"
    if least is not None and value < least:
        return f"{fact_in_words(condition.fact, value)}, at least {value_in_words(condition.fact, least)} is promised"
    return None


_NOUNS: Mapping[type, Callable[[Any], str]] = {
    HistogramSli: lambda sli: sli.of,
    KindsSli: lambda sli: sli.of,
    SampleSli: lambda sli: SAMPLES[sli.of].of,
    ShareSli: lambda sli: SHARES[sli.of].of,
    RateSli: lambda sli: COUNTS[sli.of].of,
    RatioSli: lambda sli: SECONDS if sli.per == SECONDS else COUNTS[sli.per].of,
    MovesSli: lambda _: COUNTS["restarts"].of,
    GrowthSli: lambda sli: COUNTS[sli.per].of,
    GaugeSli: lambda _: "scrapes",
    ReadSli: lambda _: "reads",
    ServedSli: lambda sli: SERVER_FIGURES[sli.of].of,
    ConservationSli: lambda _: "container starts",
}


def noun(row: SloRow) -> str:
    """What one sample of a row is, in plural."""
    return _NOUNS[type(row.figure)](row.figure)


def _counted(number_of: int, row: SloRow) -> str:
    """`1 request`, `1,180 restarts`; names, such as RestartAllContainers, have no singular."""
    many = noun(row)
    singular = number_of == 1 and many.islower()
    return f"{number_of:,} {many.removesuffix('s') if singular else many}"


def number(value: float) -> str:
    """Without needless digits: 1,180, 3.4, 0.022."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def amount(value: float, unit: str) -> str:
    """`3 starts`, `1 start`; only what is counted has a singular: `1 s`, `1 times`, `1 requests/s`."""
    shown = number(value)
    counts = unit not in ("s", "times") and "/" not in unit
    return f"{shown} {unit.removesuffix('s') if counts and shown == '1' else unit}"


def _bounds(lower: float, upper: float | None) -> str:
    return f"above {number(lower)}" if upper is None else f"from {number(lower)} to {number(upper)}"


def _group(result: SliResult) -> str:
    return ", ".join(f"{name} {value or '(none)'}" for name, value in result.group.items())
