"""What API server and watch took for the recorder's own patches, and for how long they may have held up a write of the kubelet.

Theory of operation. Where the patches are quick, a slow one excuses its own time. Where a quarter of those around are slow, or
none comes back, nothing bounds the time of the next one: all of that time counts. By then the statuses of other pods wait as
well, and the kubelet writes one after the other, each with a GET and a PATCH: pkg/kubelet/status/status_manager.go@v1.37.1
syncBatch, syncPod.
"""

from array import array
from bisect import bisect_left, bisect_right
from itertools import pairwise

from crashloop.history.stamps import overlap_ns

_S = 1_000_000_000
API_AROUND_NS = 30 * _S
"""The patches of so much time on both sides show whether the API server is slow."""
API_REACH_NS = 3 * _S
"""The time from a patch to the next one, and what a busy host adds; beyond, one has not come back."""
API_SLOW_NS = _S // 2
"""A patch that takes longer was slow: of 5,648 beside a load of 20 on two processors the slowest took 0.47 s."""
API_FACTOR = 2
"""The kubelet's write may wait for the one before it, and reads the pod first."""
STATUSES_AHEAD = 110
"""As many as a node has pods: pkg/kubelet/apis/config/v1beta1/defaults.go@v1.37.1 MaxPods."""


class ApiControls:
    """Patches of the recorder, in the order in which the watch brought them."""

    def __init__(self) -> None:
        self._came_ns, self._took_ns = array("q"), array("q")
        self._slow_ns: list[tuple[int, int]] | None = None
        """Times in which the API server was slow or silent, in order; worked out once all patches are there."""

    def add(self, t_ns: int, took_ns: int) -> None:
        """Take a patch that took so long until the watch had brought it at `t_ns`."""
        self._came_ns.append(t_ns)
        self._took_ns.append(took_ns)
        self._slow_ns = None

    def held_ns(self, from_ns: int, to_ns: int) -> int | None:
        """For how long a write of that time may have been held up; None without any patch."""
        if not self._came_ns:
            return None
        around_ns = sorted(self._took_ns[slice(*self._around(from_ns, to_ns))])
        usual_ns = around_ns[len(around_ns) * 9 // 10] if around_ns else API_SLOW_NS
        first, last = bisect_left(self._came_ns, from_ns), bisect_left(self._came_ns, to_ns)
        one_ns = API_FACTOR * max([usual_ns, *self._took_ns[max(0, first - 1) : last + 1]])
        slow_ns = self._slow_within_ns(from_ns, to_ns)
        return slow_ns + STATUSES_AHEAD * one_ns if slow_ns else one_ns

    def _around(self, from_ns: int, to_ns: int) -> tuple[int, int]:
        """The range of the patches in and around that time."""
        return (
            bisect_left(self._came_ns, from_ns - API_AROUND_NS),
            bisect_right(self._came_ns, to_ns + API_AROUND_NS),
        )

    def _slow_within_ns(self, from_ns: int, to_ns: int) -> int:
        """For how much of that time the API server was slow or silent."""
        if self._slow_ns is None:
            self._slow_ns = self._find_slow()
        silent_ns = max(0, min(to_ns, self._came_ns[0] - self._took_ns[0] - API_REACH_NS) - from_ns)
        silent_ns += max(0, to_ns - max(from_ns, self._came_ns[-1] + API_REACH_NS))
        return silent_ns + overlap_ns(self._slow_ns, from_ns, to_ns)

    def _find_slow(self) -> list[tuple[int, int]]:
        """The times from a patch to the next one with many slow ones around it, or with one that did not come back."""
        slow_before = array("q", [0])
        for took_ns in self._took_ns:
            slow_before.append(slow_before[-1] + (took_ns >= API_SLOW_NS))

        def is_slow(came_ns: int) -> bool:
            first, last = self._around(came_ns, came_ns)
            return 4 * (slow_before[last] - slow_before[first]) >= last - first

        found = []
        begun_ns = self._came_ns[0] - self._took_ns[0]
        for (before_ns, came_ns), took_ns in zip(pairwise((begun_ns, *self._came_ns)), self._took_ns, strict=True):
            if came_ns - took_ns - before_ns > API_REACH_NS or is_slow(came_ns):
                found.append((before_ns, came_ns))
        return found
