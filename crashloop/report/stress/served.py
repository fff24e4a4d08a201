"""The servers of a stress run in its document: the outcome of each under its demand, in a table and over time.

Plots show what clients saw, and on the same time axis what throttled and killed the server.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from crashloop.report.chart import AREA, Chart, Line, Scale, chart_svg, scale_for
from crashloop.report.document import Block, Figure, Figures, Medium, Paragraph, table
from crashloop.report.stress.plots import Axes
from crashloop.report.stress.results import Series, ServedResult, StressResults
from crashloop.report.text import counted
from crashloop.slo.text import number

BACKLOG = "backlog"
"""Name of the series whose plot also stands alone."""


class _ServerPanel(NamedTuple):
    """One quantity of a server."""

    series: str
    heading: str
    area: int = 54
    is_common: bool = True
    """Whether all servers share its axis, so that they can be compared."""


PANELS = (
    _ServerPanel(BACKLOG, "requests that wait", 84),
    _ServerPanel("answers", "answers per second", is_common=False),
    _ServerPanel("throttled", "throttled (% of the periods in which it used CPU)"),
    _ServerPanel("server CPU", "CPU (cores)", is_common=False),
)


def server_charts(results: StressResults) -> tuple[tuple[str, tuple[Chart, ...]], ...]:
    """Each load with all charts of its server, from top to bottom, on one time axis.

    A run of an earlier version has no throttling, CPU, kills and down times over time.
    """
    drawn = _DrawnServers(results)
    return tuple((load, drawn.panels(load)) for load in drawn.loads)


def backlog_charts(results: StressResults) -> tuple[tuple[str, Chart], ...]:
    """The backlog of each server by itself, with its kills and down times."""
    drawn = _DrawnServers(results)
    alone = PANELS[0]._replace(area=AREA)
    return tuple((load, drawn.chart(alone, load)._replace(heading="")) for load in drawn.loads)


class _DrawnServers:
    def __init__(self, results: StressResults) -> None:
        self._results = results
        self._axes = Axes.of(results)
        self.loads = list(dict.fromkeys(each.node for each in self._of(BACKLOG)))

    def panels(self, load: str) -> tuple[Chart, ...]:
        """The first one names the stages, and the last one the times."""
        first, *found = [self.chart(panel, load) for panel in PANELS if self._of(panel.series, load)]
        found = [first, *(each._replace(bands=tuple(band._replace(label="") for band in each.bands)) for each in found)]
        return (*(each._replace(x_ticks=()) for each in found[:-1]), found[-1])

    def chart(self, panel: _ServerPanel, load: str) -> Chart:
        own, served = self._of(panel.series, load), [each for each in self._results.served if each.load == load]
        limits = [each.cpu_limit for each in served if each.cpu_limit and panel.series == "server CPU"]
        limit = limits[0] if limits else None
        alternative = _panel_in_words(panel, own, served, limit)
        chart = self._axes.chart(
            f"{panel.heading}, {load}",
            alternative,
            self._scale(panel, own, limit),
            unit=own[0].unit,
            area=panel.area,
            heading=panel.heading,
        )
        return chart._replace(
            lines=tuple(Line(each.unit, each.points) for each in own),
            target=None if limit is None else (limit, f"limit {limit:g} cores"),
            downs=tuple(down for each in served for down in each.downs_s),
            kills=tuple(at_s for each in served for at_s in each.kills_s),
        )

    def _of(self, name: str, load: str | None = None) -> list[Series]:
        return [
            each for each in self._results.series if each.name == name and each.points and load in (None, each.node)
        ]

    def _scale(self, panel: _ServerPanel, own: Sequence[Series], limit: float | None) -> Scale:
        series = self._of(panel.series) if panel.is_common else own
        return scale_for((), [limit or 0.0, *(value for each in series for _, value in each.points)])


def _panel_in_words(
    panel: _ServerPanel, own: Sequence[Series], served: Sequence[ServedResult], limit: float | None
) -> str:
    words = f"up to {number(max(value for each in own for _, value in each.points))} {own[0].unit}"
    if limit is not None:
        words += f", limit {limit:g}"
    kills = sum(len(each.kills_s) for each in served)
    if panel.series != BACKLOG or not kills:
        return words
    down_s = sum(to_s - from_s for each in served for from_s, to_s in each.downs_s)
    return f"{words}; {counted(kills, 'kill')}, down for {number(down_s)} s"


_SERVER_COLUMNS = (
    ("kills", "kills", ""),
    ("recovery", "recovered after (s)", ""),
    ("highest-backlog", "highest backlog", ""),
    ("last-backlog", "backlog at the end", ""),
    ("down-share", "container down", " %"),
    ("throttled", "throttled", " %"),
    ("answer-latency-p50", "answer p50 (s)", ""),
    ("answer-latency-p99", "answer p99 (s)", ""),
    ("cpu", "CPU (cores)", ""),
    ("probe-latency", "probe (s)", ""),
)
"""Name of a figure, its header, its unit."""


def servers(results: StressResults) -> Iterator[Block]:
    """One row per server and stage, and one time axis per server."""
    if not results.served:
        return
    yield Paragraph(
        "Kills and down time are ground truth; the backlog is what clients wait for; throttled is the share of the periods in "
        "which the server used CPU; an answer's latency counts from the moment at which its request was intended, and requests "
        "that were never answered count as later than all others (≥: the time until they were given up, and it may be more); a "
        "probe's latency is the mean of those that succeeded.",
        "note",
        Medium.PAGE,
    )
    rows = [
        (each.load, each.stage, str(each.requests), *(_cell_text(each, *column) for column in _SERVER_COLUMNS))
        for each in results.served
    ]
    yield table(("server", "stage", "requests", *(header for _, header, _ in _SERVER_COLUMNS)), *rows, look="stages")
    figures = tuple(
        _server_figure(load, charts, f"server-{place}") for place, (load, charts) in enumerate(server_charts(results))
    )
    if figures:
        yield Paragraph(
            "One time axis per server. Red lines with a triangle are kills, and red intervals the down times of its container, "
            "within the measured stages (the runtime's exits and starts). Throttling and CPU go from one count of the kubelet "
            "to the next, which are 5 to 15 s apart. Backlog and throttling have the same axis for every server.",
            "note",
            Medium.PAGE,
        )
        yield Figures(figures)


def _server_figure(load: str, charts: Sequence[Chart], name: str) -> Figure:
    pictures = [chart_svg(each, name=f"{name}-{place}") for place, each in enumerate(charts)]
    return Figure(load, Markup("").join(pictures), charts[0].alternative, emphasis="muted")


def _cell_text(served: ServedResult, name: str, _: str, unit: str) -> str:
    value = served.figures.get(name)
    if name == "recovery" and served.figures.get("unrecovered"):
        return "not"
    least = "≥ " if name in served.at_least else ""
    return "–" if value is None else f"{least}{number(value)}{unit}"
