"""Verdicts on requirements in a document, what needs attention first and what passed folded; and the known deviations."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any
from urllib.parse import quote, urlsplit

from crashloop.report.causes import MOST_CARDS, cause_section, causes_of
from crashloop.report.curves import DELAYS, facts_of
from crashloop.report.document import (
    Article,
    Badge,
    Block,
    Bullets,
    Cell,
    Chip,
    Chips,
    Inline,
    Listing,
    Medium,
    Pairs,
    Paragraph,
    Row,
    Section,
    Span,
    Table,
)
from crashloop.report.results import DeviationText, RequirementText, Results, with_kubectl_alone
from crashloop.report.standing import Standing, reported, worst_standing
from crashloop.report.text import anchor_of, counted, flattened, lines_text
from crashloop.spec.requirement import Basis, Bound
from crashloop.verdict import COMPARED, FEWEST, Evidence, Outcome, Verdict
from crashloop.words import count

_QUIET = (Standing.PASS, Standing.SKIPPED)
_ATTENTION = tuple(each for each in Standing if each.needs_attention)
AS_REQUIRED = "as required"
VERDICTS_NOTE = (
    "One verdict per requirement and scenario. FAIL accuses Kubernetes, ERROR accuses this suite or the host, INCONCLUSIVE "
    "names the missing evidence, a known deviation is a FAIL that deviations.yaml explains, REPORTED does not count for the run."
)


def verdict_sections(results: Results, *, title: str = "Verdicts") -> tuple[Section, ...]:
    """What needs attention by its causes, the verdicts of a run, and the reasons of those without judgement."""
    rows = _verdict_rows(results)
    causes = causes_of(results)
    uncarded = _ATTENTION if len(causes) > MOST_CARDS else ()
    quiet = tuple(each for each in rows if each.tone in _QUIET)
    header = ("Outcome", "Requirement", "Scenario", "Finding")
    besides = tuple(each for each in rows if each.tone not in (*_ATTENTION, *_QUIET))
    skipped = tuple((", ".join(names), " ".join(reason)) for reason, names in _skipped_by_reason(results).items())
    return (
        cause_section(results, causes),
        Section(
            "verdicts",
            title,
            (
                Paragraph(VERDICTS_NOTE, "note", Medium.PAGE),
                _chips(results),
                Table(
                    header,
                    tuple(each for each in rows if each.tone in uncarded),
                    folded=tuple(each for each in rows if each.tone not in uncarded),
                    is_searchable=True,
                    on=Medium.PAGE,
                ),
                Table(header, besides, folded=quiet, on=Medium.SUMMARY),
            ),
            Medium.PAGE | Medium.SUMMARY,
        ),
        Section("besides", "Does not count for the run", (_besides(results),), Medium.TERMINAL),
        Section("skipped", "Skipped", (Pairs(skipped, Medium.ALL),) if skipped else ()),
    )


def _besides(results: Results) -> Table:
    """A line for each known deviation, wrong text, and requirement that is only reported."""
    found: dict[tuple[Standing, str], list[Verdict]] = {}
    for verdict in results.verdicts:
        standing = Standing.of(verdict)
        if not standing.needs_attention and standing not in _QUIET:
            found.setdefault((standing, verdict.deviation or verdict.requirement), []).append(verdict)
    return Table(
        ("outcome", "what", "seen by"),
        tuple(
            Row((Cell((Badge.of(standing),)), Cell(name), Cell(_names(verdicts))), standing)
            for (standing, name), verdicts in found.items()
        ),
        look="plain",
    )


def _names(verdicts: Sequence[Verdict]) -> str:
    return ", ".join(dict.fromkeys(f"{each.requirement} in {each.scenario}" for each in verdicts))


def _verdict_rows(results: Results) -> list[Row]:
    """One row a verdict, in their order; the first row of a requirement has its anchor."""
    rows: list[Row] = []
    anchors: set[str] = set()
    for verdict in results.verdicts:
        anchor = anchor_of(verdict.requirement)
        rows.append(_verdict_row(results, verdict, "" if anchor in anchors else anchor))
        anchors.add(anchor)
    return rows


def _verdict_row(results: Results, verdict: Verdict, anchor: str) -> Row:
    standing, requirement = Standing.of(verdict), results.requirement(verdict.requirement)
    said = verdict.findings[0] if verdict.findings else what_it_rests_on(verdict.facts)
    sentence = requirement.sentence or "Not in the catalogue that judged this run."
    return Row(
        (
            Cell((Badge.of(standing),)),
            Cell((Span(verdict.requirement, "id"),), sentence),
            Cell((Span(verdict.scenario, "scenario"), " ", Span(f"({verdict.profile})", "muted"))),
            Cell(said, details=_verdict_details(results, verdict, standing, requirement)),
        ),
        standing,
        anchor,
    )


def _verdict_details(
    results: Results, verdict: Verdict, standing: Standing, requirement: RequirementText
) -> tuple[Block, ...]:
    facts = tuple(
        flattened({key: value for key, value in verdict.facts.items() if key not in (DELAYS, COMPARED, FEWEST)})
    )
    page = Medium.PAGE
    evidence = page if standing in _QUIET else Medium.ALL
    parts: list[Block | None] = [
        *(Paragraph(finding, "said") for finding in verdict.findings[1:]),
        Paragraph(("Known deviation ", Span(verdict.deviation, href="#deviations"), "."))
        if verdict.deviation
        else None,
        Paragraph(reported(verdict)) if reported(verdict) else None,
        Paragraph(("Evidence: ", *_evidence_links(verdict.evidence)), on=evidence) if verdict.evidence else None,
        _links_to_curves(results, verdict),
        _links_to_timelines(results, verdict),
        Pairs(facts) if facts else None,
        Paragraph(_source_in_words(requirement), "muted", page) if requirement.source else None,
    ]
    return tuple(each for each in parts if each is not None)


def _evidence_links(evidence: tuple[Evidence, ...]) -> list[Inline]:
    parts: list[Inline] = []
    for each in evidence:
        lines = lines_text(each.lines)
        parts += ["; " if parts else "", Span(each.file, "code", href_of(each)), f" {lines}" if lines else ""]
    return parts


def href_of(evidence: Evidence) -> str | None:
    """The file, relative to the run directory; None if the name cannot be one of its files."""
    inside = all(part not in ("", ".", "..") for part in evidence.file.split("/"))
    return quote(evidence.file) if inside else None


def web_link(link: str | None) -> str | None:
    """The link if it leads to a web page, else None: `javascript:` and its like are shown, never followed."""
    try:
        parts = urlsplit(link or "")
    except ValueError:
        return None
    return link if parts.scheme in ("http", "https") and parts.netloc else None


def _links_to_curves(results: Results, verdict: Verdict) -> Paragraph | None:
    links: list[Inline] = []
    for position, curve in enumerate(results.curves):
        if curve.scenario in facts_of(verdict) and verdict.requirement in curve.requirements:
            links += [", " if links else "", Span(f'delays of "{curve.container}"', href=f"#{panel_anchor(position)}")]
    return Paragraph(("Curve: ", *links), on=Medium.PAGE) if links else None


def panel_anchor(position: int) -> str:
    return f"curve-{position + 1}"


def timeline_anchor(position: int) -> str:
    return f"timeline-{position + 1}"


def _links_to_timelines(results: Results, verdict: Verdict) -> Paragraph | None:
    """Links to the pods that it rests on."""
    scenarios = {each.scenario for each in verdict.evidence}
    links: list[Inline] = []
    for position, each in enumerate(results.timelines):
        if each.scenario in scenarios:
            links += [", " if links else "", Span(f"pod of {each.scenario}", href=f"#{timeline_anchor(position)}")]
    return Paragraph(("Timeline: ", *links), on=Medium.PAGE) if links else None


def _source_in_words(requirement: RequirementText) -> str:
    unpromised = " No text of Kubernetes promises it." if requirement.basis is Basis.SOURCE else ""
    ours = " The bound is ours: no text names a number." if requirement.bound is Bound.OURS else ""
    return f"Source: {requirement.source}.{unpromised}{ours} {requirement.note}".rstrip()


def what_it_rests_on(facts: Mapping[str, Any]) -> str:
    """What a verdict without a finding rests on, by its facts; a PASS by a single observation, where one is enough, says so."""
    fewest, judged = facts.get(FEWEST), _judged_in_words(facts)
    if fewest is None:
        return judged
    seen = f"{count(fewest['seen'], fewest['noun'], fewest['rest'])} seen, {fewest['needed']} needed"
    seen += " (one of one)" if fewest["seen"] == fewest["needed"] == 1 else ""
    return seen if judged == AS_REQUIRED else f"{judged}; {seen}"


def _judged_in_words(facts: Mapping[str, Any]) -> str:
    if estimate := facts.get("estimate"):
        return str(estimate)
    if delays := facts.get(DELAYS):
        return f"{counted(len(delays), 'delay')} judged"
    if compared := facts.get(COMPARED):
        return f"{counted(len(compared), 'scenario')} compared"
    if answers := facts.get("answers"):
        return f"{counted(len(answers), 'answer')} judged"
    if job := facts.get("job"):
        return f"{job['end']} after {counted(len(job['restarts']), 'pod')}"
    if pods := facts.get("pods"):
        decided = sum(number for outcome, number in pods.items() if outcome != Outcome.INCONCLUSIVE)
        return f"{decided} of {counted(sum(pods.values()), 'pod')} judged"
    return AS_REQUIRED


def _skipped_by_reason(results: Results) -> dict[tuple[str, ...], dict[str, None]]:
    """Requirements by the reason: one missing capability can skip many."""
    by_reason: dict[tuple[str, ...], dict[str, None]] = {}
    for verdict in results.verdicts:
        if Standing.of(verdict) is Standing.SKIPPED:
            by_reason.setdefault(verdict.findings, {})[verdict.requirement] = None
    return by_reason


def _by_requirement(results: Results) -> list[tuple[RequirementText, list[Verdict]]]:
    """Judged requirements, in the order of the catalogue."""
    found: dict[str, list[Verdict]] = {}
    for verdict in results.verdicts:
        found.setdefault(verdict.requirement, []).append(verdict)
    return [(each, found[each.id]) for each in results.requirements if each.id in found]


def _chips(results: Results) -> Chips:
    chips = [_chip(*each) for each in _by_requirement(results)]
    return Chips(
        tuple((topic, tuple(chip for _, chip in group)) for topic, group in groupby(chips, lambda each: each[0]))
    )


def _chip(requirement: RequirementText, verdicts: list[Verdict]) -> tuple[str, Chip]:
    standing = worst_standing(verdicts)
    title = f"{requirement.id}: {standing.label} ({counted(len(verdicts), 'scenario')}). {requirement.sentence}"
    number = requirement.id[len(requirement.id.rstrip("0123456789")) :]
    topic = requirement.id.removesuffix(number).rstrip("-")
    return topic, Chip(number, f"#{anchor_of(requirement.id)}", standing, title)


def deviations(results: Results, note: str) -> tuple[Block, ...]:
    """An article per known deviation with its verdicts, below a note; nothing without any."""
    if not results.deviations:
        return ()
    return (Paragraph(note, "note"), *(_deviation_article(each, results) for each in results.deviations))


def _deviation_article(deviation: DeviationText, results: Results) -> Article:
    link = deviation.link or ""
    verdicts = [each for each in results.verdicts if each.deviation == deviation.id]
    return Article(
        f"{deviation.id}: {', '.join(dict.fromkeys(each.requirement for each in verdicts))}",
        (
            Paragraph(deviation.sentence or "Not in the deviations.yaml that judged this run."),
            *((Paragraph(deviation.evidence, "muted"),) if deviation.evidence else ()),
            *((Paragraph((Span(link, "" if web_link(link) else "code", web_link(link)),)),) if link else ()),
            *(Listing(with_kubectl_alone(results, each.requirement)) for each in verdicts[:1]),
            Bullets(
                tuple(
                    (
                        Span(each.requirement, "id"),
                        " in ",
                        Span(each.scenario, "scenario"),
                        f" ({each.profile}){': ' if each.findings else ''}",
                        Span("\n".join(each.findings), "said"),
                    )
                    for each in verdicts
                )
            ),
        ),
        look="deviation",
        is_folded=True,
    )
