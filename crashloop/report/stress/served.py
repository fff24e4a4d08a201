"""The servers of a stress run in its document: what became of each under its demand."""

from collections.abc import Iterator

from markupsafe import Markup

from crashloop.report.document import Block, Figure, Figures, Medium, Paragraph, table
from crashloop.report.stress.results import ServedResult, StressResults
from crashloop.report.stress.served_plots import ServerPlots, server_plots
from crashloop.report.stress.svg import plot_svg
from crashloop.slo.text import number

_COLUMNS = (
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
        (each.load, each.stage, str(each.requests), *(_text(each, *column) for column in _COLUMNS))
        for each in results.served
    ]
    yield table(("server", "stage", "requests", *(header for _, header, _ in _COLUMNS)), *rows, look="stages")
    figures = tuple(_figure(each, f"server-{place}") for place, each in enumerate(server_plots(results)))
    if figures:
        yield Paragraph(
            "One time axis per server. Red lines with a triangle are kills, and red intervals the down times of its container, "
            "within the measured stages (the runtime's exits and starts). Throttling and CPU go from one count of the kubelet "
            "to the next, which are 5 to 15 s apart. Backlog and throttling have the same axis for every server.",
            "note",
            Medium.PAGE,
        )
        yield Figures(figures)


def _figure(server: ServerPlots, name: str) -> Figure:
    pictures = [plot_svg(each, name=f"{name}-{place}") for place, each in enumerate(server.panels)]
    return Figure(server.load, Markup("").join(pictures), server.panels[0].alternative, emphasis="muted")


def _text(served: ServedResult, name: str, _: str, unit: str) -> str:
    value = served.figures.get(name)
    if name == "recovery" and served.figures.get("unrecovered"):
        return "not"
    least = "≥ " if name in served.at_least else ""
    return "–" if value is None else f"{least}{number(value)}{unit}"
