"""Charts and timelines of a report as files of their own, for pages of docs: with colours, a heading and a legend."""

from collections.abc import Sequence

from crashloop.report.chart import HEIGHT, LEFT, LINES, WIDTH, Chart, chart_svg, text
from crashloop.report.chart import n as coordinate
from crashloop.report.timeline import FROM_CREATION, Timeline, height_of, timeline_svg
from crashloop.report.timeline import LEFT as TIMELINE_LEFT
from crashloop.report.timeline import WIDTH as TIMELINE_WIDTH

_CHART_STYLE = """
svg { background: #fff; font-family: sans-serif }
text { font-size: 10px; fill: #57606a } .title { font-size: 12px; fill: #1f2328; font-weight: 600 }
.y { text-anchor: end } .unit { text-anchor: start } .x, .stage { text-anchor: middle } .stage { font-size: 9px }
.grid { stroke: #d0d7de; stroke-width: .6; fill: none }
.stage-calm { fill: #57606a; fill-opacity: .06 } .stage-storm, .stage-treatment { fill: #bc4c00; fill-opacity: .10 }
.stage-baseline { fill: #0550ae; fill-opacity: .09 }
.line { fill: none; stroke-width: 1.5; stroke-linejoin: round }
.l0 { stroke: #0550ae } .l1 { stroke: #bc4c00 } .l2 { stroke: #116329 } .l3 { stroke: #8250df } .l4 { stroke: #57606a }
.mark { fill: #0550ae; fill-opacity: .55 } .missed { fill: #a40e26; fill-opacity: .8 }
.target { stroke: #a40e26; stroke-width: 1; stroke-dasharray: 4 3; fill: none } .beyond { fill: #a40e26; fill-opacity: .05 }
.down { fill: #a40e26; fill-opacity: .16 } .kill { stroke: #a40e26; stroke-width: 1; fill: #a40e26 }
.due { stroke: #1f2328; stroke-width: 1.6; fill: none } .range { stroke: #0550ae; stroke-width: 1; fill: none }
.middle { stroke: #0550ae; stroke-opacity: .3; stroke-width: 6; fill: none } .half { fill: #0550ae }
"""
"""The colours of the page, for a file of its own."""


def chart_file(chart: Chart, *, heading: str) -> str:
    """The chart as a file: with a style, a heading, and a legend of its lines if it has several."""
    entries, x = [], float(LEFT)
    for index, line in enumerate(chart.lines if len(chart.lines) > 1 else ()):
        entries.append(f'<path class="line l{index % LINES}" d="M{coordinate(x)} 30h14"/>')
        entries.append(f'<text x="{coordinate(x + 18)}" y="33">{text(line.name)}</text>')
        x += 36 + 5.6 * len(line.name)
    top = 40 if entries else 24
    head = f'<text class="title" x="{LEFT}" y="15">{text(heading)}</text>{"".join(entries)}'
    inner = str(chart_svg(chart, name="p")).replace("<svg ", f'<svg y="{top}" width="{WIDTH}" height="{HEIGHT}" ', 1)
    height = HEIGHT + top
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
        f"<style>{_CHART_STYLE}</style>{head}{inner}</svg>\n"
    )


_TIMELINE_STYLE = """
:root { --bg: #fff; --text: #1f2328; --muted: #57606a; --line: #d0d7de; --accent: #0550ae; --due: #bc4c00 }
@media (prefers-color-scheme: dark) {
  :root { --bg: #0d1117; --text: #e6edf3; --muted: #9aa4af; --line: #333b45; --accent: #79c0ff; --due: #f0883e }
}
svg { background: var(--bg); font-family: sans-serif }
text { font-size: 10px; fill: var(--muted) } .title { font-size: 12px; fill: var(--text); font-weight: 600 }
.y { text-anchor: end } .x, .axis { text-anchor: middle } .in-stretch { fill: var(--text) }
.grid { stroke: var(--line); stroke-width: .6; fill: none }
.ran-stretch { fill: var(--accent); fill-opacity: .45 } .stated-stretch { fill: var(--muted); fill-opacity: .16 }
.due-stretch { fill: var(--due); fill-opacity: .35 } .due-stretch, .stated-stretch { stroke: var(--bg); stroke-width: .8 }
.dot { fill: var(--accent); stroke: var(--bg) }
"""
"""The report's colours (templates/style.css.j2); only due windows differ, which here are what was promised."""
_LEGEND = (("ran", "it runs"), ("due", "a restart is due, as promised"), ("stated", "as the API says"))
_HEAD_HEIGHT, _LINE_HEIGHT = 38, 15


def timeline_file(timelines: Sequence[Timeline], *, heading: str, axis_label: str = FROM_CREATION) -> str:
    """One below the other."""
    parts, top = [], _HEAD_HEIGHT
    for position, each in enumerate(timelines):
        height = height_of(each)
        svg = str(timeline_svg(each, name=f"t{position}", axis_label=axis_label))
        parts.append(svg.replace("<svg ", f'<svg y="{top}" width="{TIMELINE_WIDTH}" height="{height}" ', 1))
        top += height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {TIMELINE_WIDTH} {top}" width="{TIMELINE_WIDTH}" height="{top}">'
        f'<style>{_TIMELINE_STYLE}</style><text class="title" x="8" y="{_LINE_HEIGHT}">{text(heading)}</text>'
        f"{_legend()}{''.join(parts)}</svg>\n"
    )


def _legend() -> str:
    entries, x = [], float(TIMELINE_LEFT)
    for look, label in _LEGEND:
        entries.append(
            f'<rect class="{look}-stretch" x="{coordinate(x)}" y="{_LINE_HEIGHT + 6}" width="22" height="10"/>'
        )
        entries.append(f'<text x="{coordinate(x + 27)}" y="{2 * _LINE_HEIGHT}">{label}</text>')
        x += 45 + 5.6 * len(label)
    return "".join(entries)
