"""Several pods on one simulated node: a history for each, and nothing between them unless a fault lets them share it."""

from itertools import pairwise
from random import Random

import msgspec
import pytest

from crashloop.history.event import Channel, Event, Kind
from crashloop.spec.scenario import Mode, PodScenario
from sim import Fault, simulate, simulate_node
from sim.faults import NodeFault, behaviour_of
from suites.selftest.kit import sim_kit as sim

LATE_S = 2.2


def named(name: str, restarts: int, *, run_s: float = 1.0) -> PodScenario:
    scenario = sim.crashing(restarts, run_s=run_s, mode=Mode.NATURAL)
    return msgspec.structs.replace(scenario, name=name)


def node(*scenarios: PodScenario, period: str = "2s", faults: tuple[Fault, ...] = ()) -> tuple[tuple[Event, ...], ...]:
    return simulate_node(scenarios, sim.profile(period), sim.V1_37, rng=Random(1), behaviour=behaviour_of(faults))


def restarts_ns(*histories: tuple[Event, ...]) -> list[int]:
    """When restarts were created, over all pods."""
    created = [sim.of(events, Channel.RUNTIME, Kind.CREATED) for events in histories]
    return sorted(event.t_ns for events in created for event in events[1:])


def test_a_pod_alone_on_a_node_is_a_scenario_like_any_other() -> None:
    alone = simulate(named("one", 3), sim.profile("2s"), sim.V1_37, rng=Random(1))
    assert node(named("one", 3)) == (alone,)


def test_each_pod_has_a_history_of_its_own() -> None:
    histories = node(named("one", 2), named("two", 4))
    uids = [{event.pod_uid for event in events} - {None, ""} for events in histories]
    assert [len(each) for each in uids] == [1, 1]
    assert uids[0] != uids[1]
    assert [sim.starts(events) for events in histories] == [3, 5]
    assert [len(sim.of(events, Channel.KUBELET, Kind.NODE)) for events in histories] == [1, 1]


def test_a_recording_ends_when_its_own_pod_has_shown_enough() -> None:
    short, long = (events[-1] for events in node(named("one", 2), named("two", 6)))
    assert short.data["reason"] == long.data["reason"] == "complete"
    assert short.t_ns < long.t_ns


def test_pods_of_a_correct_kubelet_are_delayed_each_by_itself() -> None:
    for events in node(*(named(f"pod-{number}", 3) for number in range(10))):
        first, *others = sim.delays_s(events)
        assert first < LATE_S
        assert all(2 <= delay <= 2 + LATE_S for delay in others)


def test_a_counter_by_name_only_delays_the_first_restart_of_another_pod() -> None:
    early, late = node(named("one", 3), named("two", 1, run_s=8), period="60s", faults=(NodeFault.SHARED_BY_NODE,))
    assert sim.delays_s(early)[0] < LATE_S
    assert sim.delays_s(late)[0] >= 10


@pytest.mark.parametrize(
    ("faults", "least_s"), [((), 0.0), ((NodeFault.RESTARTS_THROTTLED,), 0.9)], ids=["right", "throttled"]
)
def test_a_throttle_keeps_restarts_of_different_pods_apart(faults: tuple[Fault, ...], least_s: float) -> None:
    moments = restarts_ns(*node(*(named(f"pod-{number}", 2) for number in range(5)), faults=faults))
    closest_s = min(after - before for before, after in pairwise(moments)) / sim.S
    assert closest_s >= least_s
    assert (closest_s < 0.5) == (not faults)


def test_pods_that_take_turns_wait_for_each_other() -> None:
    pods = tuple(named(f"pod-{number}", 3) for number in range(20))
    apart = restarts_ns(*node(*pods))
    in_turn = restarts_ns(*node(*pods, faults=(NodeFault.SYNCS_IN_TURN,)))
    assert in_turn[-1] > apart[-1]
