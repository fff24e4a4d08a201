"""Two values of stress runs: when they differ by more than noise, and why they cannot be compared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashloop.comparison.side import Change
from crashloop.comparison.values import NOISE_RATIO, Measure, Value, ValueChange, value_change
from crashloop.slo.measurements import Interval
from crashloop.slo.rows import Better, Target

CPU = Measure(name="kubelet_cpu_cores", unit="cores", better=Better.LOWER)
RATE = Measure(name="restarts_per_s", unit="restarts/s", better=Better.HIGHER)
P99 = Measure(name="startup_p99_s", unit="s", better=Better.LOWER, percentile=99)


def value(number: float | None, lower: float | None = None, upper: float | None = None, *, samples: int = 400) -> Value:
    interval = (
        None if number is None else Interval(number if lower is None else lower, number if upper is None else upper)
    )
    return Value(value=number, interval=interval, samples=samples)


def compared(
    before: Value, after: Value, measure: Measure = CPU, *, threshold: float = NOISE_RATIO, obstacle: str = ""
) -> ValueChange:
    return value_change(measure, before, after, threshold=threshold, obstacle=obstacle)


def test_a_value_beyond_noise_is_worse_or_better_by_its_direction() -> None:
    assert compared(value(0.1), value(0.16)).change is Change.WORSE
    assert compared(value(0.16), value(0.1)).change is Change.BETTER
    assert compared(value(5), value(3), RATE).change is Change.WORSE
    assert compared(value(3), value(5), RATE).change is Change.BETTER


def test_a_target_tells_which_of_two_values_is_the_better_one() -> None:
    lower = (Target(at_most=5, unit="s"), Target(below=1, unit="%"))
    assert {each.better for each in lower} == {Better.LOWER}
    assert Target(at_least=5, unit="restarts/s").better is Better.HIGHER


def test_the_ratio_and_what_it_was_held_against_are_reported() -> None:
    change = compared(value(2.0), value(3.5))
    assert (change.ratio, change.threshold, change.not_compared) == (1.75, 1.5, "")


def test_intervals_that_overlap_or_touch_are_no_change_however_far_the_values_are_apart() -> None:
    assert compared(value(1, 0.5, 3), value(4, 2.9, 9)).change is Change.SAME
    assert compared(value(0.05, 0, 0.1), value(0.2, 0.1, 0.2)).change is Change.SAME


def test_a_ratio_within_the_threshold_is_no_change_however_narrow_the_intervals() -> None:
    assert compared(value(1.0), value(1.5)).change is Change.SAME
    assert compared(value(1.0), value(1.51)).change is Change.WORSE
    assert compared(value(1.0), value(2.0), threshold=2.25).change is Change.SAME


def test_something_where_there_was_nothing_is_beyond_any_ratio() -> None:
    change = compared(value(0), value(3))
    assert (change.change, change.ratio) == (Change.WORSE, None)
    assert compared(value(0), value(0)).change is Change.SAME
    assert compared(value(-0.2), value(0)).change is Change.SAME


@pytest.mark.parametrize(
    ("before", "after", "measure", "reason"),
    [
        (value(None), value(1), CPU, "no value in the first run."),
        (value(1), value(None), CPU, "no value in the second run."),
        (value(1), Value(value=2), CPU, "no interval: one of the runs has too few samples"),
        (value(1, samples=100), value(9, samples=99), P99, "p99 of fewer than 100 samples."),
        (
            value(1, samples=7),
            value(9, samples=9),
            Measure(name="m", unit="s", better=Better.LOWER, percentile=50),
            "p50 of fewer than 8 samples.",
        ),
    ],
    ids=["before", "after", "interval", "few-for-p99", "few-for-p50"],
)
def test_what_cannot_be_compared_says_why(before: Value, after: Value, measure: Measure, reason: str) -> None:
    change = compared(before, after, measure)
    assert change.not_compared.startswith(reason)
    assert (change.change, change.ratio, change.is_change) == (None, None, False)


def test_an_obstacle_comes_before_every_other_reason() -> None:
    assert compared(value(None), value(9), obstacle="another load.").not_compared == "another load."


@st.composite
def values(draw: st.DrawFn) -> Value:
    low, middle, high = sorted(draw(st.tuples(*[st.floats(0, 100)] * 3)))
    return value(middle, low, high)


@given(one=values(), threshold=st.floats(1, 4))
def test_a_value_does_not_differ_from_itself(one: Value, threshold: float) -> None:
    assert compared(one, one, threshold=threshold).change is Change.SAME


@given(before=values(), after=values(), threshold=st.floats(1, 4), measure=st.sampled_from([CPU, RATE]))
def test_swapping_the_runs_swaps_worse_and_better(
    before: Value, after: Value, threshold: float, measure: Measure
) -> None:
    forth, back = (compared(*each, measure, threshold=threshold) for each in ((before, after), (after, before)))
    turned = {Change.SAME: Change.SAME, Change.WORSE: Change.BETTER, Change.BETTER: Change.WORSE}
    assert forth.change is not None
    assert back.change is turned[forth.change]
