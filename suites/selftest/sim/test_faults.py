"""A planted fault does what its sentence says, and nothing happens without one."""

from itertools import pairwise

import pytest

from crashloop.history.event import Channel, Kind
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.pod import Container, RestartPolicy
from crashloop.spec.program import HOLDS, exits_with, refused, runs
from crashloop.spec.scenario import Mode
from sim import FAULTS, Fault
from sim.behaviour import CORRECT
from sim.faults import (
    ConfigurationFault,
    CounterFault,
    CurveFault,
    PunctualityFault,
    RestartFault,
    StatementFault,
    behaviour_of,
)
from suites.selftest.kit import sim_kit as sim

LATE_S = 2.2

LADDERS = {
    CurveFault.BACKOFF_ABSENT: [0, 0, 0, 0],
    CurveFault.FACTOR_1_5: [0, 10, 15, 22],
    CurveFault.FACTOR_3: [0, 10, 30, 60],
    CurveFault.LINEAR_GROWTH: [0, 10, 20, 30],
    CurveFault.CAP_IGNORED: [0, 10, 20, 40, 80, 160],
    CurveFault.CAP_ONE_STEP_LATE: [0, 10, 20, 40, 80, 80],
    CurveFault.CAP_TOO_LOW: [0, 10, 20, 36, 36],
    CurveFault.MAX_IGNORED: [0, 10, 20, 40, 80],
    CurveFault.INITIAL_5S: [0, 5, 10, 20, 40],
    CurveFault.INITIAL_20S: [0, 20, 40, 60],
    CurveFault.FIRST_RESTART_DELAYED: [10, 20, 40],
    CurveFault.TWO_FREE: [0, 0, 10, 20],
    CurveFault.THREE_FREE: [0, 0, 0, 10, 20],
    PunctualityFault.LATE_TWICE: [0, 20, 40, 80],
    PunctualityFault.LONG_20_PERCENT: [0, 12, 24, 48, 72],
    PunctualityFault.LATE_5_S: [0, 15, 25, 45],
    PunctualityFault.LATE_5_S_FROM_40_S: [0, 10, 20, 45, 65],
    PunctualityFault.FIRST_1_S_LATE: [1, 10, 20],
    CounterFault.RESETS_AT_SYNC: [0, 10, 10, 10],
    CounterFault.LOST_EVERY_4TH: [0, 10, 20, 0, 10, 20, 40, 0],
    CounterFault.LOST_ON_STATUS: [0, 0, 0],
    CounterFault.LOST_ON_ANNOTATION: [0, 0, 0],
    ConfigurationFault.RUNS_OTHER_MAX: [0, 10, 20, 30, 30],
}


@pytest.mark.parametrize(("fault", "ladder"), LADDERS.items(), ids=lambda value: getattr(value, "name", None))
def test_a_fault_of_the_curve_changes_the_ladder(fault: Fault, ladder: list[int]) -> None:
    events = sim.simulated(sim.crashing(len(ladder)), "60s", faults=[fault])
    for delay, due in zip(sim.delays_s(events), ladder, strict=True):
        assert due <= delay <= due + LATE_S


def test_a_refused_start_is_an_exit_and_climbs_the_same_curve() -> None:
    scenario = sim.pod_of(Container(program=refused(times=9)), exits={"app": 5})
    events = [each for each in sim.simulated(scenario, "10s") if each.channel is Channel.RUNTIME and each.container]
    assert {each.kind for each in events} == {Kind.CREATED, Kind.EXITED, Kind.REMOVED}
    assert {each.data["exit_code"] for each in events if each.kind is Kind.EXITED} == {128}
    created = [each.t_ns for each in events if each.kind is Kind.CREATED]
    exited = [each.t_ns for each in events if each.kind is Kind.EXITED]
    delays_s = [(later - exit_ns) / 1e9 for exit_ns, later in zip(exited, created[1:], strict=False)]
    assert [due <= each <= due + 10 for each, due in zip(delays_s, [0, 10, 10, 10], strict=True)] == [True] * 4


@pytest.mark.parametrize(
    ("fault", "early_s"),
    [
        (PunctualityFault.EARLY_10_MS, 0.01),
        (PunctualityFault.EARLY_30_MS, 0.03),
        (PunctualityFault.EARLY_100_MS, 0.1),
        (PunctualityFault.EARLY_1_S, 1.0),
    ],
    ids=["10ms", "30ms", "100ms", "1s"],
)
def test_an_early_restart_is_that_much_early(fault: Fault, early_s: float) -> None:
    events = sim.simulated(sim.crashing(4, mode=Mode.NATURAL), "10s", faults=[fault])
    free, *others = sim.delays_s(events)
    assert free < 2
    assert all(10 - early_s <= delay < 10 - early_s + 0.2 for delay in others)


@pytest.mark.parametrize(
    ("fault", "least_s"),
    [(PunctualityFault.RETRY_SLOW_ABOVE_30_S, 40 * 2.5), (PunctualityFault.RETRY_SLOW_ABOVE_100_S, 0)],
    ids=["above-30s", "above-100s"],
)
def test_a_slow_retry_is_hidden_by_any_other_look(fault: Fault, least_s: float) -> None:
    alone = sim.simulated(sim.crashing(4, mode=Mode.NATURAL), faults=[fault])
    looked_at = sim.simulated(sim.crashing(4, mode=Mode.ANNOTATED), faults=[fault])
    assert max(sim.delays_s(alone)) >= least_s
    assert max(sim.delays_s(looked_at)) < 40 + LATE_S


@pytest.mark.parametrize(
    ("fault", "maximum", "ladder"),
    [
        (CurveFault.MAX_IN_TENS, "25s", [0, 10, 20, 20]),
        (CurveFault.MAX_IN_TENS, "2s", [0, 1, 1, 1]),
        (CurveFault.MAX_EVEN, "11s", [0, 10, 10]),
    ],
    ids=["25s", "2s", "11s"],
)
def test_a_rounded_maximum_is_a_second_at_least(fault: Fault, maximum: str, ladder: list[int]) -> None:
    delays = sim.delays_s(sim.simulated(sim.crashing(len(ladder)), maximum, faults=[fault]))
    assert all(due <= delay <= due + LATE_S for due, delay in zip(ladder[1:], delays[1:], strict=True))
    assert min(delay - due for due, delay in zip(ladder[1:], delays[1:], strict=True)) < 1, (
        "a second more is another maximum"
    )


def test_a_finished_time_is_stated_late() -> None:
    def finished(*faults: Fault) -> list[str]:
        states = sim.container_states(sim.simulated(sim.crashing(2), "2s", faults=faults))
        return sorted({each["lastState"]["terminated"]["finishedAt"] for each in states if "lastState" in each})

    pairs = zip(finished(), finished(StatementFault.FINISHED_1S_LATE), strict=True)
    assert all(said > true for true, said in pairs)


def test_an_exit_code_is_stated_as_a_smaller_one() -> None:
    events = sim.simulated(sim.crashing(2, exit_code=137), "2s", faults=[StatementFault.EXIT_CODE_UP_TO_127])
    last = {each["lastState"]["terminated"]["exitCode"] for each in sim.container_states(events) if "lastState" in each}
    assert last == {127}


def test_a_delay_is_dropped_after_a_signal() -> None:
    events = sim.simulated(sim.crashing(3, exit_code=137), faults=[CurveFault.CODES_FROM_128_NOT_DELAYED])
    assert all(delay < LATE_S for delay in sim.delays_s(events))


def test_the_maximum_is_shared_by_the_containers_of_a_pod() -> None:
    pair = tuple(Container(name=name, program=exits_with(1, times=5)) for name in ("one", "other"))
    scenario = sim.pod_of(*pair, restarts={"one": 5, "other": 5})
    shared = sim.simulated(scenario, "20s", faults=[CurveFault.CAP_ON_POD_TOTAL])
    assert min(sim.delays_s(sim.simulated(scenario, "20s"), "other")[3:]) >= 20
    assert min(sim.delays_s(shared, "other")[3:]) < LATE_S


def test_a_counter_by_container_is_shared_where_the_key_has_no_name() -> None:
    pair = (
        Container(name="one", program=exits_with(1, times=2)),
        Container(name="other", program=exits_with(1, after_s=4, times=2)),
    )
    scenario = sim.pod_of(*pair, restarts={"one": 2, "other": 2})
    apart = sim.simulated(scenario)
    shared = sim.simulated(scenario, faults=[CounterFault.SHARED_BY_CONTAINERS])
    assert sim.delays_s(apart, "other")[0] < LATE_S
    assert sim.delays_s(shared, "other")[0] >= 10


def test_a_kubelet_that_rebuilds_its_counters_delays_what_ran_while_it_was_restarted() -> None:
    lives = runs((1, 1), (20, 1), (1, 1))
    restart = Intervention(trigger=Trigger(after_s=10), action=InterventionKind.RESTART_KUBELET)
    scenario = sim.pod_of(Container(program=lives), restarts={"app": 3}, interventions=(restart,))
    for faults, ladder in (([], [0, 0, 10]), ([CounterFault.REBUILT_AT_RESTART], [0, 10, 20])):
        for delay, due in zip(sim.delays_s(sim.simulated(scenario, faults=faults)), ladder, strict=True):
            assert due <= delay <= due + LATE_S


@pytest.mark.parametrize(
    ("fault", "counts"),
    [
        (StatementFault.COUNT_OFF_BY_ONE, [1, 2, 3, 4]),
        (StatementFault.COUNT_ONE_LOW, [0, 1, 2]),
        (StatementFault.COUNT_SKIPS, [0, 1, 3, 4]),
        (StatementFault.COUNT_DECREASES, [0, 1, 0, 1]),
        (StatementFault.COUNT_STUCK, [0, 1]),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_fault_of_the_count_is_only_stated(fault: Fault, counts: list[int]) -> None:
    events = sim.simulated(sim.crashing(3), "2s", faults=[fault])
    assert sim.restart_counts(events) == counts
    assert sim.starts(events) == 4


def test_a_dead_container_is_said_to_run() -> None:
    events = sim.simulated(sim.crashing(3), "10s", faults=[StatementFault.RUNNING_WHILE_DEAD])
    assert {name for each in sim.container_states(events) for name in each["state"]} == {"waiting", "running"}
    assert sim.container_states(events)[0]["state"] == {"waiting": {"reason": "ContainerCreating"}}


@pytest.mark.parametrize(
    ("fault", "exit_code", "phase"),
    [
        (StatementFault.SUCCEEDED_AFTER_FAILURE, 1, "Succeeded"),
        (StatementFault.FAILED_AFTER_SUCCESS, 0, "Failed"),
        (StatementFault.NEVER_ENDS, 0, "Running"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_wrong_end_is_stated(fault: Fault, exit_code: int, phase: str) -> None:
    scenario = sim.pod_of(Container(program=runs((1, exit_code))), restart_policy=RestartPolicy.NEVER, watch_s=20)
    assert sim.phases(sim.simulated(scenario, faults=[fault]))[-1] == phase


def test_two_instances_run_at_once() -> None:
    events = sim.simulated(sim.crashing(3), "2s", faults=[RestartFault.DOUBLE_START])
    created = [event.t_ns for event in sim.of(events, Channel.RUNTIME, Kind.CREATED)]
    assert any(after - before < sim.S for before, after in pairwise(created))


def test_an_instance_starts_before_the_last_has_exited() -> None:
    events = sim.simulated(sim.crashing(3), "2s", faults=[RestartFault.START_BEFORE_EXIT])
    started = {event.instance: event.t_ns for event in sim.of(events, Channel.RUNTIME, Kind.STARTED)}
    exited = {event.instance: event.t_ns for event in sim.of(events, Channel.RUNTIME, Kind.EXITED)}
    assert started[2] < exited[1]


def test_a_restart_makes_a_new_sandbox() -> None:
    def sandboxes(*faults: Fault) -> int:
        events = sim.simulated(sim.crashing(2), "2s", faults=faults)
        return len({event.data["container_id"] for event in sim.of(events, Channel.RUNTIME, Kind.SANDBOX)})

    assert sandboxes() == 1
    assert sandboxes(RestartFault.NEW_SANDBOX) == 3


def test_a_neighbour_is_taken_along() -> None:
    scenario = sim.pod_of(
        Container(program=exits_with(1, times=2)), Container(name="neighbour", program=HOLDS), restarts={"app": 2}
    )
    assert sim.starts(sim.simulated(scenario, "2s"), "neighbour") == 1
    assert sim.starts(sim.simulated(scenario, "2s", faults=[RestartFault.SIBLINGS_TOO]), "neighbour") > 1


def test_no_fault_is_the_right_behaviour() -> None:
    assert behaviour_of([]) == CORRECT
    assert all(behaviour_of([fault]) != CORRECT for fault in FAULTS)


def test_each_fault_has_a_name_and_a_sentence_of_its_own() -> None:
    sentences, names = [fault.sentence for fault in FAULTS], [fault.name for fault in FAULTS]
    assert len(set(sentences)) == len(set(names)) == len(FAULTS)


def test_two_faults_that_change_the_same_answer_cannot_be_planted_together() -> None:
    with pytest.raises(ValueError, match=r"FACTOR_3: another one changes \['factor'\] already"):
        behaviour_of([CurveFault.FACTOR_1_5, CurveFault.FACTOR_3])


def test_faults_of_different_answers_can() -> None:
    both = behaviour_of([CurveFault.FACTOR_3, StatementFault.COUNT_STUCK])
    assert (both.factor, both.count_up_to) == (3.0, 1)
