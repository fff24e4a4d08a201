"""What was measured becomes a verdict with its number, its target, its condition and what is missing."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from crashloop.slo.judge import judge, judge_requirement, judge_step, windows
from crashloop.slo.measurements import Measured, SloVerdict
from crashloop.slo.rows import SloRow
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import Values, buckets, crasher, measured, ns, phase, restart, row, scrapes, started

RELIST = "kubelet_pleg_relist_duration_seconds"


def relists(at_end: Mapping[str, float], target: float = 1.0, **more: Any) -> SloVerdict:
    rule = row(
        {"kind": "histogram", "metric": RELIST, "of": "relists"},
        {"at_most": target, "unit": "s"},
        **{"percentile": 99, "min_samples": 100, **more},
    )
    return judge(rule, measured(scrapes(range(0, 101, 10), buckets(RELIST, at_end, scrapes=11))))


def test_a_histogram_at_its_edge_is_exact() -> None:
    verdict = relists({"0.5": 150, "1": 198, "+Inf": 200})
    assert (verdict.outcome, verdict.samples) == (Outcome.PASS, 200)
    assert verdict.budget_used == pytest.approx(1.0)
    assert relists({"0.5": 150, "1": 197, "+Inf": 200}).outcome is Outcome.FAIL


def test_the_sentence_gives_value_samples_target_and_budget() -> None:
    assert relists({"0.5": 150, "1": 190, "5": 200, "+Inf": 200}).sentence == (
        "made-up: p99 4.2 s (in the bucket from 1 to 5) of 200 relists (95 % within this run 1 to 5), target at most 1 s, "
        "phase storm. 5 % missed the target, budget 1 %. The evidence is strong (200 effective samples)."
    )


def test_a_target_inside_a_bucket_is_decided_only_if_both_edges_agree() -> None:
    assert relists({"1": 200, "5": 200, "+Inf": 200}, target=2).outcome is Outcome.PASS
    assert relists({"1": 150, "5": 150, "+Inf": 200}, target=2).outcome is Outcome.FAIL
    verdict = relists({"1": 190, "5": 200, "+Inf": 200}, target=2)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence.endswith(
        "The target lies inside the bucket from 1 to 5: the share of its samples that keep it is unknown."
    )


def test_beyond_the_last_edge_the_value_is_more_than_that_and_is_read_back_as_written() -> None:
    verdict = relists({"0.5": 0, "10": 20, "+Inf": 500})
    assert verdict.sentence.startswith("made-up: p99 more than 10 s (in the bucket above 10) of 500 relists, target")
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=SloVerdict) == verdict


def test_too_few_samples_are_inconclusive() -> None:
    verdict = relists({"0.5": 40, "1": 40, "+Inf": 40})
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence.endswith("40 relists are fewer than the 100 relists needed.")


def test_few_samples_fail_if_more_missed_than_many_may() -> None:
    verdict = relists({"0.5": 30, "1": 30, "+Inf": 40})
    assert verdict.outcome is Outcome.FAIL
    assert verdict.sentence.endswith("That is more than may miss it of the 100 relists needed.")


def test_an_interval_that_holds_the_target_is_inconclusive_where_it_decides() -> None:
    kept = {"0.5": 150, "1": 199, "5": 200, "+Inf": 200}
    assert relists(kept).outcome is Outcome.PASS
    verdict = relists(kept, decided_by="interval")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence.endswith("The target lies within the interval.")
    assert relists({"0.5": 200, "1": 200, "+Inf": 200}, decided_by="interval").outcome is Outcome.PASS
    assert relists({"0.5": 0, "1": 0, "5": 200, "+Inf": 200}, decided_by="interval").outcome is Outcome.FAIL


def test_a_window_without_blocks_has_no_interval_to_decide_by() -> None:
    rule = row(
        {"kind": "histogram", "metric": RELIST, "of": "relists"},
        {"at_most": 1, "unit": "s"},
        percentile=99,
        decided_by="interval",
    )
    verdict = judge(rule, measured(scrapes((0, 100), buckets(RELIST, {"1": 200, "+Inf": 200}))))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence.endswith("Its spread is unknown: fewer than 3 blocks of 10 s have samples.")


KNOWN = {"up_to": 9, "sentence": "It reads and writes every status.", "evidence": "7 in one run"}
"""A deviation that a row knows of."""


def costs(requests: int, **more: Any) -> SloVerdict:
    """100 restarts that cost so many requests each."""
    rule = row(
        {"kind": "ratio", "metric": "rest_client_requests_total", "per": "restarts"},
        {"at_most": 5, "unit": "requests/restart"},
        **{"mode": "gate", "deviation": KNOWN, **more},
    )
    counter: Values = {("rest_client_requests_total", ()): [requests * 10 * at for at in range(11)]}
    pods = [crasher(*(restart(at, 0.5) for at in range(100)))]
    return judge(rule, measured(scrapes(range(0, 101, 10), counter), lifecycles=pods))


def test_a_target_that_healthy_kubelets_miss_is_a_known_deviation_up_to_where_they_miss_it() -> None:
    known = costs(7)
    assert (known.outcome, known.deviation, known.fails_the_run) == (Outcome.FAIL, "made-up", False)
    assert known.sentence.endswith("A known deviation: It reads and writes every status.")
    for beyond in (costs(10), costs(7, deviation=None)):
        assert (beyond.outcome, beyond.deviation, beyond.fails_the_run) == (Outcome.FAIL, None, True)
    assert (costs(5).outcome, costs(5).deviation) == (Outcome.PASS, None)


STARTUP = {"kind": "samples", "of": "pod-startup"}


def startups(*took_s: float | None, seen_until_s: float = 100, **more: Any) -> SloVerdict:
    rule = row(STARTUP, {"at_most": 5, "unit": "s"}, percentile=50, min_samples=2, **more)
    pods = [started(index / 10, took, seen_until_s=seen_until_s) for index, took in enumerate(took_s)]
    return judge(rule, measured(lifecycles=pods))


def test_raw_samples_are_judged_one_by_one() -> None:
    verdict = startups(1, 2, 3, 4)
    assert (verdict.outcome, verdict.value, verdict.samples, verdict.results[0].bad) == (Outcome.PASS, 2, 4, 0)
    assert startups(1, 6, 7).outcome is Outcome.FAIL


def test_a_pod_that_never_started_is_as_slow_as_it_was_watched() -> None:
    verdict = startups(1, None, None)
    assert verdict.outcome is Outcome.FAIL
    assert verdict.notes == ("Still open, counted with their duration so far: 2 of the pods.",)


def test_a_pod_that_still_had_time_is_left_out_and_reported() -> None:
    verdict = startups(1, 2, None, seen_until_s=3)
    assert (verdict.outcome, verdict.samples) == (Outcome.PASS, 2)
    assert verdict.notes == ("Left out, since still open within the target: 1 of the pods.",)


def test_pods_of_other_groups_and_with_init_containers_do_not_count() -> None:
    rule = row({**STARTUP, "groups": ["healthy"]}, {"at_most": 5, "unit": "s"}, percentile=50, min_samples=2)
    pods = [started(0, 1), started(1, 2), started(2, 60, group="crasher"), started(3, 60, has_init=True)]
    assert judge(rule, measured(lifecycles=pods)).samples == 2


def lateness(*took_s: float | None, **more: Any) -> SloVerdict:
    rule = row(
        {"kind": "samples", "of": "restart-lateness"},
        {"at_most": 2, "unit": "s"},
        **{"percentile": 50, "min_samples": 2, **more},
    )
    pods = [crasher(*(restart(10 + index, took) for index, took in enumerate(took_s)))]
    return judge(rule, measured(lifecycles=pods, facts={"cores": 2}))


def test_lateness_is_what_passed_beyond_the_delay_that_was_due() -> None:
    verdict = lateness(1.5, 2.0, 2.5)
    assert verdict.value == pytest.approx(1.0)
    assert verdict.outcome is Outcome.PASS


def test_a_broken_precondition_makes_nothing_of_a_failure() -> None:
    crowd = {"preconditions": [{"fact": "pods_per_node", "at_most": 110, "at_most_per_core": 0.25}]}
    assert lateness(9, 9, 9).outcome is Outcome.FAIL
    verdict = lateness(9, 9, 9, **crowd)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence == (
        "made-up: p50 8 s of 3 restarts, target at most 2 s, phase storm at 1 pod per node. "
        "100 % missed the target, budget 50 %. "
        "Precondition not met in phase storm: 1 pod per node, at most 0.5 is promised."
    )


def test_a_precondition_that_nobody_measured_is_not_met() -> None:
    verdict = lateness(1, 1, preconditions=[{"fact": "harness_cpu_share", "at_most": 0.1}])
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence.endswith("Precondition not met in phase storm: harness_cpu_share is not known.")


def test_a_phase_without_a_promise_neither_fails_nor_lets_the_rest_pass() -> None:
    rule = row(
        STARTUP,
        {"at_most": 5, "unit": "s"},
        percentile=50,
        min_samples=2,
        preconditions=[{"fact": "churn_per_s", "at_most": 3}],
    )
    phases = (phase(0, 50, "calm"), phase(50, 100, "burst"))
    calm = [started(1, 1), started(2, 1), started(3, 1)]
    burst = [started(60 + index / 100, 9) for index in range(10)]
    assert judge(rule, measured(lifecycles=calm, phases=phases)).outcome is Outcome.PASS
    assert judge(rule, measured(lifecycles=calm + burst, phases=phases)).outcome is Outcome.INCONCLUSIVE
    slow = [started(1, 9), started(2, 9), started(3, 9)]
    assert judge(rule, measured(lifecycles=slow + burst, phases=phases)).outcome is Outcome.FAIL


PHASES = (phase(0, 30, "baseline"), phase(30, 60, "storm"), phase(60, 90, "recovery"))


def phases_of(*counts: int, took: float = 1.0, **more: Any) -> SloVerdict:
    """So many pods started in each of three phases."""
    rule = row(STARTUP, {"at_most": 5, "unit": "s"}, percentile=50, min_samples=2, **more)
    pods = [started(30 * index + at / 10, took + index % 2) for index, many in enumerate(counts) for at in range(many)]
    return judge(rule, measured(lifecycles=pods, phases=PHASES))


def test_the_phase_that_was_judged_is_named_with_those_that_were_not() -> None:
    assert phases_of(1, 4, 0).sentence == (
        "made-up: p50 2 s of 4 pods, target at most 5 s, phase storm. 0 % missed the target, "
        "budget 50 %. The evidence is weak (unknown effective samples). "
        "Phases baseline and recovery had fewer than the 2 pods needed and were not judged."
    )
    assert "Phase recovery had fewer than the 2 pods needed and was not judged." in phases_of(2, 2, 1).sentence


def test_where_every_phase_was_judged_the_worst_is_named() -> None:
    assert ", target at most 5 s, every phase, the worst is storm. " in phases_of(3, 3, 3).sentence


def test_one_is_reported_in_the_singular() -> None:
    sentence = phases_of(0, 1, 0).sentence
    assert "p50 2 s of 1 pod, target" in sentence
    assert "1 pod is fewer than the 2 pods needed." in sentence


def test_shares_are_reported_as_percentages() -> None:
    shares = {"foreign_cpu_share": 0.0631, "harness_cpu_share": 0.004, "cpu_busy_share": 0.98}
    rule = row(
        STARTUP,
        {"at_most": 5, "unit": "s"},
        percentile=50,
        min_samples=2,
        preconditions=[{"fact": fact, "at_most": 0.9} for fact in shares],
    )
    sentence = judge(rule, measured(lifecycles=[started(1, 1), started(2, 1)], facts=shares)).sentence
    assert (
        "phase storm at 6 % of the host CPU taken by others, harness CPU 0.4 % of kubelet and runtime, host CPU 98 % busy."
        in sentence
    )
    assert sentence.endswith("Precondition not met in phase storm: host CPU 98 % busy, at most 90 % is promised.")


def test_a_precondition_of_the_row_s_own_verdict_counts_for_nothing_else() -> None:
    """As of a host that is full: that is no fault of the kubelet, but what the requirement and the limit are about."""
    rule = row(
        STARTUP,
        {"at_most": 5, "unit": "s"},
        percentile=50,
        min_samples=2,
        own_preconditions=[{"fact": "cpu_busy_share", "at_most": 0.9}],
        requirement="LOAD-11",
    )
    full = measured(lifecycles=[started(1, 9), started(2, 9)], facts={"cpu_busy_share": 0.98})
    own = judge(rule, full)
    assert own.outcome is Outcome.INCONCLUSIVE
    assert own.value == 9
    assert own.sentence.endswith("Precondition not met in phase storm: host CPU 98 % busy, at most 90 % is promised.")
    assert [each(rule, full).outcome for each in (judge_step, judge_requirement)] == [Outcome.FAIL, Outcome.FAIL]
    idle = measured(lifecycles=[started(1, 9), started(2, 9)], facts={"cpu_busy_share": 0.5})
    assert judge(rule, idle).outcome is Outcome.FAIL


def test_each_group_has_to_keep_the_target() -> None:
    metric = "apiserver_request_sli_duration_seconds"
    fast = buckets(metric, {"1": 500, "+Inf": 500}, resource="pods", verb="POST")
    slow = buckets(metric, {"1": 480, "+Inf": 500}, resource="pods", verb="PATCH")
    rare = buckets(metric, {"1": 3, "+Inf": 3}, resource="nodes", verb="PATCH")
    rule = row(
        {"kind": "histogram", "source": "apiserver", "metric": metric, "each": ["resource", "verb"]},
        {"at_most": 1, "unit": "s"},
        percentile=99,
        min_samples=100,
        mode="gate",
    )
    verdict = judge(rule, measured(scrapes((0, 100), {**fast, **slow, **rare}, source="apiserver", node="")))
    assert (verdict.outcome, verdict.fails_the_run, len(verdict.results)) == (Outcome.FAIL, True, 3)
    assert verdict.sentence == (
        "made-up: p99 more than 1 s (in the bucket above 1) of 500 requests, target at most 1 s, phase storm. "
        "Shown is the worst of 2: resource pods, verb PATCH. 4 % missed the target, budget 1 %. "
        "The evidence is weak (unknown effective samples). "
        "1 of 3 groups and phases had fewer than the 100 requests needed and was not judged."
    )


def test_a_metric_that_nothing_has_is_an_error_that_names_it() -> None:
    rule = row({"kind": "histogram", "metric": RELIST + "s"}, {"at_most": 1, "unit": "s"}, percentile=50, min_samples=2)
    verdict = judge(rule, measured(scrapes((0, 100), buckets(RELIST, {"1": 5, "+Inf": 5}))))
    assert verdict.outcome is Outcome.ERROR
    assert verdict.sentence == (
        "made-up: metric 'kubelet_pleg_relist_duration_secondss': kubelet never sent it, and it is not a known "
        "metric; kubelet_pleg_relist_duration_seconds is."
    )


def test_a_counter_is_no_histogram() -> None:
    rule = row(
        {"kind": "histogram", "metric": "ticks_total"}, {"at_most": 1, "unit": "s"}, percentile=50, min_samples=2
    )
    verdict = judge(rule, measured(scrapes((0, 100), {("ticks_total", ()): (0, 5)})))
    assert verdict.outcome is Outcome.ERROR
    assert verdict.sentence == "made-up: metric 'ticks_total' of kubelet is no histogram."


def test_a_known_metric_that_did_not_appear_is_missing_evidence() -> None:
    rule = row({"kind": "histogram", "metric": RELIST}, {"at_most": 1, "unit": "s"}, percentile=50, min_samples=2)
    verdict = judge(rule, measured(scrapes((0, 100), {}, families=[RELIST])))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "never appeared: no event that it counts happened, or this version does not have it." in verdict.sentence


def test_without_scrapes_nothing_is_known() -> None:
    rule = row({"kind": "histogram", "metric": RELIST}, {"at_most": 1, "unit": "s"}, percentile=50, min_samples=2)
    verdict = judge(rule, measured())
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence.endswith("fewer than two scrapes of kubelet in the window, so the growth is unknown.")


def test_a_phase_that_the_run_did_not_have_is_reported_with_those_it_had() -> None:
    verdict = startups(1, 2, phase="recovery")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence == "made-up: the run had no phase 'recovery'; it had storm."


def sliced(seconds: float, slice_s: float | None) -> list[tuple[float, float]]:
    rule = row(STARTUP, {"at_most": 5, "unit": "s"}, percentile=50, min_samples=2, slice_s=slice_s)
    found = windows(rule, measured(phases=(phase(0, seconds),)))
    return [((each.from_ns - ns(0)) / 1e9, (each.to_ns - ns(0)) / 1e9) for each in found]


def test_a_phase_is_cut_into_whole_slices() -> None:
    assert sliced(700, 300) == [(0, 300), (300, 600)]
    assert sliced(100, 300) == [(0, 100)]
    assert sliced(700, None) == [(0, 700)]


def test_the_worst_slice_decides() -> None:
    rule = row(STARTUP, {"at_most": 5, "unit": "s"}, percentile=50, min_samples=2, slice_s=50)
    pods = [started(1, 1), started(2, 1), started(61, 9), started(62, 9)]
    verdict = judge(rule, measured(lifecycles=pods))
    assert (verdict.outcome, verdict.value) == (Outcome.FAIL, 9)


def test_a_crash_of_the_judge_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(rule: SloRow, *_: object) -> list[Any]:
        raise ZeroDivisionError(rule.id)

    monkeypatch.setattr("crashloop.slo.judge.results", broken)
    rule = row(STARTUP, {"at_most": 5, "unit": "s"}, percentile=50, min_samples=2)
    verdict = judge(rule, measured())
    assert verdict.outcome is Outcome.ERROR
    assert verdict.sentence == (
        "made-up: the judge crashed: ZeroDivisionError made-up. This is a fault of the suite; the samples are kept."
    )


def test_nothing_at_all_is_inconclusive() -> None:
    rule = row(STARTUP, {"at_most": 5, "unit": "s"}, percentile=50, min_samples=2)
    assert judge(rule, Measured(phases=())).sentence == "made-up: the run had no phase; it had none at all."
