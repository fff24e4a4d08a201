"""Statuses are judged against the journal alone where the runtime's ids are out of reach: by the restartCount."""

from typing import Any

import pytest

from crashloop.checks.integrity import pod_obstacles
from crashloop.history.event import Channel, Kind
from crashloop.spec.pod import RestartPolicy, restart_in
from crashloop.spec.program import runs
from suites.selftest.kit.cases import CRASHING, GOOD, app, checked, scenario, told
from suites.selftest.kit.histories import History


def by_journal(*lives: tuple[float, float | None, int], status: bool = True) -> History:
    return History(CRASHING).lives("app", *lives, runtime=False, status=status)


def test_the_last_exit_is_seen_in_statuses_of_a_container_that_only_its_journal_tells_of() -> None:
    answer = checked("last-exit", by_journal(*GOOD).ends(30))
    assert told(answer) == []
    assert answer.facts == {"last_exits_shown": 3}


@pytest.mark.parametrize("checker", ["restart-count", "delays", "restart-decision", "starts-once", "never-early"])
def test_a_right_kubelet_passes_every_checker_by_the_journal_alone(checker: str) -> None:
    history = by_journal(*GOOD).without(Kind.SANDBOX).ends(30)
    assert told(checked(checker, history)) == []


def test_a_wrong_exit_code_is_a_fail_all_the_same() -> None:
    history = by_journal(*GOOD, status=False)
    history.status(1.8, {"app": history.exited("app", 0, 0.5, 1.5, 2)}).ends(30)
    (finding,) = told(checked("last-exit", history))
    assert finding.startswith('FAIL: a status says exit code 2 of instance 0 of "app"')
    assert finding.endswith("it exited with 1.")


def test_an_instance_that_is_said_to_run_long_after_its_exit_is_a_fail_all_the_same() -> None:
    history = by_journal((0.5, 1.5, 1), status=False)
    history.status(0.8, {"app": history.running("app", 0, 0.5)}).ends(60)
    (finding,) = told(checked("last-exit", history))
    assert finding.startswith('FAIL: instance 0 of "app" was said to be running until ')


def test_a_life_that_was_killed_stamps_no_exit_and_accuses_nobody() -> None:
    history = History(CRASHING).lives("app", GOOD[0], runtime=False)
    history.lives("app", GOOD[1], runtime=False, journal=False, first=1)
    history.journal(GOOD[1][0], Kind.STARTED, "app", 1).lives("app", *GOOD[2:], runtime=False, first=2)
    assert told(checked("last-exit", history.ends(30))) == []


@pytest.mark.parametrize(
    ("ahead_s", "said"),
    [(0.03, []), (4.9, []), (5.2, ["FAIL: the pod's phase was said to be Running (history line 8); Pending was due."])],
    ids=["shell-starts", "host-is-loaded", "nobody-starts"],
)
def test_a_pod_may_be_said_to_run_shortly_before_its_container_gets_to_stamp_that(
    ahead_s: float, said: list[str]
) -> None:
    history = History(CRASHING).without(Kind.SANDBOX).counts(7.0 - ahead_s, "app", 0)
    history.journal(7.0, Kind.STARTED, "app", 0).ends(30)
    assert told(checked("pod-phase", history)) == said


def test_a_pod_that_the_runtime_tells_of_is_not_said_to_run_before_it_does() -> None:
    history = History(CRASHING).counts(6.0, "app", 0).lives("app", (7.0, None, 0), status=False).ends(30)
    (finding,) = told(checked("pod-phase", history))
    assert finding.startswith("FAIL: the pod's phase was said to be Running")


BY_RULE = scenario(
    app(runs((1, 42), (1, 0)), restart_policy=RestartPolicy.NEVER, rules=(restart_in(42),)), policy=RestartPolicy.NEVER
)
KEPT: dict[str, Any] = {"name": "app", "restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart"}]}


def accepted(container: dict[str, Any]) -> list[str]:
    """Why nothing can be judged about a pod that the API server has accepted with such a container."""
    history = History(BY_RULE).without(Kind.CREATED, Channel.API)
    history.add(0.0, Channel.API, Kind.CREATED, {"pod": {"spec": {"containers": [container]}}}, pod=True)
    found = pod_obstacles(BY_RULE, history.lives("app", *GOOD[:2]).ends(30).recording())
    return [f"{each.outcome}: {each.sentence}" for each in found]


def test_a_pod_that_was_accepted_as_it_was_sent_is_judged() -> None:
    assert accepted(KEPT) == []


def test_a_pod_whose_restart_rules_the_api_server_drops_is_not_the_one_to_be_tried() -> None:
    (objection,) = accepted({"name": "app"})
    assert objection.startswith(
        'INCONCLUSIVE: the API server dropped restartPolicy and 1 of 1 restartPolicyRules of "app" ('
    )
    assert objection.endswith(
        "; the pod is not the one that was to be tried. With its gate ContainerRestartRules off it does so."
    )


def test_a_pod_that_has_lost_some_of_its_rules_is_not_the_one_to_be_tried_either() -> None:
    several = scenario(app(runs((1, 43)), restart_policy=RestartPolicy.NEVER, rules=(restart_in(42), restart_in(43))))
    history = History(several).without(Kind.CREATED, Channel.API)
    history.add(0.0, Channel.API, Kind.CREATED, {"pod": {"spec": {"containers": [KEPT]}}}, pod=True)
    (objection,) = pod_obstacles(several, history.lives("app", (1.0, 2.0, 43)).ends(30).recording())
    assert objection.sentence.startswith('the API server dropped 1 of 2 restartPolicyRules of "app" (')
    assert objection.sentence.endswith("; the pod is not the one that was to be tried.")
