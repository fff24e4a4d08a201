"""Values of promises and stages in a comparison of stress runs, in words."""

from collections.abc import Iterable

from crashloop.comparison.change import Change
from crashloop.comparison.comparison import Comparison
from crashloop.comparison.stress.values import NOISE_RATIO, Value, ValueChange
from crashloop.comparison.text import name_of
from crashloop.report.stress.load import FIGURES
from crashloop.report.text import counted
from crashloop.slo.text import amount, number

MAX_NAMES = 6
"""Values that are named per reason why they cannot be compared; the rest is counted."""

VALUES_HEADER = ("value", "of", "before", "after", "ratio")


def promised_values(comparison: Comparison) -> list[tuple[str, ValueChange]]:
    """The values of promises that were compared and their names, changed ones first."""
    found = [
        (name_of(each), each.value) for each in comparison.verdicts if each.value is not None and each.value.change
    ]
    return sorted(found, key=lambda each: not each[1].is_change)


def stage_values(comparison: Comparison) -> list[tuple[str, ValueChange]]:
    """The figures of stages that were compared and their names, changed ones first."""
    found = [
        (f"{stage.stage}: {figure_name(figure)}", figure)
        for stage in comparison.stages
        for figure in stage.figures
        if figure.change is not None
    ]
    return sorted(found, key=lambda each: not each[1].is_change)


def figure_name(figure: ValueChange) -> str:
    """The figure's name in reports."""
    return FIGURES[figure.measure.name]


def value_cells(name: str, change: ValueChange) -> tuple[str, ...]:
    """One value under VALUES_HEADER."""
    became = change.change.value if change.is_change and change.change else "unchanged"
    unit = change.measure.unit
    return became, name, value_text(change.before, unit), value_text(change.after, unit), ratio_text(change)


def value_text(value: Value, unit: str) -> str:
    """`1.39 s (1.27 to 1.61) of 441`."""
    if value.value is None:
        return "none"
    text = amount(value.value, unit)
    if value.interval is not None and (bounds := value.interval.bounds) is not None:
        text += f" ({' to '.join(map(number, bounds))})"
    return text if value.samples is None else f"{text} of {value.samples:,}"


def ratio_text(change: ValueChange) -> str:
    """`1.07 (threshold 1.5)`."""
    ratio = "–" if change.ratio is None else number(change.ratio)
    return f"{ratio} (threshold {number(change.threshold or NOISE_RATIO)})"


def values_summary(comparison: Comparison) -> str:
    """The number of compared values, and the criterion of a change."""
    values = [change for _, change in (*promised_values(comparison), *stage_values(comparison))]
    if not values:
        return "No value of the two runs could be compared."
    worse = sum(each.change is Change.WORSE for each in values)
    better = sum(each.change is Change.BETTER for each in values)
    said = f"{worse} worse, {better} better" if worse or better else "none changed"
    return (
        f"{counted(len(values), 'value')} compared: {said}. One has changed if its two 95 % intervals do not overlap and "
        f"the larger is more than {NOISE_RATIO:g} times the smaller; the threshold is wider if the host was at its limit, "
        "if the load was not exactly the same, or if other processes used more of the host."
    )


def not_compared(comparison: Comparison) -> dict[str, tuple[str, ...]]:
    """The reasons for values without comparison, and their names; an incomparable stage is named for all of its figures."""
    by_reason: dict[str, list[str]] = {}
    for each in comparison.verdicts:
        if each.value is not None and each.value.not_compared:
            by_reason.setdefault(each.value.not_compared, []).append(each.requirement.id)
    for stage in comparison.stages:
        if stage.not_compared:
            by_reason.setdefault(stage.not_compared, []).append(f"stage {stage.stage}")
            continue
        for figure in stage.figures:
            if figure.not_compared:
                by_reason.setdefault(figure.not_compared, []).append(f"{stage.stage}: {figure_name(figure)}")
    return {reason: tuple(names) for reason, names in by_reason.items()}


def names_text(names: Iterable[str]) -> str:
    """The first of them, and how many more there are."""
    every = tuple(names)
    more = f" and {len(every) - MAX_NAMES} more" if len(every) > MAX_NAMES else ""
    return f"{'; '.join(every[:MAX_NAMES])}{more}"
