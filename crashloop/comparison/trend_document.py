"""The document of `crashloop trend`: a line per figure, alarms first."""

from crashloop.comparison.trend import MIN_BEFORE, Departure, Trend, TrendGroup, TrendLine
from crashloop.report.document import Badge, Cell, Document, Headline, Medium, Pairs, Paragraph, Row, Section, Table
from crashloop.report.standing import Standing
from crashloop.report.text import counted

_BARS = "▁▂▃▄▅▆▇█"
_SHOWN = 20
_HEADER = ("Outcome", "Figure", "Runs", "Oldest to newest", "Median before", "Scatter", "Newest")
_TONES = {
    Departure.JUMP: Standing.FAIL,
    Departure.DRIFT: Standing.FAIL,
    Departure.NONE: Standing.PASS,
    Departure.UNKNOWN: Standing.SKIPPED,
}


def trend_document(trend: Trend) -> Document:
    """A section per key."""
    return Document(
        title="crashloop trend",
        kicker="crashloop trend",
        headline=_headline(trend),
        exit_code=int(bool(trend.departed)),
        sections=tuple(_section(number, group) for number, group in enumerate(trend.groups)),
        origin=f"Written by crashloop trend ({trend.format}).",
        data="the output of --json",
    )


def _headline(trend: Trend) -> Headline:
    runs = sum(len(each.runs) for each in trend.groups)
    judged = [line for each in trend.groups for line in each.lines if line.departure is not Departure.UNKNOWN]
    meaning = (
        f"{counted(runs, 'run')} of {counted(len(trend.groups), 'kind')}, {counted(len(judged), 'figure')} judged."
    )
    if trend.departed:
        return Headline(
            Standing.FAIL,
            f"{counted(len(trend.departed), 'departure')} from the runs before.",
            meaning,
            "Runs of one kind are equal but for their day: see what changed on the host or in what was tested.",
            label="DRIFT",
        )
    if not judged:
        return Headline(
            Standing.INCONCLUSIVE,
            f"Nothing was judged: no kind of run has {MIN_BEFORE} runs before its newest.",
            meaning,
            label="TOO FEW RUNS",
        )
    return Headline(Standing.PASS, "No figure departs from the runs before.", meaning, label="STEADY")


def _section(number: int, group: TrendGroup) -> Section:
    alarms_first = sorted(group.lines, key=lambda each: each.departure not in (Departure.JUMP, Departure.DRIFT))
    runs = Pairs(tuple((str(place), run) for place, run in enumerate(group.runs, start=1)), Medium.PAGE)
    lines = Table(_HEADER, tuple(map(_row, alarms_first)), look="plain")
    few = Paragraph(f"A figure is judged from {MIN_BEFORE + 1} runs on.", "note", Medium.TEXT)
    return Section(f"kind-{number}", str(group.key), (lines, runs, *((few,) if len(group.runs) <= MIN_BEFORE else ())))


def _row(line: TrendLine) -> Row:
    tone = _TONES[line.departure]
    name = "steady" if line.departure is Departure.NONE else line.departure.value
    values = (str(len(line.points)), sparkline(line), f"{line.median:.4g}", _scatter(line), f"{line.newest:.4g}")
    return Row((Cell((Badge.of(tone, name),)), Cell(line.figure), *map(Cell, values)), tone)


def _scatter(line: TrendLine) -> str:
    """In percent of the median; of a figure in percent, whose median may be 0, in that unit."""
    if line.scatter is not None and line.figure.endswith("_percent"):
        return f"± {line.scatter:.2g}"
    return "–" if line.scatter_share is None else f"{100 * line.scatter_share:.1f} %"


def sparkline(line: TrendLine) -> str:
    """The newest points as bars between the lowest and the highest of them."""
    values = [each.value for each in line.points[-_SHOWN:]]
    low, high = min(values), max(values)
    if low == high:
        return _BARS[0] * len(values)
    return "".join(_BARS[round((each - low) / (high - low) * (len(_BARS) - 1))] for each in values)
