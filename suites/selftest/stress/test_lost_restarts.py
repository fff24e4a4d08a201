"""A restart that never comes is reported, unless something else explains that none was seen."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crashloop.history.event import Channel
from crashloop.slo.scrapes import Scrapes
from crashloop.slo.types import Lifecycle, Restart, SloVerdict
from crashloop.spec.policy import Action, Operator, RestartPolicy, RestartRule
from crashloop.stress.assignment import Operation
from crashloop.stress.evidence_reader import Circumstances, StressEvidence, read_recorded
from crashloop.stress.judging import judge_run
from crashloop.stress.loads import Crash, Jobs
from crashloop.stress.lost_restarts import no_lost_restart
from crashloop.stress.phases import measurements
from crashloop.stress.plan import StressPlan
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import Labels, crasher, ns, scrapes
from suites.selftest.kit.slo_kit import restart as seen_restart
from suites.selftest.kit.stress_kit import MARKS, STOCK, Folder, crashing, example_run, marks, plan

POD = "crashers-0-0"


def restart(exited_s: float, took_s: float | None, *, due_s: float | None = 1.0) -> Restart:
    return seen_restart(exited_s, took_s, due_s=due_s, expected=True)


def judged(
    *pods: Lifecycle,
    around: Circumstances | None = None,
    sources: Sequence[Scrapes] = (),
    the_plan: StressPlan | None = None,
) -> SloVerdict:
    the_plan = the_plan or plan()
    circumstances = {} if around is None else {POD: around}
    recorded = StressEvidence(lifecycles=pods, lacking=(), events=0, circumstances=circumstances)
    return no_lost_restart(the_plan, measurements(the_plan.stages, marks(*MARKS)), recorded, sources)


def lost(seen_until_s: float = 101.5, **more: Any) -> Lifecycle:
    """A pod whose exit at 30 s, with 1 s due, is followed by nothing."""
    return crasher(restart(10, 1.2), restart(30, None), pod=POD, seen_until_s=seen_until_s, **more)


def test_each_exit_was_followed_by_a_restart() -> None:
    verdict = judged(crasher(restart(10, 1.2), restart(20, 70), pod=POD))
    assert (verdict.outcome, verdict.samples, verdict.value) == (Outcome.PASS, 2, 0)
    assert verdict.sentence == (
        "no-lost-restart: all 2 exits that required a restart were followed by one, or had less than 60 s for it."
    )


def test_a_restart_that_never_came_is_reported() -> None:
    verdict = judged(lost())
    assert (verdict.outcome, verdict.samples, verdict.value, verdict.mode) == (Outcome.FAIL, 2, 1, "gate")
    assert verdict.sentence == (
        'no-lost-restart: crashers-0-0: restart 1 of "app" never came: the container exited at 08:00:30.000 UTC, '
        "1 s was due, and none came for 72 s."
    )


def test_a_restart_that_still_had_time_is_not_lost() -> None:
    assert judged(lost(seen_until_s=91)).outcome is Outcome.PASS
    assert judged(lost(seen_until_s=91.1)).outcome is Outcome.FAIL


def test_a_container_that_was_created_was_restarted() -> None:
    created = msgspec.structs.replace(restart(30, 1.2), started_ns=None)
    assert judged(crasher(created, pod=POD)).outcome is Outcome.PASS


def test_exits_after_which_nothing_is_due_are_not_looked_at() -> None:
    final = seen_restart(30, None, expected=False)
    unknown = seen_restart(30, None)
    deleted = restart(95, None)
    verdict = judged(crasher(final, unknown, deleted, pod=POD, seen_until_s=95))
    assert (verdict.outcome, verdict.samples) == (Outcome.INCONCLUSIVE, 0)
    assert verdict.sentence == "no-lost-restart: no exit that required a restart was seen."


def test_where_the_delay_is_not_known_the_longest_of_the_curve_is_given() -> None:
    rule = RestartRule(action=Action.RESTART_ALL_CONTAINERS, operator=Operator.IN, values=(1,))
    loads = {
        "crashers": Crash(node="storm", restart_policy=RestartPolicy.NEVER, rule=rule),
        "healthy": plan().load.loads["healthy"],
    }
    unknown = crasher(restart(30, None, due_s=None), pod=POD, seen_until_s=91.1)
    assert "1 s was due" in judged(unknown, the_plan=plan(loads=loads)).sentence
    assert judged(unknown, the_plan=plan(STOCK, loads=loads)).outcome is Outcome.PASS
    either = msgspec.structs.replace(restart(30, None, due_s=0), due_at_most_s=300.0)
    assert judged(crasher(either, pod=POD, seen_until_s=389)).outcome is Outcome.PASS
    assert judged(crasher(either, pod=POD, seen_until_s=391)).outcome is Outcome.FAIL


def test_a_kubelet_that_was_started_anew_has_its_time_from_then_on() -> None:
    assert judged(lost(), around=Circumstances(kubelet_started_ns=(ns(45),))).outcome is Outcome.PASS
    assert judged(lost(), around=Circumstances(kubelet_started_ns=(ns(20),))).outcome is Outcome.FAIL


def busy(share: float) -> Scrapes:
    def mode(name: str) -> tuple[str, Labels]:
        return "host_cpu_seconds_total", (("mode", name),)

    # The storm is from 26 to 86 s.
    values = {mode("busy"): (0, 0, 120 * share, 120 * share), mode("idle"): (0, 0, 120 - 120 * share, 130)}
    return scrapes((0, 26, 86, 100), values, source="processes", node="")


@pytest.mark.parametrize(
    ("around", "because"),
    [
        (Circumstances(unheard_ns=((ns(40), ns(43)),)), "the runtime's events were lost for 3.0 s of it"),
        (Circumstances(damaged=True), "its history is damaged"),
    ],
    ids=["gap", "damage"],
)
def test_a_restart_that_may_only_not_have_been_seen_proves_nothing(around: Circumstances, because: str) -> None:
    verdict = judged(lost(), around=around)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence.endswith(f"and none came for 72 s. That proves nothing: {because}.")


def test_a_gap_before_the_exit_explains_nothing() -> None:
    assert judged(lost(), around=Circumstances(unheard_ns=((ns(12), ns(15)),))).outcome is Outcome.FAIL


def test_a_host_that_had_no_time_proves_nothing_and_its_stage_is_named() -> None:
    verdict = judged(lost(), sources=[busy(0.9)])
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence.endswith("That proves nothing: the host was 90 % busy in stage 2 (storm).")
    assert judged(lost(), sources=[busy(0.89)]).outcome is Outcome.FAIL


def test_a_pod_that_failed_as_a_whole_need_not_restart_its_containers() -> None:
    verdict = judged(lost(failed_ns=ns(33)))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence.endswith("That proves nothing: the pod was reported as Failed 3.0 s after it.")


def test_one_restart_that_nothing_explains_is_enough() -> None:
    other = crasher(restart(30, None), pod="crashers-0-1", seen_until_s=101.5)
    verdict = judged(lost(), other, around=Circumstances(damaged=True))
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
    folder.write(history.gap(Channel.RUNTIME, 30, 33, reason="restarted"))
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
