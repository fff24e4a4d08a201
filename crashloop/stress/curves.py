"""Curves under load: how long the restarts of each number took on each node, beside what was due. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable

from crashloop.report.stress_results import LoadCurve, LoadCurvePoint
from crashloop.slo.estimates import percentile_of
from crashloop.slo.types import Lifecycle, Restart

MAX_RESTARTS = 30
"""Restarts that are told apart; on a curve with a low maximum the later ones are all alike."""
MIN_SAMPLES = 2


def load_curves(lifecycles: Iterable[Lifecycle], profile_of: Callable[[str], str]) -> tuple[LoadCurve, ...]:
    """One curve a node whose containers have delays that are known; `profile_of` names a node's kubelet profile."""
    by_node: defaultdict[str, defaultdict[int, list[Restart]]] = defaultdict(lambda: defaultdict(list))
    for pod in lifecycles:
        for each in pod.restarts:
            if each.due_s is not None and each.created_ns is not None and each.number <= MAX_RESTARTS:
                by_node[pod.node][each.number].append(each)
    return tuple(
        LoadCurve(
            node=node,
            profile=profile_of(node),
            points=tuple(
                _point(number, found) for number, found in sorted(numbers.items()) if len(found) >= MIN_SAMPLES
            ),
        )
        for node, numbers in sorted(by_node.items())
    )


def _point(number: int, found: list[Restart]) -> LoadCurvePoint:
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
