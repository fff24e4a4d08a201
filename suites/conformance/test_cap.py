"""The maximum of the delay, and how nodes differ in it.

KEP-5593, "Per node config" and "Conflict resolution".
"""

from crashloop.spec.scenario import Mode
from crashloop.verdict import Verdict
from fixtures.requirements import confirm, requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import crashing


@requirement(
    "CAP-1", crashing("stock", restarts=8, mode=Mode.ANNOTATED, name="to-the-cap", at_most_s=1080), scope="full"
)
def test_delays_stop_growing_at_five_minutes(verdict: Verdict) -> None:
    """Without a configured maximum, delays MUST stop growing at 300 s."""
    confirm(verdict)


@requirement("CAP-2", crashing("max-20s", restarts=6, mode=Mode.ANNOTATED, name="capped", at_most_s=180), scope="full")
def test_a_configured_maximum_caps_the_curve(verdict: Verdict) -> None:
    """A configured maximum above the initial delay MUST end the doubling."""
    confirm(verdict)


@requirement("CAP-3", the.MAX_1S, the.MAX_2S)
def test_a_maximum_below_the_initial_delay_lowers_it(verdict: Verdict) -> None:
    """A maximum below 10 s MUST be the delay of every restart but the first."""
    confirm(verdict)


@requirement("CAP-4", the.MAX_1S)
def test_nothing_restarts_more_often_than_once_a_second(verdict: Verdict) -> None:
    """With the smallest maximum, 1 s, a container that exits at once MUST still wait a second."""
    confirm(verdict)


@requirement("CAP-6", the.MAX_11S)
def test_a_maximum_of_eleven_seconds_keeps_the_initial_ten(verdict: Verdict) -> None:
    """A maximum just above the initial delay MUST leave the initial delay alone: 10, 11, 11 s."""
    confirm(verdict)


@requirement("CAP-7", the.STOCK, the.MAX_2S, the.MAX_10S)
def test_each_node_follows_its_own_configuration(verdict: Verdict) -> None:
    """The same pod MUST be delayed on each node as that node's kubelet is configured."""
    confirm(verdict)
