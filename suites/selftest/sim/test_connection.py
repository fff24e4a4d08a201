"""A simulated node without a control plane: it restarts on and states nothing, and afterwards states what is.

A simulated node without a pod network: nothing starts there until it is back, and the wait is no start that failed.
"""

import pytest

from crashloop.history.event import Channel, Event, Kind
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container
from crashloop.spec.program import HOLDS
from sim import Fault
from sim.faults import ConnectionFault, RestartFault
from suites.conformance.scenarios import at
from suites.conformance.test_outages import without
from suites.conformance.test_starts import NETWORK_COMES_LATER
from suites.selftest.kit import sim_kit as sim

AWAY, BACK = 10.0, 100.0


def loop(component: str, *faults: Fault) -> tuple[Event, ...]:
    """A crash loop whose component is away from 10 s to 100 s after its creation."""
    return sim.simulated(without(component, "loop"), "2s", faults=faults)


def seconds(events: tuple[Event, ...], *kinds: Kind, channel: Channel) -> list[float]:
    """When they were received, since the creation."""
    created = next(each for each in events if each.kind is Kind.CREATED and each.channel is Channel.API)
    found = sim.of(events, channel, *kinds)
    return [(each.received_ns - created.received_ns) / 1e9 for each in found]


def test_restarts_go_on_and_no_status_comes_until_the_component_is_back() -> None:
    for component in ("kube-apiserver", "etcd"):
        events = loop(component)
        stated = seconds(events, Kind.STATUS, channel=Channel.API)
        started = seconds(events, Kind.STARTED, channel=Channel.RUNTIME)
        assert not [each for each in stated if AWAY + 0.5 < each < BACK]
        assert len([each for each in started if AWAY < each < BACK]) > 15
        assert sim.restart_counts(events)[-1] == sim.starts(events) - 1


def test_the_watch_is_lost_with_the_api_server_and_not_with_etcd() -> None:
    def lost(component: str) -> int:
        return len(sim.of(loop(component), Channel.RECORDER, Kind.GAP))

    assert (lost("kube-apiserver"), lost("etcd")) == (1, 0)


def test_a_kubelet_stops_restarting_alone() -> None:
    started = seconds(loop("etcd", ConnectionFault.STOPS_ALONE), Kind.STARTED, channel=Channel.RUNTIME)
    assert not [each for each in started if AWAY + 2 < each < BACK]
    assert [each for each in started if each > BACK]


def test_a_kubelet_looks_seldom_alone() -> None:
    assert max(sim.delays_s(loop("etcd", ConnectionFault.SLOW_ALONE))) > 29


def test_a_kubelet_keeps_no_counter_alone() -> None:
    assert len([each for each in sim.delays_s(loop("etcd", ConnectionFault.FORGETS_ALONE)) if each < 2]) > 20


def test_a_kubelet_does_not_count_alone() -> None:
    events = loop("etcd", ConnectionFault.COUNTS_NOT_ALONE)
    assert sim.restart_counts(events)[-1] < sim.starts(events) - 15


def deleted_while_cut_off(*faults: Fault) -> tuple[Event, ...]:
    """A pod that runs; its node is cut off from 5 s to 50 s, and its deletion is requested at 10 s."""
    scenario = sim.pod_of(
        Container(program=HOLDS),
        watch_s=90.0,
        interventions=(
            at(5.0, InterventionKind.CUT_OFF_NODE),
            at(10.0, InterventionKind.DELETE_POD, wait=False),
            at(50.0, InterventionKind.CONNECT_NODE),
        ),
        apart=True,
    )
    return sim.simulated(scenario, "2s", faults=faults)


def test_a_deletion_is_heard_of_after_the_connection() -> None:
    (killed,) = seconds(deleted_while_cut_off(), Kind.EXITED, channel=Channel.RUNTIME)
    assert 50 < killed < 80


def test_a_kubelet_kills_alone() -> None:
    killed, *_ = seconds(deleted_while_cut_off(ConnectionFault.KILLS_ALONE), Kind.EXITED, channel=Channel.RUNTIME)
    assert 25 < killed < 30


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
