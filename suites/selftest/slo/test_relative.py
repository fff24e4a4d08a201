"""A figure of one phase against another phase, or against its prediction: the ratio, its interval, and the verdict."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from crashloop.slo.judge import judge
from crashloop.slo.measurements import Interval, Lifecycle, Phase, SloVerdict
from crashloop.slo.relative import difference_of, in_percent, ratio_of
from crashloop.slo.row_faults import faults, unfit
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import Values, crasher, measured, phase, restart, row, scrapes

REQUESTS = "rest_client_requests_total"
PLAIN = msgspec.structs.replace(phase(0, 60), mix="plain")
RULES = msgspec.structs.replace(phase(100, 160), mix="rules")
RESTARTS = {"kind": "rate", "of": "restarts"}
LATENESS = {"kind": "samples", "of": "restart-lateness", "groups": ["crasher"]}


def relative(of: dict[str, Any], to: Any = None, *, unit: str = "requests/restart", **more: Any) -> dict[str, Any]:
    return {"kind": "relative", "of": of, "unit": unit, "to": to or {"mix": "plain"}, **more}


def restarts(every_s: float, late_s: float = 0.0, *, from_s: float = 0, node: str = "node-1") -> Lifecycle:
    """A pod that restarts regularly for 60 s."""
    number = round(60 / every_s)
    return crasher(
        *(restart(from_s + every_s * at, 1 + late_s, due_s=1) for at in range(number)),
        pod=f"{node}-{from_s}",
        node=node,
    )


def counter(plain: float, rules: float) -> Any:
    """Requests that grow by so much in each of the two phases, steadily."""
    times = [*range(0, 61, 5), *range(100, 161, 5)]
    values = [plain * min(at, 60) / 60 + (rules * (at - 100) / 60 if at > 60 else 0) for at in times]
    return scrapes(times, {(REQUESTS, ()): values})


def requests_by_rule(plain: float, rules: float, **more: Any) -> SloVerdict:
    """Requests per restart of 59 restarts each."""
    sli = relative({"kind": "ratio", "metric": REQUESTS, "per": "restarts"})
    asked: dict[str, Any] = {"mixes": ["rules"], "min_samples": 50, "decided_by": "interval", "phase": "storm"}
    rule = row(sli, {"at_most": 1.25, "unit": "times"}, **(asked | more))
    pods = [restarts(1), restarts(1, from_s=100)]
    return judge(rule, measured(counter(plain, rules), lifecycles=pods, phases=(PLAIN, RULES)))


def test_a_row_judges_no_phase_of_a_mix_that_it_excepts() -> None:
    asked = {"mixes": [], "except_mixes": ["rules"], "phase": "storm"}
    rule = row(
        {"kind": "ratio", "metric": REQUESTS, "per": "restarts"}, {"at_most": 6, "unit": "requests/restart"}, **asked
    )
    pods = [restarts(1), restarts(1, from_s=100)]
    verdict = judge(rule, measured(counter(300, 3000), lifecycles=pods, phases=(PLAIN, RULES)))
    assert verdict.outcome is Outcome.PASS
    assert list(unfit(rule, groups=(), phases=(PLAIN,), loads=())) == []
    everywhere = msgspec.structs.replace(rule, except_mixes=())
    found = judge(everywhere, measured(counter(300, 3000), lifecycles=pods, phases=(PLAIN, RULES)))
    assert found.outcome is Outcome.FAIL


def test_a_ratio_within_its_bound_passes_and_names_both_values() -> None:
    verdict = requests_by_rule(300, 330)
    assert verdict.outcome is Outcome.PASS
    assert verdict.sentence == (
        "made-up: 1.1 times of 59 restarts (95 % within this run 1.03 to 1.17), target at most 1.25 times, phase storm, rules. "
        "It is 5.59 requests/restart, and 5.08 requests/restart in phase storm, plain."
    )


def test_a_ratio_beyond_its_bound_fails() -> None:
    verdict = requests_by_rule(300, 600)
    assert verdict.outcome is Outcome.FAIL
    assert verdict.value == pytest.approx(2.0)


def test_too_few_events_in_the_other_phase_are_too_few() -> None:
    sli = relative(RESTARTS, unit="restarts/s")
    rule = row(sli, {"at_most": 2, "unit": "times"}, mixes=["rules"], min_samples=50)
    pods = [restarts(2), restarts(1, from_s=100)]
    verdict = judge(rule, measured(lifecycles=pods, phases=(PLAIN, RULES)))
    assert (verdict.outcome, verdict.samples) == (Outcome.INCONCLUSIVE, 30)
    assert verdict.sentence.endswith("30 restarts are fewer than the 50 restarts needed.")


def test_without_the_other_phase_nothing_is_known() -> None:
    sli = relative({"kind": "ratio", "metric": REQUESTS, "per": "restarts"}, {"mix": "shells"})
    rule = row(sli, {"at_most": 2, "unit": "times"}, mixes=["rules"])
    verdict = judge(rule, measured(counter(1, 1), lifecycles=[restarts(1)], phases=(PLAIN, RULES)))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "Phase storm, rules: no phase 'storm, shells' in this run to compare with." in verdict.sentence


def test_a_precondition_has_to_hold_in_both_phases() -> None:
    busy = scrapes(
        (0, 60, 100, 160),
        {
            ("host_cpu_seconds_total", (("mode", "busy"),)): [0, 59, 60, 70],
            ("host_cpu_seconds_total", (("mode", "idle"),)): [0, 1, 40, 90],
        },
        source="processes",
        node="",
    )
    rule = row(
        relative(RESTARTS, unit="restarts/s"),
        {"at_most": 1, "unit": "times"},
        mixes=["rules"],
        preconditions=[{"fact": "cpu_busy_share", "at_most": 0.9}],
    )
    verdict = judge(rule, measured(busy, lifecycles=[restarts(2), restarts(1, from_s=100)], phases=(PLAIN, RULES)))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert (
        "Precondition not met in phase storm, plain: host CPU 98 % busy, at most 90 % is promised." in verdict.sentence
    )


def test_each_phase_counts_on_the_nodes_that_it_loaded() -> None:
    base = msgspec.structs.replace(phase(0, 60, arm="baseline"), nodes=("a",))
    treat = msgspec.structs.replace(phase(100, 160, arm="treatment"), nodes=("b",))
    beside = restarts(0.5, node="a", from_s=100)
    rule = row(
        relative(RESTARTS, {"arm": "baseline"}, unit="restarts/s"), {"at_most": 3, "unit": "times"}, arm="treatment"
    )
    pods = [restarts(2, node="a"), restarts(1, node="b", from_s=100), beside]
    verdict = judge(rule, measured(lifecycles=pods, phases=(base, treat)))
    assert verdict.outcome is Outcome.PASS
    assert verdict.value == pytest.approx(59 / 30)


def test_what_another_node_took_is_not_among_the_costs_of_a_phase() -> None:
    """One source has the processes of all nodes; an idle node takes CPU, too."""
    base = msgspec.structs.replace(phase(0, 50, arm="baseline"), nodes=("a",))
    treat = msgspec.structs.replace(phase(50, 100, arm="treatment"), nodes=("b",))
    spent: Values = {
        ("component_cpu_seconds_total", (("component", "kubelet"), ("node", node))): values
        for node, values in (("a", (0, 10, 110)), ("b", (0, 90, 110)))
    }
    sli = {"kind": "ratio", "source": "processes", "metric": "component_cpu_seconds_total", "per": "seconds"}
    rule = row(relative(sli, {"arm": "baseline"}, unit="cores"), {"at_most": 2.1, "unit": "times"}, arm="treatment")
    verdict = judge(rule, measured(scrapes((0, 50, 100), spent, source="processes", node=""), phases=(base, treat)))
    assert verdict.value == pytest.approx(2.0)


def test_a_phase_is_compared_with_the_nearest_in_time() -> None:
    rounds = [
        msgspec.structs.replace(phase(at, at + 60), mix=mix)
        for at, mix in ((0, "plain"), (100, "rules"), (200, "plain"), (300, "rules"))
    ]
    pods = [restarts(every, from_s=at) for at, every in ((0, 1), (100, 1), (200, 2), (300, 2))]
    rule = row(relative(RESTARTS, unit="restarts/s"), {"at_most": 1.1, "unit": "times"}, mixes=["rules"])
    verdict = judge(rule, measured(lifecycles=pods, phases=rounds))
    assert [each.value for each in verdict.results] == pytest.approx([1.0, 1.0], rel=0.05)


def lateness(plain_s: float, rules_s: Sequence[float]) -> SloVerdict:
    rule = row(
        relative(LATENESS, unit="s"),
        {"at_most": 1.5, "unit": "times"},
        percentile=99,
        mixes=["rules"],
        min_samples=100,
        decided_by="interval",
    )
    pods = [restarts(0.5, plain_s), *(restarts(0.5, late_s, from_s=100) for late_s in rules_s)]
    return judge(rule, measured(lifecycles=pods, phases=(PLAIN, RULES)))


def test_restarts_that_are_later_than_others_are_seen() -> None:
    assert lateness(0.5, [0.6]).outcome is Outcome.PASS
    verdict = lateness(0.5, [1.5])
    assert verdict.outcome is Outcome.FAIL
    assert verdict.sentence == (
        "made-up: p99 3 times of 120 restarts, target at most 1.5 times, phase storm, rules. "
        "It is 1.5 s, and 0.5 s in phase storm, plain."
    )
    assert (verdict.budget, verdict.evidence) == (None, None)


def test_no_ratio_is_made_of_nothing() -> None:
    assert "0 and 0.5 s have no ratio." in lateness(0.5, [0.0]).sentence
    assert lateness(0.5, [0.0]).outcome is Outcome.INCONCLUSIVE


def predicted(every_s: float, predicted_per_s: float | None) -> SloVerdict:
    sli = relative(RESTARTS, "prediction", unit="restarts/s", by="percent")
    rule = row(sli, {"at_most": 15, "unit": "%"}, min_samples=30, decided_by="interval")
    there = msgspec.structs.replace(phase(0, 60), predicted_per_s=predicted_per_s)
    return judge(rule, measured(lifecycles=[restarts(every_s)], phases=(there,)))


@pytest.mark.parametrize(
    ("predicted_per_s", "outcome"),
    [(1.1, Outcome.PASS), (0.9, Outcome.PASS), (0.5, Outcome.FAIL), (2.0, Outcome.FAIL), (None, Outcome.INCONCLUSIVE)],
)
def test_restarts_are_judged_by_their_prediction_in_both_directions(
    predicted_per_s: float | None, outcome: Outcome
) -> None:
    assert predicted(1, predicted_per_s).outcome is outcome


def test_a_difference_from_the_prediction_names_both_numbers() -> None:
    assert predicted(1, 2.0).value == pytest.approx(100 * (1 - 59 / 120))
    assert "It is 0.983 restarts/s, and 2 restarts/s predicted." in predicted(1, 2.0).sentence
    assert "nothing predicts its restarts" in predicted(1, None).sentence


def added(plain_every_s: float, rules_every_s: float, most: float) -> SloVerdict:
    """How many restarts a second more one phase has than another, in which a pod may never restart."""
    rule = row(
        relative(RESTARTS, unit="restarts/s", by="difference"), {"at_most": most, "unit": "restarts/s"}, mixes=["rules"]
    )
    pods = [restarts(plain_every_s), restarts(rules_every_s, from_s=100)]
    return judge(rule, measured(lifecycles=pods, phases=(PLAIN, RULES)))


def test_a_difference_is_judged_in_the_unit_of_the_figure_and_may_be_one_from_nothing() -> None:
    verdict = added(2, 0.5, most=1.5)
    assert verdict.outcome is Outcome.PASS
    assert verdict.value == pytest.approx(88 / 60)
    assert added(2, 0.5, most=1.4).outcome is Outcome.FAIL
    assert added(60, 0.5, most=1.5).outcome is Outcome.FAIL
    assert "in phase storm, plain." in verdict.sentence


def test_the_interval_of_a_difference_is_wider_than_those_of_its_parts() -> None:
    found = difference_of(10, Interval(7.0, 13.0), 6, Interval(2.0, 10.0)).bounds
    assert found == pytest.approx((-1, 9))
    assert difference_of(10, Interval(None, 13.0), 6, Interval(2.0, None)).lower is None
    assert difference_of(10, None, 6, Interval(2.0, 10.0)) == Interval(None, None)


def test_the_interval_of_a_ratio_is_wider_than_those_of_its_parts_and_narrower_than_their_sum() -> None:
    part = Interval(8.0, 12.5)
    found = ratio_of(10, part, 10, part).bounds
    assert found is not None
    lower, upper = found
    assert math.log(upper) == pytest.approx(math.hypot(math.log(1.25), math.log(10 / 8)))
    assert lower == pytest.approx(1 / upper)
    assert 0.64 < lower < 0.8


@pytest.mark.parametrize(
    ("mine", "other", "expected"),
    [
        (Interval(0.0, 12.0), Interval(9.0, 11.0), (True, False)),
        (Interval(8.0, 12.0), Interval(-1.0, 11.0), (False, True)),
        (Interval(8.0, 12.0), None, (True, True)),
    ],
    ids=["down-to-zero", "other-down-to-zero", "other-unknown"],
)
def test_a_side_that_a_part_does_not_bound_is_unknown(
    mine: Interval, other: Interval | None, expected: tuple[bool, bool]
) -> None:
    found = ratio_of(10, mine, 10, other)
    assert (found.lower is None, found.upper is None) == expected


def test_a_difference_in_either_direction_is_at_least_none_if_the_interval_holds_one() -> None:
    assert in_percent(Interval(0.9, 1.2)).bounds == pytest.approx((0, 20))
    assert in_percent(Interval(0.5, 0.8)).bounds == pytest.approx((20, 50))
    assert in_percent(Interval(1.1, 1.4)).bounds == pytest.approx((10, 40))
    assert in_percent(Interval(None, 1.4)) == Interval(None, None)


@pytest.mark.parametrize(
    ("sli", "target", "more", "fault"),
    [
        (relative(RESTARTS), {"at_most": 2, "unit": "s"}, {}, "target has the unit 's'; it is in times"),
        (
            relative(RESTARTS, by="percent"),
            {"at_most": 2, "unit": "times"},
            {},
            "target has the unit 'times'; it is in %",
        ),
        (
            relative(LATENESS, "prediction"),
            {"at_most": 2, "unit": "times"},
            {"percentile": 50, "min_samples": 2},
            "to is prediction, which is one of restarts; expected the rate of restarts",
        ),
        (
            relative(RESTARTS) | {"to": {}},
            {"at_most": 2, "unit": "times"},
            {},
            "to names nothing; expected a phase, mix or arm to compare with",
        ),
        (
            relative(LATENESS),
            {"at_most": 2, "unit": "times"},
            {},
            "percentile is missing; an SLI of kind samples needs one",
        ),
        (
            relative(RESTARTS),
            {"reported": True, "at_most": 2, "unit": "times"},
            {},
            "target is reported; then there is no bound, and nothing to gate or to decide by its interval",
        ),
        (
            RESTARTS,
            {"reported": True, "unit": "restarts/s"},
            {"mode": "gate"},
            "target is reported; then there is no bound, and nothing to gate or to decide by its interval",
        ),
    ],
)
def test_a_wrong_comparison_is_refused(sli: Any, target: Any, more: Any, fault: str) -> None:
    assert fault in list(faults(row(sli, target, **more)))


@pytest.mark.parametrize(
    ("more", "to", "fault"),
    [
        ({"mixes": ["rule"]}, {"mix": "plain"}, "mixes 'rule' is not known; expected rules"),
        ({"arm": "treatment"}, {"mix": "plain"}, "arm 'treatment' is not known"),
        ({}, {"mix": "plan"}, "to.mix 'plan' is not known; expected plain"),
        ({}, {"phase": "strom"}, "to.phase 'strom' is not known; expected storm"),
    ],
)
def test_names_that_the_stages_lack_are_refused(more: Any, to: Any, fault: str) -> None:
    rule = row(relative(RESTARTS, to), {"at_most": 2, "unit": "times"}, **more)
    (found,) = unfit(rule, groups=("crasher",), phases=(PLAIN, RULES), loads=())
    assert found.startswith(fault)


def a_second(*, reported: bool, to_s: float = 60) -> SloVerdict:
    target = {"reported": True, "unit": "requests/s"} if reported else {"at_most": 4, "unit": "requests/s"}
    rule = row({"kind": "ratio", "metric": REQUESTS, "per": "seconds"}, target, min_samples=60)
    where: Phase = phase(0, to_s)
    return judge(rule, measured(counter(300, 0), phases=(where,)))


def test_requests_are_counted_per_second() -> None:
    verdict = a_second(reported=False)
    assert (verdict.outcome, verdict.samples) == (Outcome.FAIL, 60)
    assert verdict.value == pytest.approx(5.0)


def test_a_figure_without_a_target_is_reported_with_its_evidence() -> None:
    verdict = a_second(reported=True)
    assert (verdict.outcome, verdict.target) == (Outcome.PASS, None)
    assert verdict.sentence == "made-up: 5 requests/s of 60 seconds, reported without a target, phase storm."


def test_a_reported_figure_needs_its_evidence_too() -> None:
    verdict = a_second(reported=True, to_s=30)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence.endswith("30 seconds are fewer than the 60 seconds needed.")
