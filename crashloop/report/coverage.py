"""How much of the catalogue a run judged, counted in requirements."""

from collections.abc import Iterable

import msgspec

from crashloop.report.text import counted
from crashloop.verdict import Outcome, Verdict, judged_requirements


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """Requirements; every selected one is judged, skipped or undecided."""

    judged: int
    """PASS or FAIL as the worst over all scenarios."""
    skipped: int
    """SKIPPED on every scenario."""
    undecided: int
    """INCONCLUSIVE or ERROR as the worst."""
    catalogue: int
    """All that the catalogue has."""
    at_least: int = 0
    """How many the run was to judge: --at-least."""

    @property
    def is_enough(self) -> bool:
        return self.judged >= self.at_least

    @property
    def sentence(self) -> str:
        """`49 of 258 requirements judged, 3 skipped, 1 undecided.`"""
        parts = [f"{self.judged} of {counted(self.catalogue, 'requirement')} judged"]
        parts += [f"{self.skipped} skipped"] if self.skipped else []
        parts += [f"{self.undecided} undecided"] if self.undecided else []
        wanted = "" if self.is_enough else f": fewer than --at-least {self.at_least}"
        return f"{', '.join(parts)}{wanted}."


def coverage_of(verdicts: Iterable[Verdict], *, catalogue: int, at_least: int = 0) -> Coverage:
    """The coverage of a run by its verdicts."""
    seen = list(verdicts)
    asked = {each.requirement for each in seen}
    judged = judged_requirements(seen)
    undecided = {each.requirement for each in seen if each.outcome is not Outcome.SKIPPED} - judged
    return Coverage(
        judged=len(judged),
        skipped=len(asked - judged - undecided),
        undecided=len(undecided),
        catalogue=catalogue,
        at_least=at_least,
    )
