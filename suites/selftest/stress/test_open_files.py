"""A run on many nodes may have as many files open as its host permits."""

import resource

import pytest

from crashloop.cluster.prerequisites import OPEN_FILES
from crashloop.errors import PrerequisiteError
from crashloop.stress.run import allow_open_files


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[int, int]]:
    """The limits of a process that may have 4096 files open, and has 1024 at first."""
    own = {"now": (1024, 4096)}
    monkeypatch.setattr(resource, "getrlimit", lambda _: own["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: own.update(now=limits))
    return own


def test_the_soft_limit_is_raised_to_what_is_needed(limits: dict[str, tuple[int, int]]) -> None:
    allow_open_files(2000)
    assert limits["now"] == (2000 + OPEN_FILES, 4096)


def test_a_limit_that_is_enough_stays(limits: dict[str, tuple[int, int]]) -> None:
    allow_open_files(100)
    assert limits["now"] == (1024, 4096)


def test_more_than_the_hard_limit_is_refused(limits: dict[str, tuple[int, int]]) -> None:
    with pytest.raises(PrerequisiteError) as refused:
        allow_open_files(5000)
    assert limits["now"] == (1024, 4096)
    assert str(refused.value) == (
        "open files: 5256 are needed for histories and heartbeats; the hard limit of this process is 4096.\n"
        "Raise it (ulimit -Hn), or spread the load over fewer nodes."
    )
