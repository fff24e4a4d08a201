"""Pairs of stages of two stress runs, and reasons for more noise than usual in their values.

A stage is matched by its name, its mix, its arm, and its number among the stages with the same. Values are compared only
under the same load: the same loads, with the same number of users.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from crashloop.comparison.stress.side import JudgedStressRun, is_same_load
from crashloop.comparison.stress.values import NOISE_RATIO
from crashloop.report.stress.results import StageResult
from crashloop.report.text import counted
from crashloop.stress.profile import StressProfile

AT_ITS_LIMIT = 0.9
"""Busy share of the host's CPU from which on the host has no reserve: the rows on restarts promise nothing beyond it."""

LEAST_LEFT = 0.01
"""Smallest assumed idle share of the host's CPU, since a share cannot be measured more exactly."""


class StageKey(NamedTuple):
    """The key for matching stages of two runs."""

    name: str
    mix: str
    arm: str
    number: int
    """1 for the first stage with that name, mix and arm."""

    def __str__(self) -> str:
        said = ", ".join(filter(None, (self.name, self.mix, self.arm)))
        return said if self.number == 1 else f"{said}, round {self.number}"


class StagePair(NamedTuple):
    """One stage; None for a run that has not measured it."""

    key: StageKey
    before: StageResult | None
    after: StageResult | None
    obstacle: str
    """Why its values cannot be compared; empty if they can."""
    at_its_limit: bool
    """Whether the host was busy in either run: where work queues, a little more work means much longer waits."""
    widened: float
    """Ratio of the CPU that was available to the load in the two runs."""


def stage_pairs(before: JudgedStressRun, after: JudgedStressRun) -> tuple[StagePair, ...]:
    """Every stage that at least one run has measured, in order."""
    old, new = _by_key(before.results.stages), _by_key(after.results.stages)
    return tuple(
        StagePair(
            key,
            old.get(key),
            new.get(key),
            _obstacle(before.profile, after.profile, old.get(key), new.get(key)),
            _is_at_its_limit(old.get(key)) or _is_at_its_limit(new.get(key)),
            _widened(before, after, old.get(key), new.get(key)),
        )
        for key in dict.fromkeys((*old, *new))
    )


def threshold_of(pairs: Iterable[StagePair], before: JudgedStressRun, after: JudgedStressRun) -> float:
    """The ratio by which values of these stages may differ.

    NOISE_RATIO once more if the host was at its limit: of 76 figures of two rounds of `full` on two cores, with nothing
    changed, 12 had intervals that did not overlap, and differed by a factor of up to 1.81. Once more if the runs had the same
    load in another order or for another time. All of it times the ratio of the available CPU, by cores and by other
    processes.
    """
    looked_at = tuple(pairs)
    reasons = (any(each.at_its_limit for each in looked_at), not is_same_load(before, after))
    return NOISE_RATIO ** (1 + sum(reasons)) * max((each.widened for each in looked_at), default=1.0)


def _by_key(stages: Iterable[StageResult]) -> dict[StageKey, StageResult]:
    seen: Counter[tuple[str, str, str]] = Counter()
    found = {}
    for each in stages:
        kind = (each.name, each.mix, each.arm)
        seen[kind] += 1
        found[StageKey(*kind, seen[kind])] = each
    return found


def _obstacle(before: StressProfile, after: StressProfile, old: StageResult | None, new: StageResult | None) -> str:
    if old is None or new is None:
        return f"measured in the {'first' if new is None else 'second'} run only."
    if before.disturbances != after.disturbances:
        return "the runs do not disturb the cluster in the same way."
    if old.users != new.users:
        return f"{_users(old)} in the first run, {_users(new)} in the second."
    differing = [name for name in old.users if before.loads.get(name) != after.loads.get(name)]
    return f"the runs do not have the same load {', '.join(differing)}." if differing else ""


def _is_at_its_limit(stage: StageResult | None) -> bool:
    return stage is not None and (stage.figures.get("host_busy_share") or 0.0) > AT_ITS_LIMIT


def _users(stage: StageResult) -> str:
    return " and ".join(f"{count} {name}" for name, count in stage.users.items()) or "no users"


def _widened(
    before: JudgedStressRun, after: JudgedStressRun, old: StageResult | None, new: StageResult | None
) -> float:
    shares = [each.figures.get("foreign_cpu_share") if each is not None else None for each in (old, new)]
    known = [0.0 if None in shares else share or 0.0 for share in shares]
    left = [run.cores * max(LEAST_LEFT, 1 - share) for run, share in zip((before, after), known, strict=True)]
    return max(left) / min(left)


def stages_in_words(profile: StressProfile) -> str:
    """`baseline 40 s, storm 130 s, recovery 30 s; 2 rounds`."""
    stages = ", ".join(f"{stage.label} {stage.duration_s:g} s" for stage in profile.stages)
    return stages if profile.rounds == 1 else f"{stages}; {counted(profile.rounds, 'round')}"
