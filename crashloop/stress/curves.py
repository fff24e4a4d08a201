"""Curves under load: delays by number of the restart, node and mix, beside the due delays. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from crashloop.report.stress.results import LoadCurve, LoadCurvePoint
from crashloop.slo.estimates import percentile_of
from crashloop.slo.measurements import Lifecycle, Restart
from crashloop.stress.costing import UNDER_LOAD
from crashloop.stress.phases import Measurement
from crashloop.stress.profile import Stage

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
        stage = _stage_of(pod, stages)
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
                _point(number, restarts) for number, restarts in sorted(numbers.items()) if len(restarts) >= MIN_SAMPLES
            ),
        )
        for (node, profile, label), numbers in sorted(found.items(), key=lambda one: (order[one[0][2]], *one[0]))
    )
    return tuple(each for each in curves if each.points)


def _stage_of(pod: Lifecycle, stages: Sequence[Measurement]) -> Measurement | None:
    first_ns = min((each.exited_ns for each in pod.restarts), default=None)
    return next((each for each in stages if first_ns is not None and first_ns < each.phase.to_ns), None)


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
