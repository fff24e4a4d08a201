"""Circumstances in which two stress runs differ: versions, load, host."""

from collections.abc import Iterator

import msgspec

from crashloop.comparison.circumstances import (
    ABSENT,
    Circumstance,
    Pair,
    differing,
    of_host,
    of_versions,
    profile_in_words,
)
from crashloop.comparison.stress.side import JudgedStressRun, kubelet_profiles, verdicts_of
from crashloop.comparison.stress.stages import StagePair, stages_in_words
from crashloop.report.stress.results import StageResult
from crashloop.stress.loads import AnyLoad
from crashloop.stress.profile import StressProfile

NOTABLE_SHARE = 0.05
"""Smaller differences of shares of the host's CPU are not reported."""


def stress_circumstances(
    before: JudgedStressRun, after: JudgedStressRun, stages: tuple[StagePair, ...]
) -> tuple[Circumstance, ...]:
    """Possible explanations of a change, the likeliest first."""
    old, new = before.results, after.results
    return differing(
        (
            *of_versions(old, new, (before.key, after.key)),
            ("load", old.profile, new.profile),
            ("stages", stages_in_words(before.profile), stages_in_words(after.profile)),
            *_loads(before.profile, after.profile),
            *_each("kubelet profile of", _kubelets(before), _kubelets(after)),
            *_promises(before, after),
            *of_host(old, new),
            *_taken_by_others(stages),
        )
    )


def _loads(before: StressProfile, after: StressProfile) -> Iterator[Pair]:
    """The differing fields of a load; the kind of a load of one run only."""
    for name in dict.fromkeys((*before.loads, *after.loads)):
        old, new = (_fields(profile.loads.get(name)) for profile in (before, after))
        changed = [field for field in dict.fromkeys((*old, *new)) if old.get(field) != new.get(field)]
        shown = changed if old and new else ["kind"]
        yield f"load {name}", _worded(old, shown), _worded(new, shown)


def _fields(load: AnyLoad | None) -> dict[str, str]:
    return {} if load is None else {name: str(value) for name, value in msgspec.to_builtins(load).items()}


def _worded(fields: dict[str, str], shown: list[str]) -> str:
    return ", ".join(f"{name} {fields.get(name, ABSENT)}" for name in shown) if fields else ABSENT


def _each(what: str, before: dict[str, str], after: dict[str, str]) -> Iterator[Pair]:
    """Entries of both runs are compared; an entry of one run is absent in the other."""
    for name in dict.fromkeys((*before, *after)):
        yield f"{what} {name}", before.get(name, ABSENT), after.get(name, ABSENT)


def _kubelets(run: JudgedStressRun) -> dict[str, str]:
    return {node: f"{profile.name}: {profile_in_words(profile)}" for node, profile in kubelet_profiles(run).items()}


def _promises(before: JudgedStressRun, after: JudgedStressRun) -> Iterator[Pair]:
    """Promises of both runs; a promise of one run only is listed among the verdicts."""
    old, new = verdicts_of(before), verdicts_of(after)
    for row in before.results.rows:
        other = after.results.row(row.id)
        if other is not None and row.id in old and row.id in new:
            modes = old[row.id].mode, new[row.id].mode
            yield f"promise {row.id}", f"{row.promise} ({modes[0]})", f"{other.promise} ({modes[1]})"


def _taken_by_others(stages: tuple[StagePair, ...]) -> Iterator[Pair]:
    for each in stages:
        old, new = _share(each.before), _share(each.after)
        if each.before is None or each.after is None or (old is None and new is None):
            continue
        if old is None or new is None or abs(old - new) >= NOTABLE_SHARE:
            yield f"host CPU taken by others in {each.key}", _percent(old), _percent(new)


def _share(stage: StageResult | None) -> float | None:
    return None if stage is None else stage.figures.get("foreign_cpu_share")


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.0f} %"
