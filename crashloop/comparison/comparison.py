"""Compares two runs: requirement by requirement, and the lateness of restarts."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from crashloop.comparison.change import Change, ScenarioOutcome, change, exit_code, gravest
from crashloop.comparison.circumstances import Circumstance, circumstances
from crashloop.comparison.lateness import LatenessChange, lateness_changes
from crashloop.comparison.side import JudgedRun, Place, Side, judged, requirements_of, side_of
from crashloop.report.results import RequirementText, Results
from crashloop.report.standing import Standing

COMPARISON_FORMAT = "crashloop.comparison/1"


class ScenarioChange(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement on a scenario that did not come out the same; None where a run did not judge it."""

    scenario: str
    change: Change
    before: ScenarioOutcome | None
    after: ScenarioOutcome | None


class RequirementChange(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement that did not come out the same on every scenario."""

    requirement: RequirementText
    change: Change
    """The gravest of its scenarios."""
    before: Standing | None
    """The worst over all scenarios of the first run; None if it judged none."""
    after: Standing | None
    scenarios: tuple[ScenarioChange, ...]
    """The differing ones, gravest first."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `crashloop diff --json`."""

    format: str = COMPARISON_FORMAT
    before: Side
    after: Side
    exit_code: int
    counts: dict[Change, int]
    """Number of requirements on scenarios by change, with every kind of change."""
    circumstances: tuple[Circumstance, ...] = ()
    requirements: tuple[RequirementChange, ...] = ()
    """Those that differ, gravest first, then in the order of the catalogue."""
    lateness: tuple[LatenessChange, ...] = ()
    delays_count: bool = False
    """Whether later restarts make the exit code 1."""

    @property
    def differences(self) -> int:
        """Requirements on scenarios that changed, without allowed differences."""
        return sum(number for each, number in self.counts.items() if each not in (Change.SAME, Change.ALLOWED))

    @property
    def changed(self) -> tuple[RequirementChange, ...]:
        """Requirements with a difference, and of their scenarios those that differ."""
        return self._requirements(lambda each: each.change is not Change.ALLOWED)

    @property
    def allowed(self) -> tuple[RequirementChange, ...]:
        """Requirements with scenarios that only one run judged, for a stated reason, and those scenarios."""
        return self._requirements(lambda each: each.change is Change.ALLOWED)

    def _requirements(self, wanted: Callable[[ScenarioChange], bool]) -> tuple[RequirementChange, ...]:
        parts = (
            msgspec.structs.replace(each, scenarios=tuple(filter(wanted, each.scenarios))) for each in self.requirements
        )
        return tuple(each for each in parts if each.scenarios)

    @property
    def compared_lateness(self) -> tuple[LatenessChange, ...]:
        """Distributions with enough delays in both runs, changed ones first."""
        return tuple(sorted((each for each in self.lateness if each.is_compared), key=lambda each: not each.is_change))


def compare(before: JudgedRun, after: JudgedRun, *, delays_count: bool = False) -> Comparison:
    """Compare two judged runs.

    `delays_count`: a distribution of delays that became longer counts as worse; without it, it is only shown.
    """
    changes = _scenario_changes(judged(before.results), judged(after.results))
    lateness = lateness_changes(before.results.curves, after.results.curves)
    longer = [Change.WORSE for each in lateness if delays_count and each.is_longer]
    all_changes = [each.change for _, each in changes]
    return Comparison(
        before=side_of(before),
        after=side_of(after),
        exit_code=exit_code([*all_changes, *longer]),
        counts={each: all_changes.count(each) for each in Change},
        circumstances=circumstances(before, after),
        requirements=_by_requirement(changes, before.results, after.results),
        lateness=lateness,
        delays_count=delays_count,
    )


def _scenario_changes(
    before: Mapping[Place, ScenarioOutcome], after: Mapping[Place, ScenarioOutcome]
) -> list[tuple[str, ScenarioChange]]:
    """Requirement and change of everything that a run judged, unchanged ones included."""
    places = dict.fromkeys((*before, *after))
    return [
        (
            requirement,
            ScenarioChange(
                scenario=scenario,
                change=change(before.get((requirement, scenario)), after.get((requirement, scenario))),
                before=before.get((requirement, scenario)),
                after=after.get((requirement, scenario)),
            ),
        )
        for requirement, scenario in places
    ]


def _by_requirement(
    changes: Iterable[tuple[str, ScenarioChange]], before: Results, after: Results
) -> tuple[RequirementChange, ...]:
    differing: dict[str, list[ScenarioChange]] = {}
    for requirement, each in changes:
        if each.change is not Change.SAME:
            differing.setdefault(requirement, []).append(each)
    changed = [
        RequirementChange(
            requirement=text,
            change=gravest(each.change for each in differing[name]),
            before=_worst(before, name),
            after=_worst(after, name),
            scenarios=tuple(sorted(differing[name], key=lambda each: (each.change.rank, each.scenario))),
        )
        for name, text in requirements_of((before, after)).items()
        if name in differing
    ]
    return tuple(sorted(changed, key=lambda each: each.change.rank))


def _worst(results: Results, requirement: str) -> Standing | None:
    standings = (Standing.of(each) for each in results.verdicts if each.requirement == requirement)
    return min(standings, key=lambda each: each.rank, default=None)
