"""Verdicts about the run itself: all of them gate, and list their first few faults. Pure."""

from collections.abc import Sequence

from crashloop.slo.measurements import SloVerdict
from crashloop.verdict import Outcome

MAX_SENTENCES = 5
"""Sentences per verdict; further ones are counted."""


def gate(name: str, outcome: Outcome, sentences: Sequence[str], *, faults: int = 0, samples: int = 0) -> SloVerdict:
    """The verdict of one check."""
    more = f" {len(sentences) - MAX_SENTENCES} more like it." if len(sentences) > MAX_SENTENCES else ""
    return SloVerdict(
        slo=name,
        outcome=outcome,
        mode="gate",
        sentence=f"{name}: {' '.join(sentences[:MAX_SENTENCES])}{more}",
        target=0.0,
        unit="faults",
        value=float(faults),
        samples=samples,
    )
