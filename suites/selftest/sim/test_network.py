"""A simulated node without a pod network: nothing starts there until it is back, and the wait is no start that failed."""

import pytest

from crashloop.history.event import Channel, Event, Kind
from sim import Fault
from sim.faults import RestartFault
from suites.conformance.test_starts import NETWORK_COMES_LATER
from suites.selftest.kit import sim_kit as sim

GIVEN = 12.0


def first_start_s(*faults: Fault) -> float:
    """Seconds from the pod's creation."""
    events = played(*faults)
    created = next(each for each in events if each.kind is Kind.CREATED and each.channel is Channel.API)
    started = sim.of(events, Channel.RUNTIME, Kind.STARTED)[0]
    return (started.received_ns - created.received_ns) / 1e9


def played(*faults: Fault) -> tuple[Event, ...]:
    return sim.simulated(NETWORK_COMES_LATER, faults=faults)


def test_the_network_is_taken_before_the_pod_is_there() -> None:
    events = [each for each in played() if each.kind in (Kind.INTERVENTION, Kind.CREATED)]
    assert [each.kind for each in events[:2]] == [Kind.INTERVENTION, Kind.CREATED]
    assert events[0].data["action"] == "take-network"


def test_a_pod_waits_for_the_network_and_its_delays_are_as_ever() -> None:
    assert GIVEN < first_start_s() < GIVEN + 10
    delays_s = sim.delays_s(played())
    assert delays_s[0] < 3
    assert 10 <= delays_s[1] < 20
    assert 20 <= delays_s[2] < 35


def test_a_kubelet_does_not_wait_for_the_network() -> None:
    assert first_start_s(RestartFault.NETWORK_NOT_AWAITED) < 3


@pytest.mark.parametrize(
    ("fault", "first_s"), [(RestartFault.NETWORK_WAIT_COUNTS, 10), (RestartFault.NETWORK_WAIT_COUNTS_TWICE, 20)]
)
def test_a_kubelet_counts_the_wait_for_the_network(fault: RestartFault, first_s: float) -> None:
    assert sim.delays_s(played(fault))[0] >= first_s
