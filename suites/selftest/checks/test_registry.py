"""Checkers are found by the names of the catalogue, and each says how much evidence it needs."""

from collections.abc import Callable
from typing import Any

import pytest

from crashloop.checks.kinds import CHECKERS, KINDS
from crashloop.requirements import load_requirements
from crashloop.spec.requirement import State

EACH: dict[str, Callable[[Any], Any]] = {
    name: check for kind in KINDS.values() for name, check in kind.checkers.items()
}


def test_every_checker_that_judges_a_requirement_exists() -> None:
    judged = [each for each in load_requirements().values() if each.state is State.JUDGED]
    assert {name for each in judged for name in each.checkers} <= CHECKERS


@pytest.mark.parametrize("name", sorted(EACH))
def test_a_checker_is_named_after_what_it_checks(name: str) -> None:
    find = getattr(EACH[name], "find", EACH[name])
    assert find.__name__ == f"check_{name.replace('-', '_')}"
    assert "MUST" in (find.__doc__ or "")
