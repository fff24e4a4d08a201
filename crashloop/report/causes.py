"""What needs attention, by its cause: several requirements break by one restart, or by one statement, and views show it once.

A page has a card per cause: what happened, what it breaks, the seconds around it, the lines that prove it, and how to see it
again.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

from crashloop.report.document import (
    Article,
    Badge,
    Block,
    Cell,
    CurveKey,
    Figure,
    Figures,
    Inline,
    Listing,
    Medium,
    Paragraph,
    Row,
    Section,
    Span,
    Table,
    Words,
)
from crashloop.report.results import Results, run_again, with_kubectl_alone
from crashloop.report.standing import Standing
from crashloop.report.text import anchor_of, counted, lines_text, printable, seconds
from crashloop.report.timeline import Timeline, excerpt, timeline_svg, with_breach
from crashloop.verdict import Ground, Missed, Verdict


class Accusation(NamedTuple):
    """One finding of a verdict, in parts."""

    verdict: Verdict
    said: str
    """The finding without the requirement and the scenario before it."""
    ground: Ground

    @property
    def file(self) -> str:
        """The history that it rests on, below the run directory."""
        return f"history/{self.ground.scenario}.jsonl"


def missed_in_words(missed: Missed) -> str:
    """`0.7 s too early`."""
    late = missed.latest_s is not None
    off_s = missed.taken_s - (missed.due_s if missed.latest_s is None else missed.latest_s)
    return f"{seconds(abs(off_s))} s too {'late' if late else 'early'}"


class Cause(NamedTuple):
    """A restart, a statement or missing evidence, with every finding that rests on it."""

    accusations: tuple[Accusation, ...]
    """Worst first, and of these a restart outside of its window; there is at least one."""

    @property
    def first(self) -> Accusation:
        return self.accusations[0]

    @property
    def missed(self) -> Missed | None:
        """The first restart outside of its window that an accusation is about."""
        return next((each.ground.missed for each in self.accusations if each.ground.missed is not None), None)

    @property
    def standing(self) -> Standing:
        return Standing.of(self.first.verdict)

    @property
    def requirements(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.verdict.requirement for each in self.accusations))

    @property
    def profiles(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.ground.profile for each in self.accusations))

    @property
    def sentence(self) -> str:
        """What happened, with numbers: `restart 2 of app on node max-2s came 0.7 s too early: 1.3 s after the exit, …`."""
        where = f"on node {self.first.ground.profile}"
        if self.missed is None:
            named = self.first.ground.lines and len(self.profiles) == 1
            return f"{where}: {self.first.said}" if named else self.first.said
        missed = self.missed
        bound = f"{seconds(missed.due_s)} s was due"
        if missed.latest_s is not None:
            bound = f"{seconds(missed.latest_s)} s was the latest"
        when = f"{seconds(abs(missed.taken_s))} s {'before' if missed.taken_s < 0 else 'after'} the exit"
        created = "" if missed.verb == "came" else "created "
        return f"restart {missed.number} of {missed.container} {where} came {missed_in_words(missed)}: {created}{when}, {bound}."

    @property
    def others(self) -> tuple[str, ...]:
        """What was found in full, each once, without what the sentence says."""
        found = tuple(dict.fromkeys(each.said for each in self.accusations))
        return found[0 if self.missed is not None else 1 :]

    @property
    def around_requirements(self) -> tuple[str, str]:
        """The words before and after the requirements: it breaks them, or leaves them open."""
        return ("breaks ", "") if self.standing is Standing.FAIL else ("leaves ", " open")

    @property
    def broken_in_words(self) -> str:
        """`breaks BACKOFF-2, CAP-3`; of what is not decided, `leaves BACKOFF-2 open`."""
        before, after = self.around_requirements
        return f"{before}{', '.join(self.requirements)}{after}"


def causes_of(results: Results) -> tuple[Cause, ...]:
    """The causes of all verdicts that need attention, worst first, then those that break most.

    Findings have one cause if they rest on a common line of one history; without lines, if they say the same.
    """
    groups: list[list[Accusation]] = []
    homes: dict[object, int] = {}
    """The group that began with each line of a history, or with each finding without lines."""
    seeds = sorted(
        (each for verdict in results.verdicts if Standing.of(verdict).needs_attention for each in _parts(verdict)),
        key=lambda each: (Standing.of(each.verdict).rank, len(each.ground.lines)),
    )
    for each in seeds:
        grounds: list[object] = [(each.ground.scenario, line) for line in each.ground.lines] or [each.said]
        home = min((homes[ground] for ground in grounds if ground in homes), default=None)
        if home is None:
            homes |= dict.fromkeys(grounds, len(groups))
            groups.append([each])
        elif each not in groups[home]:
            groups[home].append(each)
    for group in groups:
        group.sort(key=lambda each: (Standing.of(each.verdict).rank, each.ground.missed is None))
    return tuple(
        sorted(
            (Cause(tuple(group)) for group in groups), key=lambda each: (each.standing.rank, -len(each.requirements))
        )
    )


def _parts(verdict: Verdict) -> Iterator[Accusation]:
    findings = verdict.findings or (f"{Standing.of(verdict).label} without a finding.",)
    for finding, ground in zip(findings, verdict.grounds or _grounds_of_old(verdict, len(findings)), strict=True):
        said = finding.removeprefix(f"{verdict.requirement}: ").removeprefix(f"in {ground.scenario}")
        yield Accusation(verdict, said.removeprefix(f" ({ground.profile})").removeprefix(": "), ground)


def _grounds_of_old(verdict: Verdict, number: int) -> Iterable[Ground]:
    """Of a verdict that has none: its only history, and the lines of a finding that is alone."""
    only = verdict.evidence[0] if len(verdict.evidence) == 1 else None
    of_history = only is not None and only.file.startswith("history/")
    ground = Ground(
        scenario=only.scenario if only is not None and of_history else verdict.scenario,
        profile=verdict.profile,
        lines=only.lines if only is not None and of_history and number == 1 else (),
    )
    return (ground,) * number


def causes_by_verdict(causes: Iterable[Cause]) -> dict[tuple[str, str, str], str]:
    """The first cause of each verdict, with all that it breaks, by requirement, scenario and profile."""
    found: dict[tuple[str, str, str], str] = {}
    for cause in causes:
        said = f"Cause: {cause.sentence} It {cause.broken_in_words}."
        for each in cause.accusations:
            found.setdefault((each.verdict.requirement, each.verdict.scenario, each.verdict.profile), said)
    return found


def answer(results: Results, causes: Iterable[Cause]) -> str:
    """A FAIL as the reader asks for it: `Your kubelet ./kubelet restarts too early on 2 of 12 configurations`."""
    nodes = {each.name for each in results.profiles}
    broken: dict[str, list[Cause]] = {}
    for each in causes:
        if each.standing is Standing.FAIL:
            broken.setdefault(_what(each), []).append(each)
    parts = []
    for what, mine in broken.items():
        on = {name for each in mine for name in each.profiles} & nodes
        where = f" on {len(on)} of {counted(len(nodes), 'configuration')}" if on else ""
        parts.append(f"{what}{where}")
    whose = "The kubelet" if results.kubelet_binary is None else f"Your kubelet {results.kubelet_binary}"
    return f"{whose} {', and '.join(parts)}"


def _what(cause: Cause) -> str:
    if cause.missed is None:
        return "does not behave as required"
    return "restarts too early" if cause.missed.latest_s is None else "restarts too late"


MOST_CARDS = 30
"""Of a page; text media have a row for each cause."""
MOST_NAMED = 3
"""Places where the same was found, by name."""


def cause_section(results: Results, causes: Sequence[Cause]) -> Section:
    """Every cause: cards on a page, rows elsewhere."""
    if not causes:
        return Section("causes", "", ())
    rows = tuple(_row(each, results) for each in causes)
    more = len(causes) - MOST_CARDS
    cards = tuple(_card(position, each, results) for position, each in enumerate(causes[:MOST_CARDS]))
    has_timeline = any(isinstance(block, Figures) for card in cards for block in card.blocks)
    return Section(
        "causes",
        f"What needs attention: {counted(len(causes), 'cause')}",
        (
            *cards,
            *(
                (Paragraph(f"{counted(more, 'further cause')} below, in the verdicts.", on=Medium.PAGE),)
                if more > 0
                else ()
            ),
            *((CurveKey("timelines"),) if has_timeline else ()),
            Table(("Outcome", "What happened", "What that means"), rows, on=Medium.TEXT),
        ),
    )


def _row(cause: Cause, results: Results) -> Row:
    """For text media: outcome, what happened, and what that breaks with its evidence."""
    evidence = _evidence(cause.first)
    details = (
        *(Paragraph(each, "said") for each in cause.others[:MOST_NAMED]),
        *((Paragraph(f"Evidence: {evidence}."),) if evidence else ()),
        Paragraph(f"Again: {run_again(results, cause.requirements[:1])}"),
    )
    what = Cell(
        f"{_capital(cause.broken_in_words)}.{_where(cause)} {_promise(cause, results)}".rstrip(), details=details
    )
    return Row((Cell((Badge.of(cause.standing),)), Cell(cause.sentence), what), cause.standing)


def _promise(cause: Cause, results: Results) -> str:
    """The sentence of the first requirement, from the catalogue."""
    requirement = results.requirement(cause.requirements[0])
    return f"{requirement.id}: {requirement.sentence}" if requirement.sentence else ""


def _where(cause: Cause) -> str:
    """The scenarios, as far as there is room."""
    names = tuple(dict.fromkeys(f"{each.ground.scenario} ({each.ground.profile})" for each in cause.accusations))
    more = len(names) - MOST_NAMED
    return f" In {', '.join(names[:MOST_NAMED])}{f' and {more} more' if more > 0 else ''}."


def _evidence(accusation: Accusation) -> str:
    lines = lines_text(accusation.ground.lines)
    return f"{accusation.file} {lines}" if lines else ""


def _card(position: int, cause: Cause, results: Results) -> Article:
    picture = _picture(position, cause, results.timelines)
    quotes = [
        f"{each.line}: {printable(each.text)}"
        for each in results.quotes
        if each.scenario == cause.first.ground.scenario and each.line in cause.first.ground.lines
    ]
    links: list[Inline] = []
    for name in cause.requirements:
        links += [", " if links else "", Span(name, href=f"#{anchor_of(name)}")]
    before, after = cause.around_requirements
    blocks: tuple[Block | None, ...] = (
        Paragraph((_capital(before), *links, f"{after}.{_where(cause)}")),
        Paragraph(_promise(cause, results), "muted"),
        picture,
        *(Paragraph(each, "said") for each in cause.others),
        Paragraph(("Evidence: ", _link(cause.first), f" {lines_text(cause.first.ground.lines)}."))
        if cause.first.ground.lines
        else None,
        Listing("\n".join(quotes)) if quotes else None,
        Listing(f"{run_again(results, cause.requirements[:1])}\n{with_kubectl_alone(results, cause.requirements[0])}"),
    )
    heading: Words = (Badge.of(cause.standing), " ", Span(_capital(cause.sentence), "said"))
    return Article(heading, tuple(each for each in blocks if each is not None), look=f"cause {cause.standing.value}")


def _link(accusation: Accusation) -> Span:
    return Span(accusation.file, "code", quote(accusation.file))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _picture(position: int, cause: Cause, timelines: Iterable[Timeline]) -> Figures | None:
    """The seconds around the breach; None without a history of it."""
    marked = next(filter(None, (_marked(each, cause) for each in timelines)), None)
    if marked is None:
        return None
    name = f"cause-{position + 1}"
    figure = Figure("", timeline_svg(excerpt(marked), name=name), f"Pod {marked.pod}.", emphasis="muted", anchor=name)
    return Figures((figure,), look="timelines")


def _marked(timeline: Timeline, cause: Cause) -> Timeline | None:
    ground = cause.first.ground
    if timeline.scenario != ground.scenario or not ground.lines:
        return None
    missed = cause.missed
    if missed is None:
        return with_breach(timeline, ground.lines[-1:], cause.standing.label)
    bound_s = missed.due_s if missed.latest_s is None else missed.latest_s
    from_s, to_s = sorted((missed.taken_s, bound_s))
    return with_breach(timeline, ground.lines[:1], missed_in_words(missed), from_s=from_s, to_s=to_s)
