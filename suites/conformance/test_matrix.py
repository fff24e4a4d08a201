"""The effect of every value of maxContainerRestartPeriod, one test per row of KEP-5593's table.

An accepted value shows in the node's own configuration and in the delays; a rejected one in the refusal.
"""

from crashloop.spec.scenario import Mode
from crashloop.verdict import Verdict
from fixtures.requirements import confirm, requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import crashing, starting

MAX_4S = crashing("max-4s", restarts=6)
MAX_60S = crashing("max-60s", restarts=6, mode=Mode.ANNOTATED, at_most_s=300)
MAX_300S = crashing("max-300s", restarts=5, mode=Mode.ANNOTATED, at_most_s=240)


@requirement("M1", the.STOCK)
def test_unset_means_10_to_300_seconds(verdict: Verdict) -> None:
    """With no maximum set, the delays MUST grow from 10 s to a maximum of 300 s."""
    confirm(verdict)


@requirement("M2", starting("max-0s"))
def test_0_seconds_are_refused(verdict: Verdict) -> None:
    """A maximum of 0 s MUST be refused."""
    confirm(verdict)


@requirement("M3", starting("max-500ms"), starting("max-999ms9"))
def test_fractions_of_a_second_are_refused(verdict: Verdict) -> None:
    """A maximum of a fraction of a second MUST be refused."""
    confirm(verdict)


@requirement("M4", the.MAX_1S)
def test_1_second_means_1_second_throughout(verdict: Verdict) -> None:
    """A maximum of 1 s MUST make the initial and the maximum delay 1 s."""
    confirm(verdict)


@requirement("M5", the.MAX_2S)
def test_2_seconds_mean_2_seconds_throughout(verdict: Verdict) -> None:
    """A maximum of 2 s MUST make the initial and the maximum delay 2 s."""
    confirm(verdict)


@requirement("M6", MAX_4S, scope="full")
def test_4_seconds_mean_4_seconds_throughout(verdict: Verdict) -> None:
    """A maximum of 4 s MUST make the initial and the maximum delay 4 s."""
    confirm(verdict)


@requirement("M7", the.MAX_10S)
def test_10_seconds_mean_10_seconds_throughout(verdict: Verdict) -> None:
    """A maximum of 10 s MUST make the initial and the maximum delay 10 s."""
    confirm(verdict)


@requirement("M8", the.MAX_11S)
def test_11_seconds_mean_10_and_then_11(verdict: Verdict) -> None:
    """A maximum of 11 s MUST give an initial delay of 10 s and a maximum delay of 11 s."""
    confirm(verdict)


@requirement("M9", MAX_60S, scope="full")
def test_60_seconds_mean_10_to_60(verdict: Verdict) -> None:
    """A maximum of 60 s MUST give an initial delay of 10 s and a maximum delay of 60 s."""
    confirm(verdict)


@requirement("M10", MAX_300S, scope="full")
def test_300_seconds_mean_10_to_300(verdict: Verdict) -> None:
    """A maximum of 300 s MUST give an initial delay of 10 s and a maximum delay of 300 s."""
    confirm(verdict)


@requirement("M12", starting("max-301s"))
def test_301_seconds_are_refused(verdict: Verdict) -> None:
    """A maximum of 301 s MUST be refused."""
    confirm(verdict)


@requirement("M13", starting("max-number"))
def test_a_number_is_refused(verdict: Verdict) -> None:
    """A maximum written as the number 4 MUST be refused."""
    confirm(verdict)


@requirement("M14", starting("max-no-unit"))
def test_a_string_without_a_unit_is_refused(verdict: Verdict) -> None:
    """A maximum written as a string without a unit MUST be refused."""
    confirm(verdict)


@requirement("CAP-5", MAX_300S, scope="full")
def test_300_seconds_mean_the_same_as_unset(verdict: Verdict) -> None:
    """A maximum of 300 s MUST give the same delays as no maximum."""
    confirm(verdict)


@requirement("CONFIG-7", the.STOCK_LADDER, the.MAX_GATE_OFF_LADDER, scope="full")
def test_the_gate_alone_changes_nothing(verdict: Verdict) -> None:
    """Turning the gate on MUST NOT change the delays while no maximum is set."""
    confirm(verdict)


@requirement(
    "CONFIG-9",
    crashing("reduced-decay", restarts=9, mode=Mode.ANNOTATED, name="to-the-maximum", at_most_s=330),
    scope="full",
)
def test_reduced_decay_alone_means_1_to_60_seconds(verdict: Verdict) -> None:
    """The gate ReduceDefaultCrashLoopBackOffDecay alone MUST lower the initial delay to 1 s and the maximum to 60 s."""
    confirm(verdict)
