"""summary.md, for a GitHub job summary: a headline, what is not PASS, and everything else folded away."""

import re
from collections.abc import Sequence

from crashloop.report.headline import headline
from crashloop.report.results import Results
from crashloop.report.standing import Standing
from crashloop.report.text import evidence_text, printable, shortened, took
from crashloop.verdict import Verdict

MAX_TABLE_BYTES = 450_000
"""Size of each of the two tables: GitHub drops a job summary of more than 1 MiB whole."""

MAX_FINDING = 400
"""Characters of a finding."""

_MARKUP = re.compile(r"([\\`*_\[\]|~#])")


def to_markdown(results: Results) -> str:
    """The summary."""
    said = headline(results)
    counts = ", ".join(f"{number} {standing.label}" for standing, number in results.counts.items() if number)
    open_verdicts = [verdict for verdict in results.verdicts if Standing.of(verdict) is not Standing.PASS]
    blocks = [
        f"## {said.standing.symbol} {said.standing.label}: {_escaped(said.sentence)}",
        f"{_escaped(said.meaning)}",
        f"**What to do:** {_escaped(said.to_do)}",
        f"crashloop {_escaped(results.suite)} on Kubernetes {_escaped(results.kubernetes_version)}, "
        f"provider {_escaped(results.provider)}, scope {_escaped(results.scope)}, "
        f"in {took(results.finished - results.started)}: {counts or 'no verdicts'}. Exit code {results.exit_code}.",
    ]
    if open_verdicts:
        blocks += ["### Not PASS", _table(open_verdicts, results)]
    if results.verdicts:
        blocks += [
            f"<details><summary>All {len(results.verdicts)} verdicts</summary>",
            _table(results.verdicts, results),
            "</details>",
        ]
    blocks.append(f"The plots and the evidence are in report.html of run {_code(results.run or results.suite)}.")
    return "\n\n".join(blocks) + "\n"


def _table(verdicts: Sequence[Verdict], results: Results) -> str:
    lines = ["| Outcome | Requirement | Scenario | Profile | Finding |", "|---|---|---|---|---|"]
    size = 0
    for position, verdict in enumerate(verdicts):
        row = _row(verdict, results)
        size += len(row.encode())
        if size > MAX_TABLE_BYTES:
            return "\n".join([*lines, f"\n{len(verdicts) - position} more are in results.json."])
        lines.append(row)
    return "\n".join(lines)


def _row(verdict: Verdict, results: Results) -> str:
    standing = Standing.of(verdict)
    findings = [_escaped(shortened(each, MAX_FINDING)) for each in verdict.findings]
    if verdict.deviation is not None:
        findings.append(f"Known deviation {_code(verdict.deviation)}.")
    if verdict.evidence and standing.needs_attention:
        findings.append(f"Evidence: {_escaped(evidence_text(verdict.evidence))}")
    sentence = results.requirement(verdict.requirement).sentence
    requirement = f"**{_escaped(verdict.requirement)}** {_escaped(sentence)}".strip()
    cells = (
        f"{standing.symbol} {standing.label}",
        requirement,
        _code(verdict.scenario),
        _code(verdict.profile),
        "<br>".join(findings),
    )
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Text that is shown as it is: no markup, no HTML, one line."""
    plain = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKUP.sub(r"\\\1", plain).replace("\n", "<br>")


def _code(text: str) -> str:
    """A name in code type; names with characters that a code span cannot hold are shown as text."""
    return f"`{text}`" if re.fullmatch(r"[\w.:/ -]+", text) else _escaped(text)
