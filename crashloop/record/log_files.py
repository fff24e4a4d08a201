"""The log files of a pod on its node, by their names."""

from pathlib import Path

from crashloop.history.event import Channel, Event, Kind
from crashloop.record.channels.events import now_ns, received_event
from crashloop.record.pod_recording import PodRecording


def log_files(namespace: str, watched: PodRecording, pod_uid: str) -> list[Event]:
    """The numbers of the logs of each container, if the folders of the node can be listed and the pod has one."""
    if watched.node.pod_logs is None:
        return []
    folder = Path(watched.node.pod_logs) / f"{namespace}_{watched.pods[pod_uid]}_{pod_uid}"
    if not folder.is_dir():
        return []
    logs = {each.name: _numbers(each) for each in sorted(folder.iterdir()) if each.is_dir()}
    node = watched.node.name
    return [received_event(Channel.KUBELET, Kind.LOG_FILES, now_ns(), {"logs": logs}, node=node, pod_uid=pod_uid)]


def _numbers(folder: Path) -> list[int]:
    """Rotated parts of a log have names such as `0.log.20260101-000000` and do not count."""
    return sorted(int(each.stem) for each in folder.glob("*.log") if each.stem.isdecimal())
