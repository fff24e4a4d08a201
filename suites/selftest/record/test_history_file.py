"""A history file has whole lines, positions without holes and one end, however many write to it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from crashloop.history.event import Damage, Event, Kind, Numbered
from crashloop.record.channels.channel import recorder_event
from crashloop.record.history_file import HistoryFile, begin_event, end_events
from crashloop.spec.pod import Container, Pod
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.history_lines import read_events

SCENARIO = PodScenario(name="s", profile="p", pod=Pod(containers=(Container(),)), until=Until())


def read(path: Path) -> list[Numbered[Event] | Damage]:
    with path.open("rb") as lines:
        return list(read_events(lines))


def begun(path: Path) -> HistoryFile:
    file = HistoryFile(path)
    profile = KubeletProfile(name="p")
    file.append(begin_event(SCENARIO, node="n", kubernetes_version="1.37.1", profile=profile, feature_gates={}))
    return file


def test_many_threads_leave_a_history_without_damage(tmp_path: Path) -> None:
    file = begun(tmp_path / "s.jsonl")
    with ThreadPoolExecutor(8) as pool:
        for n in range(400):
            pool.submit(file.append, recorder_event(Kind.PRESSURE, n, {"some_us": n, "interval_ns": 1}))
    file.seal(end_events("complete", "done"))
    events = read(file.path)
    assert not [each for each in events if isinstance(each, Damage)]
    assert len(events) == 403
    assert sorted(each.event.t_ns for each in events[1:401] if isinstance(each, Numbered)) == list(range(400))


def test_nothing_follows_the_end(tmp_path: Path) -> None:
    file = begun(tmp_path / "s.jsonl")
    file.seal(end_events("complete", "done"))
    assert file.is_sealed
    assert file.append(recorder_event(Kind.STALL, 1, {"stalled_ns": 1})) is False
    file.seal(end_events("interrupted", "again"))
    events = read(file.path)
    assert isinstance(events[-1], Numbered)
    assert events[-1].event.kind is Kind.END
    assert events[-1].event.data == {"reason": "complete", "detail": "done"}


def test_each_line_is_there_as_soon_as_it_is_written(tmp_path: Path) -> None:
    file = begun(tmp_path / "s.jsonl")
    assert len(read(file.path)) == 2, "the begin event, and the remark that the recording was not sealed"
    file.seal(())


def test_evidence_is_never_overwritten(tmp_path: Path) -> None:
    begun(tmp_path / "s.jsonl").seal(())
    with pytest.raises(FileExistsError):
        HistoryFile(tmp_path / "s.jsonl")
