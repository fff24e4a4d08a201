"""The effect of every value of maxContainerRestartPeriod, one test per row of KEP-5593's table.

An accepted value shows in the node's own configuration and in the delays; a rejected one in the refusal.
"""

from collections.abc import Iterator

from crashloop.spec.scenario import Mode, Scenario
from fixtures.requirements import requirement
from suites.conformance import scenarios as the
from suites.conformance.scenarios import crashing, starting


@requirement("M1")
def test_unset_means_10_to_300_seconds() -> Iterator[Scenario]:
    yield the.STOCK
    yield the.STOCK_TO_40_S


@requirement("M2")
def test_0_seconds_are_refused() -> Scenario:
    return starting("max-0s")


@requirement("M3")
def test_fractions_of_a_second_are_refused() -> Iterator[Scenario]:
    yield starting("max-500ms")
    yield starting("max-999ms9")


@requirement("M4")
def test_1_second_means_1_second_throughout() -> Scenario:
    return the.MAX_1S


@requirement("M5")
def test_2_seconds_mean_2_seconds_throughout() -> Scenario:
    return the.MAX_2S


@requirement("M6")
def test_4_seconds_mean_4_seconds_throughout() -> Scenario:
    return the.looked_at(crashing("max-4s", restarts=6), {3: 4.08, 4: 3.92, 5: 4.25})


@requirement("M7")
def test_10_seconds_mean_10_seconds_throughout() -> Scenario:
    return the.MAX_10S


@requirement("M8")
def test_11_seconds_mean_10_and_then_11() -> Scenario:
    return the.MAX_11S


@requirement("M9")
def test_60_seconds_mean_10_to_60() -> Scenario:
    return crashing("max-60s", restarts=6, mode=Mode.ANNOTATED, at_most_s=300)


@requirement("M10")
def test_300_seconds_mean_10_to_300() -> Scenario:
    return the.MAX_300S


@requirement("M11")
def test_less_than_a_millisecond_above_300_seconds_is_refused() -> Scenario:
    return starting("max-300s0009")


@requirement("M12")
def test_301_seconds_are_refused() -> Scenario:
    return starting("max-301s")


@requirement("M13")
def test_a_number_is_refused() -> Scenario:
    return starting("max-number")


@requirement("M14")
def test_a_string_without_a_unit_is_refused() -> Scenario:
    return starting("max-no-unit")


@requirement("CONFIG-9")
def test_reduced_decay_alone_means_1_to_60_seconds() -> Iterator[Scenario]:
    yield crashing("reduced-decay", restarts=11, mode=Mode.ANNOTATED, name="to-the-maximum", at_most_s=900)
    yield crashing("reduced-decay-max-gate-off", restarts=8, mode=Mode.ANNOTATED, name="to-the-maximum", at_most_s=180)
