"""What a stress run is judged by besides rows: whether it was the run that was planned, and whether it saw everything."""

from crashloop.slo.types import Lifecycle
from crashloop.stress.checks import evidence_complete, load_as_planned, no_early_restart, nothing_left
from crashloop.stress.incidents import Cause, Incident
from crashloop.stress.phases import measurements
from crashloop.stress.recorded import Recorded
from crashloop.verdict import Outcome
from suites.selftest.histories import ns
from suites.selftest.slo_kit import crasher, restart
from suites.selftest.stress_kit import MARKS, marks, plan


def test_stages_that_were_measured_to_their_end_were_the_load_as_planned() -> None:
    verdict = load_as_planned(plan(), measurements(plan().stages, marks(*MARKS)), [])
    assert verdict.outcome is Outcome.PASS
    assert verdict.sentence == "load-as-planned: all 2 stages were measured to their end, with all of their users."


def test_a_stage_that_was_cut_off_is_told_with_how_far_it_came() -> None:
    measured = measurements(plan().stages, marks(*MARKS[:6]), until_ns=ns(46))
    verdict = load_as_planned(plan(), measured, [])
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence == "load-as-planned: stage 2 (storm) was measured for 20 of 60 s."
    assert [each.phase.seconds for each in measured] == [20, 20]


def test_a_stage_that_never_came_and_users_that_were_missing_are_told() -> None:
    few = ((0, "begin", 0, 0), (0, "measure", 2, 0), (0, "drain", 22, 0), (0, "end", 23, 0))
    verdict = load_as_planned(plan(), measurements(plan().stages, marks(*few)), [])
    assert verdict.sentence == "load-as-planned: stage 1 (baseline) had 0 of 1 users. stage 2 (storm) was not measured."


def test_a_generator_that_died_makes_the_load_inconclusive_but_a_planned_disturbance_does_not() -> None:
    measured = measurements(plan().stages, marks(*MARKS))
    died = Incident(t_ns=ns(50), cause=Cause.LOAD, sentence="The worker 1 of the load ended with signal 9 (Killed).")
    disturbed = Incident(t_ns=ns(50), cause=Cause.DISTURBANCE, sentence="kill-kubelet of node storm.")
    assert load_as_planned(plan(), measured, [disturbed]).outcome is Outcome.PASS
    verdict = load_as_planned(plan(), measured, [disturbed, died])
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence == "load-as-planned: The worker 1 of the load ended with signal 9 (Killed)."


def test_no_restart_came_early() -> None:
    verdict = no_early_restart([crasher(restart(1, 1.2), restart(4, 1.0))])
    assert (verdict.outcome, verdict.samples) == (Outcome.PASS, 2)


def test_a_restart_that_came_early_accuses_whatever_the_load_was() -> None:
    verdict = no_early_restart([crasher(restart(1, 0.5), pod="crashers-0-1")])
    assert verdict.outcome is Outcome.FAIL
    assert verdict.sentence == (
        'no-early-restart: crashers-0-1: restart 1 of "app" came 0.600 s after the exit; 1 s was due.'
    )


def test_nothing_is_proved_without_a_restart_of_which_the_delay_is_known() -> None:
    assert no_early_restart([crasher(restart(1, 1.2, due_s=None))]).outcome is Outcome.INCONCLUSIVE


def test_many_faults_are_told_as_a_few_and_a_number() -> None:
    verdict = no_early_restart([crasher(*(restart(at, 0.1) for at in range(9)))])
    assert verdict.value == 9
    assert verdict.sentence.count("was due") == 5
    assert verdict.sentence.endswith("4 more like it.")


def recorded(*lacking: str, starts: int = 3) -> Recorded:
    pod = Lifecycle(pod="p", uid="u", starts_ns={"app": tuple(range(starts))})
    return Recorded(lifecycles=(pod,), lacking=lacking, events=10)


def test_a_gap_of_ground_truth_is_missing_evidence() -> None:
    verdict = evidence_complete(recorded("p: the runtime was not heard for 3.0 s (restarted)"))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.sentence == "evidence-complete: p: the runtime was not heard for 3.0 s (restarted)"


def test_without_a_start_there_is_no_evidence() -> None:
    assert evidence_complete(recorded(starts=0)).outcome is Outcome.INCONCLUSIVE
    assert evidence_complete(recorded()).outcome is Outcome.PASS


def test_what_a_load_leaves_behind_is_our_fault_unless_it_was_ended_by_force() -> None:
    left = Incident(t_ns=0, cause=Cause.LEFT_BEHIND, sentence="3 pods were left by the load and are removed.")
    killed = Incident(t_ns=0, cause=Cause.LOAD, sentence="The generator of the load ended with signal 9 (Killed).")
    assert nothing_left([]).outcome is Outcome.PASS
    assert nothing_left([left]).outcome is Outcome.ERROR
    assert nothing_left([killed, left]).outcome is Outcome.PASS
