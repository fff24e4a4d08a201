"""The log files of a pod on its node, by their names."""

from pathlib import Path

from crashloop.history.event import Channel, Event, Kind
from crashloop.record.channels.events import now_ns
from crashloop.record.pod_recording import PodRecording


def log_files(namespace: str, watched: PodRecording, pod_uid: str) -> list[Event]:
    """The numbers of the logs of each container, if the folders of the node can be listed and the pod has one."""
    if watched.node.pod_logs is None:
        return []
    folder = Path(watched.node.pod_logs) / f"{namespace}_{watched.pods[pod_uid]}_{pod_uid}"
    if not folder.is_dir():
        return []
    read_ns = now_ns()
    event = Event(
        seq=0,
        t_ns=read_ns,
        received_ns=read_ns,
        channel=Channel.KUBELET,
        kind=Kind.LOG_FILES,
        node=watched.node.name,
        pod_uid=pod_uid,
        data={"logs": {each.name: _numbers(each) for each in sorted(folder.iterdir()) if each.is_dir()}},
    )
    return [event]


def _numbers(folder: Path) -> list[int]:
    """Rotated parts of a log, such as `0.log.20260101-000000`, belong to the one that is there."""
    return sorted(int(each.stem) for each in folder.glob("*.log") if each.stem.isdecimal())
