"""Restarts are counted: as shares of what had to stay down, per second, and as the divisor of requests.

Start-ups of stateless and of stateful pods are apart: only the former are in the scope of the official SLI.
Restarts of a pod within its first 10 s, once it was watched for so long.
"""

import msgspec
import pytest

from crashloop.slo.events import SAMPLES
from crashloop.slo.judge import judge
from crashloop.slo.measurements import Lifecycle, SloVerdict
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import Values, crasher, measured, ns, phase, restart, row, scrapes, started

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


PODS = [
    *(started(at, 1.0) for at in range(30)),
    *(started(at, 9.0, stateless=False) for at in range(30)),
    started(5, 2.0, stateless=False, has_init=True),
]


def startup(of: str) -> tuple[Outcome, float | None, int]:
    rule = row({"kind": "samples", "of": of}, {"at_most": 5, "unit": "s"}, percentile=90, min_samples=20)
    verdict = judge(rule, measured(lifecycles=PODS, phases=(phase(0, 60),)))
    return verdict.outcome, verdict.value, verdict.samples


def test_each_kind_of_pod_is_judged_by_its_own_start_ups() -> None:
    assert startup("pod-startup") == (Outcome.PASS, 1.0, 30)
    assert startup("stateful-pod-startup") == (Outcome.FAIL, 9.0, 30)


def test_a_pod_is_of_one_kind() -> None:
    kinds = ("pod-startup", "stateful-pod-startup")
    assert all(sum(len(list(SAMPLES[kind].events(pod))) for kind in kinds) <= 1 for pod in PODS)


DEFAULT = msgspec.structs.replace(phase(0, 60), mix="default curve")
REDUCED = msgspec.structs.replace(phase(100, 160), mix="reduced curve")


def pod(first_s: float, *restarts_s: float, seen_until_s: float = 1000) -> Lifecycle:
    """Restarts are seconds after the first start."""
    return crasher(
        *(restart(first_s + at, 0) for at in restarts_s),
        starts_ns={"app": tuple(ns(first_s + at) for at in (0, *restarts_s))},
        seen_until_ns=ns(seen_until_s),
    )


def early(one: Lifecycle) -> list[float | None]:
    return [each.value for each in SAMPLES["early-restarts"].events(one)]


def test_restarts_of_the_first_ten_seconds_count() -> None:
    assert early(pod(5, 1, 3, 9.5, 10.1)) == [3]
    assert early(pod(5)) == [0]


def test_a_pod_that_was_not_watched_for_so_long_shows_nothing() -> None:
    assert early(pod(5, 1, seen_until_s=14)) == []
    assert early(crasher()) == []


def against_the_default(reduced: tuple[float, ...]) -> SloVerdict:
    sli = {
        "kind": "relative",
        "of": {"kind": "samples", "of": "early-restarts"},
        "unit": "restarts",
        "to": {"mix": "default curve"},
    }
    rule = row(sli, {"at_most": 3, "unit": "times"}, percentile=50, min_samples=5, mixes=["reduced curve"])
    pods = [pod(10, 1) for _ in range(5)] + [pod(110, *reduced) for _ in range(5)]
    return judge(rule, measured(lifecycles=pods, phases=(DEFAULT, REDUCED)))


@pytest.mark.parametrize(
    ("restarts_s", "outcome", "value"),
    [((1, 3, 6), Outcome.PASS, 3.0), ((1, 2, 3, 5), Outcome.FAIL, 4.0)],
    ids=["thrice", "four-times"],
)
def test_a_curve_that_begins_faster_is_judged_by_them(
    restarts_s: tuple[float, ...], outcome: Outcome, value: float
) -> None:
    verdict = against_the_default(restarts_s)
    assert (verdict.outcome, verdict.value) == (outcome, value)
