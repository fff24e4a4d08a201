"""A wait ends when its condition is true, and names it when time is up.

A recorder that hangs is noticed after the longest time that its plan may take.
"""

from itertools import chain, repeat
from types import SimpleNamespace

import pytest

from crashloop import waiting
from crashloop.record.schedule import SLOWEST
from crashloop.run.judging import OVERHEAD_S, longest_s
from crashloop.spec.assignment import assign
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.plan import Budgets
from crashloop.spec.pod import Container, Pod
from crashloop.spec.scenario import PodScenario, Until
from crashloop.waiting import WaitTimeout, wait_until
from suites.selftest.kit.recording_site import plan_of


@pytest.mark.parametrize("not_yet", [None, False, 0, "", ()])
def test_an_answer_that_is_false_or_empty_does_not_end_a_wait(not_yet: object) -> None:
    answers = chain([not_yet, not_yet], repeat("it"))
    assert wait_until("it to come", lambda: next(answers), timeout_s=30, every_s=0.0) == "it"


def test_a_wait_in_vain_names_its_condition_and_the_last_sight() -> None:
    with pytest.raises(WaitTimeout) as caught:
        wait_until("it to come", lambda: 0, timeout_s=0, last_seen=lambda: "an empty hall")
    assert str(caught.value) == "waited 0 s for: it to come.\nLast seen: an empty hall"


def test_an_error_that_may_pass_is_what_was_seen_last() -> None:
    def refused() -> bool:
        raise ConnectionRefusedError("nobody listens")

    with pytest.raises(WaitTimeout) as caught:
        wait_until("it to come", refused, timeout_s=0, not_yet=OSError, last_seen=lambda: "an empty hall")
    assert str(caught.value) == "waited 0 s for: it to come.\nLast seen: nobody listens"


def test_an_error_that_has_passed_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(monotonic=chain([0.0, 1.0, 1.0], repeat(9.0)).__next__, sleep=lambda _: None)
    monkeypatch.setattr(waiting, "time", clock)
    errors = [ConnectionRefusedError("nobody listens")]

    def look() -> bool:
        if errors:
            raise errors.pop()
        return False

    with pytest.raises(WaitTimeout, match="Last seen: an empty hall"):
        wait_until("it to come", look, timeout_s=5, not_yet=OSError, last_seen=lambda: "an empty hall")
    assert not errors


def test_an_error_of_the_probe_ends_the_wait() -> None:
    def gone() -> bool:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        wait_until("it to come", gone, timeout_s=30)


def watched(name: str, at_most_s: float, *, disturbs: bool = False) -> PodScenario:
    kill = Intervention(trigger=Trigger(), action=InterventionKind.KILL_KUBELET)
    pod = Pod(containers=(Container(),))
    interventions = (kill,) if disturbs else ()
    return PodScenario(name=name, profile="p", pod=pod, until=Until(at_most_s=at_most_s), interventions=interventions)


def bound_s(*scenarios: PodScenario, budgets: Budgets) -> float:
    assignment = assign(scenarios, budgets, nodes={"p": "node"})
    return longest_s(plan_of(*scenarios, budgets=budgets, nodes=assignment.nodes, placements=assignment.placements))


def test_what_runs_side_by_side_counts_once_and_what_runs_alone_each_time() -> None:
    budgets = Budgets(live_nodes=1, container_starts_per_s=1.0)
    beside = (watched("a", 100), watched("b", 40))
    assert bound_s(*beside, budgets=budgets) == 2 * (100 + OVERHEAD_S) + 4 / SLOWEST
    disturbing = watched("c", 50, disturbs=True)
    assert bound_s(*beside, disturbing, budgets=budgets) == 2 * (150 + 2 * OVERHEAD_S) + 6 / SLOWEST


def test_few_pods_at_once_take_longer() -> None:
    scenarios = tuple(watched(f"s-{n}", 60) for n in range(10))
    assert bound_s(*scenarios, budgets=Budgets(live_pods=4)) > 10 * 60 / 4 + 60
    assert bound_s(*scenarios, budgets=Budgets(live_pods=4)) > bound_s(*scenarios, budgets=Budgets())
