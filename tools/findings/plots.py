"""Pictures from the reports of stress runs: one plot each."""

from pathlib import Path

import msgspec
import yaml

from crashloop.report.stress.plots import rows
from crashloop.report.stress.results import StressResults
from tools.svg_files import chart_file

PLOTS = Path(__file__).with_name("plots.yaml")


class ReportPlot(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The plot that a picture shows."""

    title: str
    """As in the report, such as restarts per second."""
    heading: str
    """What is to be seen."""


def load_plots(path: Path = PLOTS) -> dict[str, ReportPlot]:
    """By name of the file, without its ending."""
    return msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), dict[str, ReportPlot])


def drawn_plot(picture: ReportPlot, results: StressResults) -> str | None:
    """The file of a picture; None if the report has no such plot. Of several nodes the first is shown."""
    chart = next((row.charts[0] for row in rows(results) if row.title == picture.title), None)
    if chart is None:
        return None
    of = f"{results.profile}, Kubernetes {results.kubernetes_version}, {results.started:%d %B %Y}"
    return chart_file(chart, heading=f"{picture.heading} ({of})")
