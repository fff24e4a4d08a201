"""`crashloop alerts`: which of the user's alerts recorded crash loops fire, by Prometheus' own promtool."""

from pathlib import Path
from typing import Annotated

import typer

from crashloop.cli.command import Command, Example, JsonOption, epilog, out, print_json, print_table, seconds
from crashloop.errors import UsageError
from crashloop.verdict import ExitCode


def alerts(
    rules: Annotated[Path, typer.Argument(metavar="RULES.yaml", help="Rules of Prometheus.")],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Directories of conformance runs.")],
    scrape: Annotated[
        str,
        typer.Option("--scrape", metavar="DURATION", help="From scrape to scrape, and from evaluation to evaluation."),
    ] = "30s",
    for_: Annotated[str, typer.Option("--for", metavar="DURATION", help="How long each loop goes on.")] = "6h",
    phases: Annotated[
        int, typer.Option(metavar="N", min=1, max=100, help="Moments of the first scrape that are tried for each loop.")
    ] = 10,
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
    from crashloop.alerts.answer import Sampling, alerts_of
    from crashloop.alerts.loops import loops_of
    from crashloop.alerts.promtool import load_rules
    from crashloop.cluster.binaries.ensure import ensure_promtool
    from crashloop.progress import default_progress
    from crashloop.rundir import RunDir
    from crashloop.settings import resolve_settings

    sampling = Sampling(scrape_s=seconds("--scrape", scrape), until_s=seconds("--for", for_), phases=phases)
    within_s = None if must_fire is None else seconds("--must-fire", must_fire)
    if sampling.until_s < sampling.scrape_s:
        raise UsageError(f"--for {for_}: is shorter than --scrape {scrape}; expected several scrapes.")
    promtool = ensure_promtool(resolve_settings(), default_progress())
    known = load_rules(rules, promtool)
    found = [loops_of(RunDir.open(each)) for each in runs]
    loops = [loop for each, _ in found for loop in each]
    left_out = sum((each for _, each in found), start=type(found[0][1])())
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
        print_table(
            ("alert", "maximum", "loop", "CrashLoopBackOff shown", "result"),
            (
                (
                    row.alert,
                    f"{row.maximum_s:g} s",
                    row.scenario,
                    f"{row.shown_s:.1f} s of {row.cycle_s:.1f} s ({row.cycles} cycles)",
                    row.text,
                )
                for row in answer.rows
            ),
        )
        for name, count in answer.healthy.items():
            out.print(f"{name}: fires for {count} of {answer.rollouts} healthy rollouts.", markup=False, soft_wrap=True)
        out.print(
            f"Each loop as recorded up to its maximum, then its cycles there again and again for {for_}; scraped every {scrape} "
            f"at {phases} phases, as kube-state-metrics states its statuses.",
            markup=False,
            soft_wrap=True,
        )
        for reason, number in answer.left_out.items():
            out.print(f"Left out: {number} {reason}.", markup=False, soft_wrap=True)
    fault = None if within_s is None else answer.fault(within_s)
    if fault is not None:
        out.print(f"{fault}.", markup=False, soft_wrap=True)
        raise typer.Exit(ExitCode.FAIL)


ALERTS_EPILOG = epilog(
    Example("crashloop alerts rules.yaml runs/latest", "your own rules"),
    Example("crashloop alerts manifests/alerts/crash-loop.yaml runs/latest --must-fire 5m", "in a CI"),
    exit_codes="0 evaluated, 1 --must-fire is missed, 2 wrong usage, refused rules or no promtool, 70 ERROR, 130 interrupted",
)

COMMANDS = (Command(alerts, {"epilog": ALERTS_EPILOG}),)
