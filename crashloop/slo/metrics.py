"""Figures of metrics in one window: the highest value of a gauge, growth per event or second, whether metrics exist and move.

Growth of a counter per event: API requests per restart, kubelet CPU seconds per restart. Counter and events cover the same
interval between scrapes. A node's counter belongs to the events of that node; a counter of the control plane to the events of
all nodes.

Growth of a gauge per event is what every event leaves behind: by medians of thirds, because a scrape in the midst of a restart
sees what the restart holds only for a moment.

Conservation: ground truth, restartCount and the kubelet's own counter agree on the number of starts. Every start of a container
in the window raises kubelet_started_containers_total by one, and every start after the first raises that container's
restartCount by one. A difference with an explanation proves nothing, and the
explanation is reported: a start within `EDGE_S` of a scrape at the window's end may count on either side of it; an instance
that was created and never ran, as a killed kubelet leaves it, may count as well; and if the counter was reset in the window,
its growth after the previous scrape is lost. A restart that a status states after the last reading of the pod's journals is
no difference, nor is one that became due between that reading and the pod's end. restartCount is the last reported one: it
must never exceed the observed starts, and may lag behind the starts of the last `REPORTED_S`.
Source: pkg/kubelet/kuberuntime/kuberuntime_container.go@v1.37.1 startContainer (StartedContainersTotal).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from crashloop.errors import ObservationError
from crashloop.slo.estimates import Steps, ratio_interval, sums_in_blocks
from crashloop.slo.events import COUNTS, SECONDS, in_groups, times_of
from crashloop.slo.increase import Found, ScrapeWindow, find_growth, notes, resets, selected, window_of
from crashloop.slo.measurements import Interval, Lifecycle, Measured, Phase, SliResult
from crashloop.slo.rows import ConservationSli, GaugeSli, GrowthSli, MovesSli, RatioSli, Selection
from crashloop.slo.scrapes import ScrapedSeries, Scrapes


def gauge(sli: GaugeSli, measured: Measured, window: Phase) -> Iterator[SliResult]:
    """One result per node. Raises ObservationError where the gauge, or the phase to compare with, was not scraped."""
    by_node = _series_by_node(sli, measured.scrapes)
    found = {node: _highest_value(every, [window]) for node, every in by_node.items()}
    if not any(highest is not None for highest in found.values()):
        raise ObservationError(f"metric {sli.metric!r} of {sli.source} was not scraped in the window.")
    before = [phase for phase in measured.phases if phase.name == sli.relative_to]
    if sli.relative_to is not None and not before:
        raise ObservationError(f"no phase {sli.relative_to!r} in this run to compare with.")
    for node, highest in found.items():
        if highest is None:
            continue
        value, scrapes = highest
        if before:
            compared = _highest_value(by_node[node], before)
            if compared is None or compared[0] <= 0:
                raise ObservationError(f"metric {sli.metric!r} has no value above 0 in phase {sli.relative_to}.")
            value /= compared[0]
        yield SliResult(value=value, samples=scrapes, group={"node": node})


def _series_by_node(sli: GaugeSli, scrapes: Iterable[Scrapes]) -> Mapping[str, list[ScrapedSeries]]:
    """The selected series of each node."""
    found: dict[str, list[ScrapedSeries]] = {}
    for source, series in selected(sli, scrapes):
        found.setdefault(source.node_of(series), []).append(series)
    return found


def _highest_value(every: Iterable[ScrapedSeries], windows: list[Phase]) -> tuple[float, int] | None:
    """The highest value, and the number of values; None without any."""
    found: list[float] = []
    for series in every:
        inside = [(each.from_ns <= series.t_ns) & (series.t_ns <= each.to_ns) for each in windows]
        found += series.values[np.logical_or.reduce(inside)].tolist()
    return (max(found), len(found)) if found else None


THIRD_HAS = 3
"""The fewest scrapes that make a median."""


def growth_per_event(sli: GrowthSli, measured: Measured, window: Phase) -> Iterator[SliResult]:
    """One result per selected series; the samples are the events of its node in the window.

    Raises ObservationError without enough scrapes of the gauge in both thirds, or without events.
    """
    if not measured.lifecycles:
        raise ObservationError("no lifecycles were recorded, so the number of events is unknown.")
    found = list(selected(sli, measured.scrapes))
    if not found:
        raise ObservationError(f"metric {sli.metric!r} of {sli.source} was not scraped in the window.")
    third = (window.to_ns - window.from_ns) / 3
    for source, series in found:
        share = (series.t_ns - window.from_ns) / third
        first, last = (series.values[(begin <= share) & (share <= begin + 1)] for begin in (0, 2))
        if min(len(first), len(last)) < THIRD_HAS:
            raise ObservationError(
                f"metric {sli.metric!r} of {sli.source} has fewer than {THIRD_HAS} scrapes in a third."
            )
        places = (times_of(sli.per, measured, source.node_of(series)) - window.from_ns) / third
        # The medians stand for the middles of their thirds.
        between = int(((places >= 0.5) & (places < 2.5)).sum())
        if not between:
            raise ObservationError(f"no {COUNTS[sli.per].of} in the window.")
        yield SliResult(
            value=float(np.median(last) - np.median(first)) / between,
            samples=int(((places >= 0) & (places < 3)).sum()),
            group=dict(series.labels),
        )


def ratio(sli: RatioSli, measured: Measured, window: Phase) -> SliResult:
    """Growth per event in a window, minus the growth without load if the row names such a phase.

    Raises UnknownMetric, or ObservationError where scrapes or that phase are missing.
    """
    if not measured.lifecycles and sli.per != SECONDS:
        raise ObservationError("no lifecycles were recorded, so the number of events is unknown.")
    found = find_growth(measured, sli, window.from_ns, window.to_ns)
    idle = _idle_per_s(sli, measured)
    counted: list[Steps] = []
    for source in found:
        times = source.times_ns
        rate = idle.get(source.scrapes.source.node, 0.0)
        steps = _growth_by_step(source, len(times)) - rate * np.diff(times) / 1e9
        counts = _events_by_step(sli, measured, source.scrapes.source.node, times)
        counted.append(Steps(times, (steps, counts)))
    grown, events = (float(sum(each.grown[row].sum() for each in counted)) for row in (0, 1))
    return SliResult(
        value=grown / events if events else None,
        interval=ratio_interval(*sums_in_blocks(counted)) if events else None,
        samples=round(events),
        from_ns=min(each.window.from_ns for each in found),
        to_ns=max(each.window.to_ns for each in found),
        notes=notes(found),
    )


def _growth_by_step(source: Found, scrapes: int) -> NDArray[np.float64]:
    steps = np.zeros(scrapes - 1)
    for growth in source.growths:
        steps += growth.steps
    return steps


def _events_by_step(sli: RatioSli, measured: Measured, node: str, times: NDArray[np.int64]) -> NDArray[np.float64]:
    if sli.per == SECONDS:
        return np.diff(times) / 1e9
    counts, _ = np.histogram(times_of(sli.per, measured, node), bins=times)
    return counts.astype(np.float64)


def _idle_per_s(sli: RatioSli, measured: Measured) -> dict[str, float]:
    """Growth per second without load, by node. Raises ObservationError if the run had no such phase."""
    if sli.idle is None:
        return {}
    phases = [phase for phase in measured.phases if phase.name == sli.idle]
    if not phases:
        raise ObservationError(f"no phase {sli.idle!r} in this run, whose rate was to be subtracted.")
    grown: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for phase in phases:
        for source in find_growth(measured, sli, phase.from_ns, phase.to_ns):
            node = source.scrapes.source.node
            grown[node] = grown.get(node, 0.0) + source.total
            seconds[node] = seconds.get(node, 0.0) + source.window.seconds
    return {node: total / seconds[node] for node, total in grown.items()}


def moves(sli: MovesSli, measured: Measured, window: Phase) -> SliResult:
    """The samples are the restarts of the window. Raises ObservationError without two scrapes, or for metrics not kept."""
    seen = [
        (each, found)
        for each in measured.scrapes
        if each.source.source == sli.source and (found := window_of(each, window.from_ns, window.to_ns)) is not None
    ]
    if not seen:
        raise ObservationError(f"fewer than two scrapes of {sli.source} in the window, so no movement is known.")
    dropped = [name for name in sli.names if not any(name in each.source.families for each, _ in seen)]
    if dropped:
        raise ObservationError(f"metric {dropped[0]!r} of {sli.source} was not kept in this run.")
    missing = [name for name in sli.names if not any(_values_of_family(each, found, name) for each, found in seen)]
    still = [
        name
        for name in sli.metrics
        if name not in missing
        and not any(_has_moved(values) for each, found in seen for values in _values_of_family(each, found, name))
    ]
    restarts = times_of("restarts", measured)
    return SliResult(
        value=float(len(missing) + len(still)),
        samples=int(((restarts >= window.from_ns) & (restarts < window.to_ns)).sum()),
        notes=(*(f"{name} does not exist." for name in missing), *(f"{name} did not move." for name in still)),
    )


def _values_of_family(scrapes: Scrapes, window: ScrapeWindow, name: str) -> list[list[float]]:
    """Of every series of a family; a histogram counts by its _count. A series that came within the window rose from 0."""
    found = []
    for series in scrapes.series:
        if series.name not in (name, f"{name}_count"):
            continue
        first, last = np.searchsorted(series.t_ns, [window.from_ns, window.to_ns + 1])
        came = [0.0] if first == 0 and len(series.t_ns) and series.t_ns[0] > window.from_ns else []
        values = [*came, *series.values[first:last].tolist()]
        if values:
            found.append(values)
    return found


def _has_moved(values: list[float]) -> bool:
    return min(values) < max(values)


COUNTER = Selection(metric="kubelet_started_containers_total", source="kubelet")
EDGE_S = 2.0
"""The kubelet counts a start once the runtime has answered, which on a loaded node takes a second."""
REPORTED_S = 30.0
"""The most that a status lags, even if a kubelet's requests queue behind its client rate limit."""


def conservation(sli: ConservationSli, measured: Measured, window: Phase) -> list[SliResult]:
    """The difference of the three in starts: one result per node. Raises ObservationError where a side is missing."""
    everyone = list(in_groups(measured.lifecycles, sli.groups))
    pods = [pod for pod in everyone if pod.starts_ns]
    if not pods:
        raise ObservationError("no starts were recorded by ground truth.")
    unheard = [pod.pod for pod in everyone if not pod.starts_ns and any(pod.restart_counts.values())]
    if unheard:
        raise ObservationError(
            f"ground truth lacks the starts of {len(unheard)} of {len(everyone)} pods, which restarted, such as {unheard[0]}."
        )
    found = find_growth(measured, COUNTER, window.from_ns, window.to_ns)
    lacks = notes(found)
    compared = []
    for source in found:
        node = source.scrapes.source.node
        of_node = [pod for pod in pods if pod.node == node]
        moments = sorted(t_ns for pod in of_node for starts in pod.starts_ns.values() for t_ns in starts)
        begin, end = source.window.from_ns, source.window.to_ns
        inside = _between(moments, begin, end)
        near = _near(moments, begin) + _near(moments, end)
        unstarted = sum(_between(sorted(each), begin, end) for pod in of_node for each in pod.unstarted_ns.values())
        unseen = sum(sum(pod.unseen_starts.values()) + _due_unseen(pod) for pod in of_node)
        anew = resets(source.scrapes, COUNTER.metric, source.window)
        counted = round(source.total)
        said = tuple(_disagreeing(of_node))
        differ = max(inside - counted, counted - inside - unseen, 0)
        proven = 0 if anew else max(0, differ - near - unstarted)
        compared.append(
            SliResult(
                value=float(differ + len(said)),
                interval=Interval(float(proven + len(said)), float(differ + len(said))),
                samples=inside,
                group={"node": node},
                from_ns=begin,
                to_ns=end,
                notes=(
                    f"{node}: {inside} starts seen, kubelet_started_containers_total rose by {counted}.",
                    *_explained(node, near, unstarted, unseen),
                    *_lost(node, sum(_between(moments, *each) for each in anew) if anew else None),
                    *said,
                    *lacks,
                ),
            )
        )
    return compared


def _explained(node: str, near: int, unstarted: int, unseen: int) -> Iterator[str]:
    """Possible explanations of a difference."""
    if near:
        yield f"{node}: starts within {EDGE_S:g} s of a scrape, which may count on either side: {near}."
    if unstarted:
        yield f"{node}: instances that were created and never ran, which may count as well: {unstarted}."
    if unseen:
        yield f"{node}: restarts stated or due after the end of ground truth, no difference where they count: {unseen}."


def _lost(node: str, around: int | None) -> Iterator[str]:
    """`around`: starts between the scrapes around every reset of the counter; None without a reset."""
    if around is not None:
        yield f"{node}: the counter was reset; starts between the scrapes around that, whose count may be lost: {around}."


def _due_unseen(pod: Lifecycle) -> int:
    """Restarts that nobody saw or stated, which were due after the end of ground truth, before the pod was gone."""
    if pod.deleted_ns is None or pod.seen_until_ns is None:
        return 0
    return sum(
        each.started_ns is None
        and bool(each.expected)
        and each.container not in pod.unseen_starts
        and pod.seen_until_ns <= each.exited_ns + round((each.due_s or 0.0) * 1e9) < pod.deleted_ns
        for each in pod.restarts
    )


def _between(moments: list[int], from_ns: int, to_ns: int) -> int:
    return bisect_right(moments, to_ns) - bisect_left(moments, from_ns)


def _near(moments: list[int], edge_ns: int) -> int:
    reach = int(EDGE_S * 1e9)
    return _between(moments, edge_ns - reach, edge_ns + reach)


def _disagreeing(pods: list[Lifecycle]) -> Iterator[str]:
    """Containers whose restartCount differs from the starts after the first, beyond the instances that never ran.

    RestartAllContainers raises it before the starts (KEP-5532), which never come if the pod ends meanwhile.
    """
    for pod in pods:
        begun = any(each.started_ns is None for each in pod.restarts_all)
        for container, starts in pod.starts_ns.items():
            if not starts:
                continue
            said = pod.restart_counts.get(container)
            last_ns = starts[-1] if pod.seen_until_ns is None else pod.seen_until_ns - int(REPORTED_S * 1e9)
            least = bisect_right(starts, last_ns) - 1
            most = len(starts) - 1 + len(pod.unstarted_ns.get(container, ())) + begun
            if said is not None and not least <= said <= most:
                yield f'{pod.pod}: restartCount of "{container}" is {said} after {len(starts)} starts.'
