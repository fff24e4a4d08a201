"""Loops that go on: forty restarts at the smallest maximum, and the default curve to its cap with nobody looking."""

from crashloop.verdict import Verdict
from fixtures.requirements import confirm, requirement
from suites.conformance.scenarios import crashing

FORTY_RESTARTS = crashing("max-1s", restarts=40, name="forty-restarts", at_most_s=260)
UNTOUCHED_TO_THE_CAP = crashing("stock", restarts=7, name="untouched-to-the-cap", at_most_s=950)


@requirement("CAP-4", FORTY_RESTARTS, scope="full")
def test_forty_restarts_are_each_a_second_apart(verdict: Verdict) -> None:
    """However often it has restarted, a container MUST wait a second at the smallest maximum."""
    confirm(verdict)


@requirement("M4", FORTY_RESTARTS, scope="full")
def test_1_second_stays_1_second_for_forty_restarts(verdict: Verdict) -> None:
    """A maximum of 1 s MUST stay the delay of every restart."""
    confirm(verdict)


@requirement("RULES-22", FORTY_RESTARTS, scope="full")
def test_forty_restarts_are_counted(verdict: Verdict) -> None:
    """The container status MUST count every one of forty restarts once."""
    confirm(verdict)


@requirement("BACKOFF-3", UNTOUCHED_TO_THE_CAP, scope="full")
def test_long_delays_end_by_the_kubelets_own_timer(verdict: Verdict) -> None:
    """Delays of up to 300 s MUST end within their bound while nothing but the kubelet looks at the pod."""
    confirm(verdict)
