"""The simulated recorder writes what a real one does: each channel with its own clock, resolution, delay and losses.

What a simulated kube-state-metrics states, and what the checker finds of its faults.
"""

import msgspec
import pytest

from crashloop.history.event import Channel, Clock, Event, Kind
from crashloop.history.reduction import read_recording
from crashloop.requirements import load_requirements
from crashloop.spec.pod import Container
from crashloop.spec.scenario import Mode
from crashloop.spec.state_metrics import LAST_CODE, RESTARTS, WAITING
from crashloop.verdict import Outcome, Verdict
from fixtures.requirements import declared_in
from sim import Fault
from sim.behaviour import S
from sim.faults import MetricsFault
from sim.host import BLIND, BUSY, COARSE, LOSSY, NO_JOURNAL, NO_LOG, NO_RUNTIME, STARVED, HostModel
from suites import conformance
from suites.selftest.kit import sim_kit as sim
from tools.trials import histories_of, recorded, verdict_of

SCENARIO = sim.crashing(5, mode=Mode.NATURAL)


def recorded_on(host: HostModel, seed: int = 1) -> tuple[Event, ...]:
    return sim.simulated(SCENARIO, "10s", host=host, seed=seed)


@pytest.mark.parametrize("host", [BUSY, STARVED, LOSSY, COARSE, BLIND, NO_LOG], ids=lambda host: host.name)
def test_a_history_is_whole_and_in_order_of_receipt(host: HostModel) -> None:
    events = recorded_on(host)
    assert [event.seq for event in events] == list(range(len(events)))
    assert [event.received_ns for event in events] == sorted(event.received_ns for event in events)
    assert (events[0].kind, events[-1].kind) == (Kind.BEGIN, Kind.END)
    assert events[-1].data["reason"] == "complete"


def test_a_history_survives_its_json_form() -> None:
    recording = read_recording(msgspec.json.encode(event) + b"\n" for event in recorded_on(LOSSY))
    assert recording.damage == ()
    assert recording.begin is not None
    assert recording.begin.scenario == SCENARIO


def test_the_journal_is_read_at_the_end_by_boot_time_in_steps_of_10_ms() -> None:
    events = recorded_on(BUSY)
    journal = [event for event in events if event.channel is Channel.JOURNAL]
    assert [event.instance for event in journal if event.kind is Kind.STARTED] == list(range(6))
    assert {event.clock for event in journal} == {Clock.BOOT}
    assert all(event.t_ns % 10_000_000 == 0 for event in journal)
    assert {event.received_ns for event in journal} == {events[-1].received_ns}


def test_the_journal_errs_long_only() -> None:
    """An exit is stamped before it happens and a start after it, so a delay never looks shorter than by the runtime."""
    events = recorded_on(BUSY)
    exits = sim.of(events, Channel.JOURNAL, Kind.EXITED)
    starts = sim.of(events, Channel.JOURNAL, Kind.STARTED)[1:]
    for by_runtime, exited, started in zip(sim.delays_s(events), exits, starts, strict=True):
        assert (started.t_ns - exited.t_ns) / S > by_runtime


@pytest.mark.parametrize(
    ("host", "missing"),
    [(NO_RUNTIME, {Channel.RUNTIME}), (NO_JOURNAL, {Channel.JOURNAL}), (BLIND, {Channel.RUNTIME, Channel.JOURNAL})],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_channel_that_a_cluster_lacks_says_nothing(host: HostModel, missing: set[Channel]) -> None:
    assert {event.channel for event in recorded_on(host)} == set(Channel) - {Channel.REGISTRY} - missing


def test_what_is_lost_lies_in_a_gap() -> None:
    lost = HostModel(name="lost", gaps_per_min={Channel.RUNTIME: 6.0}, gap_s=(5.0, 10.0))
    events = recorded_on(lost)
    gaps = [(event.data["from_ns"], event.t_ns) for event in events if event.kind is Kind.GAP]
    assert gaps
    assert all(event.data["lost"] for event in events if event.kind is Kind.GAP)
    published = [event.data.get("published_ns", event.t_ns) for event in events if event.channel is Channel.RUNTIME]
    assert not any(begin <= t_ns < end for begin, end in gaps for t_ns in published)


def test_after_a_lost_watch_the_list_brings_the_newest_status() -> None:
    lost = HostModel(name="lost", gaps_per_min={Channel.API: 6.0}, gap_s=(8.0, 12.0))
    events = recorded_on(lost)
    assert len(sim.statuses(events)) < len(sim.statuses(recorded_on(BUSY)))
    assert sim.restart_counts(events)[-1] == 5


def test_a_coarse_clock_says_how_coarse_it_is() -> None:
    runtime = [event for event in recorded_on(COARSE) if event.channel is Channel.RUNTIME]
    assert {event.resolution_ns for event in runtime} == {S // 10}
    assert all(event.t_ns % (S // 10) == 0 for event in runtime)


def test_nothing_happens_while_the_host_is_stalled() -> None:
    stalling = HostModel(name="stalling", stalls_per_min=20.0, stall_s=(0.5, 3.0))
    events = recorded_on(stalling)
    stalls = [(event.t_ns, event.t_ns + event.data["stalled_ns"]) for event in events if event.kind is Kind.STALL]
    assert stalls
    created = [event.t_ns for event in sim.of(events, Channel.RUNTIME, Kind.CREATED, Kind.STARTED)]
    assert not any(begin < t_ns < end for begin, end in stalls for t_ns in created)


def test_a_starved_kubelet_shows_in_the_pressure_figure() -> None:
    def pressure_s(host: HostModel) -> float:
        return float(sum(event.data["some_us"] for event in recorded_on(host) if event.kind is Kind.PRESSURE)) / 1e6

    assert pressure_s(STARVED) > 10 * pressure_s(NO_JOURNAL)


def test_pressure_is_null_where_the_kernel_does_not_count_it() -> None:
    assert {event.data["some_us"] for event in recorded_on(NO_LOG) if event.kind is Kind.PRESSURE} == {None}


def test_only_the_first_and_the_last_poke_are_written() -> None:
    events = sim.simulated(sim.crashing(3), "10s")
    first, last = sim.of(events, Channel.RECORDER, Kind.INTERVENTION)
    assert first.data["index"] is last.data["index"] is None
    assert 0.7 < (last.t_ns - first.t_ns) / S / (last.data["count"] - 1) < 1.3
    assert S < last.data["longest_ns"] < 1.3 * S


def test_a_watch_ends_at_its_deadline() -> None:
    events = sim.simulated(sim.pod_of(Container(), restarts={"app": 1}, watch_s=12))
    assert events[-1].data["reason"] == "deadline"
    assert events[-1].t_ns - events[0].t_ns == 12 * S


def verdict(*faults: Fault) -> Verdict:
    (scenario,) = [each.scenario for each in declared_in(conformance) if each.requirement == "SLO-8"]
    histories = histories_of(scenario.scenarios, frozenset(faults))
    return verdict_of(load_requirements()["SLO-8"], scenario, *map(recorded, histories))


def test_it_agrees_with_the_api() -> None:
    assert verdict().outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("fault", "finding"),
    [
        (MetricsFault.STATE_METRICS_BEHIND, f'{RESTARTS} of "app" is 19 '),
        (MetricsFault.STATE_METRICS_WITHOUT_REASON, f'{WAITING} of "app" is not stated '),
        (MetricsFault.STATE_METRICS_WITHOUT_CODE, f'{LAST_CODE} of "app" is 0 '),
    ],
)
def test_what_it_states_otherwise_is_shown_and_fails_no_run(fault: Fault, finding: str) -> None:
    found = verdict(fault)
    assert finding in found.findings[0]
    assert not found.fails_the_run
