"""Verdicts about the run itself: all of them gate, and list their first few faults. Pure."""

from collections.abc import Sequence

from crashloop.slo.types import SloVerdict
from crashloop.verdict import Outcome

MAX_TOLD = 5
"""Sentences per verdict; further ones are counted."""


def gate(name: str, outcome: Outcome, told: Sequence[str], *, faults: int = 0, samples: int = 0) -> SloVerdict:
    """The verdict of one check; `told` are its sentences."""
    more = f" {len(told) - MAX_TOLD} more like it." if len(told) > MAX_TOLD else ""
    return SloVerdict(
        slo=name,
        outcome=outcome,
        mode="gate",
        sentence=f"{name}: {' '.join(told[:MAX_TOLD])}{more}",
        target=0.0,
        unit="faults",
        value=float(faults),
        samples=samples,
    )
