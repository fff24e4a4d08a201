"""A node elsewhere reports its clock and its stalls by a heartbeat, from which boot time becomes our time.

A node that cannot have the image says so at once, whichever way that goes wrong.
"""

import subprocess
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from crashloop.errors import UsageError
from crashloop.history.event import Channel, Event, Kind, to_line
from crashloop.history.recording import Recording
from crashloop.history.reduction import read_recording
from crashloop.kube.client import KubeApi
from crashloop.pods.program import beat_command
from crashloop.record.channels.heartbeat import WARM, Beat, NodeClock, NodeHeartbeat, read_beat
from crashloop.record.event_router import EventRouter
from suites.selftest.kit.existing_peer import NAMESPACE, PODS, ExistingPeer, node, serving
from suites.selftest.kit.kube_peer import Json, status

S = 1_000_000_000
BOOTED_NS = 1_799_000_000 * S
"""Our time at which the node booted."""


def test_a_beat_is_read() -> None:
    assert read_beat(b"crashloop/1 beat 5528.95 7 2360959000\n") == Beat(
        boot_ns=5_528_950_000_000, late_ns=70_000_000, stalled_us=2_360_959_000
    )


def test_a_beat_tells_of_the_disk_and_of_the_boot_that_it_counts_from() -> None:
    boot_id = "3f2a0c1e-5b7d-4c1a-9a53-0d7c1f2e4b6a"
    told = read_beat(f"crashloop/1 beat 5528.95 7 2360 - 17 {boot_id}\n".encode())
    assert told == Beat(
        boot_ns=5_528_950_000_000, late_ns=70_000_000, stalled_us=2360, io_us=None, memory_us=17, boot_id=boot_id
    )


def test_a_node_without_pressure_figures_beats_all_the_same() -> None:
    assert read_beat(b"crashloop/1 beat 0.35 0 -") == Beat(boot_ns=350_000_000, late_ns=0, stalled_us=None)


@pytest.mark.parametrize(
    "line", [b"", b"crashloop/1 beat 1 0 -", b"crashloop/1 start 0 1.00", b"crashloop/2 beat 1.00 0 -"]
)
def test_anything_else_is_no_beat(line: bytes) -> None:
    assert read_beat(line) is None


def beats(clock: NodeClock, *, count: int, latency_s: float = 0.1, from_s: float = 100.0) -> list[Event]:
    """Beats once a second, each in hand after that latency."""
    found = []
    for number in range(count):
        boot_ns = round((from_s + number) * S)
        received_ns = BOOTED_NS + boot_ns + round(latency_s * S)
        found += clock.take(Beat(boot_ns=boot_ns, late_ns=0, stalled_us=number * 1000), received_ns)
    return found


def test_nothing_is_reported_before_the_clock_is_known() -> None:
    clock = NodeClock("node")
    assert beats(clock, count=WARM - 1) == []
    assert clock.reading() == []
    assert not clock.is_warm


def test_the_shortest_way_decides_about_the_clock() -> None:
    clock = NodeClock("node")
    beats(clock, count=WARM, latency_s=0.3)
    beats(clock, count=1, latency_s=0.004, from_s=200.0)
    beats(clock, count=1, latency_s=2.0, from_s=201.0)
    (reading,) = clock.reading()
    assert reading.kind is Kind.CLOCK
    assert reading.node == "node"
    assert reading.t_ns - reading.data["boot_ns"] == BOOTED_NS + 4_000_000


def test_a_late_beat_is_a_stall_and_pressure_is_what_was_counted_since() -> None:
    clock = NodeClock("node")
    beats(clock, count=WARM)
    late = Beat(boot_ns=112 * S, late_ns=2 * S, stalled_us=500_000)
    events = clock.take(late, BOOTED_NS + 112 * S + S // 10)
    assert [event.kind for event in events] == [Kind.STALL, Kind.PRESSURE]
    assert events[0].t_ns == BOOTED_NS + 110 * S + S // 10
    assert events[0].data == {"stalled_ns": 2 * S}
    assert events[1].data == {
        "some_us": 500_000 - (WARM - 1) * 1000,
        "io_us": None,
        "memory_us": None,
        "interval_ns": 112 * S - (100 + WARM - 1) * S,
    }


def test_a_beat_that_was_told_before_is_not_told_again() -> None:
    clock = NodeClock("node")
    beats(clock, count=WARM + 2)
    assert beats(clock, count=WARM + 2) == []


def test_the_clock_is_reported_again_every_ten_seconds() -> None:
    told = [event for event in beats(NodeClock("node"), count=WARM + 25) if event.kind is Kind.CLOCK]
    assert len(told) == 3


def test_the_script_beats_ten_times_at_once_and_ends_on_sigterm() -> None:
    process = subprocess.Popen(beat_command(), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [read_beat(process.stdout.readline().encode()) for _ in range(WARM + 1)]
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 0
    seen = [beat for beat in told if beat is not None]
    assert len(seen) == WARM + 1
    gaps_ns = [later.boot_ns - earlier.boot_ns for earlier, later in pairwise(seen)]
    assert 0 <= min(gaps_ns) < S, "no second passes between two of the first"
    assert seen[-1].late_ns > 50_000_000 or gaps_ns[-1] >= 0.95 * S, "ten beats later, unless one came late"


def recorded(*events: Event) -> Recording:
    return read_recording(to_line(msgspec.structs.replace(each, seq=seq)) for seq, each in enumerate(events))


def recorder_line(kind: Kind, t_ns: int, node: str | None = None, **data: int) -> Event:
    return Event(seq=0, t_ns=t_ns, received_ns=t_ns, channel=Channel.RECORDER, kind=kind, node=node, data=data)


def test_clock_and_stalls_of_the_node_count_where_they_are_reported_and_those_of_our_host_do_not() -> None:
    ours = (
        recorder_line(Kind.CLOCK, BOOTED_NS + 50 * S, boot_ns=9_000 * S),
        recorder_line(Kind.PRESSURE, BOOTED_NS + 100 * S, some_us=900_000, interval_ns=S),
        recorder_line(Kind.STALL, BOOTED_NS + 100 * S, stalled_ns=5 * S),
    )
    theirs = (
        recorder_line(Kind.CLOCK, BOOTED_NS + 60 * S, node="node", boot_ns=60 * S),
        recorder_line(Kind.PRESSURE, BOOTED_NS + 101 * S, node="node", some_us=1_000, interval_ns=S),
    )
    window = (BOOTED_NS + 100 * S, BOOTED_NS + 101 * S)
    alone, both = recorded(*ours), recorded(*ours, *theirs)
    assert alone.clocks.utc_ns(9_010 * S) == BOOTED_NS + 60 * S
    assert both.clocks.utc_ns(70 * S) == BOOTED_NS + 70 * S
    assert alone.host.held_s(*window) >= 0.9
    assert both.host.held_s(*window) == pytest.approx(0.001)


def waited(peer: ExistingPeer, folder: Path) -> None:
    """Wait for a heartbeat in the peer's cluster, whose log cannot be read before it begins."""
    with serving(peer, folder) as kubeconfig, closing(KubeApi(kubeconfig)) as api:
        heartbeat = NodeHeartbeat(api, NAMESPACE, "worker", image="nowhere/none:1", run="run", sink=EventRouter())
        heartbeat.start()
        try:
            heartbeat.wait_until_it_beats()
        finally:
            heartbeat.stop()


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"])
def test_a_node_that_cannot_have_the_image_is_reported_with_the_option_that_names_another(
    tmp_path: Path, reason: str
) -> None:
    peer = ExistingPeer(node("worker"))
    peer.container = {"waiting": {"reason": reason, "message": "it is\nnowhere"}}
    peer.before = lambda request: status(400, "BadRequest") if request == "GET open" else None
    with pytest.raises(UsageError) as caught:
        waited(peer, tmp_path)
    assert str(caught.value) == (
        f"node worker: it cannot have the image nowhere/none:1 ({reason}).\n"
        "it is nowhere\n"
        "Name an image with --image that the node has or can pull."
    )
    assert peer.names(PODS) == []


def test_a_node_that_is_still_pulling_is_waited_for(tmp_path: Path) -> None:
    peer = ExistingPeer(node("worker"))
    peer.container = {"waiting": {"reason": "ContainerCreating"}}
    looks = 0

    def before(request: str) -> Json | None:
        nonlocal looks
        looks += request == f"GET {PODS}/heartbeat-worker"
        return status(400, "BadRequest") if request == "GET open" and not looks else None

    peer.before = before
    waited(peer, tmp_path)
    assert looks >= 1
