"""The load over time: lines and dots of the report. Pure. Times are seconds since the load began."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crashloop.report.stress.results import Dots, Point, Series
from crashloop.slo.events import SAMPLES
from crashloop.slo.measurements import Lifecycle
from crashloop.slo.rows import SloRow, Target
from crashloop.slo.scrapes import Scrapes
from crashloop.stress.metric_series import along, labelled, restart_times_ns

BIN_S = 5.0
MAX_POINTS = 400
"""Points of a line, and dots of a kind. Beyond it bins are wider, and only the highest of neighbouring dots or scrapes is
drawn: the worst points are always drawn, so bad points are over-represented."""


class _Kind(NamedTuple):
    """Single events, shown as dots."""

    name: str
    of: str
    """A name of crashloop.slo.events.SAMPLES."""
    group: str
    slo: str
    """The row whose target is drawn."""


DOTS = (
    _Kind("start-up of healthy pods", "pod-startup", "healthy", "pod-startup-latency"),
    _Kind("restart lateness", "restart-lateness", "crasher", "restart-lateness"),
)


def timeline(
    scrapes: Sequence[Scrapes], lifecycles: Sequence[Lifecycle], *, began_ns: int, ended_ns: int
) -> tuple[Series, ...]:
    """Every line."""
    return tuple(each for each in (*_events(lifecycles, began_ns, ended_ns), *_rates(scrapes, began_ns)) if each.points)


def dots(lifecycles: Sequence[Lifecycle], rows: Iterable[SloRow], *, began_ns: int) -> tuple[Dots, ...]:
    """Start-up of every healthy pod, and lateness of every restart, by node, with the target of their row."""
    targets = {row.id: row.target for row in rows}
    found = []
    for kind in DOTS:
        for node in _nodes(lifecycles):
            pods = [pod for pod in lifecycles if pod.node == node and pod.group == kind.group]
            each = _dots(kind, node, pods, targets.get(kind.slo), began_ns)
            if each.points:
                found.append(each)
    return tuple(found)


def _dots(kind: _Kind, node: str, pods: Iterable[Lifecycle], target: Target | None, began_ns: int) -> Dots:
    """An open event is drawn as missed if it is already longer than the target; otherwise it is left out."""
    points, missed = [], 0
    for pod in pods:
        for event in SAMPLES[kind.of].events(pod):
            value = event.at_least if event.value is None else event.value
            misses = target is not None and value is not None and not target.keeps(value)
            if value is not None and (event.value is not None or misses):
                points.append(((event.t_ns - began_ns) / 1e9, value))
                missed += misses
    return Dots(
        name=kind.name,
        node=node,
        unit="s",
        target=None if target is None else target.bound,
        slo="" if target is None else kind.slo,
        samples=len(points),
        missed=missed,
        points=_thinned(sorted(points)),
    )


def _events(lifecycles: Sequence[Lifecycle], began_ns: int, ended_ns: int) -> Iterator[Series]:
    width_s = max(BIN_S, (ended_ns - began_ns) / 1e9 / MAX_POINTS)
    edges = np.arange(0.0, (ended_ns - began_ns) / 1e9 + width_s, width_s)
    for node in _nodes(lifecycles):
        times_s = (restart_times_ns(lifecycles, node) - began_ns) / 1e9
        counts, _ = np.histogram(times_s, bins=edges)
        yield Series(
            name="restarts", node=node, unit="restarts/s", points=points_of(edges[:-1] + width_s / 2, counts / width_s)
        )
        yield Series(
            name="pods", node=node, unit="pods", points=points_of(edges, _present(lifecycles, node, began_ns, edges))
        )


def _present(
    lifecycles: Sequence[Lifecycle], node: str, began_ns: int, at_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Number of pods over time."""
    pods = [pod for pod in lifecycles if pod.node == node and pod.there_ns is not None]
    came = np.sort(np.asarray([((pod.there_ns or 0) - began_ns) / 1e9 for pod in pods]))
    went = np.sort(np.asarray([(pod.deleted_ns - began_ns) / 1e9 for pod in pods if pod.deleted_ns is not None]))
    return (np.searchsorted(came, at_s, "right") - np.searchsorted(went, at_s, "right")).astype(np.float64)


def _rates(scrapes: Sequence[Scrapes], began_ns: int) -> Iterator[Series]:
    for each in scrapes:
        if not each.t_ns:
            continue
        if each.source.source == "processes":
            for component, node in _components(each):
                line = along(each, "component_cpu_seconds_total", labelled(component=component, node=node))
                yield _rate(f"CPU: {component}", node, "cores", line, began_ns)
        elif each.source.source == "apiserver":
            yield _rate(
                "requests to the API server", "", "requests/s", along(each, "apiserver_request_total"), began_ns
            )
        elif each.source.source == "kubelet":
            line = along(each, "rest_client_requests_total")
            yield _rate("requests of the kubelet", each.source.node, "requests/s", line, began_ns)


def _components(scrapes: Scrapes) -> list[tuple[str, str]]:
    labels = (each.labels for each in scrapes.series if each.name == "component_cpu_seconds_total")
    return sorted({(each.get("component", ""), each.get("node", "")) for each in labels})


def _rate(
    name: str, node: str, unit: str, line: tuple[NDArray[np.int64], NDArray[np.float64]], began_ns: int
) -> Series:
    times, rates = line
    return Series(name=name, node=node, unit=unit, points=points_of((times - began_ns) / 1e9, rates))


def points_of(times_s: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[Point, ...]:
    """The points of a line, thinned."""
    pairs = zip(times_s.tolist(), values.tolist(), strict=True)
    return _thinned([(round(t_s, 2), round(value, 4)) for t_s, value in pairs])


def _thinned(points: Sequence[Point]) -> tuple[Point, ...]:
    """At most MAX_POINTS of them, the largest of every group of neighbours: the worst is never left out."""
    if len(points) <= MAX_POINTS:
        return tuple((round(t_s, 2), round(value, 4)) for t_s, value in points)
    bunches = np.array_split(np.arange(len(points)), MAX_POINTS)
    kept = (max((points[index] for index in bunch), key=lambda point: point[1]) for bunch in bunches)
    return tuple((round(t_s, 2), round(value, 4)) for t_s, value in kept)


def _nodes(lifecycles: Sequence[Lifecycle]) -> list[str]:
    return sorted({pod.node for pod in lifecycles})
