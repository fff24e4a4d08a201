"""What the runtime took for the recorder's own containers, one every two seconds and node, and what stalls that shows.

Theory of operation. A slow control was stalled some time since the quick one before it. Where a quarter of those around are slow,
the host is slow at any moment.
"""

from array import array
from bisect import bisect_left, bisect_right

_S = 1_000_000_000
CONTROL_REACH_NS = 26 * _S // 10
"""For how long before its beginning a control container can speak: the time between two of them, and what a busy host adds. After
a longer time the recorder had been held up itself, and what happened between them stays open."""
CONTROL_AROUND_NS = 30 * _S
"""The controls of so much time on both sides show whether the host is slow."""
CONTROL_USUAL_NS = 150_000_000
"""What a control container takes on a calm host, which the bounds of a restart allow for."""
CONTROL_FACTOR = 2
"""How much longer the kubelet's own call may have taken than the control calls around it."""
CONTROL_CALM_NS, OWN_NS = 60_000_000, _S // 2
"""Where controls take no longer, the bounds of a restart have this time for the kubelet's own work, which is slower as they are.
Three quarters took 0.037 s at most on a calm host, 0.05 s beside a load of 20, and 0.12 s where something else had half of each
processor: there right kubelets noticed exits up to 1.2 s late."""
CONTROL_SLOW_NS = 250_000_000
"""A control that takes so much longer than usual was stalled: it took ten times of what a busy host makes it take."""


class RuntimeControls:
    """Control containers of a node, in the order of their ends.

    Each speaks for its stretch: from the end of the one before it to its own; only of its own time, if that was too long before.
    """

    def __init__(self) -> None:
        self._ends_ns, self._spent_ns, self._as_restart_ns = array("q"), array("q"), array("q")

    def add(self, t_ns: int, create_ns: int, list_ns: int) -> None:
        self._ends_ns.append(t_ns)
        self._spent_ns.append(create_ns + list_ns)
        # A restart is found by a relist, perhaps after one that had begun before the exit, and takes one create.
        self._as_restart_ns.append(create_ns + 2 * list_ns)

    def spoken_for_ns(self, from_ns: int, to_ns: int) -> int:
        """For how much of that time a control container speaks."""
        return sum(self._part_ns(index, from_ns, to_ns) for index in self._within(from_ns, to_ns))

    def stalled_ns(self, from_ns: int, to_ns: int, around_ns: int) -> int:
        """The stretches of slow controls in that time, or what controls take where a quarter of them is slow: the greater."""
        slow_ns = CONTROL_USUAL_NS + CONTROL_SLOW_NS
        slow = (index for index in self._within(from_ns, to_ns) if self._as_restart_ns[index] >= slow_ns)
        stalled_ns = sum(self._part_ns(index, from_ns, to_ns) for index in slow)
        return max(stalled_ns, CONTROL_FACTOR * max(0, around_ns - CONTROL_USUAL_NS))

    def around_ns(self, from_ns: int, to_ns: int) -> int | None:
        """What three quarters of the controls around took at most, as long as a restart; None without any."""
        around = self._within(from_ns - CONTROL_AROUND_NS, to_ns + CONTROL_AROUND_NS)
        took_ns = sorted(self._as_restart_ns[index] for index in around)
        return took_ns[len(took_ns) * 3 // 4] if took_ns else None

    def slowest_ns(self, from_ns: int, to_ns: int) -> int:
        """The longest of the controls that speak for that time."""
        return max((self._spent_ns[index] for index in self._within(from_ns, to_ns)), default=0)

    def _within(self, from_ns: int, to_ns: int) -> range:
        """The controls whose stretches reach into that time."""
        first, last = bisect_right(self._ends_ns, from_ns), bisect_left(self._ends_ns, to_ns)
        is_in = last < len(self._ends_ns) and self._begin_ns(last) < to_ns
        return range(first, last + is_in)

    def _part_ns(self, index: int, from_ns: int, to_ns: int) -> int:
        return max(0, min(self._ends_ns[index], to_ns) - max(self._begin_ns(index), from_ns))

    def _begin_ns(self, index: int) -> int:
        """When the stretch of a control begins."""
        own_ns = self._ends_ns[index] - self._spent_ns[index]
        before_ns = self._ends_ns[index - 1] if index else own_ns - CONTROL_REACH_NS
        return before_ns if own_ns - before_ns <= CONTROL_REACH_NS else own_ns


def slower_ns(around_ns: int | None) -> int:
    """What the kubelet's own work takes longer than on a calm host, by what controls around took."""
    return min(max(0, OWN_NS * (around_ns or 0) // CONTROL_CALM_NS - OWN_NS), CONTROL_AROUND_NS)
