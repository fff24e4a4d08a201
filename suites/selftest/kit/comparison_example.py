"""Runs to compare, made from the example of the report: an older release on another day, and a run on kind.

`python -m suites.selftest.kit.comparison_example DIR` writes the pages into a folder.
"""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
from typer.testing import CliRunner, Result

from crashloop.cli import app
from crashloop.comparison.comparison import compare
from crashloop.comparison.document import comparison_document, matrix_document
from crashloop.comparison.matrix import matrix_of
from crashloop.comparison.side import JudgedRun
from crashloop.report.html import to_html
from crashloop.report.results import Results
from crashloop.verdict import Outcome, Verdict
from suites.selftest.kit.report_example import ENVIRONMENT, VERDICTS, example_results

Edit = Callable[[Verdict], Verdict | None]


def judged(results: Results, kubelet_binary: str | None = None) -> JudgedRun:
    return JudgedRun(results, kubelet_binary)


def edited(
    edits: dict[tuple[str, str], Edit],
    *,
    sooner_s: dict[str, float] | None = None,
    provider: str = "local",
    version: str = "1.37.1",
    run: str = "runs/20261120T160003Z-conformance",
) -> Results:
    """The example with some verdicts replaced, and the creates of some scenarios that much earlier."""
    sooner = sooner_s or {}
    verdicts = tuple(
        _shifted(verdict, sooner.get(verdict.scenario, 0.0))
        for verdict in _edited(VERDICTS, edits)
        if verdict is not None
    )
    return msgspec.structs.replace(
        example_results(verdicts),
        provider=provider,
        kubernetes_version=version,
        run=run,
        environment=_environment(version),
    )


def _edited(verdicts: Iterable[Verdict], edits: dict[tuple[str, str], Edit]) -> Iterable[Verdict | None]:
    return (edits.get((each.requirement, each.scenario), _as_it_is)(each) for each in verdicts)


def _as_it_is(verdict: Verdict) -> Verdict:
    return verdict


def _shifted(verdict: Verdict, sooner_s: float) -> Verdict:
    if not sooner_s or "delays" not in verdict.facts:
        return verdict
    rows = [{**row, "created_s": row["created_s"] - sooner_s} for row in verdict.facts["delays"]]
    return msgspec.structs.replace(verdict, facts={**verdict.facts, "delays": rows})


def _environment(version: str) -> dict[str, Any]:
    """Nodes of the version; the node of the skew profile stays what it is."""
    nodes = [{**node, "kubelet": node["kubelet"].replace("v1.37.1", f"v{version}")} for node in ENVIRONMENT["nodes"]]
    return {**ENVIRONMENT, "nodes": nodes}


def to(outcome: Outcome, *findings: str, deviation: str | None = None) -> Edit:
    """Another outcome with other findings."""
    return lambda verdict: msgspec.structs.replace(verdict, outcome=outcome, findings=findings, deviation=deviation)


def gone(_: Verdict) -> None:
    """The run did not judge it."""


OLDER = edited(
    {
        ("CAP-4", "crash-natural-max-1s"): to(Outcome.PASS),
        ("RULES-22", "rule-in-42-max-2s"): to(Outcome.PASS),
        ("RESET-4", "run-590s-max-20s"): to(Outcome.PASS),
        ("FAULT-2", "runtime-restart-max-2s"): to(Outcome.PASS),
        ("BACKOFF-11", "two-containers-stock"): to(
            Outcome.FAIL, 'restart 3 of "slow" came 4.1 s after the exit; 20 s was due.'
        ),
        ("DECAY-1", "crash-natural-reduced-decay"): to(Outcome.SKIPPED, "needs Kubernetes 1.37 or newer."),
        ("STORY-6", "sidecar-oom-max-1s"): gone,
    },
    sooner_s={"crash-natural-max-1s": 0.4},
    version="1.36.3",
)
"""What the example is compared with: an older release."""

NEWER = example_results()

ON_KIND = edited(
    {
        ("RULES-6", "rule-order-max-2s"): to(Outcome.PASS),
        ("FAULT-1", "kubelet-restart-max-2s"): to(
            Outcome.SKIPPED, "needs capability restart-kubelet; provider kind does not have it."
        ),
    },
    provider="kind",
    run="runs/20261121T170000Z-conformance",
)
"""The same release on another provider: what is not the same is only what a run lacked."""

AGAIN = edited(
    {
        ("CAP-4", "crash-natural-max-1s"): to(Outcome.PASS),
        ("FAULT-2", "runtime-restart-max-2s"): to(Outcome.PASS),
    },
    run="runs/20261121T180000Z-conformance",
)
"""The example once more on the next day, with what flakes."""

RUNS = (judged(NEWER), judged(OLDER), judged(ON_KIND), judged(AGAIN))

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    (folder / "comparison.html").write_text(to_html(comparison_document(compare(judged(OLDER), judged(NEWER)))))
    (folder / "matrix.html").write_text(to_html(matrix_document(matrix_of(RUNS))))


def crashloop(*arguments: object) -> Result:
    """A command, in this process."""
    return CliRunner().invoke(app, [str(each) for each in arguments])
