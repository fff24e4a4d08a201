"""When the API may show CrashLoopBackOff. Observation only: the reason of a waiting container is shown, never judged.

Theory of operation. A sync writes the pod's status before it decides about starts, so a delay that one sync decides is
visible from the next sync on. From 1.35 on an undisturbed pod is next synced when the delay is over, 60 to 90 s later at
most: a delay of up to 60 s shows for about a second before the restart. Up to 1.34 it shows after 10 to 15 s.
Any other sync shows it sooner. The free restart never shows it.
Source: pkg/kubelet/kubelet.go@v1.37.1 SyncPod; pkg/kubelet/pod_workers.go@v1.37.1 completeWork.
"""

import msgspec

from crashloop.model.lateness import DETECTION_S, POKE_S, latest_s, polls
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion

WAITING_REASON = "CrashLoopBackOff"
_RESYNC_S, _LATEST_RESYNC_S = 60.0, 91.0
_POLL_S, _LATEST_POLL_S = 10.0, 16.0


class FirstSeen(msgspec.Struct, frozen=True):
    """When the waiting reason shows first, in seconds from the exit."""

    earliest_s: float
    latest_s: float


def first_seen(
    due_s: float, version: KubernetesVersion, *, mode: Mode, other_sync_sources: bool = False
) -> FirstSeen | None:
    """When CrashLoopBackOff may show first during a wait of `due_s`; None for a free restart, which never shows it."""
    if due_s <= 0:
        return None
    over_s = latest_s(due_s, version, mode=mode, other_sync_sources=other_sync_sources)
    if mode is Mode.ANNOTATED:
        return FirstSeen(0.0, min(over_s, DETECTION_S + POKE_S))
    if other_sync_sources:
        return FirstSeen(0.0, over_s)
    soonest_s, last_s = (_POLL_S, _LATEST_POLL_S) if polls(version) else (_RESYNC_S, _LATEST_RESYNC_S)
    soonest_s = soonest_s if polls(version) else min(due_s, soonest_s)
    return FirstSeen(soonest_s, min(over_s, DETECTION_S + last_s))
