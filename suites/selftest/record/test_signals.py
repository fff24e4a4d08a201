"""A life that a signal from the node is to end gets it in time, once, and no other life does."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crashloop.history.event import Channel, Event, Kind
from crashloop.record.channels.containerd.wire import Containerd, StreamLost
from crashloop.record.pod_progress import DueSignal, Signals
from crashloop.spec.pod import Container, Pod
from crashloop.spec.program import Program, exits_with, killed
from suites.selftest.kit.containerd_peer import Peer

POD = Pod(containers=(Container(program=Program((*exits_with(1).lives, *killed(after_s=2).lives))),))
SECOND_NS = 1_000_000_000


def seen(kind: Kind, t_s: float, container_id: str, *, pod: str = "uid") -> Event:
    t_ns = round(t_s * SECOND_NS)
    return Event(
        seq=0,
        t_ns=t_ns,
        received_ns=t_ns,
        channel=Channel.RUNTIME,
        kind=kind,
        pod_uid=pod,
        container="app",
        data={"container_id": container_id},
    )


def second_life(signals: Signals) -> None:
    signals.take(seen(Kind.STARTED, 0, "first"))
    signals.take(seen(Kind.EXITED, 1, "first"))
    signals.take(seen(Kind.STARTED, 5, "second"))


def test_a_signal_is_due_when_its_life_has_run_for_as_long_as_it_should() -> None:
    signals = Signals(POD)
    second_life(signals)
    assert signals.due(6 * SECOND_NS) == []
    due = DueSignal(container="app", container_id="second", signal=9, at_ns=7 * SECOND_NS)
    assert signals.due(7 * SECOND_NS) == [due]
    assert signals.due(8 * SECOND_NS) == []


def test_a_life_that_is_over_gets_no_signal() -> None:
    signals = Signals(POD)
    second_life(signals)
    signals.take(seen(Kind.EXITED, 6, "second"))
    assert signals.due(9 * SECOND_NS) == []


def test_lives_are_counted_anew_in_a_new_pod() -> None:
    signals = Signals(POD)
    second_life(signals)
    signals.take(seen(Kind.EXITED, 6, "second"))
    signals.take(seen(Kind.STARTED, 7, "third", pod="other"))
    assert signals.due(20 * SECOND_NS) == []
    signals.take(seen(Kind.STARTED, 8, "fourth", pod="other"))
    assert [each.container_id for each in signals.due(20 * SECOND_NS)] == ["fourth"]


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Peer]:
    made = Peer(tmp_path / "socket")
    made.start()
    yield made
    made.stop()


def test_the_runtime_is_asked_in_the_namespace_of_cri(peer: Peer) -> None:
    with closing(Containerd(peer.socket)) as runtime:
        runtime.kill("some-id", 9)
    assert peer.calls == ["k8s.io Kill some-id 9"]


def test_a_runtime_that_does_not_answer_is_reported(tmp_path: Path) -> None:
    with closing(Containerd(str(tmp_path / "none"))) as runtime, pytest.raises(StreamLost, match="none"):
        runtime.kill("some-id", 9)
