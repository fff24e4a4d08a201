"""Checkers of comparisons: two histories, one verdict."""

from typing import Any

import msgspec

from crashloop.history.event import Kind
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.program import HOLDS, exits_with, runs
from crashloop.spec.scenario import PodScenario, Until
from crashloop.verdict import Evidence, Outcome
from suites.selftest.kit.cases import CRASHING, GOOD, app, compared, scenario
from suites.selftest.kit.histories import History

ONE, OTHER = (msgspec.structs.replace(CRASHING, name=name) for name in ("one", "other"))


def lives(of: PodScenario, *of_app: tuple[float, float | None, int], ends_s: float = 40) -> History:
    return History(of).lives("app", *of_app).ends(ends_s)


LATE = ((0.5, 1.5, 1), (2.0, 3.0, 1), (7.9, 8.9, 1), (11.3, None, 0))
"""As GOOD, but the second restart comes 4.8 s after the exit instead of 2.2 s."""


def test_one_verdict_rests_on_both_histories() -> None:
    verdict = compared(lives(ONE, *GOOD), lives(OTHER, *GOOD), checkers=("same-delays",))
    assert (verdict.scenario, verdict.profile, verdict.outcome, verdict.findings) == (
        "both",
        "max-2s",
        Outcome.PASS,
        (),
    )
    assert verdict.evidence == (Evidence(file="history/one.jsonl"), Evidence(file="history/other.jsonl"))
    assert list(verdict.facts["compared"]) == ["one", "other"]


def test_a_delay_that_is_longer_in_one_scenario_is_a_fail() -> None:
    verdict = compared(lives(ONE, *GOOD), lives(OTHER, *LATE), checkers=("same-delays",))
    assert verdict.outcome is Outcome.FAIL
    assert verdict.findings == (
        'CAP-3: restart 2 of "app" waited 2.2 s in one (history lines 22 and 27) '
        "and 4.8 s in other (history lines 22 and 30); lateness explains 2.15 s of the difference.",
    )
    assert verdict.evidence == (
        Evidence(file="history/one.jsonl", lines=(22, 27)),
        Evidence(file="history/other.jsonl", lines=(22, 30)),
    )


def test_the_checkers_of_single_scenarios_judge_each_of_them() -> None:
    verdict = compared(lives(ONE, *GOOD), lives(OTHER, *LATE), checkers=("delays", "same-delays"))
    assert [each.split(" (")[0] for each in verdict.findings] == [
        'CAP-3: in other: restart 2 of "app" was created 4.8 s after the exit',
        'CAP-3: restart 2 of "app" waited 2.2 s in one',
    ]


def test_too_few_delays_in_one_scenario_prove_nothing() -> None:
    verdict = compared(lives(ONE, *GOOD), lives(OTHER, *GOOD[:2]), checkers=("same-delays",), min_delays=2)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.findings == (
        "CAP-3: 0 delays in all scenarios seen, 2 needed: in one the scenario was complete; "
        "in other the scenario was complete.",
    )


def test_an_obstacle_in_one_history_is_one_for_the_comparison() -> None:
    verdict = compared(lives(ONE, *GOOD), lives(OTHER, *GOOD).without(Kind.NODE), checkers=("same-delays",))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.findings == (
        "CAP-3: in other: the node's effective configuration was not recorded, so it is open what was tested.",
    )


def test_a_recording_that_was_interrupted_proves_nothing() -> None:
    stopped = History(OTHER).lives("app", *GOOD).ends(40, "interrupted")
    verdict = compared(lives(ONE, *GOOD), stopped, checkers=("same-delays",))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.findings[0].startswith("CAP-3: in other: the recording was interrupted (history line")


ENDS = ((0.5, 1.5, 1), (2.0, 3.0, 1))


def test_an_exit_that_is_followed_by_a_restart_in_one_scenario_only_is_a_fail() -> None:
    verdict = compared(lives(ONE, *GOOD), lives(OTHER, *ENDS), checkers=("same-decisions",))
    assert verdict.findings == (
        'CAP-3: exit 2 of "app", with 1, was restarted in one (history line 22) '
        "and not restarted in other (history line 22).",
    )


def test_a_restart_may_still_come_where_the_watch_was_shorter_than_the_delay() -> None:
    verdict = compared(lives(ONE, *GOOD), lives(OTHER, *ENDS, ends_s=6), checkers=("same-decisions",))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "That watch was too short: the scenario was complete." in verdict.findings[0]


def held_up(stalled_s: float) -> History:
    """No third restart until 12 s, where 7 s were the latest moment for it and the host stood still meanwhile."""
    return History(OTHER).lives("app", *ENDS).stall(5.5, stalled_s).ends(12)


def test_a_restart_that_the_host_held_up_is_no_other_decision() -> None:
    verdict = compared(lives(ONE, *GOOD), held_up(5.2), checkers=("same-decisions",))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    (finding,) = verdict.findings
    assert 'In other restart 2 of "app" did not come within 9 s after the exit' in finding
    assert finding.endswith(
        "(missed heartbeats 5.2 s, CPU pressure of the whole system 0.007 s), as long as the excess or longer."
    )


def test_a_restart_that_the_host_held_up_for_less_was_decided_against() -> None:
    assert compared(lives(ONE, *GOOD), held_up(1.0), checkers=("same-decisions",)).outcome is Outcome.FAIL


def test_another_exit_code_is_no_ground_to_compare_restarts() -> None:
    others = ((0.5, 1.5, 1), (2.0, 3.0, 7), (5.3, 6.3, 1), (8.6, None, 0))
    verdict = compared(lives(ONE, *GOOD), lives(OTHER, *others), checkers=("same-decisions",))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.findings == (
        'CAP-3: exit 2 of "app" had code 1 in one scenario and 7 in another; the scenarios were not carried out alike.',
    )


def test_the_same_restarts_pass() -> None:
    verdict = compared(lives(ONE, *GOOD), lives(OTHER, *LATE), checkers=("same-decisions",), min_exits=3)
    assert (verdict.outcome, verdict.facts["decisions"]) == (
        Outcome.PASS,
        {"app": ["1: restarted", "1: restarted", "1: restarted"]},
    )


PAIR = scenario(
    Container(name="sidecar", kind=ContainerKind.INIT, program=HOLDS, restart_policy=CRASHING.pod.restart_policy),
    app(runs((5, 1))),
    until=Until(restarts={"app": 1}),
)


def pair(name: str, *, sidecar_s: float, app_s: float, stalled_s: float = 0.0) -> History:
    history = History(msgspec.structs.replace(PAIR, name=name))
    if stalled_s:
        history.stall(0.3, stalled_s)
    history.lives("sidecar", (sidecar_s, None, 0), status=False)
    history.lives("app", (app_s, 6.0, 1), (6.4, None, 0), status=False)
    return history.ends(40)


def test_another_order_of_starts_is_a_fail() -> None:
    first, last = pair("one", sidecar_s=0.5, app_s=1.0), pair("other", sidecar_s=1.6, app_s=1.0)
    verdict = compared(first, last, checkers=("same-order",))
    assert verdict.outcome is Outcome.FAIL
    assert [each.split(" (")[0] for each in verdict.findings] == [
        'CAP-3: start 1 of "sidecar" came before start 1 of "app" in one'
    ]


def test_a_slow_runtime_makes_no_other_order() -> None:
    """The sidecar exits at 2.6 s; app was created before that in both, and started after it in one."""

    def crashing_sidecar(name: str, app_s: float) -> History:
        history = History(msgspec.structs.replace(PAIR, name=name))
        history.lives("sidecar", (0.1, 2.6, 1), (3.3, None, 0), status=False)
        history.runtime(0.25, Kind.CREATED, "app", "app-0").runtime(app_s, Kind.STARTED, "app", "app-0")
        history.journal(app_s + 0.01, Kind.STARTED, "app", 0)
        return history.ends(40)

    prompt, slow = crashing_sidecar("one", 1.4), crashing_sidecar("other", 2.95)
    assert compared(prompt, slow, checkers=("same-order",)).outcome is Outcome.PASS


def test_another_order_on_a_host_that_stood_still_is_open() -> None:
    first = pair("one", sidecar_s=0.5, app_s=1.0)
    last = pair("other", sidecar_s=1.6, app_s=1.0, stalled_s=0.7)
    verdict = compared(first, last, checkers=("same-order",))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "missed heartbeats 0.7 s" in verdict.findings[0]
    assert verdict.findings[0].endswith("as long as the excess or longer, in other.")


def test_starts_that_are_close_have_no_order() -> None:
    first, last = pair("one", sidecar_s=0.5, app_s=1.0), pair("other", sidecar_s=1.04, app_s=1.0)
    assert compared(first, last, checkers=("same-order",)).outcome is Outcome.PASS


def test_an_order_needs_events_that_both_have() -> None:
    first, last = pair("one", sidecar_s=0.5, app_s=1.0), pair("other", sidecar_s=0.5, app_s=1.0)
    verdict = compared(first, last, checkers=("same-order",), min_events=5)
    assert verdict.findings == (
        "CAP-3: 4 events in all scenarios seen, 5 needed: in one the scenario was complete; "
        "in other the scenario was complete.",
    )


COUNTS: dict[str, Any] = {"most": 1, "within_s": 10, "slack_s": 2}
FEW = scenario(app(exits_with(1, times=9)), name="few")
MANY = msgspec.structs.replace(FEW, name="many")


def restarts(of: PodScenario, *starts_s: float, ends_s: float = 20) -> History:
    return lives(of, *((at_s, at_s + 0.2, 1) for at_s in starts_s), ends_s=ends_s)


def test_more_restarts_than_are_allowed_are_a_fail() -> None:
    verdict = compared(
        restarts(FEW, 0.5, 1, 5), restarts(MANY, 0.5, 1, 3, 5, 7), checkers=("added-restarts",), **COUNTS
    )
    assert verdict.findings == (
        "CAP-3: 4 restarts in many within 10 s of the first start and 2 in few within 12 s; 1 more are the most.",
    )
    assert verdict.facts["restarts"] == {"few": 2, "many": 4}


def test_a_restart_of_the_slower_curve_may_be_late() -> None:
    verdict = compared(restarts(FEW, 0.5, 1, 12), restarts(MANY, 0.5, 1, 3, 5), checkers=("added-restarts",), **COUNTS)
    assert verdict.outcome is Outcome.PASS


def test_a_watch_that_is_too_short_counts_nothing() -> None:
    few, many = restarts(FEW, 0.5, 1), restarts(MANY, 0.5, 1, ends_s=9)
    verdict = compared(few, many, checkers=("added-restarts",), **COUNTS)
    assert verdict.findings == ("CAP-3: many was watched for less than 10 s: the scenario was complete.",)
    assert verdict.outcome is Outcome.INCONCLUSIVE


def test_a_requirement_that_compares_nothing_cannot_judge_a_comparison() -> None:
    verdict = compared(lives(ONE, *GOOD), lives(OTHER, *GOOD), checkers=("delays",))
    assert (verdict.outcome, verdict.findings) == (
        Outcome.ERROR,
        ("CAP-3: no checker for comparison 'both' among its own (delays).",),
    )
