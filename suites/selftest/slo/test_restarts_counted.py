"""Restarts are counted: as shares of what had to stay down, per second, and as the divisor of requests."""

import pytest

from crashloop.slo.judge import judge
from crashloop.slo.measurements import Lifecycle, SloVerdict
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import Values, crasher, measured, ns, phase, restart, row, scrapes

UNEXPECTED = row({"kind": "share", "of": "unexpected-restarts"}, {"below": 1, "unit": "%"}, min_samples=100)


def finished(at_s: float, *, restarts: bool = False, seen_until_s: float = 100) -> Lifecycle:
    """A pod whose container had to stay down after its exit."""
    wrong = (restart(at_s, 1, expected=False),) if restarts else ()
    return crasher(*wrong, finals_ns=(ns(at_s),), seen_until_s=seen_until_s)


def unexpected(wrong: int, right: int) -> SloVerdict:
    pods = [finished(at % 90, restarts=at < wrong) for at in range(wrong + right)]
    crashing = crasher(*[restart(at / 10, 0.05, expected=True) for at in range(900)])
    return judge(UNEXPECTED, measured(lifecycles=[*pods, crashing]))


def test_wrong_restarts_are_counted_per_exit_that_had_to_be_final() -> None:
    assert unexpected(0, 200).outcome is Outcome.PASS
    assert unexpected(1, 199).value == pytest.approx(0.5)
    assert unexpected(1, 49).outcome is Outcome.INCONCLUSIVE
    verdict = unexpected(2, 198)
    assert verdict.outcome is Outcome.FAIL  # 1 % is not below 1 %, however many others crash
    assert verdict.sentence == (
        "made-up: 1 % of 200 final exits (95 % within this run 0.148 to 6.45), target below 1 %, the whole run. "
        "1 % missed the target, budget 1 %. The evidence is weak (108 effective samples)."
    )


def test_where_nothing_had_to_stay_down_nothing_is_known() -> None:
    verdict = unexpected(0, 0)
    assert (verdict.outcome, verdict.value, verdict.samples) == (Outcome.INCONCLUSIVE, None, 0)


def test_a_final_exit_counts_if_it_was_watched_or_a_restart_followed() -> None:
    early = [finished(40, seen_until_s=42)] * 99 + [finished(40, restarts=True, seen_until_s=42)]
    verdict = judge(UNEXPECTED, measured(lifecycles=early))
    assert (verdict.samples, verdict.value) == (1, 100)


def test_restarts_beyond_the_bound_of_the_model_are_counted_done_or_overdue() -> None:
    rule = row({"kind": "share", "of": "late-restarts"}, {"at_most": 1, "unit": "%"}, phase="storm")
    done = [restart(at, took_s, latest_s=3.5) for at, took_s in enumerate((1.0, 3.5, 3.6, 9.0))]
    overdue, open_within, without = restart(90, None, latest_s=3.5), restart(98, None, latest_s=3.5), restart(5, 60)
    verdict = judge(rule, measured(lifecycles=[crasher(*done, overdue, open_within, without)]))
    assert (verdict.samples, verdict.value, verdict.outcome) == (5, 60, Outcome.FAIL)


def test_a_share_covers_all_phases_together() -> None:
    phases = (phase(0, 50, "one"), phase(50, 100, "two"))
    verdict = judge(
        UNEXPECTED, measured(lifecycles=[finished(at) for at in range(95)] + [finished(1)] * 5, phases=phases)
    )
    assert (verdict.outcome, verdict.samples) == (Outcome.PASS, 100)


def test_restarts_a_second() -> None:
    rule = row({"kind": "rate", "of": "restarts"}, {"at_least": 2, "unit": "restarts/s"}, decided_by="interval")
    often = [crasher(*(restart(at / 4, 0.05) for at in range(380)))]
    verdict = judge(rule, measured(lifecycles=often))
    assert verdict.value == pytest.approx(3.8)
    assert verdict.outcome is Outcome.PASS
    seldom = [crasher(*(restart(at, 0.05) for at in range(95)))]
    assert judge(rule, measured(lifecycles=seldom)).outcome is Outcome.FAIL


def test_requests_per_restart_less_those_without_load() -> None:
    values: Values = {("rest_client_requests_total", ()): (0, 10, 10 + 25 + 5, 10 + 50 + 10)}
    source = scrapes((0, 50, 75, 100), values)
    phases = (phase(0, 50, "baseline"), phase(50, 100, "storm"))
    pods = [crasher(*(restart(50 + at * 2.4, 0.1) for at in range(20)))]
    rule = row(
        {"kind": "ratio", "metric": "rest_client_requests_total", "per": "restarts", "idle": "baseline"},
        {"at_most": 5, "unit": "requests/restart"},
        phase="storm",
        min_samples=10,
    )
    verdict = judge(rule, measured(source, lifecycles=pods, phases=phases))
    assert verdict.value == pytest.approx(2.5)
    assert (verdict.samples, verdict.outcome) == (20, Outcome.PASS)
    assert judge(rule, measured(source, lifecycles=pods)).sentence.endswith(
        "Phase storm: no phase 'baseline' in this run, whose rate was to be subtracted."
    )
