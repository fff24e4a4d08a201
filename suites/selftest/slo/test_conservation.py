"""Starts are conserved: ground truth, restartCount and the kubelet's counter agree, or the verdict says which does not."""

from typing import Any

import pytest

from crashloop.slo.judge import judge
from crashloop.slo.measurements import Interval, Lifecycle, Restart, RestartAll, SloVerdict
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import Values, crasher, measured, ns, row, scrapes

ROW = row({"kind": "conservation"}, {"at_most": 0, "unit": "starts"}, decided_by="interval")
STARTS = (20.0, 30.0, 40.0)


def pod(*starts_s: float, count: int | None = None, **more: Any) -> Lifecycle:
    counts = {"app": len(starts_s) - 1 if count is None else count}
    return crasher(starts_ns={"app": tuple(map(ns, starts_s))}, restart_counts=counts, **more)


def judged(counted: float, *pods: Lifecycle, **more: Any) -> SloVerdict:
    values: Values = {("kubelet_started_containers_total", ()): (None, 0, counted)}
    return judge(ROW, measured(scrapes((0, 10, 100), values, **more), lifecycles=pods))


def test_what_agrees_is_conserved() -> None:
    verdict = judged(3, pod(*STARTS))
    assert (verdict.outcome, verdict.value, verdict.samples) == (Outcome.PASS, 0, 3)
    assert verdict.notes == ("node-1: 3 starts seen, kubelet_started_containers_total rose by 3.",)


@pytest.mark.parametrize(("counted", "differ", "stated"), [(2, 1, "1 start"), (5, 2, "2 starts")])
def test_a_counter_that_says_otherwise_fails(counted: int, differ: int, stated: str) -> None:
    verdict = judged(counted, pod(*STARTS))
    assert (verdict.outcome, verdict.value) == (Outcome.FAIL, differ)
    assert verdict.sentence.startswith(f"made-up: {stated} of 3 container starts, target at most 0 starts")
    assert verdict.notes == (f"node-1: 3 starts seen, kubelet_started_containers_total rose by {counted}.",)


def test_a_start_beside_a_scrape_may_count_on_either_side() -> None:
    verdict = judged(3, pod(*STARTS, 99.5))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.notes[1] == "node-1: starts within 2 s of a scrape, which may count on either side: 1."
    assert judged(4, pod(*STARTS, 99.5)).outcome is Outcome.PASS
    assert judged(2, pod(*STARTS, 99.5)).outcome is Outcome.FAIL


def test_a_restart_count_that_is_wrong_fails() -> None:
    verdict = judged(3, pod(*STARTS, count=4))
    assert (verdict.outcome, verdict.value) == (Outcome.FAIL, 1)
    assert verdict.notes[1] == 'p: restartCount of "app" is 4 after 3 starts.'
    assert judged(3, pod(*STARTS, count=1)).outcome is Outcome.FAIL


def test_an_instance_that_never_ran_may_count_or_not() -> None:
    never = {"app": (ns(35),)}
    assert judged(3, pod(*STARTS, unstarted_ns=never)).outcome is Outcome.PASS
    assert judged(3, pod(*STARTS, count=3, unstarted_ns=never)).outcome is Outcome.PASS
    assert judged(3, pod(*STARTS, count=4, unstarted_ns=never)).outcome is Outcome.FAIL
    verdict = judged(4, pod(*STARTS, unstarted_ns=never))
    assert (verdict.outcome, verdict.value) == (Outcome.INCONCLUSIVE, 1)
    assert verdict.notes[1] == "node-1: instances that were created and never ran, which may count as well: 1."
    assert judged(5, pod(*STARTS, unstarted_ns=never)).outcome is Outcome.FAIL


def test_a_restart_after_the_journals_were_read_may_count() -> None:
    later = {"app": 1}
    assert judged(4, pod(*STARTS, unseen_starts=later)).outcome is Outcome.PASS
    assert judged(3, pod(*STARTS, unseen_starts=later)).outcome is Outcome.PASS
    assert judged(5, pod(*STARTS, unseen_starts=later)).outcome is Outcome.FAIL
    assert judged(4, pod(*STARTS)).outcome is Outcome.FAIL


@pytest.mark.parametrize(("deleted_s", "outcome"), [(70, Outcome.PASS), (64, Outcome.FAIL), (None, Outcome.FAIL)])
def test_a_restart_due_after_the_journals_were_read_may_count(deleted_s: float | None, outcome: Outcome) -> None:
    still_open = Restart(container="app", number=3, exited_ns=ns(55), due_s=10, expected=True)
    deleted_ns = None if deleted_s is None else ns(deleted_s)
    waiting = pod(*STARTS, restarts=(still_open,), deleted_ns=deleted_ns, seen_until_s=60)
    assert judged(4, waiting).outcome is outcome
    assert judged(3, waiting).outcome is Outcome.PASS
    assert judged(5, waiting).outcome is Outcome.FAIL


def test_a_restart_of_all_containers_that_its_pods_end_cut_short_may_count() -> None:
    cut = (RestartAll(container="app", exited_ns=ns(45)),)
    assert judged(3, pod(*STARTS, count=3, restarts_all=cut)).outcome is Outcome.PASS
    assert judged(3, pod(*STARTS, count=4, restarts_all=cut)).outcome is Outcome.FAIL
    whole = (RestartAll(container="app", exited_ns=ns(35), started_ns=ns(40)),)
    assert judged(3, pod(*STARTS, count=3, restarts_all=whole)).outcome is Outcome.FAIL


def test_a_restart_that_was_only_just_seen_need_not_be_told_yet() -> None:
    assert judged(3, pod(*STARTS, count=1, seen_until_s=69)).outcome is Outcome.PASS
    assert judged(3, pod(*STARTS, count=0, seen_until_s=69)).outcome is Outcome.FAIL
    assert judged(3, pod(*STARTS, count=3, seen_until_s=41)).outcome is Outcome.FAIL


def test_each_node_is_counted_by_itself() -> None:
    verdict = judged(3, pod(*STARTS), pod(50.0, node="node-2"))
    assert (verdict.outcome, [result.group for result in verdict.results]) == (Outcome.PASS, [{"node": "node-1"}])


def test_without_ground_truth_nothing_is_known() -> None:
    verdict = judged(3, crasher())
    assert (verdict.outcome, verdict.sentence) == (
        Outcome.INCONCLUSIVE,
        "made-up: no container starts seen, target at most 0 starts, the whole run. "
        "Phase run: no starts were recorded by ground truth.",
    )


def judged_anew(counted: float, *pods: Lifecycle, process: bool = True) -> SloVerdict:
    """The kubelet had counted 4 and is started anew between 10 s and 60 s; `process`: it says so itself."""
    values: Values = {("kubelet_started_containers_total", ()): (4, 4, counted, counted)}
    if process:
        values = {**values, ("process_start_time_seconds", ()): (5, 5, 40, 40)}
    return judge(ROW, measured(scrapes((0, 10, 60, 100), values), lifecycles=pods))


@pytest.mark.parametrize("process", [True, False])
def test_counts_that_a_kubelet_lost_when_it_was_started_anew_prove_nothing(process: bool) -> None:
    verdict = judged_anew(1, pod(*STARTS), process=process)
    assert (verdict.outcome, verdict.value) == (Outcome.INCONCLUSIVE, 2)
    assert verdict.interval == Interval(0, 2)
    assert verdict.notes[1] == (
        "node-1: the counter was reset; starts between the scrapes around that, whose count may be lost: 3."
    )


def test_a_counter_that_agrees_although_it_began_anew_is_conserved() -> None:
    verdict = judged_anew(3, pod(*STARTS))
    assert (verdict.outcome, verdict.value) == (Outcome.PASS, 0)
    assert "kubelet of node-1 was restarted between two scrapes 50.0 s apart" in verdict.notes[2]


def test_a_restart_count_is_wrong_whatever_became_of_the_counter() -> None:
    verdict = judged_anew(1, pod(*STARTS, count=4))
    assert (verdict.outcome, verdict.interval) == (Outcome.FAIL, Interval(1, 3))
