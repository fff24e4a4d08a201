"""Accepted kubelet configurations, and their curves.

KEP-5593, "Conflict resolution"; pkg/kubelet/apis/config/validation/validation.go.
"""

from collections.abc import Iterator

from crashloop.spec.scenario import Scenario, StartupScenario
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import VALID, starting


def flagged(name: str) -> StartupScenario:
    """A kubelet that is started with a flag for the maximum, and one without it."""
    return StartupScenario(
        name=f"flag-{name}", profile="stock", candidate=VALID, control=VALID, unknown_flags=(f"--{name}=2s",)
    )


@requirement("CONFIG-1")
def test_a_configured_maximum_is_honoured() -> Scenario:
    return the.MAX_2S


@requirement("CONFIG-2")
def test_a_maximum_out_of_range_stops_the_kubelet() -> Iterator[Scenario]:
    yield starting("max-minus-5s")
    yield starting("max-0s")
    yield starting("max-500ms")
    yield starting("max-300s9")
    yield starting("max-301s")


@requirement("CONFIG-3")
def test_the_ends_of_the_range_are_accepted() -> Iterator[Scenario]:
    yield the.MAX_1S
    yield starting("max-300s")


@requirement("CONFIG-4")
def test_a_maximum_without_its_gate_is_ignored() -> Scenario:
    return starting("max-gate-off-but-set")


@requirement("CONFIG-5")
def test_the_maximum_is_a_duration_not_a_number() -> Scenario:
    return starting("max-number")


@requirement("CONFIG-6")
def test_an_unknown_field_is_dropped() -> Iterator[Scenario]:
    yield starting("unknown-field")
    yield starting("unknown-backoff-field")


@requirement("CONFIG-8")
def test_a_configured_maximum_and_a_reduced_initial_delay_act_together() -> Scenario:
    return the.REDUCED_DECAY_MAX_4S


@requirement("CONFIG-10")
def test_a_drop_in_file_overrides_the_maximum() -> Iterator[Scenario]:
    yield starting("drop-in-20s")
    yield starting("drop-ins-60s-20s")


@requirement("CONFIG-11")
def test_no_flag_sets_the_maximum() -> Iterator[Scenario]:
    yield flagged("max-container-restart-period")
    yield flagged("crash-loop-back-off-max-container-restart-period")


@requirement("CONFIG-14")
def test_gates_and_maximum_select_the_curve_of_the_table() -> Iterator[Scenario]:
    yield from the.EVERY_CURVE
