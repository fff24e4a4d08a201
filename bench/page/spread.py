"""How much the figures of a load differ from run to run, and from placement to placement."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from statistics import median

import msgspec

from crashloop.report.markdown import table
from crashloop.report.stress.load import FIGURES, figure_text, is_a_highest, stage_name
from crashloop.report.stress.results import StressResults
from crashloop.slo.text import number
from crashloop.stress.loads import AnyLoad, Demand
from crashloop.stress.profile import StressProfile


class Repeat(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one run."""

    started: datetime
    stages: Mapping[str, Mapping[str, float | None]]
    """By name of the stage."""
    servers: Mapping[str, Mapping[str, float | None]] = {}
    """By load: those of its server in the first stage."""
    nodes: Mapping[str, str] = {}
    """By load: the node of its server."""


_RECOVERY, _UNRECOVERED = "recovery", "unrecovered"
OF_SERVERS = {
    "kills": "kills",
    _RECOVERY: "recovered after (s)",
    "highest-backlog": "highest backlog",
    "down-share": "down (%)",
    "cpu": "CPU (cores)",
}
"""Figures that are compared server by server."""


def repeat_of(results: StressResults, load: StressProfile) -> Repeat:
    """The figures of a run of that load."""
    first = results.stages[0].name if results.stages else None
    servers = {each.load: each.figures for each in results.served if each.stage == first}
    return Repeat(
        started=results.started,
        stages={stage_name(each): each.figures for each in results.stages},
        servers={name: dict(_shown(figures, load.loads[name])) for name, figures in servers.items()},
        nodes={name: load.loads[name].node for name in servers},
    )


def spread(repeats: Sequence[Repeat]) -> str:
    """Per figure and stage the median of the runs, with the lowest and the highest.

    Left out are figures that no run has, and a p99 of few events.
    """
    stages = list(dict.fromkeys(name for each in repeats for name in each.stages))
    rows = (
        (kind.words, *(_cell(name, _values(repeats, stage, name)) for stage in stages))
        for name, kind in FIGURES.items()
    )
    filled = [row for row in rows if set(row[1:]) != {"–"}]
    days = sorted({f"{each.started:%Y-%m-%d}" for each in repeats})
    heading = f"Median of {len(repeats)} runs ({', '.join(days)}), with the lowest and the highest:"
    return f"{heading}\n\n{table(('', *stages), filled, right=True)}"


def placements(repeats: Sequence[Repeat]) -> str:
    """Per server its figures of all runs, with the node that it was on in each."""
    loads = list(dict.fromkeys(name for each in repeats for name in each.servers))
    rows = ((name, _list(each.nodes.get(name, "–") for each in repeats), *_of_server(repeats, name)) for name in loads)
    began = ", ".join(f"{each.started:%Y-%m-%d %H:%M}" for each in repeats)
    heading = f"Figures of {len(repeats)} runs, oldest first (they began at {began} UTC):"
    return f"{heading}\n\n{table(('server', 'node', *OF_SERVERS.values()), rows, right=True)}"


def _of_server(repeats: Sequence[Repeat], name: str) -> Iterator[str]:
    for figure in OF_SERVERS:
        yield _list(_served(each.servers.get(name, {}), figure) for each in repeats)


def _served(figures: Mapping[str, float | None], figure: str) -> str:
    value = figures.get(figure)
    if figure == _RECOVERY and figures.get(_UNRECOVERED):
        return "not"
    return "–" if value is None else number(value)


def _shown(figures: Mapping[str, float | None], load: AnyLoad) -> Iterator[tuple[str, float | None]]:
    """Without a burst there is nothing to recover from."""
    has_bursts = isinstance(load, Demand) and bool(load.bursts)
    for name in (*OF_SERVERS, _UNRECOVERED):
        if name in figures and (has_bursts or name not in (_RECOVERY, _UNRECOVERED)):
            yield name, figures[name]


def _list(cells: Iterable[str]) -> str:
    return ", ".join(cells)


def _values(repeats: Iterable[Repeat], stage: str, figure: str) -> Iterator[float]:
    for each in repeats:
        figures = each.stages.get(stage, {})
        value = figures.get(figure)
        if value is not None and not is_a_highest(figure, figures):
            yield value


def _cell(figure: str, values: Iterable[float]) -> str:
    found = sorted(values)
    if not found:
        return "–"
    middle, low, high = (figure_text(figure, each) for each in (median(found), found[0], found[-1]))
    return middle if low == high else f"{middle} ({low} to {high})"
