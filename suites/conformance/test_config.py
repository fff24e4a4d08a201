"""Accepted kubelet configurations, and their curves.

KEP-5593, "Conflict resolution"; pkg/kubelet/apis/config/validation/validation.go.
"""

from crashloop.verdict import Verdict
from fixtures.requirements import confirm, requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import starting


@requirement("CONFIG-1", the.MAX_2S)
def test_a_configured_maximum_is_honoured(verdict: Verdict) -> None:
    """With the gate on, the configured maximum MUST be the effective one and shape the delays."""
    confirm(verdict)


@requirement("CONFIG-2", starting("max-0s"), starting("max-500ms"), starting("max-301s"))
def test_a_maximum_out_of_range_stops_the_kubelet(verdict: Verdict) -> None:
    """A maximum below 1 s or above 300 s MUST stop the kubelet's start."""
    confirm(verdict)


@requirement("CONFIG-3", the.MAX_1S, starting("max-300s"))
def test_the_ends_of_the_range_are_accepted(verdict: Verdict) -> None:
    """1 s and 300 s MUST be accepted."""
    confirm(verdict)


@requirement("CONFIG-4", starting("max-gate-off-but-set"))
def test_a_maximum_without_its_gate_is_ignored(verdict: Verdict) -> None:
    """With the gate off and the field set, the kubelet SHOULD warn and run its old curve."""
    confirm(verdict)


@requirement("CONFIG-5", starting("max-number"))
def test_the_maximum_is_a_duration_not_a_number(verdict: Verdict) -> None:
    """A number of seconds instead of a duration MUST stop the kubelet's start."""
    confirm(verdict)


@requirement("CONFIG-8", the.REDUCED_DECAY_MAX_4S)
def test_a_configured_maximum_and_a_reduced_initial_delay_act_together(verdict: Verdict) -> None:
    """A configured maximum MUST keep its precedence when the initial delay is reduced: 1, 2, 4, 4 s."""
    confirm(verdict)


@requirement("CONFIG-14", *the.EVERY_CURVE)
def test_gates_and_maximum_select_the_curve_of_the_table(verdict: Verdict) -> None:
    """Each combination of the two gates and the maximum MUST give the initial and maximum delay of the table."""
    confirm(verdict)
