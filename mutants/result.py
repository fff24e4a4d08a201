"""What became of a mutant, from the verdicts on its node. Pure."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from crashloop.verdict import Outcome, Verdict

DEATH = "death of the kubelet"
"""Stands for a requirement where the node of a mutant did not come up, or its kubelet crashed."""


class Fate(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    UNDECIDED = "undecided"
    """No verdict accuses it, and some say that evidence is missing."""


class Kill(msgspec.Struct, frozen=True, kw_only=True):
    """A FAIL of a mutant, where the kubelet without a mutant has a PASS."""

    requirement: str
    scenario: str
    finding: str


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The scenarios that a mutant has met, and what came of it."""

    id: str
    scenarios: tuple[str, ...] = ()
    """Those that every requirement judged."""
    kills: tuple[Kill, ...] = ()
    undecided: dict[str, str] = {}
    """A finding by scenario that cannot be judged."""

    @property
    def met(self) -> bool:
        """Whether it met any scenario."""
        return bool(self.scenarios or self.kills or self.undecided)

    @property
    def fate(self) -> Fate:
        if self.kills:
            return Fate.KILLED
        return Fate.UNDECIDED if self.undecided else Fate.SURVIVED


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario on the node of one kubelet."""

    scenario: str
    """Its name in the conformance suite."""
    verdicts: tuple[Verdict, ...]
    death: str | None = None
    """Why its node did not come up, or how its kubelet crashed."""


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """What the kubelet without a mutant does on a scenario."""

    keeps: tuple[str, ...] = ()
    """Requirements whose verdict is PASS, or FAIL with a known deviation."""
    fails: tuple[str, ...] = ()
    """Requirements that accuse it; they say nothing about a mutant."""


def control_of(seen: Iterable[Seen]) -> dict[str, Control]:
    """What the kubelet without a mutant does, by scenario; scenarios on which it keeps nothing are left out."""
    controls = {
        each.scenario: Control(
            keeps=_requirements(v for v in each.verdicts if v.outcome is Outcome.PASS or v.deviation),
            fails=_requirements(v for v in each.verdicts if v.fails_the_run),
        )
        for each in seen
    }
    return {name: control for name, control in controls.items() if control.keeps}


def with_seen(result: Result, seen: Iterable[Seen], controls: Mapping[str, Control]) -> Result:
    """The result with further scenarios.

    A FAIL kills unless the kubelet without a mutant has it too. Without a kill a scenario is undecided if a requirement that
    this kubelet keeps has another verdict than PASS, or if this kubelet has not met it.
    """
    scenarios, kills, undecided = list(result.scenarios), list(result.kills), dict(result.undecided)
    for each in seen:
        undecided.pop(each.scenario, None)
        if each.death is not None:
            kills.append(Kill(requirement=DEATH, scenario=each.scenario, finding=each.death))
            continue
        control = controls.get(each.scenario)
        if control is None:
            undecided[each.scenario] = "the kubelet without a mutant was not judged"
            continue
        accused = [v for v in each.verdicts if v.fails_the_run and v.requirement not in control.fails]
        doubts = [v for v in each.verdicts if _is_open(v) and v.requirement in control.keeps]
        if accused:
            kills += [
                Kill(requirement=v.requirement, scenario=each.scenario, finding=" ".join(v.findings[:1]))
                for v in accused
            ]
        elif doubts:
            undecided[each.scenario] = " ".join(doubts[0].findings[:1])
        else:
            scenarios.append(each.scenario)
    return Result(
        id=result.id, scenarios=tuple(dict.fromkeys(scenarios)), kills=tuple(dict.fromkeys(kills)), undecided=undecided
    )


def _is_open(verdict: Verdict) -> bool:
    """Whether it counts and is neither PASS nor SKIPPED."""
    return verdict.counts and verdict.outcome not in (Outcome.PASS, Outcome.SKIPPED)


def _requirements(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    return tuple(sorted({each.requirement for each in verdicts}))
