"""`crashloop alerts`: which of the user's alerts recorded crash loops fire, by Prometheus' own promtool."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crashloop.cli.command import Command, Example, JsonOption, epilog, out, print_json, print_table, seconds
from crashloop.cli.suites import mention
from crashloop.errors import UsageError
from crashloop.verdict import ExitCode
from crashloop.words import count

if TYPE_CHECKING:
    from crashloop.alerts.answer import AlertRow, Alerts

MOST_SCRAPES = 20_000
"""A week, every 30 s."""


def alerts(
    rules: Annotated[
        Path, typer.Argument(metavar="RULES.yaml", help="Rules of Prometheus, or PrometheusRules of its operator.")
    ],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Directories of conformance runs.")],
    scrape: Annotated[
        str,
        typer.Option("--scrape", metavar="DURATION", help="From scrape to scrape, and from evaluation to evaluation."),
    ] = "30s",
    for_: Annotated[str, typer.Option("--for", metavar="DURATION", help="How long each loop goes on.")] = "6h",
    phases: Annotated[
        int, typer.Option(metavar="N", min=1, max=100, help="Moments of the first scrape that are tried for each loop.")
    ] = 10,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Label of all series, such as cluster=prod or namespace=shop."),
    ] = None,
    must_fire: Annotated[
        str | None,
        typer.Option(
            "--must-fire",
            metavar="DURATION",
            help="Exit code 1 unless an alert fires that soon in every phase of every loop, and none for healthy rollouts.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show which alerts of Prometheus recorded crash loops fire, and when. promtool evaluates the rules."""
    from crashloop.alerts.answer import LABELS, Sampling, alerts_of
    from crashloop.alerts.loops import loops_of
    from crashloop.alerts.rules import load_rules
    from crashloop.cluster.binaries.ensure import ensure_promtool
    from crashloop.progress import default_progress
    from crashloop.report.text import printable
    from crashloop.rundir import RunDir
    from crashloop.settings import resolve_settings

    sampling = Sampling(
        scrape_s=seconds("--scrape", scrape),
        until_s=seconds("--for", for_),
        phases=phases,
        labels=LABELS | dict(map(_label, label or ())),
    )
    within_s = None if must_fire is None else seconds("--must-fire", must_fire)
    if not 2 <= sampling.until_s / sampling.scrape_s <= MOST_SCRAPES:
        raise UsageError(f"--for {for_} with --scrape {scrape}: expected 2 to {MOST_SCRAPES} scrapes in that time.")
    promtool = ensure_promtool(resolve_settings(), default_progress())
    known = load_rules(rules, promtool)
    loops, left_out = loops_of(*map(RunDir.open, runs))
    if not loops:
        why = ", ".join(f"{number} {reason}" for reason, number in left_out.items()) or "no container restarts"
        raise UsageError(
            f"{', '.join(map(str, runs))}: no crash loop can be continued ({why}).\n"
            "Expected a pod that the run leaves alone, with two whole delays at its node's maximum."
        )
    answer = alerts_of(known, loops, left_out, sampling, promtool)
    if as_json:
        print_json(answer)
    else:
        print_table(("alert", "maximum", "loop", "CrashLoopBackOff shown", "result"), map(_cells, answer.rows))
        for line in _notes(answer):
            out.print(printable(line), markup=False, soft_wrap=True)
    fault = None if within_s is None else answer.fault(within_s)
    if fault is not None:
        mention(f"--must-fire {must_fire}: {fault}.")
        raise typer.Exit(ExitCode.FAIL)


def _label(given: str) -> tuple[str, str]:
    """Raises UsageError for what is no label of Prometheus."""
    name, sign, value = given.partition("=")
    if not sign or not re.fullmatch(r"[a-zA-Z_]\w*", name, re.ASCII) or '"' in value or "\\" in value:
        raise UsageError(f"--label {given!r}: expected NAME=VALUE, such as cluster=prod.")
    return name, value


def _cells(row: "AlertRow") -> tuple[str, ...]:
    shown = f"{row.shown_s:.1f} s of {row.cycle_s:.1f} s ({count(row.cycles, 'cycle')})"
    return row.alert, f"{row.maximum_s:g} s", row.scenario, shown, row.text


def _notes(answer: "Alerts") -> Iterator[str]:
    yield from (f"{answer.false_alarm(name)}." for name in answer.healthy)
    how = answer.sampling
    yield (
        f"Each loop as recorded up to its maximum, then its cycles there again and again: {how.until_s / 60:g} min in all, "
        f"scraped every {how.scrape_s:g} s at {count(how.phases, 'phase')}, as kube-state-metrics states its statuses."
    )
    for reason, number in answer.left_out.items():
        yield f"Left out: {number} {reason}."


ALERTS_EPILOG = epilog(
    Example("crashloop alerts rules.yaml runs/latest", "your own rules"),
    Example("crashloop alerts manifests/alerts/crash-loop.yaml runs/latest --must-fire 5m", "in a CI"),
    exit_codes="0 evaluated, 1 --must-fire is missed, 2 wrong usage, refused rules or no promtool, 70 ERROR, 130 interrupted",
)

COMMANDS = (Command(alerts, {"epilog": ALERTS_EPILOG}),)
