"""The command that exports the metrics of a run."""

from pathlib import Path
from typing import Annotated

import typer

from crashloop.cli.command import Command, Example, RunArgument, epilog, out
from crashloop.cli.views import write_file
from crashloop.errors import UsageError

EPILOG = epilog(
    Example("crashloop export --openmetrics runs/latest > run.om", "every metric of the run, with its time"),
    Example("promtool tsdb create-blocks-from openmetrics run.om DIR", "blocks for the data folder of Prometheus"),
    Example("crashloop manifests grafana/stress.json", "a dashboard of Grafana for them"),
)


def export(
    run: RunArgument,
    openmetrics: Annotated[
        bool, typer.Option("--openmetrics", help="As OpenMetrics with timestamps, which Prometheus backfills.")
    ] = False,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write there. Default: standard output.")] = None,
) -> None:
    """Export every metric that a stress run recorded, with restarts and lateness by ground truth."""
    from crashloop.stress.openmetrics import exported
    from crashloop.stress.openmetrics import openmetrics as written

    if not openmetrics:
        raise UsageError("crashloop export: expected a format; --openmetrics is the only one.")
    text = written(exported(run))
    if output is None:
        out.file.write(text)
        return
    write_file("--output", output, text)


COMMANDS = (Command(export, {"epilog": EPILOG}),)
