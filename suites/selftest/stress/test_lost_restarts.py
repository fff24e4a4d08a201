"""A restart that never comes, or long after its latest moment, is reported, unless something else explains it.

Pods of a load that must stay down: their exit requires no restart, and one all the same is unexpected.
"""

from pathlib import Path

import msgspec
import pytest

from crashloop.history.event import Channel
from crashloop.profiles import load_profile
from crashloop.slo.measurements import Lifecycle, Lost, Restart, SloVerdict
from crashloop.stress.assignment import Operation
from crashloop.stress.checks import no_lost_restart
from crashloop.stress.evidence_reader import read_recorded
from crashloop.stress.judging import judge_run
from crashloop.stress.loads import Jobs
from crashloop.stress.plan import StressPlan, plan_of
from crashloop.stress.profiles import load_stress_profile
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import crasher, ns
from suites.selftest.kit.slo_kit import restart as seen_restart
from suites.selftest.kit.stress_kit import Folder, crashing, example_run, plan

POD = "crashers-0-0"


def restart(exited_s: float, took_s: float | None) -> Restart:
    return seen_restart(exited_s, took_s, expected=True)


def lost(doubt: str = "", *, took_s: float | None = None, pod: str = POD) -> Lifecycle:
    """A pod whose exit at 30 s is followed by nothing, or only after 70 s."""
    gone = msgspec.structs.replace(restart(30, took_s), lost=Lost(waited_s=took_s or 71.5, latest_s=2.0, doubt=doubt))
    return crasher(restart(10, 1.2), gone, pod=pod, seen_until_s=101.5)


def judged(*pods: Lifecycle) -> SloVerdict:
    return no_lost_restart(pods)


def test_each_exit_was_followed_by_a_restart() -> None:
    verdict = judged(crasher(restart(10, 1.2), restart(20, 20), pod=POD))
    assert (verdict.outcome, verdict.samples, verdict.value) == (Outcome.PASS, 2, 0)
    assert verdict.sentence == (
        "no-lost-restart: none of 2 restarts that were due was missing for 30 s more than the kubelet's own retry allows."
    )


def test_a_restart_that_never_came_is_reported() -> None:
    verdict = judged(lost())
    assert (verdict.outcome, verdict.samples, verdict.value, verdict.mode) == (Outcome.FAIL, 2, 1, "gate")
    assert verdict.sentence == (
        'no-lost-restart: crashers-0-0: restart 1 of "app" never came in 72 s: the container exited at 08:00:30.000 UTC, '
        "and 2.0 s is the longest."
    )


def test_a_restart_that_came_long_after_its_latest_moment_is_reported_too() -> None:
    verdict = judged(lost(took_s=70.0))
    assert verdict.outcome is Outcome.FAIL
    assert 'restart 1 of "app" came after 70 s only' in verdict.sentence


def test_exits_after_which_nothing_is_due_are_not_looked_at() -> None:
    final = seen_restart(30, None, expected=False)
    unknown = seen_restart(30, None)
    deleted = restart(95, None)
    verdict = judged(crasher(final, unknown, deleted, pod=POD, seen_until_s=95))
    assert (verdict.outcome, verdict.samples) == (Outcome.INCONCLUSIVE, 0)
    assert verdict.sentence == "no-lost-restart: no exit that required a restart was seen."


def test_a_restart_that_something_may_have_held_up_or_hidden_is_open() -> None:
    verdict = judged(lost("A start could have gone unseen: no runtime evidence"))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence.endswith("2.0 s is the longest. A start could have gone unseen: no runtime evidence.")


def test_one_restart_that_nothing_explains_is_enough() -> None:
    verdict = judged(lost("The host stood still"), lost(pod="crashers-0-1"))
    assert (verdict.outcome, verdict.value) == (Outcome.FAIL, 1)
    assert "crashers-0-1" in verdict.sentence


def of_run(folder: Folder) -> SloVerdict:
    return next(each for each in judge_run(folder.run).verdicts if each.slo == "no-lost-restart")


def test_a_run_whose_container_stays_away_fails(tmp_path: Path) -> None:
    folder = example_run(tmp_path / "run")
    folder.write(folder.pod("crashers-0-1", *crashing(25.5, 0.2, 1.3, last_runs=False)))
    verdict = of_run(folder)
    assert verdict.outcome is Outcome.FAIL
    assert 'crashers-0-1: restart 3 of "app" never came' in verdict.sentence


def test_a_run_in_which_the_runtime_was_not_heard_does_not_know(tmp_path: Path) -> None:
    folder = example_run(tmp_path / "run")
    history = folder.pod("crashers-0-1", *crashing(25.5, 0.2, 1.3, last_runs=False))
    folder.write(history.gap(Channel.RUNTIME, 30, 33, reason="restarted").gap(Channel.JOURNAL, 30, 33))
    assert of_run(folder).outcome is Outcome.INCONCLUSIVE


def test_nothing_is_due_once_the_deletion_of_the_job_of_a_pod_was_asked_for(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "run", plan(loads={"jobs": Jobs(node="storm", rate_per_s=1)}, stages=()))
    for second in (40, 50):
        folder.operations(Operation(load="jobs", what="delete", pod="jobs-0-4", sent_ns=ns(second), code=200))
    folder.write(folder.pod("jobs-0-4-abcde", *crashing(10, 0.2, last_runs=False)))
    (found,) = read_recorded(folder.run, folder.plan).lifecycles
    assert found.seen_until_ns == ns(40)


def test_a_restart_after_the_journals_were_read_is_counted_by_nobody(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "run", plan(stages=()))
    for what, second in (("log", 40), ("delete", 42)):
        folder.operations(Operation(load="crashers", what=what, pod="crashers-0-1", sent_ns=ns(second), code=200))
    history = folder.pod("crashers-0-1", *crashing(10, 0.2, last_runs=False))
    seen = len(history.recording().pods[0].instances("app"))
    folder.write(history.counts(39, "app", seen - 1).counts(41, "app", seen))
    (found,) = read_recorded(folder.run, folder.plan).lifecycles
    assert (found.seen_until_ns, found.restart_counts, found.unseen_starts) == (
        ns(40),
        {"app": seen - 1},
        {"app": 1},
    )


DOWN = ((30.0, 30.5, 7),)
UP_AGAIN = (*DOWN, (32.0, 32.5, 7), (34.0, None, 0))


def quick(version: str) -> StressPlan:
    profile = load_stress_profile("quick")
    return plan_of(profile, provider="local", kubernetes_version=version, cores=2, kubelet=load_profile)


@pytest.mark.parametrize("version", ["1.37.1", "1.34.8"], ids=["with its rule", "where rules are not heeded"])
@pytest.mark.parametrize(
    ("lives", "expected"), [(DOWN, []), (UP_AGAIN, [False, False])], ids=["stays down", "comes up again"]
)
def test_only_a_restart_that_came_is_reported_and_as_unexpected(
    tmp_path: Path, version: str, lives: tuple[tuple[float, float | None, int], ...], expected: list[bool]
) -> None:
    plan = quick(version)
    folder = Folder(tmp_path / "run", plan)
    folder.write(folder.pod("final-0-0", *lives))
    recorded = read_recorded(folder.run, plan)
    (pod,) = recorded.lifecycles
    assert [restart.expected for restart in pod.restarts] == expected
    assert recorded.lacking == ()
