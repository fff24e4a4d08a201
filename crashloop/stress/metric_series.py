"""Metrics in a window of a run, and over time. Pure: numbers from scrapes and lifecycles."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from crashloop.slo.increase import growths, window_of
from crashloop.slo.measurements import Lifecycle
from crashloop.slo.scrapes import Labels, Scrapes

Selector = Callable[[Labels], bool]


def per_second(
    scrapes: Iterable[Scrapes], source: str, metric: str, from_ns: int, to_ns: int, selects: Selector = lambda _: True
) -> float | None:
    """Growth per second of a counter, over all nodes; None if no scrape has it."""
    rates = []
    for each in scrapes:
        window = window_of(each, from_ns, to_ns) if each.source.source == source else None
        if window is not None and window.seconds > 0:
            rates += [growth.total / window.seconds for growth in growths(each, metric, window, selects)]
    return sum(rates) if rates else None


def highest(
    scrapes: Iterable[Scrapes], source: str, metric: str, from_ns: int, to_ns: int, selects: Selector = lambda _: True
) -> float | None:
    """The highest value of a gauge in a window; None without a value."""
    found = [
        float(value)
        for each in scrapes
        if each.source.source == source
        for series in each.series
        if series.name == metric and selects(series.labels)
        for value in series.values[(series.t_ns >= from_ns) & (series.t_ns <= to_ns)]
    ]
    return max(found, default=None)


def along(
    scrapes: Scrapes, metric: str, selects: Selector = lambda _: True
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Growth per second of a counter from scrape to scrape: end of the step (UTC ns), and its rate.

    A scrape less than half an interval after the one before is merged with it, so that a late scrape makes no peak.
    """
    times = np.asarray(scrapes.t_ns, dtype=np.int64)
    window = window_of(scrapes, int(times[0]), int(times[-1])) if len(times) > 1 else None
    if window is None:
        return times[:0], np.zeros(0)
    steps = np.zeros(len(times) - 1)
    for growth in growths(scrapes, metric, window, selects):
        steps += growth.steps
    ends = _apart(times, scrapes.source.interval_s / 2 * 1e9)
    if len(ends) < 2:
        return times[:0], np.zeros(0)
    grown = np.diff(np.concatenate(([0.0], np.cumsum(steps)))[ends])
    return times[ends][1:], grown / (np.diff(times[ends]) / 1e9)


def _apart(times: NDArray[np.int64], least_ns: float) -> NDArray[np.int64]:
    """Indices of the first time and of times at that least distance from the one before."""
    kept = [0]
    for index in range(1, len(times)):
        if times[index] - times[kept[-1]] >= least_ns:
            kept.append(index)
    return np.asarray(kept, dtype=np.int64)


def labelled(**wanted: str) -> Selector:
    """Series with these labels."""
    return lambda labels: all(labels.get(name) == value for name, value in wanted.items())


def restart_times_ns(lifecycles: Iterable[Lifecycle], node: str | None = None) -> NDArray[np.int64]:
    """When containers restarted, by ground truth, in order; of all nodes, or of one."""
    times = [
        each.running_ns
        for pod in lifecycles
        if node in (None, pod.node)
        for each in pod.restarts
        if each.running_ns is not None
    ]
    return np.sort(np.asarray(times, dtype=np.int64))


def within(times: NDArray[np.int64], from_ns: int, to_ns: int) -> int:
    """Number of the times within a window."""
    return int(np.searchsorted(times, to_ns) - np.searchsorted(times, from_ns))


def rounded(values: Mapping[str, float | None], digits: int = 6) -> dict[str, float | None]:
    """Numbers without superfluous digits."""
    return {name: None if value is None else round(value, digits) for name, value in values.items()}
