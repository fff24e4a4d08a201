"""The heartbeat notices late beats and only those; clock readings show steps; pressure is read as the kernel writes it."""

from pathlib import Path

import pytest

from crashloop.errors import ClusterError
from crashloop.record.channels.host import BEAT_NS, LATE_NS, Clocks, Heartbeat, HostChannel, read_clocks, some_us
from suites.selftest.kit.node_sink import NodeSink

MS = 1_000_000


def test_beats_that_come_in_time_are_no_stalls() -> None:
    heart = Heartbeat(0)
    assert [heart.beat(at * BEAT_NS + LATE_NS) for at in range(1, 5)] == [None] * 4
    assert heart.due_ns == 5 * BEAT_NS


def test_a_late_beat_is_a_stall_of_the_time_since_it_was_due() -> None:
    heart = Heartbeat(0)
    assert heart.beat(BEAT_NS + LATE_NS + 1) == LATE_NS + 1
    assert heart.beat(2 * BEAT_NS) is None


def test_after_a_long_stall_the_next_beat_is_due_on_the_next_tick() -> None:
    heart = Heartbeat(0)
    assert heart.beat(730 * MS) == 630 * MS
    assert heart.due_ns == 800 * MS
    assert heart.beat(801 * MS) is None


@pytest.mark.parametrize("early_ns", [0, 5 * MS], ids=["on-the-tick", "before-the-tick"])
def test_a_beat_that_does_not_come_late_moves_the_next_by_one_tick(early_ns: int) -> None:
    heart = Heartbeat(0)
    assert heart.beat(BEAT_NS - early_ns) is None
    assert heart.due_ns == 2 * BEAT_NS


def clocks(utc_ns: int, boot_ns: int) -> Clocks:
    return Clocks(utc_ns=utc_ns, boot_ns=boot_ns, monotonic_ns=boot_ns)


def test_utc_that_moves_with_boot_time_was_not_stepped() -> None:
    assert clocks(10_050 * MS, 2_000 * MS).step_since(clocks(9_000 * MS, 1_000 * MS)) is None


@pytest.mark.parametrize("step_ns", [3_600_000 * MS, -51 * MS], ids=["forwards", "backwards"])
def test_utc_that_jumps_against_boot_time_was_stepped(step_ns: int) -> None:
    assert clocks(10_000 * MS + step_ns, 2_000 * MS).step_since(clocks(9_000 * MS, 1_000 * MS)) == step_ns


def test_the_clocks_are_read_together() -> None:
    first, second = read_clocks(), read_clocks()
    assert second.monotonic_ns > first.monotonic_ns
    assert second.step_since(first) is None


def test_pressure_is_the_total_of_the_line_some() -> None:
    assert (
        some_us(
            "some avg10=1.08 avg60=3.21 avg300=19.06 total=356478719\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"
        )
        == 356478719
    )


def test_a_recording_ends_once_its_cluster_has_no_room_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NodeSink, "everyone", lambda *_: None)  # a stall of this host
    monkeypatch.setattr("crashloop.record.channels.host.room_problem", lambda state: f"state folder {state}: full")
    channel = HostChannel(NodeSink())
    channel.writes_to(tmp_path)
    with pytest.raises(ClusterError, match=f"state folder {tmp_path}: full"):
        channel.follow()
