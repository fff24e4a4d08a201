"""Checker of the sums of a text. It needs no evidence, and what it objects to is the text."""

import msgspec

from crashloop.checks.finding import Checked, fail
from crashloop.model.sums import computed
from crashloop.spec.scenario import TextScenario


class TextCase(msgspec.Struct, frozen=True, kw_only=True):
    """The claims of a text."""

    scenario: TextScenario


def check_sums(case: TextCase) -> Checked:
    """Each number that a text names MUST follow from its own assumptions. Needs nothing."""
    sums = [(each, computed(each)) for each in case.scenario.claims]
    findings = tuple(
        fail(f"{claim.says}; its own assumptions make it {value:g}.")
        for claim, value in sums
        if not claim.least <= value <= claim.most
    )
    return Checked(findings=findings, facts={"sums": {claim.says: value for claim, value in sums}})
