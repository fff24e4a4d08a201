"""results.json says what the verdicts say, with what a reader needs beside it, in an order that holds."""

import math
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from crashloop.report.conformance import headline
from crashloop.report.curves import PlottedCurve, ReportedDelay
from crashloop.report.results import Coverage, DeviationText, RequirementText, Results, build_results, coverage_of
from crashloop.report.standing import Standing
from crashloop.verdict import ExitCode, Outcome, Verdict, VerdictMode
from suites.selftest.kit.report_example import (
    ENVIRONMENT,
    INFO,
    PLAN,
    STARTED,
    VERDICTS,
    example_results,
)
from suites.selftest.kit.report_example_catalogue import REQUIREMENTS
from suites.selftest.kit.report_example_delays import MAX_2S, delays


def verdict(
    outcome: Outcome, requirement: str = "CAP-3", scenario: str = "crash-natural-max-2s", **more: Any
) -> Verdict:
    return Verdict(requirement=requirement, scenario=scenario, profile="max-2s", outcome=outcome, **more)


def one_curve(*verdicts: Verdict) -> PlottedCurve:
    (curve,) = example_results(verdicts).curves
    return curve


def test_results_survive_their_json_form() -> None:
    results = example_results()
    assert msgspec.json.decode(msgspec.json.encode(results), type=Results) == msgspec.structs.replace(
        results, verdicts=msgspec.convert(msgspec.to_builtins(results.verdicts), tuple[Verdict, ...])
    )


def test_the_same_verdicts_give_the_same_results_in_any_order() -> None:
    assert example_results(tuple(reversed(VERDICTS))) == example_results()


def test_verdicts_stand_worst_first_then_as_in_the_catalogue_then_by_scenario() -> None:
    in_order = [(Standing.of(each).value, each.requirement, each.scenario) for each in example_results().verdicts]
    assert in_order[:6] == [
        ("FAIL", "CAP-4", "crash-natural-max-1s"),
        ("FAIL", "RULES-22", "rule-in-42-max-2s"),
        ("ERROR", "RULES-22", "runtime-restart-max-2s"),
        ("INCONCLUSIVE", "FAULT-2", "runtime-restart-max-2s"),
        ("DEVIATION", "CONFIG-4", "start-gate-off"),
        ("DEVIATION", "RESET-4", "run-590s-max-20s"),
    ]
    assert in_order[-1] == ("SKIPPED", "RULES-6", "rule-order-max-2s")


def test_every_verdict_is_counted_once() -> None:
    results = example_results()
    assert results.counts == {
        Standing.FAIL: 2,
        Standing.ERROR: 1,
        Standing.INCONCLUSIVE: 1,
        Standing.DEVIATION: 3,
        Standing.REPORTED: 1,
        Standing.TEXT: 0,
        Standing.PASS: 44,
        Standing.SKIPPED: 1,
    }
    assert sum(results.counts.values()) == len(VERDICTS)


@pytest.mark.parametrize(
    ("verdicts", "outcome", "code"),
    [
        ([verdict(Outcome.PASS), verdict(Outcome.FAIL)], Outcome.FAIL, ExitCode.FAIL),
        ([verdict(Outcome.PASS), verdict(Outcome.ERROR)], Outcome.ERROR, ExitCode.ERROR),
        ([verdict(Outcome.PASS), verdict(Outcome.INCONCLUSIVE)], Outcome.INCONCLUSIVE, ExitCode.INCONCLUSIVE),
        ([verdict(Outcome.PASS), verdict(Outcome.FAIL, deviation="known")], Outcome.PASS, ExitCode.OK),
        ([verdict(Outcome.FAIL, deviation="known")], Outcome.PASS, ExitCode.OK),
        (
            [verdict(Outcome.PASS), verdict(Outcome.FAIL, "BACKOFF-3", mode=VerdictMode.REPORT)],
            Outcome.PASS,
            ExitCode.OK,
        ),
        (
            [verdict(Outcome.PASS), verdict(Outcome.ERROR, "BACKOFF-3", mode=VerdictMode.REPORT)],
            Outcome.PASS,
            ExitCode.OK,
        ),
        ([verdict(Outcome.SKIPPED)], Outcome.SKIPPED, ExitCode.INCONCLUSIVE),
        ([], Outcome.SKIPPED, ExitCode.USAGE),
    ],
    ids=[
        "fail",
        "error",
        "inconclusive",
        "known-deviation",
        "only-a-known-deviation",
        "reported",
        "reported-error",
        "skipped",
        "none",
    ],
)
def test_outcome_and_exit_code_leave_out_what_does_not_count(
    verdicts: list[Verdict], outcome: Outcome, code: int
) -> None:
    results = example_results(tuple(verdicts))
    assert (results.outcome, results.exit_code) == (outcome, code)


WHERE = "The kubelet does not behave as required on 1 of 10 configurations: 1 cause breaks"
BOTH = "Kubernetes 1.37.1 (kubelets 1.34.4, 1.37.1)"


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        ([verdict(Outcome.FAIL)], f"{WHERE} 1 requirement: 1 of a promise."),
        (
            [verdict(Outcome.FAIL), verdict(Outcome.FAIL, scenario="crash-natural-max-1s")],
            f"{WHERE} 1 requirement: 1 of a promise.",
        ),
        (
            [verdict(Outcome.FAIL), verdict(Outcome.FAIL, "BACKOFF-3")],
            f"{WHERE} 2 requirements: 1 of a promise, 1 of the source.",
        ),
        (
            [verdict(Outcome.FAIL), verdict(Outcome.FAIL, "GONE-1")],
            f"{WHERE} 2 requirements.",
        ),
        ([verdict(Outcome.ERROR)], "1 verdict could not be reached."),
        ([verdict(Outcome.INCONCLUSIVE)], "Evidence is missing for 1 verdict."),
        ([verdict(Outcome.PASS)], f"{BOTH} restarts containers as documented: 1 verdict passes."),
        (
            [verdict(Outcome.PASS), verdict(Outcome.FAIL, "BACKOFF-3", deviation="a")],
            f"{BOTH} keeps 1 requirement and breaks 1 that it is known to break, above all BACKOFF-3.",
        ),
        (
            [
                verdict(Outcome.FAIL, deviation="a"),
                msgspec.structs.replace(
                    verdict(Outcome.FAIL, "BACKOFF-3", deviation="b"), facts={"pods": {"PASS": 5, "FAIL": 2}}
                ),
            ],
            f"{BOTH} breaks 2 that it is known to break, above all BACKOFF-3 (2 of 7 pods).",
        ),
        (
            [verdict(Outcome.PASS), verdict(Outcome.FAIL, "BACKOFF-3", mode=VerdictMode.REPORT)],
            f"{BOTH} restarts containers as documented: 1 verdict passes; 1 verdict is only reported.",
        ),
        (
            [verdict(Outcome.FAIL, "BACKOFF-3", mode=VerdictMode.REPORT)],
            f"{BOTH} was measured only, and nothing was judged that could fail; 1 verdict is only reported.",
        ),
        ([verdict(Outcome.SKIPPED)], "Nothing was judged: 1 verdict skipped."),
        ([], "Nothing was judged."),
    ],
    ids=[
        "fail",
        "same-requirement",
        "by-basis",
        "of-an-unknown-basis",
        "error",
        "inconclusive",
        "pass",
        "deviations",
        "only-deviations",
        "reported",
        "only-reported",
        "skipped",
        "none",
    ],
)
def test_the_headline_says_the_outcome_in_one_sentence(verdicts: list[Verdict], sentence: str) -> None:
    assert headline(example_results(tuple(verdicts))).sentence == sentence


def test_the_headline_names_kubelets_only_where_one_has_a_version_of_its_own() -> None:
    results = example_results((verdict(Outcome.PASS),))
    alike = msgspec.structs.replace(
        results, profiles=tuple(each for each in results.profiles if each.kubernetes_version is None)
    )
    passes = "restarts containers as documented: 1 verdict passes."
    assert headline(alike).sentence == f"Kubernetes 1.37.1 {passes}"
    assert headline(results).sentence == f"Kubernetes 1.37.1 (kubelets 1.34.4, 1.37.1) {passes}"


def test_requirements_are_counted_by_what_became_of_them() -> None:
    coverage = example_results(
        (
            verdict(Outcome.PASS),
            verdict(Outcome.INCONCLUSIVE, scenario="crash-natural-max-1s"),
            verdict(Outcome.FAIL, "CAP-4"),
            verdict(Outcome.INCONCLUSIVE, "RULES-22"),
            verdict(Outcome.SKIPPED, "RULES-22", scenario="rule-in-42-max-2s"),
            verdict(Outcome.SKIPPED, "RULES-6"),
        )
    ).coverage
    assert coverage == Coverage(judged=1, skipped=1, undecided=2, catalogue=len(REQUIREMENTS))
    assert coverage.sentence == f"1 of {len(REQUIREMENTS)} requirements judged, 1 skipped, 2 undecided."


def test_a_run_that_judges_less_than_asked_for_says_so_first_and_last() -> None:
    results = example_results((verdict(Outcome.PASS),), at_least=2)
    words = f"1 of {len(REQUIREMENTS)} requirements judged: fewer than --at-least 2."
    assert (results.outcome, results.exit_code) == (Outcome.INCONCLUSIVE, ExitCode.INCONCLUSIVE)
    assert headline(results).sentence == f"Too little was judged: {words}"
    assert results.coverage is not None
    assert results.coverage.sentence == words


def test_only_deviations_that_explain_a_verdict_are_named() -> None:
    assert [each.id for each in example_results().deviations] == [
        "counter-collected-while-waiting",
        "gate-off-refuses-field",
        "liveness-two-free-restarts",
    ]


def test_a_run_that_an_older_catalogue_planned_can_still_be_judged() -> None:
    old = [verdict(Outcome.PASS, requirement="GONE-1"), verdict(Outcome.FAIL, deviation="gone")]
    results = build_results(
        INFO, PLAN, old, {}, (), ENVIRONMENT, finished=STARTED + timedelta(seconds=1), effective_curves={}
    )
    assert results.requirement("GONE-1") == RequirementText(id="GONE-1")
    assert results.deviations == (DeviationText(id="gone"),)


def test_requirements_on_the_same_delays_share_a_curve() -> None:
    curve = one_curve(
        verdict(Outcome.PASS, facts={"delays": MAX_2S[:3]}),
        verdict(Outcome.PASS, "BACKOFF-2", facts={"delays": MAX_2S}),
    )
    assert (curve.requirements, curve.standing, curve.mode) == (("BACKOFF-2", "CAP-3"), Standing.PASS, "natural")
    assert [delay.restart for delay in curve.delays] == list(range(1, 11))


def test_a_curve_shows_what_the_worst_verdict_expected() -> None:
    lenient = delays((0, 0.2, 0.3), (2, 2.5, 2.6))
    strict = delays((0, 0.2, 0.3), (4, 2.5, 2.6))
    curve = one_curve(
        verdict(Outcome.PASS, facts={"delays": lenient}),
        verdict(Outcome.FAIL, "BACKOFF-2", facts={"delays": strict}),
    )
    assert [delay.due_s for delay in curve.delays] == [0, 4]
    assert curve.standing is Standing.FAIL


def test_each_container_has_a_curve_of_its_own() -> None:
    rows = delays((0, 0.2, 0.3)) + delays((0, 0.4, 0.5), container="proxy")
    curves = example_results((verdict(Outcome.PASS, facts={"delays": rows}),)).curves
    assert [(each.container, len(each.delays)) for each in curves] == [("app", 1), ("proxy", 1)]


def test_the_restarts_of_a_recreated_pod_follow_those_of_the_first() -> None:
    rows = delays((0, 0.2, 0.3), (2, 2.5, 2.6)) + delays((0, 0.7, 0.8))
    curve = one_curve(verdict(Outcome.PASS, facts={"delays": rows}))
    assert [(delay.restart, delay.seen_s) for delay in curve.delays] == [(1, 0.3), (2, 2.6), (1, 0.8)]


def test_a_bound_at_infinity_is_no_bound() -> None:
    rows = [{**delays((2, 2.5, 2.6))[0], "latest_s": math.inf, "alternatives": [{"due_s": 4.0, "latest_s": math.inf}]}]
    (delay,) = one_curve(verdict(Outcome.PASS, facts={"delays": rows})).delays
    assert [window.latest_s for window in delay.windows] == [None, None]


def test_a_row_that_is_no_delay_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="due_s"):
        example_results((verdict(Outcome.PASS, facts={"delays": [{"container": "app", "restart": 1}]}),))


@pytest.mark.parametrize(
    ("more", "early", "late"),
    [
        ({"seen_s": 1.9, "created_s": 1.8}, True, False),
        ({"seen_s": 1.99, "created_s": 1.98}, False, False),
        ({"seen_s": 4.4, "created_s": 3.9}, False, False),
        ({"seen_s": 4.4, "created_s": 4.3}, False, True),
        ({"seen_s": 4.4}, False, False),
        ({}, False, False),
        ({"seen_s": 0.3, "created_s": 0.2, "alternatives": [{"due_s": 0.0, "latest_s": 1.0}]}, False, False),
        ({"seen_s": 1.5, "created_s": 1.4, "alternatives": [{"due_s": 0.0, "latest_s": 1.0}]}, False, True),
    ],
    ids=["early", "within-resolution", "slow-start", "late", "journal-only", "not-seen", "alternative", "between"],
)
def test_a_delay_is_outside_the_band_before_it_is_due_or_created_after_the_latest_moment(
    more: dict[str, Any], early: bool, late: bool
) -> None:
    delay = msgspec.convert({"restart": 2, "due_s": 2.0, "latest_s": 4.0, **more}, ReportedDelay)
    assert (delay.is_early, delay.is_late, delay.is_outside) == (early, late, early or late)


@pytest.mark.parametrize(
    ("created_s", "stalled_s", "excusable"),
    [(4.5, 0.4, False), (4.5, 0.5, True), (1.0, 3.0, False), (3.0, 3.0, False)],
    ids=["stalled-for-less", "stalled-as-long", "early", "inside"],
)
def test_a_stall_excuses_a_late_delay_only(created_s: float, stalled_s: float, excusable: bool) -> None:
    delay = ReportedDelay(
        restart=2, due_s=2.0, latest_s=4.0, seen_s=created_s, created_s=created_s, stalled_s=stalled_s
    )
    assert delay.is_excusable is excusable


def test_requirements_that_can_fail_no_run_are_counted_apart() -> None:
    def verdict(name: str, mode: VerdictMode) -> Verdict:
        return Verdict(requirement=name, scenario="s", profile="p", outcome=Outcome.PASS, mode=mode)

    shown = coverage_of((verdict("A-1", VerdictMode.GATE), verdict("A-2", VerdictMode.REPORT)), catalogue=9)
    assert shown.sentence == "2 of 9 requirements judged (of which 1 report only)."
