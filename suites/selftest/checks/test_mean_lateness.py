"""The lateness of many restarts: a mean and a slope with intervals, in which a curve shows that is a little longer."""

import random
from statistics import fmean

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from crashloop.checks.samples import least_without_any, line_through, mean_of, slope_of
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import Mode, Until
from crashloop.verdict import Outcome, Verdict
from sim import CALM, Fault
from sim.faults import PunctualityFault
from sim.host import BUSY, LOSSY, STARVED, HostModel
from suites.selftest.kit.cases import CRASHING, app, compared, good, renamed, scenario
from suites.selftest.kit.fault_scenarios import trials
from suites.selftest.kit.histories import History
from tools.trials import recordings_of, verdict_of

STOCK = KubeletProfile(name="stock")
DUE_S = (0, 10, 20, 40, 80, 160)


def looping(seed: int, *, longer: float = 1.0, late_s: float = 0.5, waited_us: int | None = None) -> History:
    """Six restarts, each late by `late_s` on average, on a curve that is `longer` than the one due."""
    chance = random.Random(seed)
    program = exits_with(1, times=len(DUE_S) + 1)
    of = scenario(app(program), name=f"loop-{seed}", until=Until(restarts={"app": len(DUE_S)}), mode=Mode.ANNOTATED)
    history = History(msgspec.structs.replace(of, profile="stock"))
    history.waited_us = waited_us
    lives, at_s = [], 0.5
    for due_s in DUE_S:
        lives.append((at_s, at_s + 1, 1))
        at_s += 1 + due_s * longer + late_s + chance.uniform(-0.3, 0.3)
    return history.lives("app", *lives, (at_s, None, 0)).pokes(0.7, at_s).ends(at_s + 5)


def judged(checker: str, *histories: History) -> Verdict:
    return compared(*histories, checkers=(checker,), profile=STOCK)


@pytest.mark.parametrize("checker", ["mean-lateness", "lateness-slope"])
def test_usual_lateness_passes_with_its_figure(checker: str) -> None:
    verdict = judged(checker, looping(1), looping(2))
    assert (verdict.outcome, verdict.findings) == (Outcome.PASS, ())
    assert verdict.facts["low"] < verdict.facts["value"] < verdict.facts["high"]
    assert "95 % interval" in verdict.facts["estimate"]
    assert verdict.facts["estimate"].endswith("in 10 restarts")


def test_a_curve_that_is_two_hundredths_longer_shows_in_the_slope() -> None:
    verdict = judged("lateness-slope", looping(1, longer=1.02), looping(2, longer=1.02))
    assert verdict.outcome is Outcome.FAIL
    assert verdict.findings[0].startswith("CAP-3: the slope of lateness over the delay, in seconds per second is 0.0")


def test_one_late_restart_at_the_longest_delay_proves_nothing() -> None:
    chance = random.Random(1)
    prompt = [(due_s, 0.5 + chance.uniform(-0.1, 0.1)) for due_s in (1, 2, 4, 8, 10, 10, 10, 10, 10)]
    late = [*prompt, (40.0, 2.0)]
    found = line_through(late)
    assert found is not None
    assert found.least > 0.005
    assert least_without_any(late, line_through) < 0.005
    assert least_without_any([*late, (40.0, 2.1)], line_through) > 0.005


def test_restarts_that_are_all_late_within_their_bounds_show_in_the_mean() -> None:
    verdict = judged("mean-lateness", looping(1, late_s=2.0), looping(2, late_s=2.0))
    assert verdict.outcome is Outcome.FAIL
    assert verdict.findings[0].endswith("in 10 restarts; 0.5 is the most.")


def test_what_the_host_held_up_explains_lateness() -> None:
    held = (looping(seed, late_s=2.0, waited_us=900_000) for seed in (1, 2))
    verdict = judged("mean-lateness", *held)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "in all, which explains it." in verdict.findings[0]


def test_few_restarts_are_not_enough() -> None:
    short = History(scenario(app(exits_with(1, times=1)), name="short", mode=Mode.ANNOTATED))
    short.lives("app", (0.5, 1.5, 1), (2.0, None, 0)).ends(20)
    other = History(scenario(app(exits_with(1, times=1)), name="other", mode=Mode.ANNOTATED))
    other.lives("app", (0.5, 1.5, 1), (2.0, None, 0)).ends(20)
    verdict = judged("lateness-slope", short, other)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.findings[0].startswith("CAP-3: 0 delays of various lengths seen, 8 needed")


def test_delays_of_one_length_have_no_slope() -> None:
    alike = (good(renamed(CRASHING, name)) for name in ("one", "other"))
    verdict = compared(*alike, checkers=("lateness-slope",), min_delays=4)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.findings[0].startswith("CAP-3: 4 delays of one length seen, various needed: in one the scenario")


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30))
def test_the_interval_of_a_mean_holds_the_mean(values: list[float]) -> None:
    found = mean_of(values)
    assert found is not None
    assert found.low <= found.value <= found.high
    assert found.value == pytest.approx(fmean(values))


@given(st.lists(st.floats(0, 300), min_size=3, max_size=30), st.floats(-2, 2), st.floats(-5, 5))
def test_points_on_a_line_have_its_slope(across: list[float], slope: float, base: float) -> None:
    assume(max(across) - min(across) > 1)
    found = slope_of(across, [base + slope * x for x in across])
    assert found is not None
    assert found.value == pytest.approx(slope, abs=1e-6)


def test_an_interval_of_95_percent_misses_the_slope_in_about_five_of_a_hundred() -> None:
    chance = random.Random(1)
    missed = 0
    for _ in range(2000):
        found = slope_of(DUE_S, [0.01 * x + chance.gauss(0.5, 0.3) for x in DUE_S])
        assert found is not None
        missed += not found.low <= 0.01 <= found.high
    assert 70 <= missed <= 130


def test_nothing_is_estimated_from_too_little() -> None:
    assert mean_of([1.0]) is None
    assert slope_of([1.0, 2.0], [1.0, 2.0]) is None
    assert slope_of([2.0, 2.0, 2.0], [1.0, 2.0, 3.0]) is None


@pytest.mark.parametrize("host", [CALM, BUSY, STARVED, LOSSY], ids=lambda host: host.name)
def test_a_right_kubelet_has_no_slope_on_any_host(host: HostModel) -> None:
    assert {of_quick(seed=seed, host=host) for seed in range(1, 4)} == {Outcome.PASS}


@pytest.mark.parametrize("seed", range(1, 4), ids=lambda seed: f"seed-{seed}")
def test_delays_that_are_5_percent_longer_are_a_fail_at_quick(seed: int) -> None:
    assert of_quick(PunctualityFault.LONG_5_PERCENT, seed=seed) is Outcome.FAIL


def of_quick(*faults: Fault, seed: int, host: HostModel = CALM) -> Outcome:
    """What BACKOFF-27 says of the scenarios that a quick run has for it."""
    (trial,) = (each for each in trials() if each.requirement.id == "BACKOFF-27" and each.scope == "quick")
    recordings = recordings_of(trial.scenario, frozenset(faults), seed=seed, host=host)
    return verdict_of(trial.requirement, trial.scenario, *recordings).outcome
