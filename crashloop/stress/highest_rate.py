"""The highest rate of restarts at which a node keeps every SLO: by the steps of a load with more and more crashing pods. Pure.

Steps are stages of one profile that differ in the number of users of one load alone.

Theory of operation. Every step is judged on its own by every row that is judged per phase. A step keeps the SLOs if one was
judged and none broken; known deviations break nothing. The answer is the rate of the last step before the first that breaks
one. The limit lies between the two: the verdict names the steps of a run that narrows it.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from crashloop.errors import UsageError
from crashloop.report.stress.results import RowText
from crashloop.report.text import counted
from crashloop.slo.measurements import SloVerdict
from crashloop.slo.rows import Better, ConservationSli, KindsSli, RelativeSli, ShareSli, SloRow
from crashloop.stress.costing import UNDER_LOAD
from crashloop.stress.loads import AnyLoad
from crashloop.stress.phases import Measurement
from crashloop.stress.plan_text import crashing_pods
from crashloop.stress.profile import FULL, Count, Stage, StressProfile
from crashloop.verdict import Outcome

LEAST_STEPS = 3
FINER_STEPS = 5
STEPS = "--steps"


def is_step(stage: Stage) -> bool:
    """Whether it is a stage under load, of no comparison."""
    return stage.name == UNDER_LOAD and not stage.arm


def steps_of(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """The stages under load, in order, whatever differs between them."""
    return tuple(filter(is_step, stages))


def stepped_load(steps: Sequence[Stage]) -> str | None:
    """The load whose number of users alone differs between so many stages; None if they are no steps."""
    if len(steps) < LEAST_STEPS:
        return None
    names = {name for step in steps for name in step.users}
    differing = [name for name in names if len({step.users.get(name) for step in steps}) > 1]
    return differing[0] if len(differing) == 1 else None


def _required_steps(profile: StressProfile) -> str:
    """The load whose number of users makes the steps of a profile. Raises UsageError without steps."""
    load = stepped_load(steps_of(profile.stages))
    if load is None:
        raise UsageError(
            f'{STEPS}: the stages of stress profile "{profile.name}" are no steps.\n'
            f"Steps are at least {LEAST_STEPS} stages named {UNDER_LOAD} that differ in the number of users of one load, "
            "as in knee."
        )
    return load


def with_steps(profile: StressProfile, counts: Sequence[int]) -> StressProfile:
    """The profile with steps of these numbers of users in place of its own, each as long as its next larger one.

    Raises UsageError for a profile without steps.
    """
    load = _required_steps(profile)
    own = steps_of(profile.stages)
    begin = profile.stages.index(own[0])
    after = (stage for stage in profile.stages[begin:] if stage not in own)
    steps = (_step_of(own, load, count) for count in counts)
    return msgspec.structs.replace(profile, stages=(*profile.stages[:begin], *steps, *after))


def counts_of(text: str) -> tuple[int, ...]:
    """The numbers of `--steps`, such as "20,25,30". Raises UsageError unless they grow, and are enough."""
    numbers = text.split(",")
    counts = tuple(int(each) for each in numbers if each.isascii() and each.strip().isdecimal())
    if len(counts) != len(numbers) or len(counts) < LEAST_STEPS or sorted(set(counts)) != list(counts):
        raise UsageError(
            f"{STEPS} {text}: expected at least {LEAST_STEPS} numbers of users, each larger than the one before, "
            "such as 20,25,30."
        )
    return counts


def finer(kept: Stage, broken: Stage, load: str, *, nodes: int = 1) -> tuple[int, ...]:
    """Steps from one that keeps the SLOs to the one that breaks one; empty if there are none between them.

    They are users of one node, of so many `nodes` over which the load is spread.
    """
    low, high = (int(stage.users.get(load, 0)) // nodes for stage in (kept, broken))
    parts = FINER_STEPS - 1
    counts = sorted({low + round(number * (high - low) / parts) for number in range(FINER_STEPS)})
    return tuple(counts) if len(counts) >= LEAST_STEPS else ()


def _step_of(own: Sequence[Stage], load: str, count: int) -> Stage:
    like = next((each for each in own if _users_in(each, load) >= count), own[-1])
    users: dict[str, Count] = {**like.users, load: count}
    return msgspec.structs.replace(like, mix=f"{count} pods", users=users)


def _users_in(stage: Stage, load: str) -> float:
    users = stage.users.get(load, 0)
    return math.inf if users == FULL else int(users)


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


class _JudgedStep(NamedTuple):
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
    found = [_judged_step(each, number, by_phase, judge, rate) for each, number in zip(steps, pods, strict=True)]
    first = next((index for index, step in enumerate(found) if step.broken), None)
    if first is None:
        return _verdict_on_rate(Outcome.INCONCLUSIVE, f"no SLO broke up to {found[-1].words}: the limit is higher.")
    breaks = f"{found[first].words} break {', '.join(found[first].broken)}"
    if first == 0:
        return _verdict_on_rate(Outcome.INCONCLUSIVE, f"{breaks}, in the first step already: the limit is lower.")
    best = found[first - 1]
    if not best.kept:
        return _verdict_on_rate(Outcome.INCONCLUSIVE, f"{breaks}, and no SLO could be judged at {best.words}.")
    kept = counted(len(best.kept), "SLO")
    load = stepped_load([each.stage for each in steps])
    counts = finer(best.stage, found[first].stage, load, nodes=nodes) if load else ()
    more = f" {STEPS} {','.join(map(str, counts))} narrows it." if counts else ""
    sentence = f"{best.words} keep all of {kept} that could be judged; {breaks}.{more}"
    return _verdict_on_rate(Outcome.PASS, sentence, best.restarts_per_s)


def _is_of_a_step(row: SloRow) -> bool:
    """Comparisons and rows of single mixes are about other stages than the step."""
    if (
        isinstance(row.sli, ConservationSli | RelativeSli | KindsSli)
        or row.mixes
        or row.phase not in (None, UNDER_LOAD)
    ):
        return False
    return not (isinstance(row.sli, ShareSli) and row.phase is None)


def _judged_step(
    step: Measurement,
    pods: int,
    rows: Sequence[SloRow],
    judge: Callable[[SloRow, Measurement], SloVerdict],
    rate: Callable[[Measurement], float],
) -> _JudgedStep:
    verdicts = [judge(row, step) for row in rows]
    return _JudgedStep(
        stage=step.stage,
        pods=pods,
        restarts_per_s=rate(step),
        kept=tuple(each.slo for each in verdicts if each.outcome is Outcome.PASS),
        broken=tuple(_broken_slos(verdicts)),
    )


def _broken_slos(verdicts: Sequence[SloVerdict]) -> Iterator[str]:
    return (each.slo for each in verdicts if each.outcome is Outcome.FAIL and each.deviation is None)


def _verdict_on_rate(outcome: Outcome, sentence: str, value: float | None = None) -> SloVerdict:
    return SloVerdict(
        slo=NAME,
        outcome=outcome,
        mode="report",
        sentence=f"{NAME}: {sentence}",
        target=0.0,
        unit="restarts/s",
        value=value,
    )
