"""What a stress run is judged by besides rows: whether it saw everything, came too early, left something."""

from crashloop.slo.measurements import Lifecycle
from crashloop.spec.pod import RestartPolicy
from crashloop.stress.checks import checks, evidence_complete, no_early_restart, nothing_left
from crashloop.stress.evidence_reader import RecordedPods
from crashloop.stress.folder import Cause, Incident
from crashloop.stress.loads import AnyLoad, Churn, Crash, Demand, Jobs, Rollout
from crashloop.stress.profile import Stage
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import crasher, restart
from suites.selftest.kit.stress_kit import plan


def test_no_restart_came_early() -> None:
    verdict = no_early_restart([crasher(restart(1, 1.2), restart(4, 1.0))])
    assert (verdict.outcome, verdict.samples) == (Outcome.PASS, 2)


def test_a_restart_that_came_early_accuses_whatever_the_load_was() -> None:
    verdict = no_early_restart([crasher(restart(1, 0.5), pod="crashers-0-1")])
    assert verdict.outcome is Outcome.FAIL
    assert verdict.sentence == (
        'no-early-restart: crashers-0-1: restart 1 of "app" came 0.500 s after the exit; 1 s was due.'
    )


def test_nothing_is_proved_without_a_restart_of_which_the_delay_is_known() -> None:
    assert no_early_restart([crasher(restart(1, 1.2, due_s=None))]).outcome is Outcome.INCONCLUSIVE


def test_many_faults_are_reported_as_a_few_and_a_number() -> None:
    verdict = no_early_restart([crasher(*(restart(at, 0.1) for at in range(9)))])
    assert verdict.value == 9
    assert verdict.sentence.count("was due") == 5
    assert verdict.sentence.endswith("4 more like it.")


def recorded(*lacking: str, starts: int = 3) -> RecordedPods:
    pod = Lifecycle(pod="p", uid="u", starts_ns={"app": tuple(range(starts))})
    return RecordedPods(lifecycles=(pod,), lacking=lacking, events=10)


def test_a_gap_of_ground_truth_is_missing_evidence() -> None:
    verdict = evidence_complete(recorded("p: the runtime's events were lost for 3.0 s (restarted)"))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence == "evidence-complete: p: the runtime's events were lost for 3.0 s (restarted)"


def test_without_a_start_there_is_no_evidence() -> None:
    assert evidence_complete(recorded(starts=0)).outcome is Outcome.INCONCLUSIVE
    assert evidence_complete(recorded()).outcome is Outcome.PASS


def test_what_a_load_leaves_behind_is_our_fault_unless_it_was_ended_by_force() -> None:
    left = Incident(t_ns=0, cause=Cause.LEFT_BEHIND, sentence="3 pods were left by the load and are removed.")
    killed = Incident(t_ns=0, cause=Cause.LOAD, sentence="The generator of the load ended with signal 9 (Killed).")
    assert nothing_left([]).outcome is Outcome.PASS
    assert nothing_left([left]).outcome is Outcome.ERROR
    assert nothing_left([killed, left]).outcome is Outcome.PASS


def test_what_could_not_be_removed_is_an_error_whatever_ended_the_load() -> None:
    left = Incident(
        t_ns=0, cause=Cause.LEFT_BEHIND, sentence="The load has left 3 Pods; the run requested the removal."
    )
    stays = Incident(t_ns=0, cause=Cause.NOT_REMOVED, sentence="3 Pods: still there 120 s after that was asked for.")
    stopped = Incident(t_ns=0, cause=Cause.INTERRUPTED, sentence="The run was interrupted.")
    verdict = nothing_left([stopped, left, stays])
    assert verdict.outcome is Outcome.ERROR
    assert verdict.sentence == (
        "nothing-left: The load has left 3 Pods; the run requested the removal. "
        "3 Pods: still there 120 s after that was asked for."
    )
    assert nothing_left([stays]).outcome is Outcome.ERROR


def judged(load: AnyLoad, *pods: Lifecycle) -> set[str]:
    """The checks that a run of one load is judged by."""
    the_plan = plan(loads={"load": load}, stages=(Stage(name="storm", duration_s=60, users={"load": 1}),))
    seen = RecordedPods(lifecycles=pods, lacking=(), events=0)
    return {each.slo for each in checks(the_plan, (), seen, ())}


def test_what_no_load_can_show_is_not_judged() -> None:
    always = {"load-as-planned", "evidence-complete", "nothing-left"}
    assert judged(Churn(node="storm", rate_per_s=1)) == always
    assert judged(Crash(node="storm")) == {*always, "no-early-restart", "no-lost-restart"}
    assert judged(Crash(node="storm", restart_policy=RestartPolicy.NEVER)) == always
    assert judged(Crash(node="storm", restart_policy=RestartPolicy.ON_FAILURE, succeeding=1)) == always
    assert judged(Rollout(node="storm")) == {*always, "no-lost-restart"}
    assert judged(Jobs(node="storm", rate_per_s=1)) == {*always, "no-lost-restart"}
    assert judged(Jobs(node="storm", rate_per_s=1, failures=0)) == always
    demand = Demand(node="storm", rate_per_s=1)
    assert judged(demand) == always
    killed = crasher(restart(1, 0.5, due_s=None, expected=True), pod="load-0-0")
    assert judged(demand, killed) == {*always, "no-lost-restart"}
