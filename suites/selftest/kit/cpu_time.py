"""CPU time of self-tests: one that needs much, and is not listed with a reason, fails."""

import os
from pathlib import Path

import yaml

LIMIT_S = 5.0
"""CPU seconds of a test, without its fixtures; those of child processes count once they have ended."""
ROOM = 1.6
"""The same work takes so many times the CPU seconds where cores are shared with other machines."""
LISTED = Path("suites/selftest/slow_tests.yaml")


def load_listed(path: Path = LISTED) -> dict[str, str]:
    """The reason of each test that may need more, by file::function."""
    listed: dict[str, str] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return listed


def used_s() -> float:
    """CPU seconds that this process and its ended children have used."""
    now = os.times()
    return now.user + now.system + now.children_user + now.children_system


def objection(test: str, spent_s: float, listed: dict[str, str]) -> str | None:
    """What is wrong with the CPU seconds of a test, named by its node id; None if nothing is."""
    if spent_s <= LIMIT_S * ROOM or test.partition("[")[0] in listed:
        return None
    return f"{test}: {spent_s:.1f} s of CPU; {LIMIT_S:g} s is the most.\nMake it cheaper, or list it in {LISTED} with a reason."
