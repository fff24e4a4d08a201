"""Treatment against baseline: the effect on every figure, from interleaved blocks of a run. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from crashloop.report.stress.results import Comparison
from crashloop.slo.compare import BASELINE, TREATMENT, Block, Effect, compare
from crashloop.slo.events import in_groups
from crashloop.slo.scrapes import Scrapes
from crashloop.slo.types import Lifecycle
from crashloop.stress.figures import HEALTHY, figures, samples_of
from crashloop.stress.phases import Measurement
from crashloop.stress.plan import StressPlan
from crashloop.stress.profile import StressNode


class ComparedFigure(NamedTuple):
    """A figure of a block that is compared."""

    figure: str
    words: str
    unit: str


COMPARED = (
    ComparedFigure("restarts_per_s", "restarts", "restarts/s"),
    ComparedFigure("kubelet_requests_per_s", "API requests of the kubelet", "requests/s"),
    ComparedFigure("apiserver_requests_per_s", "requests to the API server", "requests/s"),
    ComparedFigure("kubelet_cpu_cores", "CPU of the kubelet", "cores"),
    ComparedFigure("runtime_cpu_cores", "CPU of the runtime", "cores"),
    ComparedFigure("apiserver_cpu_cores", "CPU of the API server", "cores"),
    ComparedFigure("kubelet_memory_mib", "memory of the kubelet", "MiB"),
)


class Seen(NamedTuple):
    """All measurements, by node."""

    plan: StressPlan
    hosts: Mapping[str, str]
    """Name of the Node object for each node of the profile."""
    scrapes: Sequence[Scrapes]
    lifecycles: Sequence[Lifecycle]
    targets: Mapping[str, float]
    """Of the rows on single events, in seconds (crashloop.stress.rows.sample_targets)."""


def comparisons(seen: Seen, measured: Sequence[Measurement]) -> tuple[Comparison, ...]:
    """One comparison per mix with measurements of both arms."""
    plan = seen.plan
    node_of: dict[str, StressNode] = {node.arm: node for node in plan.load.nodes if node.arm}
    if set(node_of) != {BASELINE, TREATMENT}:
        return ()
    mixes = dict.fromkeys(each.stage.mix for each in measured if each.phase.arm)
    return tuple(
        Comparison(
            mix=mix,
            baseline=plan.kubelet(node_of[BASELINE].name).name,
            treatment=plan.kubelet(node_of[TREATMENT].name).name,
            effects=_effects([each for each in measured if each.phase.arm and each.stage.mix == mix], seen),
        )
        for mix in mixes
    )


def _effects(blocks: Sequence[Measurement], seen: Seen) -> tuple[Effect, ...]:
    found = [(each, _figures_of(each, seen)) for each in blocks]
    effects = [
        compare(
            compared.words,
            [Block(arm=each.phase.arm, samples=_sample(values[compared.figure])) for each, values in found],
            percentile=None,
            unit=compared.unit,
        )
        for compared in COMPARED
    ]
    for percentile in (50, 90):
        starts = [Block(arm=each.phase.arm, samples=_startups(each, seen)) for each in blocks]
        effects.append(compare("start-up of healthy pods", starts, percentile=percentile))
    return tuple(effects)


def _figures_of(block: Measurement, seen: Seen) -> dict[str, float | None]:
    """Of the block's loaded node."""
    profile = seen.plan.load
    loaded = {profile.loads[name].node for name in block.stage.users}
    node = next(each.name for each in profile.nodes if each.arm == block.phase.arm and each.name in loaded)
    return figures(block.phase, seen.scrapes, seen.lifecycles, seen.targets, node=seen.hosts[node])


def _sample(value: float | None) -> tuple[float, ...]:
    return (value,) if value is not None and value > 0 else ()


def _startups(block: Measurement, seen: Seen) -> tuple[float, ...]:
    return samples_of("pod-startup", in_groups(seen.lifecycles, HEALTHY), block.phase, seen.targets)
