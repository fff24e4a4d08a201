"""The reduced initial delay (gate ReduceDefaultCrashLoopBackOffDecay, KEP-4603)."""

from crashloop.verdict import Verdict
from fixtures.requirements import confirm, requirement
from suites.conformance import scenarios as the


@requirement("DECAY-1", the.REDUCED_DECAY)
def test_the_reduced_curve_doubles_from_one_second(verdict: Verdict) -> None:
    """With the gate on, delays MUST be 1, 2, 4, 8, 16 s and go on doubling."""
    confirm(verdict)
