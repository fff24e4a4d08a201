"""The highest rate of restarts at which a node keeps every SLO: by the steps of a load with more and more crashing pods. Pure.

Theory of operation. Every step is judged on its own by every row that is judged per phase. A step keeps the SLOs if one was
judged and none broken; known deviations break nothing. The answer is the rate of the last step before the first that breaks
one. The limit lies between the two: the verdict names the steps of a run that narrows it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from crashloop.report.stress.results import RowText
from crashloop.report.text import counted
from crashloop.slo.measurements import SloVerdict
from crashloop.slo.rows import Better, ConservationSli, KindsSli, RelativeSli, ShareSli, SloRow
from crashloop.stress.costing import UNDER_LOAD
from crashloop.stress.loads import AnyLoad
from crashloop.stress.phases import Measurement
from crashloop.stress.plan_text import crashing_pods
from crashloop.stress.profile import Stage
from crashloop.stress.steps import LEAST_STEPS, OPTION, finer, is_step, stepped_load
from crashloop.verdict import Outcome

NAME = "highest-rate"
TEXT = RowText(
    id=NAME,
    definition=(
        "Restarts per second of the last step of the load that keeps every SLO that could be judged in it; the next one "
        "breaks one."
    ),
    source='this suite; KEP-4603 "Goals" wants this rate found by measurement',
    promise="is found",
    better=Better.HIGHER,
    phase=UNDER_LOAD,
)


class _Step(NamedTuple):
    stage: Stage
    pods: int
    restarts_per_s: float
    kept: tuple[str, ...]
    broken: tuple[str, ...]

    @property
    def words(self) -> str:
        return f"{self.restarts_per_s:.1f} restarts/s of {self.pods} crashing pods"


def highest_rate(
    measured: Sequence[Measurement],
    loads: Mapping[str, AnyLoad],
    rows: Sequence[SloRow],
    judge: Callable[[SloRow, Measurement], SloVerdict],
    rate: Callable[[Measurement], float],
    *,
    nodes: int = 1,
) -> SloVerdict | None:
    """The verdict; None for a load without steps. `judge` judges a row in one step alone; `rate` is in restarts/s.

    `nodes` are those over which the load is spread: rates and pods are those of all of them together.
    """
    steps = [each for each in measured if is_step(each.stage)]
    pods = [crashing_pods(each.stage, loads) for each in steps]
    if len(steps) < LEAST_STEPS or any(after <= before for before, after in pairwise(pods)):
        return None
    by_phase = [row for row in rows if _is_of_a_step(row)]
    found = [_step(each, number, by_phase, judge, rate) for each, number in zip(steps, pods, strict=True)]
    first = next((index for index, step in enumerate(found) if step.broken), None)
    if first is None:
        return _verdict(Outcome.INCONCLUSIVE, f"no SLO broke up to {found[-1].words}: the limit is higher.")
    breaks = f"{found[first].words} break {', '.join(found[first].broken)}"
    if first == 0:
        return _verdict(Outcome.INCONCLUSIVE, f"{breaks}, in the first step already: the limit is lower.")
    best = found[first - 1]
    if not best.kept:
        return _verdict(Outcome.INCONCLUSIVE, f"{breaks}, and no SLO could be judged at {best.words}.")
    kept = counted(len(best.kept), "SLO")
    load = stepped_load([each.stage for each in steps])
    counts = finer(best.stage, found[first].stage, load, nodes=nodes) if load else ()
    more = f" {OPTION} {','.join(map(str, counts))} narrows it." if counts else ""
    sentence = f"{best.words} keep all of {kept} that could be judged; {breaks}.{more}"
    return _verdict(Outcome.PASS, sentence, best.restarts_per_s, counts)


def _is_of_a_step(row: SloRow) -> bool:
    """Comparisons and rows of single mixes are about other stages than the step."""
    if (
        isinstance(row.sli, ConservationSli | RelativeSli | KindsSli)
        or row.mixes
        or row.phase not in (None, UNDER_LOAD)
    ):
        return False
    return not (isinstance(row.sli, ShareSli) and row.phase is None)


def _step(
    step: Measurement,
    pods: int,
    rows: Sequence[SloRow],
    judge: Callable[[SloRow, Measurement], SloVerdict],
    rate: Callable[[Measurement], float],
) -> _Step:
    verdicts = [judge(row, step) for row in rows]
    return _Step(
        stage=step.stage,
        pods=pods,
        restarts_per_s=rate(step),
        kept=tuple(each.slo for each in verdicts if each.outcome is Outcome.PASS),
        broken=tuple(_broken(verdicts)),
    )


def _broken(verdicts: Sequence[SloVerdict]) -> Iterator[str]:
    return (each.slo for each in verdicts if each.outcome is Outcome.FAIL and each.deviation is None)


def _verdict(outcome: Outcome, sentence: str, value: float | None = None, narrower: tuple[int, ...] = ()) -> SloVerdict:
    return SloVerdict(
        slo=NAME,
        outcome=outcome,
        mode="report",
        sentence=f"{NAME}: {sentence}",
        target=0.0,
        unit="restarts/s",
        value=value,
        narrower=narrower,
    )
