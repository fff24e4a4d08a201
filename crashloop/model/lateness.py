"""How much later than due a restart may come.

Theory of operation. The delay is a lower bound; the kubelet starts the container at the first sync of the pod after it.
From 1.35 on, a sync of a waiting pod schedules the next one after 1.0 to 1.5 times the remaining time, of which 60 s
count at most; up to 1.34 always after 10 to 15 s. A queue that is polled once a second adds up to 1 s. Any other cause of
a sync (a sibling, a probe, a patch) shortens the wait for the next one, but may also come at the least lucky moment. The
sync and the create take their own time after that. All bounds end at the runtime's create; the time after it is the host's.
Source: pkg/kubelet/pod_workers.go@v1.37.1 completeWork; kubernetes/kubernetes#133066 for the change in 1.35.
"""

from crashloop.spec.scenario import POKE_EVERY_S, Mode
from crashloop.spec.version import KubernetesVersion

RELIST_S = 1.0
"""A kubelet looks for exits so often (pkg/kubelet/kubelet.go@v1.37.1 genericPlegRelistPeriod)."""
DETECTION_S = 2.0
"""Exit to the first sync that knows of it: one relist, and its own time."""

START_SHARE_S = 5.0
"""The host's share, create to start, on a loaded two-core node: 2 to 5 s (kubelet-semantics 1.5, epsilon)."""
USUAL_START_S = 0.5
"""The same on a calm node: p50 0.13 s, p99 0.28 s. Tolerated where no event of the runtime can be had at all."""

OWN_S = 0.15
"""The kubelet's own sync and the runtime's create on a calm host, after whatever made the kubelet look: 30 and 60 ms, and as
much again; what a control container takes there is granted in the same measure (history.host CONTROL_USUAL_NS)."""

SYNCED_MEANWHILE_S = 2 * RELIST_S + OWN_S
"""Exit to create where another sync of the pod ends while the exit is found: the next one waits for a relist that began after it
(pkg/kubelet/pod_workers.go@v1.37.1 podWorkerLoop, GetNewerThan)."""

_FIRST_PROPAGATED = (1, 35)
_RESYNC_S = 60.0  # syncFrequency: the kubelet waits for no more of the remaining time at once
_JITTER = 0.5
_TICK_S = 1.0
POLL_S = 10.0
"""backOffPeriod up to 1.34; a poll comes up to half of it later."""
POKE_S = POKE_EVERY_S[1] + 1.2
"""The longest time between two patches, and one relist, with its own time, until the pod's cached state is newer than the
last sync. A patch that is looked at just before a relist makes an exit wait for the next one: as long for a free restart."""


def polls(version: KubernetesVersion) -> bool:
    """Whether the kubelet looks every 10 to 15 s instead of when the delay is due."""
    return version.release < _FIRST_PROPAGATED


def latest_s(
    due_s: float,
    version: KubernetesVersion,
    *,
    mode: Mode,
    other_sync_sources: bool = False,
    detection_s: float = DETECTION_S,
) -> float:
    """Upper bound of exit -> container create, in seconds, for a restart due `due_s` after the exit.

    `other_sync_sources`: other containers, probes or updates make the kubelet sync the pod as well.
    """
    noticed_s = max(detection_s, SYNCED_MEANWHILE_S) if other_sync_sources else detection_s
    if due_s <= 0:
        return max(noticed_s, POKE_S) if mode is Mode.ANNOTATED else noticed_s
    return max(noticed_s, due_s + lateness_s(due_s, version, mode, other_sync_sources, detection_s))


def lateness_s(
    due_s: float, version: KubernetesVersion, mode: Mode, other_sync_sources: bool, detection_s: float = DETECTION_S
) -> float:
    """The part of `latest_s` beyond a delay greater than 0."""
    if mode is Mode.ANNOTATED:
        return POKE_S
    if polls(version):
        return POLL_S * (1 + _JITTER) + _TICK_S + OWN_S
    if other_sync_sources:
        return min(_JITTER * due_s, _JITTER * _RESYNC_S) + _TICK_S + OWN_S
    return _worst_requeue_s(due_s - detection_s, due_s) + _TICK_S + OWN_S


def half_late_s(due_s: float, version: KubernetesVersion, mode: Mode) -> float | None:
    """A lateness that the kubelet's own looks exceed with a probability of a half at most, one delay independent of the other.

    Half of what its jitter, or the time between two patches, adds at most, and all that the phase of its ticks and relists can
    add. For pods that nothing else makes it look at; None where the wait for a look is not drawn once.
    """
    if mode is Mode.ANNOTATED:
        return POKE_S - POKE_EVERY_S[1] / 2
    if polls(version) or due_s > _RESYNC_S:
        return None
    return _JITTER * due_s / 2 + _TICK_S + OWN_S


def soonest_s(due_s: float, version: KubernetesVersion, *, mode: Mode, other_sync_sources: bool = False) -> float:
    """Earliest that this release's requeueing lets a restart come: the delay itself, or the poll where that is longer.

    What to expect, for planning; only the delay is promised.
    """
    if due_s > 0 and polls(version) and mode is Mode.NATURAL and not other_sync_sources:
        return max(due_s, POLL_S)
    return due_s


def _worst_requeue_s(shortest_s: float, longest_s: float) -> float:
    """Worst lateness over all remaining times from `shortest_s` to `longest_s`, by requeueing alone.

    Up to 60 s remaining, the sync comes up to half of it late. Beyond that it comes after 60 to 90 s: late by what that
    exceeds the remaining time, or it finds the rest, and the same question is asked of the rest. (A tick may delay it.)
    Each look widens the range; once it is wider than the longest requeue, some time in it is the worst one.
    """
    latest_requeue_s, worst_s = _RESYNC_S * (1 + _JITTER), 0.0
    while longest_s > _RESYNC_S:
        if shortest_s <= _RESYNC_S or longest_s - shortest_s > _RESYNC_S + latest_requeue_s + _TICK_S:
            return max(worst_s, _JITTER * _RESYNC_S)
        worst_s = max(worst_s, latest_requeue_s - shortest_s)
        shortest_s, longest_s = shortest_s - latest_requeue_s - _TICK_S, longest_s - _RESYNC_S
    return max(worst_s, _JITTER * longest_s, 0.0)
