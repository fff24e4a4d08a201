"""The kubelet's log is followed as it grows, is replaced or cut short; restarts and backoffs are reported."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from crashloop.history.event import Channel, Event, Kind
from crashloop.record.channels.channel import Sink
from crashloop.record.channels.kubelet_log import KubeletLogChannel, KubeletProcess, LogTail
from crashloop.waiting import wait_until

DELAY = "back-off 20s restarting failed container=app pod=crashing_ns(uid)"
BACKOFF = f'"Error syncing pod, skipping" err="{DELAY}"'


def line(text: str, *, pid: int = 7) -> str:
    return f"{datetime.now(UTC).astimezone():I%m%d %H:%M:%S.%f}   {pid} x.go:1] {text}\n"


class Heard(Sink):
    def __init__(self) -> None:
        self.events: list[tuple[str, Event]] = []
        self.restarts: list[tuple[str, int]] = []

    def pod(self, pod: str, event: Event) -> None:
        self.events.append((pod, event))

    def node(self, node: str, event: Event) -> None:
        raise AssertionError(f"nothing to tell {node}, but told {event}")

    def everyone(self, event: Event) -> None:
        raise AssertionError(f"nothing to tell everyone, but told {event}")

    def restarted(self, node: str, process: KubeletProcess) -> None:
        self.restarts.append((node, process.pid))


@contextmanager
def following(path: Path) -> Iterator[tuple[KubeletLogChannel, Heard]]:
    heard = Heard()
    channel = KubeletLogChannel("ns", heard, heard.restarted)
    channel.add("node", path)
    channel.start()
    try:
        yield channel, heard
    finally:
        channel.stop()


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_only_whole_lines_are_read_each_once(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.log"
    path.write_text("one\ntw")
    tail = LogTail(path)
    assert tail.lines() == ["one"]
    assert tail.lines() == []
    append(path, "o\nthree\n")
    assert tail.lines() == ["two", "three"]


def test_a_log_that_was_cut_short_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.log"
    path.write_text("a long first line\nrest")
    tail = LogTail(path)
    tail.lines()
    path.write_text("new\n")
    assert tail.lines() == ["new"]


def test_a_log_that_was_replaced_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.log"
    path.write_text("old\n")
    tail = LogTail(path)
    tail.lines()
    (tmp_path / "next").write_text("new and longer\n")
    (tmp_path / "next").replace(path)
    assert tail.lines() == ["new and longer"]


def test_of_a_long_log_only_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.log"
    path.write_text("x" * 100 + "\nlast\n")
    tail = LogTail(path, look_back=10)
    assert tail.lines()[-1] == "last"
    assert not tail.from_start


def test_a_backoff_of_one_of_our_pods_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.log"
    path.write_text(line("Started kubelet"))
    with following(path) as (_, heard):
        of_another, quoting = (
            BACKOFF.replace("_ns(", "_kube-system("),
            f'"Failed to update status for pod" err="{DELAY}"',
        )
        append(path, line(of_another) + line(BACKOFF) + line("unrelated") + line(quoting))
        wait_until("the backoff", lambda: bool(heard.events), timeout_s=60, every_s=0.01)
    ((pod, event),) = heard.events
    assert (pod, event.channel, event.kind, event.container, event.pod_uid, event.resolution_ns) == (
        "crashing",
        Channel.KUBELET,
        Kind.LOG,
        "app",
        "uid",
        1000,
    )
    assert event.data["delay_s"] == 20.0
    assert event.data["line"].endswith(BACKOFF)
    assert abs(event.received_ns - event.t_ns) < 60_000_000_000, "whatever the zone of this host"


def test_the_bytes_of_all_lines_about_a_pod_are_reported_with_the_next_backoff(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.log"
    about = line('"SyncLoop (PLEG): event for pod" pod="ns/crashing" event={"ID":"uid","Type":"ContainerDied"}')
    backoff = line(f'{BACKOFF} pod="ns/crashing" podUID="uid"')
    path.write_text(line("Started kubelet"))
    with following(path) as (_, heard):
        append(path, about + line('of another podUID="other"') + backoff + backoff)
        wait_until("the backoffs", lambda: len(heard.events) == 2, timeout_s=60, every_s=0.01)
    assert [event.data["pod_bytes"] for _, event in heard.events] == [len(about) + len(backoff), len(backoff)]


def test_another_process_is_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.log"
    path.write_text(line("first line"))
    with following(path) as (channel, heard):
        first = channel.process("node")
        append(path, line("still the same") + line("first line of another", pid=9))
        wait_until("the restart", lambda: bool(heard.restarts), timeout_s=60, every_s=0.01)
        second = channel.process("node")
    assert heard.restarts == [("node", 9)]
    assert first is not None
    assert second is not None
    assert (first.pid, second.pid) == (7, 9)
    assert first.started_ns is not None
    assert second.started_ns is not None
    assert first.started_ns < second.started_ns


def test_a_log_that_cannot_be_read_is_known_to_be(tmp_path: Path) -> None:
    with following(tmp_path / "missing.log") as (channel, _):
        broken = channel.broken_since("node")
        assert broken is not None
        assert "No such file" in broken[1]
        append(tmp_path / "missing.log", line("there it is"))
        wait_until("the log to be read", lambda: channel.broken_since("node") is None, timeout_s=60, every_s=0.01)
