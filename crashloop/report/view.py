"""What report.html shows, laid out: rows, links and anchors. The template only writes it down."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import yaml

from crashloop.report.curves import DELAYS, PlottedCurve
from crashloop.report.flatten import flattened
from crashloop.report.headline import Headline, headline
from crashloop.report.panels import Panel, panels_of
from crashloop.report.results import DeviationText, ProfileSummary, RequirementText, Results
from crashloop.report.standing import Standing, reported, worst_standing
from crashloop.report.text import anchor_of, counted, lines_text, took
from crashloop.verdict import Evidence, Outcome, Verdict


class Source(NamedTuple):
    """Where a finding stands; `href` is relative to the run directory, None if the name cannot be one of its files."""

    file: str
    href: str | None
    lines: str


class Row(NamedTuple):
    """One verdict of the table."""

    anchor: str | None
    """Of the requirement, on its first row only."""
    standing: Standing
    requirement: RequirementText
    scenario: str
    profile: str
    said: str
    """The first finding, or what the verdict rests on."""
    more: tuple[str, ...]
    sources: tuple[Source, ...]
    facts: tuple[tuple[str, str], ...]
    panels: tuple[tuple[str, str], ...]
    """Anchor and container of each plot that shows its delays."""
    deviation: str | None
    reported: str
    """What became of a requirement that is only reported."""


class Chip(NamedTuple):
    """A requirement at a glance."""

    number: str
    href: str
    standing: Standing
    title: str


class Share(NamedTuple):
    """A piece of the bar of counts, in percent of its width."""

    standing: Standing
    number: int
    x: float
    width: float


class ProfileBlock(NamedTuple):
    profile: ProfileSummary
    yaml: str
    panels: tuple[Panel, ...]


class DeviationBlock(NamedTuple):
    deviation: DeviationText
    href: str | None
    verdicts: tuple[Verdict, ...]


class View(NamedTuple):
    """The contents of the page."""

    results: Results
    headline: Headline
    took: str
    shares: tuple[Share, ...]
    topics: tuple[tuple[str, tuple[Chip, ...]], ...]
    rows: tuple[Row, ...]
    profiles: tuple[ProfileBlock, ...]
    deviations: tuple[DeviationBlock, ...]
    environment: tuple[tuple[str, str], ...]
    judge_again: str
    record_again: str


def view_of(results: Results) -> View:
    """Lay the results out."""
    return View(
        results=results,
        headline=headline(results),
        took=took(results.finished - results.started),
        shares=_shares(results),
        topics=_topics(results),
        rows=verdict_rows(results),
        profiles=_profiles(results),
        deviations=tuple(
            DeviationBlock(each, web_link(each.link), tuple(v for v in results.verdicts if v.deviation == each.id))
            for each in results.deviations
        ),
        environment=tuple(flattened(results.environment)),
        judge_again=f"crashloop analyze {results.run or 'RUN'}",
        record_again=(
            f"pytest suites/{results.suite} --provider {results.provider} --scope {results.scope} "
            f"--kubernetes-version {results.kubernetes_version}"
        ),
    )


def web_link(link: str | None) -> str | None:
    """The link if it leads to a web page, else None: `javascript:` and its like are shown, never followed."""
    try:
        parts = urlsplit(link or "")
    except ValueError:
        return None
    return link if parts.scheme in ("http", "https") and parts.netloc else None


def source_of(evidence: Evidence) -> Source:
    """A pointer into the run directory."""
    parts = evidence.file.split("/")
    inside = all(part not in ("", ".", "..") for part in parts)
    return Source(evidence.file, quote(evidence.file) if inside else None, lines_text(evidence.lines))


def verdict_rows(results: Results) -> tuple[Row, ...]:
    """One row a verdict, in their order."""
    anchored: set[str] = set()
    rows = []
    for verdict in results.verdicts:
        anchor = anchor_of(verdict.requirement)
        rows.append(_row(results, verdict, None if anchor in anchored else anchor))
        anchored.add(anchor)
    return tuple(rows)


def _row(results: Results, verdict: Verdict, anchor: str | None) -> Row:
    return Row(
        anchor=anchor,
        standing=Standing.of(verdict),
        requirement=results.requirement(verdict.requirement),
        scenario=verdict.scenario,
        profile=verdict.profile,
        said=verdict.findings[0] if verdict.findings else what_it_rests_on(verdict.facts),
        more=verdict.findings[1:],
        sources=tuple(source_of(each) for each in verdict.evidence),
        facts=tuple(flattened({key: value for key, value in verdict.facts.items() if key != DELAYS})),
        panels=tuple(
            (panel_anchor(position), curve.container)
            for position, curve in enumerate(results.curves)
            if curve.scenario == verdict.scenario and verdict.requirement in curve.requirements
        ),
        deviation=verdict.deviation,
        reported=reported(verdict),
    )


def what_it_rests_on(facts: Mapping[str, Any]) -> str:
    """What a verdict without a finding rests on, by its facts."""
    if delays := facts.get(DELAYS):
        return f"{counted(len(delays), 'delay')} judged"
    if answers := facts.get("answers"):
        return f"{counted(len(answers), 'answer')} judged"
    if pods := facts.get("pods"):
        decided = sum(number for outcome, number in pods.items() if outcome != Outcome.INCONCLUSIVE)
        return f"{decided} of {counted(sum(pods.values()), 'pod')} judged"
    return "as required"


def panel_anchor(position: int) -> str:
    return f"curve-{position + 1}"


def _shares(results: Results) -> tuple[Share, ...]:
    total = max(1, len(results.verdicts))
    shares, x = [], 0.0
    for standing, number in results.counts.items():
        width = 100 * number / total
        shares.append(Share(standing, number, x, width))
        x += width
    return tuple(shares)


def _topics(results: Results) -> tuple[tuple[str, tuple[Chip, ...]], ...]:
    judged = {verdict.requirement for verdict in results.verdicts}
    present = [each for each in results.requirements if each.id in judged]
    grouped = groupby(present, key=lambda each: _topic_and_number(each.id)[0])
    return tuple((topic, tuple(_chip(results, each) for each in group)) for topic, group in grouped)


def _topic_and_number(requirement: str) -> tuple[str, str]:
    number = requirement[len(requirement.rstrip("0123456789")) :]
    return requirement.removesuffix(number).rstrip("-"), number


def _chip(results: Results, requirement: RequirementText) -> Chip:
    verdicts = [verdict for verdict in results.verdicts if verdict.requirement == requirement.id]
    standing = worst_standing(verdicts)
    return Chip(
        number=_topic_and_number(requirement.id)[1],
        href=f"#{anchor_of(requirement.id)}",
        standing=standing,
        title=f"{requirement.id}: {standing.label} ({counted(len(verdicts), 'scenario')}). {requirement.sentence}",
    )


def _profiles(results: Results) -> tuple[ProfileBlock, ...]:
    """Profiles with plots first: those without were only tried."""
    numbered = [(panel_anchor(position), curve) for position, curve in enumerate(results.curves)]

    def block(profile: ProfileSummary) -> ProfileBlock:
        curves: list[tuple[str, PlottedCurve]] = [(anchor, c) for anchor, c in numbered if c.profile == profile.name]
        return ProfileBlock(profile, config_yaml(profile), panels_of(curves))

    return tuple(sorted(map(block, results.profiles), key=lambda each: not each.panels))


def config_yaml(profile: ProfileSummary) -> str:
    """The KubeletConfiguration fragment as a person would write it."""
    if not profile.config:
        return "# nothing is set: the kubelet's defaults\n"
    return yaml.safe_dump(profile.config, sort_keys=False, default_flow_style=False, allow_unicode=True)
