"""A simulated node without a control plane: it restarts on and states nothing, and afterwards states what is."""

from crashloop.history.event import Channel, Event, Kind
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container
from crashloop.spec.program import HOLDS
from sim import Fault
from sim.faults import ConnectionFault
from suites.conformance.scenarios import at
from suites.conformance.test_outages import without
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
