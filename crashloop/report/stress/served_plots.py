"""Plots of servers under a demand: what clients saw, and on the same time axis what throttled and killed the server."""

from collections.abc import Sequence
from typing import NamedTuple

from crashloop.report.scale import Scale, scale_for
from crashloop.report.stress.plots import AREA, Axes, Plot, at_height
from crashloop.report.stress.results import Series, ServedResult, StressResults
from crashloop.report.text import counted
from crashloop.slo.text import number

BACKLOG = "backlog"
"""Name of the series whose plot also stands alone."""


class _Panel(NamedTuple):
    """One quantity of a server."""

    series: str
    heading: str
    area: int = 54
    is_common: bool = True
    """Whether all servers share its axis, so that they can be compared."""


PANELS = (
    _Panel(BACKLOG, "requests that wait", 84),
    _Panel("answers", "answers per second", is_common=False),
    _Panel("throttled", "throttled (% of the periods in which it used CPU)"),
    _Panel("server CPU", "CPU (cores)", is_common=False),
)


class ServerPlots(NamedTuple):
    """All plots of one server, from top to bottom, on one time axis."""

    load: str
    panels: tuple[Plot, ...]


def server_plots(results: StressResults) -> tuple[ServerPlots, ...]:
    """In the order of the loads. A run of an earlier version has no throttling, CPU, kills and down times over time."""
    drawn = _Drawn(results)
    return tuple(ServerPlots(load, drawn.panels(load)) for load in drawn.loads)


def backlog_plots(results: StressResults) -> tuple[tuple[str, Plot], ...]:
    """The backlog of each server by itself, with its kills and down times."""
    drawn = _Drawn(results)
    alone = PANELS[0]._replace(area=AREA)
    return tuple((load, drawn.plot(alone, load)._replace(heading="")) for load in drawn.loads)


class _Drawn:
    def __init__(self, results: StressResults) -> None:
        self._results = results
        self._axes = Axes.of(results)
        self.loads = list(dict.fromkeys(each.node for each in self._of(BACKLOG)))

    def panels(self, load: str) -> tuple[Plot, ...]:
        """The first one names the stages, and the last one the times."""
        first, *found = [self.plot(panel, load) for panel in PANELS if self._of(panel.series, load)]
        found = [first, *(each._replace(bands=tuple(band._replace(label="") for band in each.bands)) for each in found)]
        return (*(each._replace(x_ticks=()) for each in found[:-1]), found[-1])

    def plot(self, panel: _Panel, load: str) -> Plot:
        own, served = self._of(panel.series, load), [each for each in self._results.served if each.load == load]
        limit = (
            next((each.cpu_limit for each in served if each.cpu_limit), None) if panel.series == "server CPU" else None
        )
        scale = self._scale(panel, own, limit)
        plot = Plot(
            title=f"{panel.heading}, {load}",
            node=load,
            unit=own[0].unit,
            alternative=_in_words(panel, own, served, limit),
            lines=tuple(self._axes.line(each.unit, each, scale, panel.area) for each in own),
            target=None if limit is None else (at_height(limit, scale, panel.area), f"limit {limit:g} cores"),
            heading=panel.heading,
            area=panel.area,
            downs=tuple(self._band(*down) for each in served for down in each.downs_s),
            kills=tuple(self._axes.x(at_s) for each in served for at_s in each.kills_s),
        )
        return self._axes.framed(plot, scale)._replace(node="")

    def _of(self, name: str, load: str | None = None) -> list[Series]:
        return [
            each for each in self._results.series if each.name == name and each.points and load in (None, each.node)
        ]

    def _scale(self, panel: _Panel, own: Sequence[Series], limit: float | None) -> Scale:
        series = self._of(panel.series) if panel.is_common else own
        return scale_for((), [limit or 0.0, *(value for each in series for _, value in each.points)])

    def _band(self, from_s: float, to_s: float) -> tuple[float, float]:
        x = self._axes.x(from_s)
        return x, self._axes.x(to_s) - x


def _in_words(panel: _Panel, own: Sequence[Series], served: Sequence[ServedResult], limit: float | None) -> str:
    words = f"up to {number(max(value for each in own for _, value in each.points))} {own[0].unit}"
    if limit is not None:
        words += f", limit {limit:g}"
    kills = sum(len(each.kills_s) for each in served)
    if panel.series != BACKLOG or not kills:
        return words
    down_s = sum(to_s - from_s for each in served for from_s, to_s in each.downs_s)
    return f"{words}; {counted(kills, 'kill')}, down for {number(down_s)} s"
