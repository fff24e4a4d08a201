"""Treatment against baseline: the effect on every figure, from the blocks of a run. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from crashloop.report.stress.load import FIGURES
from crashloop.report.stress.results import Comparison
from crashloop.slo.compare import BASELINE, TREATMENT, Block, Effect, compare, decided
from crashloop.slo.events import in_groups
from crashloop.slo.measurements import Lifecycle, Measured, Phase
from crashloop.slo.preconditions import FACTS, percentage
from crashloop.slo.scrapes import Scrapes
from crashloop.stress.figures import HEALTHY, figures, samples_of
from crashloop.stress.phases import Measurement
from crashloop.stress.plan import StressPlan
from crashloop.stress.profile import BOTH, StressNode, host_of
from crashloop.stress.requirements import MOST_FOREIGN

COMPARED: Mapping[str, str] = {
    "restarts_per_s": "restarts",
    "requests_per_restart": "API requests of the kubelet per restart",
    "kubelet_cpu_s_per_restart": "CPU of the kubelet per restart",
    "runtime_cpu_s_per_restart": "CPU of the runtime per restart",
    "kubelet_requests_per_s": "API requests of the kubelet",
    "apiserver_requests_per_s": "requests to the API server",
    "kubelet_cpu_cores": "CPU of the kubelet",
    "runtime_cpu_cores": "CPU of the runtime",
    "apiserver_cpu_cores": "CPU of the API server",
    "kubelet_memory_mib": "memory of the kubelet",
    "lateness_p50_s": "restart lateness, median of a block",
}
"""What each figure of a block is called, in the order of display."""
OF_ALL_NODES = ("apiserver_requests_per_s", "apiserver_cpu_cores")
"""Not of the block's node alone, so that blocks of both arms cannot be measured at once."""

PERCENTILES = (50, 90)


class ComparedRun(NamedTuple):
    """All measurements, by node."""

    plan: StressPlan
    hosts: Mapping[str, str]
    """Name of the Node object for each node of the profile."""
    scrapes: Sequence[Scrapes]
    lifecycles: Sequence[Lifecycle]
    targets: Mapping[str, float]
    """Of the rows on single events, in seconds (crashloop.stress.requirements.sample_targets)."""


class _Block(NamedTuple):
    """One arm in one measurement."""

    arm: str
    measured: Measurement
    place: str
    """Name of the Node object that it loaded."""
    before: float | None
    """Share of the host's CPU that others used in the wash-out before it."""

    def of(self, samples: tuple[float, ...]) -> Block:
        return Block(arm=self.arm, samples=samples, turn=self.measured.index, place=self.place, before=self.before)


def comparisons(seen: ComparedRun, measured: Sequence[Measurement]) -> tuple[Comparison, ...]:
    """One comparison per mix with measurements of both arms; the primary effects of all of them are read together."""
    plan, design = seen.plan, seen.plan.load.comparison
    node_of: dict[str, StressNode] = {node.arm: node for node in plan.load.nodes if node.arm}
    if set(node_of) != {BASELINE, TREATMENT}:
        return ()
    mixes = dict.fromkeys(each.stage.mix for each in measured if each.phase.arm)
    among = max(1, len(mixes) * len(design.primary))
    found = {
        mix: tuple(
            _effects_on_figures([each for each in measured if each.phase.arm and each.stage.mix == mix], seen, among)
        )
        for mix in mixes
    }
    read = iter(decided(effect for effects in found.values() for effect in effects))
    return tuple(
        Comparison(
            mix=mix,
            baseline=plan.kubelet(node_of[BASELINE].name).name,
            treatment=plan.kubelet(node_of[TREATMENT].name).name,
            effects=tuple(next(read) for _ in effects),
            doubt=_doubt([each for each in measured if each.phase.arm and each.stage.mix == mix], seen),
        )
        for mix, effects in found.items()
    )


def _doubt(measured: Sequence[Measurement], seen: ComparedRun) -> str:
    shares = (_foreign_share(each.phase, seen) for each in measured)
    highest = max((each for each in shares if each is not None), default=0.0)
    if highest <= MOST_FOREIGN:
        return ""
    return (
        f"Others used up to {percentage(highest)} of the host's CPU in a block; beyond {percentage(MOST_FOREIGN)} the figures "
        "may be theirs."
    )


def _effects_on_figures(measured: Sequence[Measurement], seen: ComparedRun, among: int) -> Iterator[Effect]:
    design = seen.plan.load.comparison
    blocks = [block for each in measured for block in _blocks(each, seen)]
    values = [
        figures(each.measured.phase, seen.scrapes, seen.lifecycles, seen.targets, node=each.place) for each in blocks
    ]
    at_once = any(each.phase.arm == BOTH for each in measured)
    for name, words in COMPARED.items():
        if name not in OF_ALL_NODES or not at_once:
            found = [of_block[name] for of_block in values]
            yield compare(
                words,
                [
                    each.of((value,) if value is not None and value > 0 else ())
                    for each, value in zip(blocks, found, strict=True)
                ],
                percentile=None,
                unit=FIGURES[name].unit,
                margin=design.margin,
                primary=name in design.primary,
                among=among,
            )
    starts = [each.of(_startups(each, seen)) for each in blocks]
    for percentile in PERCENTILES if any(each.samples for each in starts) else ():
        yield compare("start-up of healthy pods", starts, percentile=percentile, margin=design.margin)


def _blocks(measured: Measurement, seen: ComparedRun) -> Iterator[_Block]:
    """The arms that a measurement loaded, each on its own node."""
    profile, stage = seen.plan.load, measured.stage
    loaded = {profile.loads[name].node for name in stage.users}
    for node in profile.nodes:
        if node.arm and node.name in loaded and stage.arm in (node.arm, BOTH):
            yield _Block(
                node.arm, measured, host_of(node.name, stage, seen.hosts), _foreign_share_before(measured, seen)
            )


def _foreign_share_before(measured: Measurement, seen: ComparedRun) -> float | None:
    """None without a wash-out."""
    if measured.came_ns is None or not measured.stage.washout_s:
        return None
    from_ns = measured.came_ns - round(measured.stage.washout_s * 1e9)
    return _foreign_share(Phase(name="wash-out", from_ns=from_ns, to_ns=measured.came_ns), seen)


def _foreign_share(phase: Phase, seen: ComparedRun) -> float | None:
    return FACTS["foreign_cpu_share"].find(Measured(phases=(phase,), scrapes=tuple(seen.scrapes)), phase)


def _startups(block: _Block, seen: ComparedRun) -> tuple[float, ...]:
    pods = [each for each in seen.lifecycles if each.node == block.place or not each.node]
    found = samples_of("pod-startup", in_groups(pods, HEALTHY), block.measured.phase, seen.targets)
    return tuple(each for each in found if each > 0)
