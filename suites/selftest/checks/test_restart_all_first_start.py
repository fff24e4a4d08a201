"""RestartAllContainers is prompt: of pairs one reset beyond 5 s may be the hundredth; beyond 20 s each one is a FAIL."""

import pytest

from crashloop.checks.pooled import least_beyond_chance
from crashloop.checks.samples import LATE_SHARE
from crashloop.history.event import Kind
from crashloop.spec.pod import RestartPolicy
from crashloop.spec.program import HOLDS, exits_with, runs
from crashloop.spec.scenario import Until
from crashloop.verdict import Outcome, Verdict
from sim.faults import CompanyFault
from suites.selftest.kit.cases import app, checked, compared, renamed, resetting, scenario, told
from suites.selftest.kit.fault_scenarios import trials
from suites.selftest.kit.histories import History
from tools.trials import recordings_of, verdict_of

RESET = scenario(
    resetting(runs((3, 42)), name="source"),
    app(HOLDS, name="neighbour"),
    policy=RestartPolicy.NEVER,
    until=Until(restarts={"source": 1, "neighbour": 1}),
)


def reset(number: int, took_s: float | None) -> History:
    """The source exits at 5 s; its neighbour is created `took_s` later and the source after it, or neither."""
    history = History(renamed(RESET, f"reset-{number}"), create_s=0.0)
    again = [] if took_s is None else [(5.0 + took_s, None, 0)]
    history.lives("neighbour", (2.1, 6.0, 137), *again)
    return history.lives("source", (2.0, 5.0, 42), *((started_s + 0.1, None, 0) for started_s, *_ in again))


def judged(*histories: History) -> Verdict:
    return compared(*(each.ends(60) for each in histories), checkers=("restart-all-first-start",))


def judged_after(*took_s: float | None) -> Verdict:
    return judged(*(reset(number, each) for number, each in enumerate(took_s)))


def test_prompt_resets_pass_with_the_slowest() -> None:
    verdict = judged_after(1.4, 2.0, 1.7)
    assert (verdict.outcome, verdict.findings) == (Outcome.PASS, ())
    assert verdict.facts["took_s"] == [1.4, 2.0, 1.7]


def test_three_late_resets_of_four_are_a_fail() -> None:
    verdict = judged_after(21.3, 1.4, 20.0, 20.5)
    assert verdict.outcome is Outcome.FAIL
    assert verdict.findings == (
        "CAP-3: in 3 of 4 RestartAllContainers nothing was created within 5 s after the exit, but up to 21.3 s after it; "
        "one in a hundred may be as late.",
    )


def test_resets_after_which_nothing_starts_are_late() -> None:
    assert judged_after(None, None, None).outcome is Outcome.FAIL


def test_two_late_resets_of_four_prove_nothing() -> None:
    assert judged_after(20.0, 1.4, 20.0, 1.5).outcome is Outcome.PASS


def test_what_the_host_held_up_explains_late_resets() -> None:
    held = []
    for number in range(3):
        history = reset(number, 8.0)
        history.waited_us = 900_000
        held.append(history)
    verdict = judged(*held)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "run-queue wait of kubelet and runtime" in verdict.findings[0]


def test_two_resets_are_not_enough() -> None:
    verdict = judged_after(1.4, 2.0)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.findings[0].startswith("CAP-3: 2 resets seen, 3 needed")


def test_more_late_resets_are_needed_of_more() -> None:
    assert [least_beyond_chance(of, LATE_SHARE) for of in (3, 4, 9, 100, 1000)] == [3, 3, 3, 7, 25]


def test_one_reset_after_more_than_twenty_seconds_is_a_fail() -> None:
    history = reset(1, 25.0).ends(60)
    exited = history.line_of(Kind.EXITED, 1, container="source")
    created = history.line_of(Kind.CREATED, 1, container="neighbour")
    assert told(checked("restart-all-within", history)) == [
        'FAIL: nothing was created for 25 s after the exit of "source" that triggers RestartAllContainers '
        f"(history lines {exited} and {created}); 20 s is the longest."
    ]


def test_a_reset_within_twenty_seconds_passes_with_its_time() -> None:
    answer = checked("restart-all-within", reset(1, 19.0).ends(60))
    assert (told(answer), answer.facts) == ([], {"took_s": [19.0]})


def test_a_reset_after_which_nothing_starts_is_a_fail_once_twenty_seconds_were_watched() -> None:
    assert told(checked("restart-all-within", reset(1, None).ends(60)))[0].startswith(
        "FAIL: nothing was created for 55 s after the exit"
    )
    assert told(checked("restart-all-within", reset(1, None).ends(24), min_resets=1)) == [
        "INCONCLUSIVE: 0 resets seen, 1 needed: the scenario was complete."
    ]


def test_what_the_host_held_up_explains_one_late_reset() -> None:
    history = reset(1, 25.0)
    history.waited_us = 900_000
    (finding,) = told(checked("restart-all-within", history.ends(60)))
    assert finding.startswith("INCONCLUSIVE: nothing was created for 25 s")
    assert "run-queue wait of kubelet and runtime" in finding


def test_what_the_scenario_does_meanwhile_may_explain_a_late_reset() -> None:
    history = reset(1, 25.0).intervention(8.0, "restart-kubelet").ends(60)
    (finding,) = told(checked("restart-all-within", history))
    assert finding.endswith(f"The scenario intervened meanwhile (history line {history.line_of(Kind.INTERVENTION)}).")


OF_RAC_19 = {each.scenario.name: each for each in trials() if each.requirement.id == "RAC-19"}


@pytest.mark.parametrize("name", ["restart-all-every-kind", "restart-all-by-init", "job-restarts-all-at-once"])
def test_a_kubelet_that_resets_larger_pods_late_fails_on_each_of_them(name: str) -> None:
    trial = OF_RAC_19[name]
    late = frozenset({CompanyFault.RESET_20_S_LATE_IN_LARGER_PODS})
    verdict = verdict_of(trial.requirement, trial.scenario, *recordings_of(trial.scenario, late))
    assert verdict.outcome is Outcome.FAIL


@pytest.mark.parametrize("name", OF_RAC_19)
def test_a_right_kubelet_resets_every_pod_in_time(name: str) -> None:
    trial = OF_RAC_19[name]
    assert verdict_of(trial.requirement, trial.scenario, *recordings_of(trial.scenario)).outcome is Outcome.PASS


AGAIN = scenario(
    resetting(exits_with(42, times=5)), policy=RestartPolicy.NEVER, until=Until(restarts={"app": 5}), name="again"
)


def again(*late_s: float) -> History:
    """Five restarts of what triggers RestartAllContainers on a maximum of 2 s, each so long after its exit."""
    history, lives, at_s = History(AGAIN, create_s=0.0), [], 1.0
    for each in late_s:
        lives.append((at_s, at_s + 1, 42))
        at_s += 1 + each
    return history.lives("app", *lives, (at_s, None, 0))


def test_restarts_by_reset_that_come_late_each_time_are_a_fail() -> None:
    assert told(checked("restart-all-as-due", again(1, 3, 3, 3, 3).ends(60))) == []
    (finding,) = told(checked("restart-all-as-due", again(4, 6, 6, 5, 6).ends(60)))
    assert finding == (
        "FAIL: 4 of 5 restarts by RestartAllContainers came more than 3.15 s after their delay, up to 4 s after it; "
        "one in a hundred may be as late."
    )


def test_one_restart_by_reset_may_be_late() -> None:
    assert told(checked("restart-all-as-due", again(19, 3, 3, 20, 3).ends(90))) == []


def test_what_a_sample_can_see_is_said() -> None:
    assert judged_after(1.4, 2.0, 1.7, 1.1).facts["estimate"] == (
        "4 resets, the slowest after 2 s; a FAIL in 95 of 100 runs if 90 % of all are late"
    )


def test_a_sample_that_cannot_reach_its_level_is_named() -> None:
    verdict = judged(*(reset(number, 1.0) for number in range(2)))
    assert verdict.outcome is Outcome.INCONCLUSIVE
