"""summary.md, for a GitHub job summary: a headline, everything but PASS, and the rest folded."""

import re
from collections.abc import Sequence

from crashloop.report.headline import Headline, headline
from crashloop.report.results import Results
from crashloop.report.standing import Standing, reported
from crashloop.report.text import counted, evidence_text, printable, shortened, took
from crashloop.verdict import Verdict

MAX_TABLE_BYTES = 450_000
"""Size of either table: GitHub drops a job summary of more than 1 MiB completely."""

MAX_FINDING = 400
"""Characters of a finding."""

_MARKUP = re.compile(r"([\\`*_\[\]|~#])")


def to_markdown(results: Results) -> str:
    """The summary."""
    counts = ", ".join(f"{number} {standing.label}" for standing, number in results.counts.items() if number)
    open_verdicts = [verdict for verdict in results.verdicts if Standing.of(verdict) is not Standing.PASS]
    blocks = [
        *markdown_headline(headline(results)),
        f"crashloop {escaped(results.suite)} on Kubernetes {escaped(results.kubernetes_version)}, "
        f"provider {escaped(results.provider)}{_nodes(results)}, scope {escaped(results.scope)}, "
        f"in {took(results.finished - results.started)}: {counted(len(results.verdicts), 'verdict')}"
        f"{f' ({counts})' if counts else ''}. Exit code {results.exit_code}.{_coverage(results)}",
    ]
    if open_verdicts:
        blocks += ["### Not PASS", verdict_table(open_verdicts, results)]
    if results.verdicts:
        blocks += [
            f"<details><summary>All {len(results.verdicts)} verdicts</summary>",
            verdict_table(results.verdicts, results),
            "</details>",
        ]
    blocks.append(f"The plots and the evidence are in report.html of run {code(results.run or results.suite)}.")
    return "\n\n".join(blocks) + "\n"


def markdown_headline(said: Headline) -> list[str]:
    """The first blocks of the summary of any run."""
    return [
        f"## {said.standing.symbol} {said.standing.label}: {escaped(said.sentence)}",
        escaped(said.meaning),
        f"**What to do:** {escaped(said.to_do)}",
    ]


def _coverage(results: Results) -> str:
    return "" if results.coverage is None else f" {escaped(results.coverage.sentence)}"


def _nodes(results: Results) -> str:
    """The image of the nodes, if they are made from one."""
    image = results.environment.get("node_image")
    return f" (nodes of {code(image)})" if isinstance(image, str) else ""


def verdict_table(verdicts: Sequence[Verdict], results: Results) -> str:
    """Verdicts of a run as a table."""
    return table(
        ("Outcome", "Requirement", "Scenario", "Profile", "Finding"),
        [_row(verdict, results) for verdict in verdicts],
        rest="results.json",
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, rest: str) -> str:
    """A table of Markdown cells; rows beyond MAX_TABLE_BYTES are referred to `rest`."""
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    size = 0
    for position, cells in enumerate(rows):
        row = f"| {' | '.join(cells)} |"
        size += len(row.encode())
        if size > MAX_TABLE_BYTES:
            return "\n".join([*lines, f"\n{len(rows) - position} more are in {rest}."])
        lines.append(row)
    return "\n".join(lines)


def _row(verdict: Verdict, results: Results) -> tuple[str, ...]:
    standing = Standing.of(verdict)
    findings = [escaped(shortened(each, MAX_FINDING)) for each in verdict.findings]
    if verdict.deviation is not None:
        findings.append(f"Known deviation {code(verdict.deviation)}.")
    if reported(verdict):
        findings.append(escaped(reported(verdict)))
    if verdict.evidence and standing.needs_attention:
        findings.append(f"Evidence: {escaped(evidence_text(verdict.evidence))}")
    sentence = results.requirement(verdict.requirement).sentence
    requirement = f"**{escaped(verdict.requirement)}** {escaped(sentence)}".strip()
    return (
        f"{standing.symbol} {standing.label}",
        requirement,
        code(verdict.scenario),
        code(verdict.profile),
        "<br>".join(findings),
    )


def escaped(text: str) -> str:
    """Text as one literal line, without markup or HTML."""
    plain = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKUP.sub(r"\\\1", plain).replace("\n", "<br>")


def code(text: str) -> str:
    """A name in code type; names with characters that a code span cannot hold are shown as text."""
    return f"`{text}`" if re.fullmatch(r"[\w.:/ -]+", text) else escaped(text)
