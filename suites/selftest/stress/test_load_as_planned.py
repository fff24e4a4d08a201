"""Whether the load that was put on is the load that was planned: users, pods, arrivals, on nodes without another load."""

from collections.abc import Sequence
from typing import Any

import pytest

from crashloop.slo.measurements import Lifecycle, SloVerdict
from crashloop.stress.assignment import Operation
from crashloop.stress.checks import load_as_planned
from crashloop.stress.evidence_reader import RecordedPods
from crashloop.stress.folder import Cause, Incident
from crashloop.stress.loads import AnyLoad, Demand, Jobs, Rollout
from crashloop.stress.phases import measurements
from crashloop.stress.profile import Stage
from crashloop.verdict import Outcome
from suites.selftest.kit.histories import ns
from suites.selftest.kit.stress_kit import BASELINE, CRASHERS, HEALTHY, MARKS, STORM, arrivals, marks, plan

ARRIVALS = (*arrivals(range(2, 23)), *arrivals(range(25, 87), first=21))
DROPPED = Operation(load="healthy", what="dropped", intended_ns=ns(30.5), sent_ns=ns(30.5))


def pod(name: str, came_s: float, *, until_s: float = 86.5, gone_s: float | None = 87.0) -> Lifecycle:
    """A pod that was there from the watch's first word of it until its deletion was asked for."""
    deleted_ns = None if gone_s is None else ns(gone_s)
    return Lifecycle(pod=name, uid=name, seen_ns=ns(came_s), seen_until_ns=ns(until_s), deleted_ns=deleted_ns)


PODS = (pod("crashers-0-0", 24.5), pod("crashers-0-1", 25.5))


def judged(
    *rows: tuple[int, str, float, int],
    pods: Sequence[Lifecycle] = PODS,
    operations: Sequence[Operation] = ARRIVALS,
    incidents: Sequence[Incident] = (),
    until_s: float | None = None,
    **changed: Any,
) -> SloVerdict:
    the_plan = plan(**changed)
    until_ns = None if until_s is None else ns(until_s)
    measured = measurements(the_plan.stages, marks(*(rows or MARKS), stages=the_plan.stages), until_ns=until_ns)
    seen = RecordedPods(lifecycles=tuple(pods), lacking=(), events=0, operations=tuple(operations))
    return load_as_planned(the_plan, measured, seen, incidents)


def missing(verdict: SloVerdict) -> str:
    """What an INCONCLUSIVE verdict says."""
    assert verdict.outcome is Outcome.INCONCLUSIVE, verdict.sentence
    return verdict.sentence.removeprefix("load-as-planned: ")


def test_users_pods_and_arrivals_that_were_all_there_are_the_load_as_planned() -> None:
    verdict = judged()
    assert verdict.outcome is Outcome.PASS
    assert verdict.sentence == (
        "load-as-planned: all 2 stages were measured to their end, with all of their users and pods."
    )


def test_a_stage_that_was_cut_off_is_reported_with_how_far_it_came() -> None:
    assert missing(judged(*MARKS[:6], until_s=46)) == "stage 2 (storm) was measured for 20 of 60 s."


def test_a_stage_that_never_came_and_users_that_were_missing_are_reported() -> None:
    few = ((0, "begin", 0, 0), (0, "measure", 2, 0), (0, "drain", 22, 0), (0, "end", 23, 0))
    assert missing(judged(*few, pods=())) == ("stage 1 (baseline) had 0 of 1 users. stage 2 (storm) was not measured.")


def test_a_generator_that_died_makes_the_load_inconclusive_but_a_planned_disturbance_does_not() -> None:
    died = Incident(t_ns=ns(50), cause=Cause.LOAD, sentence="The worker 1 of the load ended with signal 9 (Killed).")
    disturbed = Incident(t_ns=ns(50), cause=Cause.DISTURBANCE, sentence="kill-kubelet of node storm.")
    assert judged(incidents=[disturbed]).outcome is Outcome.PASS
    assert missing(judged(incidents=[disturbed, died])) == "The worker 1 of the load ended with signal 9 (Killed)."


FEWER = "stage 2 (storm) began to be measured with {} of 2 planned pods of load crashers."


@pytest.mark.parametrize(
    ("pods", "there"),
    [
        (PODS[:1], 1),
        ((), 0),
        ((PODS[0], pod("crashers-0-1", 26.5)), 1),
        ((PODS[0], pod("crashers-0-1", 24.5, until_s=25.5, gone_s=25.9)), 1),
    ],
    ids=["one-missing", "all-missing", "too-late", "gone-before"],
)
def test_pods_that_were_not_there_when_a_stage_began_are_reported(pods: Sequence[Lifecycle], there: int) -> None:
    assert missing(judged(pods=pods)) == FEWER.format(there)


def test_a_pod_is_there_by_whatever_told_of_it_first() -> None:
    late = pod("crashers-0-1", 30.0)
    started = Lifecycle(pod="crashers-0-1", uid="u", starts_ns={"app": (ns(25.9),)})
    taken = Operation(
        load="crashers", what="create", pod="crashers-0-1", sent_ns=ns(25), took_ns=ns(1) - ns(0), code=201
    )
    assert judged(pods=(PODS[0], started)).outcome is Outcome.PASS
    assert judged(pods=(PODS[0], late), operations=(*ARRIVALS, taken)).outcome is Outcome.PASS
    assert missing(judged(pods=(PODS[0], late))) == FEWER.format(1)


def one_load(load: AnyLoad, *pods: Lifecycle, operations: Sequence[Operation] = ()) -> SloVerdict:
    """The verdict on a stage of 60 s with one user of a load."""
    stage = Stage(name="storm", duration_s=60, users={"load": 1}, settle_s=0)
    rows = ((0, "begin", 0, 0), (0, "measure", 2, 1), (0, "drain", 62, 1), (0, "end", 64, 0))
    return judged(*rows, loads={"load": load}, stages=(stage,), pods=pods, operations=operations)


def test_a_rollout_may_lack_the_half_of_its_pods_that_is_being_replaced() -> None:
    rollout = Rollout(node="storm", replicas=3)
    pods = [pod(f"load-0-0-abc-{letter}", 1) for letter in "xy"]
    verdict = one_load(rollout, *pods)
    assert verdict.sentence == "load-as-planned: the stage was measured to its end, with all of its users and pods."
    assert missing(one_load(rollout, pods[0])) == (
        "stage 1 (storm) began to be measured with 1 of 2 planned pods of load load."
    )


def test_a_demand_needs_its_server() -> None:
    demand = Demand(node="storm", rate_per_s=0.01, seed=2)
    assert one_load(demand, pod("load-0-0", 1)).outcome is Outcome.PASS
    assert missing(one_load(demand)) == ("stage 1 (storm) began to be measured with 0 of 1 planned pods of load load.")


def create(name: str, *, code: int = 0, error: str = "no", load: str = "crashers") -> Operation:
    return Operation(load=load, what="create", pod=name, sent_ns=ns(24.6), code=code, error=error)


def test_a_create_that_failed_for_good_is_reported() -> None:
    refused = [create("crashers-0-2", code=403), create("crashers-0-2", code=403), create("crashers-0-3")]
    assert missing(judged(operations=(*ARRIVALS, *refused))) == (
        "load crashers: 2 creates failed for good, the first of them of crashers-0-2 (answer 403: no)."
    )
    arrival = create("healthy-0-99", load="healthy")
    assert missing(judged(operations=(*ARRIVALS, arrival))) == (
        "load healthy: 1 create failed for good, the first of them of healthy-0-99 (no answer)."
    )


@pytest.mark.parametrize(
    "operations",
    [
        (create("crashers-0-2"), create("crashers-0-2", code=201, error="")),
        (create("crashers-0-2"), create("crashers-0-2", code=409, error="already exists")),
        (create("crashers-0-1"),),
    ],
    ids=["taken-later", "had-been-taken", "was-seen"],
)
def test_a_create_that_was_taken_after_all_is_none(operations: tuple[Operation, ...]) -> None:
    assert judged(operations=(*ARRIVALS, *operations)).outcome is Outcome.PASS


def test_an_object_whose_pods_were_seen_was_made() -> None:
    jobs = Jobs(node="storm", rate_per_s=0.01)
    unanswered = create("load-0-0", load="load")
    assert one_load(jobs, pod("load-0-0-abcde", 1), operations=[unanswered]).outcome is Outcome.PASS
    assert "1 create failed for good" in missing(one_load(jobs, operations=[unanswered]))


def test_a_create_that_its_load_gave_up_is_reported_by_its_incident_alone() -> None:
    gave_up = Operation(load="crashers", what="not created", pod="crashers-0-2", sent_ns=ns(80), error="not created")
    incident = Incident(t_ns=ns(90), cause=Cause.LOAD, sentence="load crashers: objects not created in time: 1.")
    verdict = judged(operations=(*ARRIVALS, create("crashers-0-2"), gave_up), incidents=[incident])
    assert missing(verdict) == "load crashers: objects not created in time: 1."


def test_rollouts_that_were_not_taken_are_reported() -> None:
    refused = Operation(load="load", what="patch", pod="load-0-0", sent_ns=ns(20), code=403, error="no")
    pods = [pod(f"load-0-0-abc-{letter}", 1) for letter in "xy"]
    assert missing(one_load(Rollout(node="storm"), *pods, operations=[refused])) == (
        "load load: 1 rollout failed, the first of them of load-0-0 (answer 403: no)."
    )


def test_arrivals_that_found_no_place_are_part_of_the_load_and_reported() -> None:
    verdict = judged(operations=(*ARRIVALS, DROPPED))
    assert verdict.outcome is Outcome.PASS
    assert verdict.sentence.endswith("1 of 84 arrivals of healthy were dropped (in_flight 4).")


def test_arrivals_that_were_never_tried_are_a_load_that_was_not_put_on() -> None:
    verdict = judged(operations=ARRIVALS[:40])
    assert missing(verdict) == "stage 2 (storm): of 60 arrivals of load healthy by its rate, 18 were tried."


def test_a_stage_that_began_before_users_of_the_last_had_gone_is_reported_with_both() -> None:
    rows = (*MARKS[:3], (0, "end", 24, 2), *MARKS[4:])
    assert missing(judged(*rows)) == "stage 2 (storm) began with 2 users that stage 1 (baseline) had left."


def test_a_stage_that_was_measured_with_pods_of_the_last_is_reported_with_both() -> None:
    left = pod("healthy-0-3", 10, until_s=12, gone_s=26.5)
    assert missing(judged(pods=(*PODS, left))) == (
        "stage 2 (storm) began to be measured with 1 pod left over from stage 1 (baseline), such as healthy-0-3."
    )
    unseen = pod("healthy-0-3", 10, until_s=12, gone_s=None)
    assert "1 pod left over from stage 1 (baseline)" in missing(judged(pods=(*PODS, unseen)))
    in_time = pod("healthy-0-3", 10, until_s=12, gone_s=25)
    assert judged(pods=(*PODS, in_time)).outcome is Outcome.PASS


def test_pods_of_an_earlier_round_are_not_those_of_the_next() -> None:
    rows = [(index, what, at_s + 100 * index, users) for index in (0, 1) for _, what, at_s, users in MARKS[4:]]
    rows = [(index, what, at_s - 24, users) for index, what, at_s, users in rows]
    changed: dict[str, Any] = {"stages": (STORM,), "rounds": 2, "loads": {"healthy": HEALTHY, "crashers": CRASHERS}}
    tried = (*arrivals(range(1, 63)), *arrivals(range(101, 163), first=62))
    first = [pod(f"crashers-0-{number}", 0.5, until_s=62.5, gone_s=63) for number in (0, 1)]
    second = [pod(f"crashers-0-{number}", 100.5, until_s=162.5, gone_s=163) for number in (2, 3)]
    assert judged(*rows, pods=(*first, *second), operations=tried, **changed).outcome is Outcome.PASS
    assert missing(judged(*rows, pods=first, operations=tried, **changed)) == FEWER.format(0)


def test_the_baseline_of_the_example_is_what_these_tests_think_it_is() -> None:
    assert (BASELINE.duration_s, STORM.duration_s, HEALTHY.rate_per_s, HEALTHY.in_flight) == (20, 60, 1, 4)
