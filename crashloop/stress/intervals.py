"""Intervals (95 %) of a stage's key figures by what varies within it (crashloop.slo.estimates), by the names of figures. Pure."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from crashloop.slo.estimates import (
    Steps,
    block_of,
    blocks_in,
    percentile_interval,
    rate_interval,
    ratio_interval,
    sums_in_blocks,
)
from crashloop.slo.events import in_groups
from crashloop.slo.increase import growths, window_of
from crashloop.slo.measurements import Interval, Lifecycle, Phase
from crashloop.slo.scrapes import Scrapes
from crashloop.stress.figures import CRASHING, HEALTHY, counted_of, per_restart
from crashloop.stress.metric_series import labelled, restart_times_ns

COMPONENTS = ("kubelet", "runtime", "apiserver")
PERCENTILES = (50, 99)


def intervals(
    phase: Phase, scrapes: Sequence[Scrapes], lifecycles: Sequence[Lifecycle], targets: Mapping[str, float]
) -> dict[str, Interval]:
    """Intervals of the figures of a window, without figures with too few samples; `targets` as in `figures`."""
    return {
        name: each
        for name, each in _found(phase, scrapes, lifecycles, targets)
        if each is not None and each.bounds is not None
    }


def _found(
    phase: Phase, scrapes: Sequence[Scrapes], lifecycles: Sequence[Lifecycle], targets: Mapping[str, float]
) -> Iterator[tuple[str, Interval | None]]:
    times = restart_times_ns(lifecycles)
    in_phase = times[(times >= phase.from_ns) & (times < phase.to_ns)]
    yield "restarts_per_s", rate_interval(in_phase, phase.from_ns, phase.to_ns)
    yield "requests_per_restart", per_restart(phase, scrapes, lifecycles).interval
    for component in COMPONENTS:
        yield f"{component}_cpu_cores", _cores(component, phase, scrapes)
    for name, kind, groups in (("startup", "pod-startup", HEALTHY), ("lateness", "restart-lateness", CRASHING)):
        found = counted_of(kind, in_groups(lifecycles, groups), phase, targets)
        for percentile in PERCENTILES if found.values and blocks_in(phase.from_ns, phase.to_ns) else ():
            places = block_of(found.times_ns, phase.from_ns, phase.to_ns)
            yield f"{name}_p{percentile}_s", percentile_interval(found.values, places, percentile)[0]


def _cores(component: str, phase: Phase, scrapes: Sequence[Scrapes]) -> Interval | None:
    """All processes of a component are read together, so one source covers all nodes."""
    for each in scrapes:
        window = window_of(each, phase.from_ns, phase.to_ns) if each.source.source == "processes" else None
        if window is None:
            continue
        found = list(growths(each, "component_cpu_seconds_total", window, labelled(component=component)))
        if not found:
            return None
        times = np.asarray(each.t_ns[window.first : window.last + 1], dtype=np.int64)
        steps = np.sum([growth.steps for growth in found], axis=0)
        return ratio_interval(*sums_in_blocks([Steps(times, (steps, np.diff(times) / 1e9))]))
    return None
