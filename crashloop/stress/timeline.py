"""The load over time: lines and dots of the report, and delays by number of the restart. Pure.

Times are seconds since the load began. Latencies go from scrape to scrape, beside their promises. A row is judged by group and
window; here all of its selection counts together, so that a line shows when it became slow. Gauges are those whose growth a row
judges: what the restarts leave behind. Curves under load are by number of the restart, node and mix, beside the due delays.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crashloop.report.stress.results import Dots, LoadCurve, LoadCurvePoint, Point, Series
from crashloop.slo.estimates import Histogram, percentile_of
from crashloop.slo.events import SAMPLES
from crashloop.slo.increase import growths, selected, window_of
from crashloop.slo.measurements import Lifecycle, Restart
from crashloop.slo.rows import GrowthSli, HistogramSli, SloRow, Target
from crashloop.slo.scrapes import Scrapes
from crashloop.stress.costing import UNDER_LOAD
from crashloop.stress.figures import along, labelled, restart_times_ns
from crashloop.stress.phases import Measurement
from crashloop.stress.profile import Stage

BIN_S = 5.0
MAX_POINTS = 400
"""Points of a line, and dots of a kind. Beyond it bins are wider, and only the highest of neighbouring dots or scrapes is
drawn: the worst points are always drawn, so bad points are over-represented."""


class _KindOfDots(NamedTuple):
    """Single events, shown as dots."""

    name: str
    of: str
    """A name of crashloop.slo.events.SAMPLES."""
    group: str
    slo: str
    """The row whose target is drawn."""


DOTS = (
    _KindOfDots("start-up of healthy pods", "pod-startup", "healthy", "pod-startup-latency"),
    _KindOfDots("restart lateness", "restart-lateness", "crasher", "restart-lateness"),
)


def timeline(
    scrapes: Sequence[Scrapes], lifecycles: Sequence[Lifecycle], *, began_ns: int, ended_ns: int
) -> tuple[Series, ...]:
    """Every line."""
    return tuple(
        each
        for each in (*_event_series(lifecycles, began_ns, ended_ns), *_rates_of_source(scrapes, began_ns))
        if each.points
    )


def dots(lifecycles: Sequence[Lifecycle], rows: Iterable[SloRow], *, began_ns: int) -> tuple[Dots, ...]:
    """Start-up of every healthy pod, and lateness of every restart, by node, with the target of their row."""
    targets = {row.id: row.target for row in rows}
    found = []
    for kind in DOTS:
        for node in _nodes_with_pods(lifecycles):
            pods = [pod for pod in lifecycles if pod.node == node and pod.group == kind.group]
            each = _dots_on_node(kind, node, pods, targets.get(kind.slo), began_ns)
            if each.points:
                found.append(each)
    return tuple(found)


def _dots_on_node(
    kind: _KindOfDots, node: str, pods: Iterable[Lifecycle], target: Target | None, began_ns: int
) -> Dots:
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


def _event_series(lifecycles: Sequence[Lifecycle], began_ns: int, ended_ns: int) -> Iterator[Series]:
    width_s = max(BIN_S, (ended_ns - began_ns) / 1e9 / MAX_POINTS)
    edges = np.arange(0.0, (ended_ns - began_ns) / 1e9 + width_s, width_s)
    for node in _nodes_with_pods(lifecycles):
        times_s = (restart_times_ns(lifecycles, node) - began_ns) / 1e9
        counts, _ = np.histogram(times_s, bins=edges)
        yield Series(
            name="restarts", node=node, unit="restarts/s", points=points_of(edges[:-1] + width_s / 2, counts / width_s)
        )
        yield Series(
            name="pods",
            node=node,
            unit="pods",
            points=points_of(edges, _present_series(lifecycles, node, began_ns, edges)),
        )


def _present_series(
    lifecycles: Sequence[Lifecycle], node: str, began_ns: int, at_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Number of pods over time."""
    pods = [pod for pod in lifecycles if pod.node == node and pod.there_ns is not None]
    came = np.sort(np.asarray([((pod.there_ns or 0) - began_ns) / 1e9 for pod in pods]))
    went = np.sort(np.asarray([(pod.deleted_ns - began_ns) / 1e9 for pod in pods if pod.deleted_ns is not None]))
    return (np.searchsorted(came, at_s, "right") - np.searchsorted(went, at_s, "right")).astype(np.float64)


def _rates_of_source(scrapes: Sequence[Scrapes], began_ns: int) -> Iterator[Series]:
    for each in scrapes:
        if not each.t_ns:
            continue
        if each.source.source == "processes":
            for component, node in _components_scraped(each):
                line = along(each, "component_cpu_seconds_total", labelled(component=component, node=node))
                yield _rate_series(f"CPU: {component}", node, "cores", line, began_ns)
        elif each.source.source == "apiserver":
            yield _rate_series(
                "requests to the API server", "", "requests/s", along(each, "apiserver_request_total"), began_ns
            )
        elif each.source.source == "kubelet":
            line = along(each, "rest_client_requests_total")
            yield _rate_series("requests of the kubelet", each.source.node, "requests/s", line, began_ns)


def _components_scraped(scrapes: Scrapes) -> list[tuple[str, str]]:
    labels = (each.labels for each in scrapes.series if each.name == "component_cpu_seconds_total")
    return sorted({(each.get("component", ""), each.get("node", "")) for each in labels})


def _rate_series(
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


def _nodes_with_pods(lifecycles: Sequence[Lifecycle]) -> list[str]:
    return sorted({pod.node for pod in lifecycles})


HELD_IN_WORDS: Mapping[str, str] = {
    "component_process_ids": "process ids",
    "component_sockets": "sockets",
    "component_open_files": "open files",
    "cluster_files": "files and folders",
}
"""What a gauge counts."""
WHOLE_CLUSTER = "whole cluster"


def held(rows: Iterable[SloRow], scrapes: Sequence[Scrapes], *, began_ns: int) -> Iterator[Series]:
    """One line per selected series of every such row; seconds since the load began."""
    for row in rows:
        if not isinstance(row.sli, GrowthSli):
            continue
        for _, each in selected(row.sli, scrapes):
            if len(each.values):
                words = HELD_IN_WORDS.get(each.name, each.name)
                yield Series(
                    name=f"held, {words}: {each.labels.get('component', '')}",
                    node=each.labels.get("node") or WHOLE_CLUSTER,
                    unit=words,
                    points=points_of((each.t_ns - began_ns) / 1e9, each.values),
                )


SHOWN_LATENCIES: Mapping[str, str] = {
    "api-call-latency-mutating": "mutating API calls",
    "pleg-relist": "relists of the kubelet",
}
"""Rows that are shown over time, with the name of their samples."""


def latencies(rows: Iterable[SloRow], scrapes: Sequence[Scrapes], *, began_ns: int) -> Iterator[Series]:
    """One line per row and source; seconds since the load began. Scrapes without a new sample give no point."""
    for row in rows:
        if row.id not in SHOWN_LATENCIES or not isinstance(row.sli, HistogramSli) or row.percentile is None:
            continue
        for each in scrapes:
            points = tuple(_latency_points(row.sli, row.percentile, each, began_ns)) if each.t_ns else ()
            if each.source.source == row.sli.source and points:
                yield Series(
                    name=f"latency: p{row.percentile:g} of {SHOWN_LATENCIES[row.id]}",
                    node=each.source.node,
                    unit=row.target.unit,
                    target=row.target.bound,
                    slo=row.id,
                    at_most=_last_finite_edge(row.sli, each),
                    points=points,
                )


def _latency_points(sli: HistogramSli, percentile: float, scrapes: Scrapes, began_ns: int) -> Iterator[Point]:
    window = window_of(scrapes, scrapes.t_ns[0], scrapes.t_ns[-1])
    if window is None:
        return
    by_edge: defaultdict[float, list[NDArray[np.float64]]] = defaultdict(list)
    for growth in growths(scrapes, f"{sli.metric}_bucket", window, sli.selects):
        by_edge[float(growth.labels["le"])].append(growth.steps)
    counts = {edge: np.sum(steps, axis=0) for edge, steps in by_edge.items()}
    for step, t_ns in enumerate(scrapes.t_ns[window.first + 1 : window.last + 1]):
        histogram = Histogram.of((edge, float(found[step])) for edge, found in counts.items())
        if histogram.samples:
            yield (round((t_ns - began_ns) / 1e9, 2), round(histogram.quantile(percentile).value, 4))


def _last_finite_edge(sli: HistogramSli, scrapes: Scrapes) -> float | None:
    """The histogram's highest edge."""
    edges = (float(each.labels["le"]) for each in scrapes.series if each.name == f"{sli.metric}_bucket")
    return max((edge for edge in edges if math.isfinite(edge)), default=None)


MAX_RESTARTS = 30
"""Number of separate restarts; on a curve with a low maximum the later ones are alike."""
MIN_SAMPLES = 2


def load_curves(
    lifecycles: Iterable[Lifecycle], stages: Sequence[Measurement], profile_of: Callable[[str, Stage], str]
) -> tuple[LoadCurve, ...]:
    """One curve per node, profile and mix of the storm stages; `profile_of` names a node's kubelet profile in a stage.

    A pod belongs to the first stage whose end is after its first exit, since a stage removes its pods. So restarts before the
    measurement, while users start, are part of the stage's curve.
    """
    found: defaultdict[tuple[str, str, str], defaultdict[int, list[Restart]]] = defaultdict(lambda: defaultdict(list))
    for pod in lifecycles:
        stage = _stage_with_pod(pod, stages)
        if stage is None or stage.phase.name != UNDER_LOAD:
            continue
        key = (pod.node, profile_of(pod.node, stage.stage), stage.stage.label)
        for each in pod.restarts:
            if each.due_s is not None and each.created_ns is not None and each.number <= MAX_RESTARTS:
                found[key][each.number].append(each)
    order = {each.stage.label: index for index, each in reversed(list(enumerate(stages)))}
    curves = (
        LoadCurve(
            node=node,
            profile=profile,
            stage=label,
            points=tuple(
                _curve_point(number, restarts)
                for number, restarts in sorted(numbers.items())
                if len(restarts) >= MIN_SAMPLES
            ),
        )
        for (node, profile, label), numbers in sorted(found.items(), key=lambda one: (order[one[0][2]], *one[0]))
    )
    return tuple(each for each in curves if each.points)


def _stage_with_pod(pod: Lifecycle, stages: Sequence[Measurement]) -> Measurement | None:
    first_ns = min((each.exited_ns for each in pod.restarts), default=None)
    return next((each for each in stages if first_ns is not None and first_ns < each.phase.to_ns), None)


def _curve_point(number: int, found: list[Restart]) -> LoadCurvePoint:
    delays = [(each.created_ns - each.exited_ns) / 1e9 for each in found if each.created_ns is not None]
    return LoadCurvePoint(
        restart=number,
        due_s=percentile_of([each.due_s or 0.0 for each in found], 50),
        samples=len(found),
        lowest_s=round(min(delays), 4),
        p50_s=round(percentile_of(delays, 50), 4),
        p90_s=round(percentile_of(delays, 90), 4),
        highest_s=round(max(delays), 4),
    )
