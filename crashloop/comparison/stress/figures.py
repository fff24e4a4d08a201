"""The key figures of a stage in two runs."""

from typing import NamedTuple

import msgspec

from crashloop.comparison.stress.stages import StagePair
from crashloop.comparison.stress.values import Measure, Value, ValueChange, value_change
from crashloop.report.stress.results import StageResult
from crashloop.slo.rows import Better


class KeyFigure(NamedTuple):
    """A compared figure, and which of two values is better under the same load."""

    measure: Measure
    samples: str = ""
    """Name of the figure that counts its samples."""


def _of_samples(name: str, percentile: int) -> KeyFigure:
    measure = Measure(name=f"{name}_p{percentile}_s", unit="s", better=Better.LOWER, percentile=percentile)
    return KeyFigure(measure, f"{name}_samples")


KEY_FIGURES = (
    KeyFigure(Measure(name="restarts_per_s", unit="restarts/s", better=Better.HIGHER)),
    KeyFigure(Measure(name="requests_per_restart", unit="requests/restart", better=Better.LOWER)),
    KeyFigure(Measure(name="kubelet_cpu_cores", unit="cores", better=Better.LOWER)),
    KeyFigure(Measure(name="runtime_cpu_cores", unit="cores", better=Better.LOWER)),
    KeyFigure(Measure(name="apiserver_cpu_cores", unit="cores", better=Better.LOWER)),
    _of_samples("startup", 50),
    _of_samples("startup", 99),
    _of_samples("lateness", 50),
    _of_samples("lateness", 99),
)


class StageChange(msgspec.Struct, frozen=True, kw_only=True):
    """One stage in both runs."""

    stage: str
    """Its name, and its mix, arm and round where it has them."""
    not_compared: str = ""
    """Why none of its figures can be compared; empty if they can."""
    figures: tuple[ValueChange, ...] = ()
    """The figures with a value in at least one run."""


def stage_change(pair: StagePair, *, threshold: float) -> StageChange:
    """A stage's figures beside each other."""
    changes = (
        value_change(
            each.measure,
            _value(each, pair.before),
            _value(each, pair.after),
            threshold=threshold,
            obstacle=pair.obstacle,
        )
        for each in KEY_FIGURES
    )
    return StageChange(
        stage=str(pair.key),
        not_compared=pair.obstacle,
        figures=tuple(each for each in changes if (each.before.value, each.after.value) != (None, None)),
    )


def _value(figure: KeyFigure, stage: StageResult | None) -> Value:
    if stage is None:
        return Value(value=None)
    name, samples = figure.measure.name, stage.figures.get(figure.samples)
    return Value(
        value=stage.figures.get(name),
        interval=stage.intervals.get(name),
        samples=None if samples is None else int(samples),
    )
