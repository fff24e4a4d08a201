"""What the self-tests print at their end: that the suite can see, in numbers."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import pytest

FAULT = "fault"
"""Property of a test: [name of a planted fault, whether the suite catches it]."""
CORRECT_KUBELET = "correct-kubelet"
"""Property of a test: [random scenarios of a correct kubelet, accusations among them]."""

SHARE = 6
"""Of what the record of proven sources stands for, every run tries one case in so many, by its seed."""
Case = TypeVar("Case")


class Share(Protocol):
    """What this run tries of many cases: all of them in a whole run."""

    def __call__(self, cases: Sequence[Case], /) -> Sequence[Case]: ...


def share_of(cases: Sequence[Case], seed: int) -> Sequence[Case]:
    """Every sixth of them, from one that the seed chooses."""
    return cases[seed % SHARE :: SHARE]


def lines(reports: Iterable[pytest.TestReport]) -> Iterator[str]:
    """How many faults are caught and false alarms raised; nothing if the tests that find out did not run."""
    told: list[tuple[str, Any]] = [
        each for report in reports if report.when == "call" for each in report.user_properties
    ]
    faults = sorted(value for name, value in told if name == FAULT)
    if faults:
        yield f"planted faults caught: {sum(caught for _, caught in faults)} of {len(faults)}"
    batches = [value for name, value in told if name == CORRECT_KUBELET]
    if batches:
        cases, accusations = (sum(column) for column in zip(*batches, strict=True))
        yield f"false alarms: {accusations} in {cases:,} random scenarios of a correct kubelet"
