"""A planted fault does what its sentence says, and nothing happens without one."""

from itertools import pairwise

import pytest

from crashloop.history.event import Channel, Kind
from crashloop.sim import Fault
from crashloop.sim.behaviour import CORRECT
from crashloop.sim.faults import behaviour_of
from crashloop.spec.policy import RestartPolicy
from crashloop.spec.program import HOLDS, exits_with, runs
from crashloop.spec.scenario import Container, Mode
from suites.selftest.kit import sim_kit as sim

LATE_S = 2.2

LADDERS = {
    Fault.BACKOFF_ABSENT: [0, 0, 0, 0],
    Fault.FACTOR_1_5: [0, 10, 15, 22],
    Fault.FACTOR_3: [0, 10, 30, 60],
    Fault.LINEAR_GROWTH: [0, 10, 20, 30],
    Fault.CAP_IGNORED: [0, 10, 20, 40, 80, 160],
    Fault.CAP_ONE_STEP_LATE: [0, 10, 20, 40, 80, 80],
    Fault.CAP_TOO_LOW: [0, 10, 20, 36, 36],
    Fault.MAX_IGNORED: [0, 10, 20, 40, 80],
    Fault.INITIAL_5S: [0, 5, 10, 20, 40],
    Fault.INITIAL_20S: [0, 20, 40, 60],
    Fault.FIRST_RESTART_DELAYED: [10, 20, 40],
    Fault.LATE_20_PERCENT: [0, 12, 24, 48],
    Fault.LATE_2_S: [0, 12, 22, 42],
    Fault.LATE_TWICE: [0, 20, 40, 80],
    Fault.RESETS_AT_SYNC: [0, 10, 10, 10],
    Fault.LOST_ON_STATUS: [0, 0, 0],
    Fault.LOST_ON_ANNOTATION: [0, 0, 0],
    Fault.RUNS_OTHER_MAX: [0, 10, 20, 30, 30],
}


@pytest.mark.parametrize(("fault", "ladder"), LADDERS.items(), ids=lambda value: getattr(value, "name", None))
def test_a_fault_of_the_curve_changes_the_ladder(fault: Fault, ladder: list[int]) -> None:
    events = sim.simulated(sim.crashing(len(ladder)), "60s", faults=[fault])
    for delay, due in zip(sim.delays_s(events), ladder, strict=True):
        assert due <= delay <= due + LATE_S


@pytest.mark.parametrize(
    ("fault", "early_s"),
    [(Fault.EARLY_30_MS, 0.03), (Fault.EARLY_100_MS, 0.1), (Fault.EARLY_1_S, 1.0)],
    ids=["30ms", "100ms", "1s"],
)
def test_an_early_restart_is_that_much_early(fault: Fault, early_s: float) -> None:
    events = sim.simulated(sim.crashing(4, mode=Mode.NATURAL), "10s", faults=[fault])
    free, *others = sim.delays_s(events)
    assert free < 2
    assert all(10 - early_s <= delay < 10 - early_s + 0.2 for delay in others)


def test_a_counter_by_container_is_shared_where_the_key_has_no_name() -> None:
    pair = (
        Container(name="one", program=exits_with(1, times=2)),
        Container(name="other", program=exits_with(1, after_s=4, times=2)),
    )
    scenario = sim.pod_of(*pair, restarts={"one": 2, "other": 2})
    apart = sim.simulated(scenario)
    shared = sim.simulated(scenario, faults=[Fault.SHARED_BY_CONTAINERS])
    assert sim.delays_s(apart, "other")[0] < LATE_S
    assert sim.delays_s(shared, "other")[0] >= 10


@pytest.mark.parametrize(
    ("fault", "counts"),
    [
        (Fault.COUNT_OFF_BY_ONE, [1, 2, 3, 4]),
        (Fault.COUNT_ONE_LOW, [0, 1, 2]),
        (Fault.COUNT_SKIPS, [0, 1, 3, 4]),
        (Fault.COUNT_DECREASES, [0, 1, 0, 1]),
        (Fault.COUNT_STUCK, [0, 1]),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_fault_of_the_count_is_only_stated(fault: Fault, counts: list[int]) -> None:
    events = sim.simulated(sim.crashing(3), "2s", faults=[fault])
    assert sim.restart_counts(events) == counts
    assert sim.starts(events) == 4


def test_a_dead_container_is_said_to_run() -> None:
    events = sim.simulated(sim.crashing(3), "10s", faults=[Fault.RUNNING_WHILE_DEAD])
    assert {name for each in sim.container_states(events) for name in each["state"]} == {"waiting", "running"}
    assert sim.container_states(events)[0]["state"] == {"waiting": {"reason": "ContainerCreating"}}


@pytest.mark.parametrize(
    ("fault", "exit_code", "phase"),
    [
        (Fault.SUCCEEDED_AFTER_FAILURE, 1, "Succeeded"),
        (Fault.FAILED_AFTER_SUCCESS, 0, "Failed"),
        (Fault.NEVER_ENDS, 0, "Running"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_wrong_end_is_stated(fault: Fault, exit_code: int, phase: str) -> None:
    scenario = sim.pod_of(Container(program=runs((1, exit_code))), restart_policy=RestartPolicy.NEVER, watch_s=20)
    assert sim.phases(sim.simulated(scenario, faults=[fault]))[-1] == phase


def test_two_instances_run_at_once() -> None:
    events = sim.simulated(sim.crashing(3), "2s", faults=[Fault.DOUBLE_START])
    created = [event.t_ns for event in sim.of(events, Channel.RUNTIME, Kind.CREATED)]
    assert any(after - before < sim.S for before, after in pairwise(created))


def test_an_instance_starts_before_the_last_has_exited() -> None:
    events = sim.simulated(sim.crashing(3), "2s", faults=[Fault.START_BEFORE_EXIT])
    started = {event.instance: event.t_ns for event in sim.of(events, Channel.RUNTIME, Kind.STARTED)}
    exited = {event.instance: event.t_ns for event in sim.of(events, Channel.RUNTIME, Kind.EXITED)}
    assert started[2] < exited[1]


def test_a_restart_makes_a_new_sandbox() -> None:
    def sandboxes(*faults: Fault) -> int:
        events = sim.simulated(sim.crashing(2), "2s", faults=faults)
        return len({event.data["container_id"] for event in sim.of(events, Channel.RUNTIME, Kind.SANDBOX)})

    assert sandboxes() == 1
    assert sandboxes(Fault.NEW_SANDBOX) == 3


def test_a_neighbour_is_taken_along() -> None:
    scenario = sim.pod_of(
        Container(program=exits_with(1, times=2)), Container(name="neighbour", program=HOLDS), restarts={"app": 2}
    )
    assert sim.starts(sim.simulated(scenario, "2s"), "neighbour") == 1
    assert sim.starts(sim.simulated(scenario, "2s", faults=[Fault.SIBLINGS_TOO]), "neighbour") > 1


def test_no_fault_is_the_right_behaviour() -> None:
    assert behaviour_of([]) == CORRECT
    assert all(behaviour_of([fault]) != CORRECT for fault in Fault)


def test_each_fault_has_a_sentence_of_its_own() -> None:
    sentences = [fault.sentence for fault in Fault]
    assert len(set(sentences)) == len(sentences) >= 45


def test_two_faults_that_change_the_same_answer_cannot_be_planted_together() -> None:
    with pytest.raises(ValueError, match=r"FACTOR_3: another one changes \['factor'\] already"):
        behaviour_of([Fault.FACTOR_1_5, Fault.FACTOR_3])


def test_faults_of_different_answers_can() -> None:
    both = behaviour_of([Fault.FACTOR_3, Fault.COUNT_STUCK])
    assert (both.factor, both.count_stuck) == (3.0, True)
