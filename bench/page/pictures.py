"""Pictures of the page: plots of a run's report as files of their own."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from crashloop.report.stress_plots import Plot, curve_plots, rows
from crashloop.report.stress_results import StressResults
from crashloop.report.stress_svg import curve_svg, plot_svg, standalone

SHOWN = (
    "restarts a second",
    "start-up of healthy pods (s)",
    "restart lateness (s)",
    "CPU (cores)",
    "API requests a second",
)
"""Titles of the rows of a report that the page shows."""
WIDTH = 430


class Picture(NamedTuple):
    """A picture and what it shows, for people who do not see it."""

    name: str
    svg: str
    told: str


def pictures(results: StressResults) -> Iterator[Picture]:
    """The timeline, one picture a quantity and node, then the curves under load."""
    for row in rows(results):
        if row.title in SHOWN:
            yield from (_of_plot(results, row.title, plot) for plot in row.plots)
    for plot in curve_plots(results.curves):
        heading = f"Delay by restart, {plot.curve.profile} (s)"
        name = _name(results, "delays", plot.curve.profile)
        yield Picture(name, standalone(curve_svg(plot, name="p"), heading=heading), plot.told)


def as_markdown(found: list[Picture], folder: Path) -> str:
    """Write the pictures into a folder beside the page, and show them two in a line."""
    folder.mkdir(exist_ok=True)
    for each in found:
        (folder / each.name).write_text(each.svg, encoding="utf-8")
    shown = (f'<img src="{folder.name}/{each.name}" width="{WIDTH}" alt="{each.told}">' for each in found)
    return "\n".join(shown)


def _of_plot(results: StressResults, title: str, plot: Plot) -> Picture:
    nodes = {node.name: node.profile for node in results.nodes}
    where = nodes.get(plot.node, plot.node)
    heading = f"{title[0].upper()}{title[1:]}, {where}"
    legend = [line.name for line in plot.lines] if len(plot.lines) > 1 else []
    return Picture(
        _name(results, title, where), standalone(plot_svg(plot, name="p"), heading=heading, legend=legend), plot.told
    )


def _name(results: StressResults, *parts: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", " ".join((results.profile, *parts)).lower()).strip("-") + ".svg"
