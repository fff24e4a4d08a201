"""The log files of a pod are listed by the names that the kubelet gives them."""

from pathlib import Path

import msgspec

from crashloop.history.event import Kind
from crashloop.record.channels.readout import log_files
from crashloop.record.event_router import PodRecording
from crashloop.spec.pod import Container, Pod
from crashloop.spec.scenario import PodScenario, Until
from suites.selftest.kit.recording_site import NODE, info

SCENARIO = PodScenario(name="s", profile="stock", pod=Pod(containers=(Container(),)), until=Until())


def recording(pod_logs: Path | None) -> PodRecording:
    node = msgspec.structs.replace(NODE, pod_logs=None if pod_logs is None else str(pod_logs))
    made = PodRecording(SCENARIO, node, info(node))
    made.joined("uid-1", "s")
    return made


def test_each_container_has_its_logs_by_number(tmp_path: Path) -> None:
    for name in ("app/0.log", "app/10.log", "app/2.log", "app/2.log.20260101-000000.gz", "sidecar/0.log"):
        log = tmp_path / "ns_s_uid-1" / name
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
    (event,) = log_files("ns", recording(tmp_path), "uid-1")
    assert (event.kind, event.pod_uid) == (Kind.LOG_FILES, "uid-1")
    assert event.data == {"logs": {"app": [0, 2, 10], "sidecar": [0]}}


def test_nothing_is_said_where_the_folders_are_out_of_reach_or_the_pod_has_none(tmp_path: Path) -> None:
    assert log_files("ns", recording(None), "uid-1") == []
    assert log_files("ns", recording(tmp_path), "uid-1") == []
