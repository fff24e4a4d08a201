"""What else a history holds: clocks, the host, gaps, the node, interventions and statuses, each with its line."""

import pytest

from crashloop.history.clock import Clocks
from crashloop.history.event import Channel, Damage, Kind
from crashloop.history.host import HostRecord
from suites.selftest.kit.cases import CRASHING, GOOD, good
from suites.selftest.kit.histories import History, ns

S = 1_000_000_000


def damage(history: History) -> list[Damage]:
    return list(history.recording().damage)


def test_a_good_history_is_whole() -> None:
    recording = good().recording()
    assert recording.damage == ()
    assert recording.begin is not None
    assert recording.begin.scenario == CRASHING
    assert recording.end is not None
    assert (recording.end.reason, recording.end_line) == ("complete", len(good().lines()))
    assert recording.events == len(good().events())


def test_boot_time_becomes_utc_by_the_nearest_reading() -> None:
    clocks = Clocks([(1, 1000 * S, 10 * S), (2, 1100 * S + 4, 110 * S)])
    assert clocks.utc_ns(11 * S) == 1001 * S
    assert clocks.utc_ns(109 * S) == 1099 * S + 4
    assert clocks.utc_ns(0) == 990 * S
    assert Clocks([]).utc_ns(5) is None


@pytest.mark.parametrize(
    ("moved_ns", "steps"),
    [
        pytest.param(9_000_000, 0, id="reading-jitter"),
        pytest.param(100_000_000, 0, id="slewed"),
        pytest.param(200_000_000, 1, id="stepped"),
        pytest.param(-200_000_000, 1, id="stepped-back"),
    ],
)
def test_a_wall_clock_that_jumps_is_noticed(moved_ns: int, steps: int) -> None:
    clocks = Clocks([(1, 1000 * S, 10 * S), (2, 1100 * S + moved_ns, 110 * S)])
    assert len(clocks.steps) == steps
    assert clocks.step_within_ns(1050 * S, 1060 * S) == (abs(moved_ns) if steps else 0)
    assert clocks.step_within_ns(2000 * S, 2060 * S) == 0


def test_a_step_back_by_more_than_the_readings_are_apart_covers_the_time_in_between() -> None:
    clocks = Clocks([(1, 20 * S, 10 * S), (2, 23 * S // 2, 23 * S // 2)])
    assert clocks.step_within_ns(41 * S // 2, 43 * S // 2) == 10 * S
    assert clocks.step_within_ns(12 * S, 13 * S) == 10 * S


def test_slewing_adds_up_over_the_readings_around_a_time_and_steps_do_not_count() -> None:
    clocks = Clocks(
        [
            (1, 1_000 * S, 0),
            (2, 1_010 * S + S // 100, 10 * S),
            (3, 1_020 * S + S // 50, 20 * S),
            (4, 1_090 * S, 30 * S),
            (5, 1_100 * S + S // 100, 40 * S),
        ]
    )
    assert clocks.drift_ns(2 * S, 9 * S) == S // 100
    assert clocks.drift_ns(2 * S, 19 * S) == S // 50
    assert clocks.drift_ns(2 * S, 35 * S) == 3 * S // 100
    assert clocks.drift_ns(50 * S, 60 * S) == 0
    assert Clocks([]).drift_ns(0, S) == 0


def test_a_heartbeat_covers_what_lies_between_its_beats() -> None:
    host = HostRecord()
    for beat in (0, 1, 2, 3, 9, 10):
        host.add_pressure(beat * S, None)
    assert host.covers(S // 2, 2 * S + 1)
    assert not host.covers(2 * S, 5 * S)
    assert not host.covers(9 * S, 20 * S)
    assert not host.covers(-9 * S, 1 * S)
    host.add_stall(4 * S, 4 * S)
    assert host.covers(2 * S, 9 * S)
    assert not HostRecord().covers(0, S)


def test_gaps_interventions_and_node_are_kept_with_their_lines() -> None:
    history = History(CRASHING).gap(Channel.API, 3, 5).intervention(6, "restart-kubelet").node(7, started_s=6).ends(9)
    recording = history.recording()
    (gap,) = recording.gaps
    assert (gap.channel, gap.from_ns, gap.to_ns, gap.line) == ("api", ns(3), ns(5), history.line_of(Kind.GAP))
    (done,) = recording.interventions
    assert (done.data.action, done.ok, done.data.index) == ("restart-kubelet", True, 0)
    assert [each.data.kubelet_started_ns for each in recording.nodes] == [ns(-100), ns(6)]


def test_pokes_are_summed_up_and_are_no_interventions() -> None:
    recording = History(CRASHING).pokes(1, 20, longest_s=1.5).ends(30).recording()
    assert recording.interventions == ()
    assert recording.pokes is not None
    assert (recording.pokes.first_ns, recording.pokes.last_ns) == (ns(1), ns(20))
    assert recording.pokes.longest_ns == 1_500_000_000


def test_a_status_is_reduced_to_what_is_judged() -> None:
    (pod,) = good().recording().pods
    second = pod.statuses[2].containers["app"]
    assert second.restart_count == 1
    assert second.container_id == "app-1"
    assert second.state.kind == "running"
    assert second.last_state is not None
    assert (second.last_state.kind, second.last_state.exit_code, second.last_state.container_id) == (
        "terminated",
        1,
        "app-0",
    )
    assert second.last_state.finished_ns == ns(1)


def test_a_delay_in_the_kubelets_log_is_kept_to_be_shown() -> None:
    history = History(CRASHING).lives("app", *GOOD)
    history.add(3.5, Channel.KUBELET, Kind.LOG, {"line": "back-off 2s", "delay_s": 2.0}, pod=True, container="app")
    (logged,) = history.ends(30).recording().pods[0].logged
    assert (logged.container, logged.delay_s) == ("app", 2.0)


@pytest.mark.parametrize(
    ("history", "problem"),
    [
        pytest.param(
            History(CRASHING).add(1, Channel.RUNTIME, Kind.STARTED, {}, pod=True, container="app"),
            "started event without a container's id",
            id="no-container-id",
        ),
        pytest.param(
            History(CRASHING).add(1, Channel.RUNTIME, Kind.STARTED, {"container_id": "a"}, pod=True),
            "started event without a container's name",
            id="no-container-name",
        ),
        pytest.param(
            History(CRASHING).add(1, Channel.RUNTIME, Kind.STARTED, {"container_id": "a"}, container="app"),
            "started event without a pod_uid",
            id="no-pod",
        ),
        pytest.param(
            History(CRASHING).runtime(1, Kind.STARTED, "app", "a").runtime(2, Kind.STARTED, "app", "a"),
            "started a second time for container a",
            id="started-twice",
        ),
        pytest.param(
            History(CRASHING).add(1, Channel.JOURNAL, Kind.STARTED, {}, pod=True, container="app"),
            "journal event without container name and life number",
            id="no-life-number",
        ),
        pytest.param(
            History(CRASHING).add(1, Channel.API, Kind.STARTED, {}, pod=True, container="app"),
            "started event of channel api",
            id="wrong-channel",
        ),
        pytest.param(
            History(CRASHING).add(1, Channel.API, Kind.STATUS, {"status": {"phase": 7}}, pod=True),
            "not an event (Expected `str`, got `int` - at `$.data.status.phase`)",
            id="wrong-type",
        ),
        pytest.param(
            History(CRASHING).status(1, {"app": {"name": "app", "state": {"running": {"startedAt": "yesterday"}}}}),
            "status event with a time that is none (Invalid isoformat string: 'yesterday')",
            id="no-time",
        ),
    ],
)
def test_data_that_cannot_be_used_are_damage(history: History, problem: str) -> None:
    problems = [each.problem for each in damage(history.ends(9)) if not each.cut_off]
    assert problems == [problem]
