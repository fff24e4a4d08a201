"""By when the API shows CrashLoopBackOff. Upstream may reword the reason, so it is only reported.

Theory of operation. A sync writes the pod's status before it decides about starts, so a delay that one sync decides is
visible from the next sync on. From 1.35 on an undisturbed pod is next synced when the delay is over, 60 to 90 s later at
most: a delay of up to 60 s shows for about a second before the restart. Up to 1.34 it shows after 10 to 15 s.
Any other sync shows it sooner. The free restart never shows it.
Source: pkg/kubelet/kubelet.go@v1.37.1 SyncPod; pkg/kubelet/pod_workers.go@v1.37.1 completeWork.
"""

from crashloop.model.lateness import DETECTION_S, POKE_S, latest_s, polls
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion

WAITING_REASON = "CrashLoopBackOff"
_LATEST_RESYNC_S = 91.0
_LATEST_POLL_S = 16.0


def shows_by_s(
    due_s: float, version: KubernetesVersion, *, mode: Mode, other_sync_sources: bool = False
) -> float | None:
    """By when CrashLoopBackOff shows during a wait of `due_s`, in seconds from the exit; None for a free restart."""
    if due_s <= 0:
        return None
    over_s = latest_s(due_s, version, mode=mode, other_sync_sources=other_sync_sources)
    if mode is Mode.ANNOTATED:
        return min(over_s, DETECTION_S + POKE_S)
    if other_sync_sources:
        return over_s
    return min(over_s, DETECTION_S + (_LATEST_POLL_S if polls(version) else _LATEST_RESYNC_S))
