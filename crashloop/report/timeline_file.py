"""Timelines as a file of their own: a heading, a legend, and colours for light and dark."""

from collections.abc import Sequence

from crashloop.report.svg_parts import n, text
from crashloop.report.timeline import Timeline
from crashloop.report.timeline_svg import FROM_CREATION, LEFT, WIDTH, height_of, timeline_svg

_STYLE = """
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
_HEAD, _LINE = 38, 15


def timeline_file(timelines: Sequence[Timeline], *, heading: str, axis_label: str = FROM_CREATION) -> str:
    """One below the other."""
    parts, top = [], _HEAD
    for position, each in enumerate(timelines):
        height = height_of(each)
        svg = str(timeline_svg(each, name=f"t{position}", axis_label=axis_label))
        parts.append(svg.replace("<svg ", f'<svg y="{top}" width="{WIDTH}" height="{height}" ', 1))
        top += height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" height="{top}">'
        f'<style>{_STYLE}</style><text class="title" x="8" y="{_LINE}">{text(heading)}</text>{_legend()}{"".join(parts)}'
        "</svg>\n"
    )


def _legend() -> str:
    entries, x = [], float(LEFT)
    for look, label in _LEGEND:
        entries.append(f'<rect class="{look}-stretch" x="{n(x)}" y="{_LINE + 6}" width="22" height="10"/>')
        entries.append(f'<text x="{n(x + 27)}" y="{2 * _LINE}">{label}</text>')
        x += 45 + 5.6 * len(label)
    return "".join(entries)
