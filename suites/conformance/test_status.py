"""The kubelet's statements about restarts, against the records of the runtime and of the container."""

from crashloop.verdict import Verdict
from fixtures.requirements import confirm, requirement
from suites.conformance import scenarios as the


@requirement("RULES-22", *the.EVERY_CURVE, the.SUCCEEDING, the.FAILS_THEN_SUCCEEDS)
def test_the_restart_count_rises_by_one_with_each_restart(verdict: Verdict) -> None:
    """The container status MUST count every restart once, and MUST show the last exit."""
    confirm(verdict)
