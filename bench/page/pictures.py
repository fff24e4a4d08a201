"""Pictures of the page: plots of a run's report as separate files beside the page."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from crashloop.report.chart import Chart
from crashloop.report.stress.plots import against_pods, delay_charts, rows
from crashloop.report.stress.results import StressResults
from crashloop.report.stress.served import backlog_charts
from tools.svg_files import chart_file

ALONG_TIME = ("restarts per second", "start-up of healthy pods (s)", "restart lateness (s)", "CPU (cores)")
"""Titles of the rows of a report that the page shows."""
WIDTH = 430


class Picture(NamedTuple):
    """A picture and its text alternative."""

    name: str
    svg: str
    alternative: str


def along_time(results: StressResults) -> Iterator[Picture]:
    """The load over time, one picture per quantity and node."""
    profiles = {node.name: node.profile for node in results.nodes}
    for row in rows(results):
        for chart in row.charts if row.title in ALONG_TIME else ():
            yield _picture(results, row.title, profiles.get(chart.node, chart.node), chart)


def backlogs(results: StressResults) -> Iterator[Picture]:
    """The backlog of every server of the first stage over time, with its kills and down times."""
    shown = {each.load for each in results.served if each.stage == results.stages[0].name}
    for load, chart in backlog_charts(results):
        if load in shown:
            yield _picture(results, "backlog", load, chart)


def against(results: StressResults) -> Iterator[Picture]:
    """Figures against the number of crashing pods."""
    for chart in against_pods(results).charts:
        yield _picture(results, chart.title, "by crashing pods", chart)


def delays(results: StressResults) -> Iterator[Picture]:
    """Delays by restart under load."""
    for title, chart in delay_charts(results.curves):
        svg = chart_file(chart, heading=f"Delay by restart (s), {title}")
        yield Picture(_name(results, "delays", title), svg, chart.alternative)


def as_markdown(found: Iterable[Picture], folder: Path) -> str:
    """Write the pictures into the folder, and show two per line."""
    folder.mkdir(exist_ok=True)
    shown = []
    for each in found:
        (folder / each.name).write_text(each.svg, encoding="utf-8")
        shown.append(f'<img src="{folder.name}/{each.name}" width="{WIDTH}" alt="{each.alternative}">')
    return "\n".join(shown)


def _picture(results: StressResults, title: str, of: str, chart: Chart) -> Picture:
    svg = chart_file(chart, heading=f"{title[0].upper()}{title[1:]}, {of}")
    return Picture(_name(results, title, of), svg, chart.alternative)


def _name(results: StressResults, *parts: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", " ".join((results.profile, *parts)).lower()).strip("-") + ".svg"
