"""What the host did to the kubelet, as far as a recording shows it, second by second; each proof is bounded by the others.

Theory of operation. Five things are recorded. Beats that came late: everything stood still. Control containers, one every
two seconds and node: how long the runtime took for what a restart needs, asked by the recorder. Run-queue wait of the
accused: the sum over all threads of kubelet, runtime and shim, which grows with their number and not with what a restart
waits for. I/O and CPU pressure: somebody waited, and on a host with crash-looping pods somebody always does. So

- a control that was quick refutes the sums around it: of them counts what a sync of the kubelet alone may have waited;
- a slow control proves a stall from the end of the quick one before it to its own end, and excuses nothing else;
- where a quarter of the controls around are slow, the host is slow, and what they take counts at any moment; the kubelet's own
  work takes as many times as long as they do, which scatters, and so explains no delays that are late alike;
- where no control can be had, the smallest of the other proofs counts, and the pressure of the whole system, which names
  nobody, for no more than `PRESSURE_AT_MOST_S`.
"""

from array import array
from bisect import bisect_left, bisect_right
from itertools import pairwise
from statistics import median

import msgspec

from crashloop.history.api_controls import ApiControls
from crashloop.history.runtime_controls import RuntimeControls, slower_ns

BEAT_NS = 1_000_000_000
"""The heartbeat reports once a second (`pressure`), late by no more than the stalls it reports."""
MAX_SILENCE_NS = 3 * BEAT_NS
"""Time between two reports, beyond the stalls in it, in which the heartbeat counts as silent."""
PRESSURE_AT_MOST_S = 2.0
"""What CPU pressure of the whole system can excuse at most; beats of a busy host still come within 50 ms."""
SYNC_WAITS_AT_MOST_S = 0.5
"""What a sync of the kubelet can wait for a CPU where a control was quick: ten times its own work of 30 to 50 ms."""
USUAL_WAIT_AT_MOST = 0.5
"""Share of the time for which a kubelet waits for a CPU on a host with crash loops: 0.4, measured beside eight others."""


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """For how many seconds of an interval the host is shown to have held somebody up, by what shows it.

    None: not recorded, or not counted because something better was.
    """

    length_s: float
    missed_s: float
    """Beats that came late."""
    control_s: float | None
    """Stalls that control containers show."""
    slowest_control_s: float | None
    """How long the slowest control container took that speaks for the interval."""
    summed_s: float | None
    """Run-queue wait of the accused, summed over their threads."""
    waited_s: float
    """What of it, or of the pressure that stands for it, counts."""
    is_named: bool
    """Whether it is the accused who waited."""
    slower_s: float
    """What the kubelet's own work takes longer there than on a calm host, by the control containers around."""
    blocked_s: float
    """I/O and memory pressure of the whole system, as far as no control container speaks for the time."""

    @property
    def but_cpu_s(self) -> float:
        """Without anything that waits for a CPU only."""
        return min(self.length_s, self.missed_s + (self.control_s or 0.0) + self.blocked_s)

    @property
    def of_the_accused_s(self) -> float:
        """Without the pressures, which name nobody."""
        named_s = self.waited_s if self.is_named else 0.0
        return min(self.length_s, self.missed_s + (self.control_s or 0.0) + named_s)

    @property
    def repeated_s(self) -> float:
        """What explains delays that are late by about the same time again and again: where controls speak, no run queue."""
        is_refuted = self.slowest_control_s is not None or not self.is_named
        return self.but_cpu_s if is_refuted else self.stalls_s

    @property
    def stalls_s(self) -> float:
        """Without what slows the kubelet's own work down, for what needs none."""
        return min(self.length_s, self.but_cpu_s + self.waited_s)

    @property
    def total_s(self) -> float:
        """Never more than the interval; what shows the same stall twice counts twice, in favour of the accused."""
        return min(self.length_s, self.but_cpu_s + max(self.waited_s, self.slower_s))


class HostRecord:
    """What a recording shows of its host."""

    def __init__(self) -> None:
        self._stall_ns, self._stalled_ns = array("q"), array("q")
        self._missed_before_ns = array("q")
        self._pressed, self._blocked = _Counted(), _Counted()
        self._waited, self._kubelet_waited = _Counted(), _Counted()
        self._controls = RuntimeControls()
        self._api = ApiControls()
        self._has_cpu_pressure = False

    def add_pressure(
        self, t_ns: int, cpu_us: int | None, *, interval_ns: int = BEAT_NS, blocked_us: int | None = None
    ) -> None:
        """Take a report of the heartbeat: microseconds of CPU stall and of I/O or memory stall before `t_ns`."""
        self._pressed.add(t_ns, interval_ns, cpu_us or 0)
        self._has_cpu_pressure |= cpu_us is not None
        self._blocked.add(t_ns, interval_ns, blocked_us or 0)

    def add_wait(self, t_ns: int, waited_us: int, kubelet_us: int | None = None, *, interval_ns: int = BEAT_NS) -> None:
        """Take a report of the run queues: for how long the accused waited for a CPU before `t_ns`, and the kubelet alone.

        Where that was not counted, it may have been all of it.
        """
        self._waited.add(t_ns, interval_ns, waited_us)
        self._kubelet_waited.add(t_ns, interval_ns, waited_us if kubelet_us is None else kubelet_us)

    def add_control(self, t_ns: int, create_ns: int, list_ns: int) -> None:
        """Take a control container: how long its create and the runtime's lists took, until `t_ns`."""
        self._controls.add(t_ns, _sane(create_ns), _sane(list_ns))

    def add_api_control(self, t_ns: int, took_ns: int) -> None:
        """Take a patch of the recorder: how long it took until the watch had brought it at `t_ns`."""
        self._api.add(t_ns, _sane(took_ns))

    def api_held_ns(self, from_ns: int, to_ns: int) -> int | None:
        """For how long API server and watch may have held up one write of that time; None: the recorder patched nothing."""
        return self._api.held_ns(from_ns, to_ns)

    def add_stall(self, due_ns: int, stalled_ns: int) -> None:
        """Take a beat that was due at `due_ns` and came `stalled_ns` late."""
        before = self._missed_before_ns[-1] + self._stalled_ns[-1] if self._stall_ns else 0
        self._missed_before_ns.append(before)
        self._stall_ns.append(due_ns)
        self._stalled_ns.append(stalled_ns)

    def held(self, from_ns: int, to_ns: int) -> Held:
        """What the host is shown to have held up from `from_ns` to `to_ns`."""
        return self._held(from_ns, to_ns, self._waited)

    def held_s(self, from_ns: int, to_ns: int) -> float:
        """The same in one figure."""
        return self.held(from_ns, to_ns).total_s

    def kubelet_held(self, from_ns: int, to_ns: int) -> Held:
        """The same of what a kubelet does without runtime and shims: what it learns, what it states, and when it asks.

        No control container takes that way, so a quick one refutes none of the kubelet's own waits.
        """
        return self._held(from_ns, to_ns, self._kubelet_waited, refuted=False)

    def kubelet_held_s(self, from_ns: int, to_ns: int) -> float:
        """The same in one figure."""
        return self.kubelet_held(from_ns, to_ns).total_s

    def anybody_waited_s(self, from_ns: int, to_ns: int) -> float:
        """For how long at least one program of the host waited for a CPU, a disk or memory: the pressure of the whole system.

        No single program waited longer than that. All of the time where the pressure was not recorded.
        """
        length_ns = max(0, to_ns - from_ns)
        if not self._has_cpu_pressure or not self._pressed.reaches(from_ns, to_ns):
            return length_ns / 1e9
        pressed_ns = self._pressed.within_ns(from_ns, to_ns) + self._blocked.within_ns(from_ns, to_ns)
        shown_s = (pressed_ns + self._missed_ns(from_ns, to_ns)) / 1e9 + self.unknown_s(from_ns, to_ns)
        return min(shown_s, length_ns / 1e9)

    def unusual_wait_s(self, from_ns: int, to_ns: int) -> float:
        """What the kubelet waited for a CPU in that time beyond what it usually does in the recording.

        The figures of the system's CPU pressure count where run queues were not recorded.
        """
        counted = self._kubelet_waited if self._kubelet_waited.reaches(from_ns, to_ns) else self._pressed
        return min(max(0, counted.unusual_ns(from_ns, to_ns)), to_ns - from_ns) / 1e9

    def _held(self, from_ns: int, to_ns: int, waits: "_Counted", *, refuted: bool = True) -> Held:
        summed_ns = waits.within_ns(from_ns, to_ns) if waits.reaches(from_ns, to_ns) else None
        controls, spoken_for_ns = self._controls, self._controls.spoken_for_ns(from_ns, to_ns)
        around_ns = controls.around_ns(from_ns, to_ns)
        open_ns = max(0, to_ns - from_ns) - spoken_for_ns
        pressed_ns = self._pressed.within_ns(from_ns, to_ns)
        counted_ns = min(pressed_ns, round(PRESSURE_AT_MOST_S * 1e9))
        if summed_ns is not None:
            # Whoever waits for a CPU makes the pressure of the whole system count.
            is_bounded = self._has_cpu_pressure and self._pressed.reaches(from_ns, to_ns)
            counted_ns = min(summed_ns, pressed_ns) if is_bounded else summed_ns
        if spoken_for_ns and refuted:
            counted_ns = min(counted_ns, round(SYNC_WAITS_AT_MOST_S * 1e9) + open_ns)
        return Held(
            length_s=max(0, to_ns - from_ns) / 1e9,
            missed_s=self._missed_ns(from_ns, to_ns) / 1e9,
            control_s=None if around_ns is None else controls.stalled_ns(from_ns, to_ns, around_ns) / 1e9,
            slowest_control_s=controls.slowest_ns(from_ns, to_ns) / 1e9 if spoken_for_ns else None,
            summed_s=None if summed_ns is None else summed_ns / 1e9,
            waited_s=counted_ns / 1e9,
            is_named=summed_ns is not None,
            slower_s=slower_ns(around_ns) / 1e9,
            blocked_s=min(self._blocked.within_ns(from_ns, to_ns), open_ns) / 1e9,
        )

    def unknown_s(self, from_ns: int, to_ns: int) -> float:
        """Seconds at the end of that time after the last report: the host may have been stalled in them."""
        last_ns = self._pressed.last_ns
        return 0.0 if last_ns is None else max(0, to_ns - max(last_ns, from_ns)) / 1e9

    def covers(self, from_ns: int, to_ns: int) -> bool:
        """Whether the heartbeat was alive all the time from `from_ns` to `to_ns`."""
        pressed_ns = self._pressed.t_ns
        first = bisect_right(pressed_ns, from_ns) - 1
        last = bisect_left(pressed_ns, to_ns)
        inside = list(pressed_ns[max(first, 0) : last + 1])
        if not inside:
            return False
        beats = [min(inside[0], from_ns + BEAT_NS)] if first < 0 and inside[0] <= from_ns + MAX_SILENCE_NS else []
        beats += inside
        if beats[0] > from_ns + BEAT_NS:
            return False
        if beats[-1] < to_ns:
            beats.append(to_ns)
        return all(
            after - before - self._missed_ns(before, after) <= MAX_SILENCE_NS for before, after in pairwise(beats)
        )

    def _missed_ns(self, from_ns: int, to_ns: int) -> int:
        """Overlap of the stalls with the interval; stalls follow one another."""
        return max(0, self._missed_until_ns(to_ns) - self._missed_until_ns(from_ns))

    def _missed_until_ns(self, t_ns: int) -> int:
        last = bisect_right(self._stall_ns, t_ns) - 1
        if last < 0:
            return 0
        return self._missed_before_ns[last] + min(self._stalled_ns[last], t_ns - self._stall_ns[last])


class _Counted:
    """Microseconds counted second by second: `us` in the `interval_ns` before `t_ns`."""

    def __init__(self) -> None:
        self.t_ns, self._from_ns, self._counted_ns = array("q"), array("q"), array("q")
        self._before_ns = array("q", [0])
        """What all reports before each one counted, and at last all of them."""
        self._longest_ns = 0

    @property
    def last_ns(self) -> int | None:
        return self.t_ns[-1] if self.t_ns else None

    def add(self, t_ns: int, interval_ns: int, us: int) -> None:
        counted_ns = _sane(us * 1_000)
        # What was counted when it was over can have begun before the interval did.
        reach_ns = max(_sane(interval_ns), counted_ns)
        self.t_ns.append(t_ns)
        self._from_ns.append(t_ns - reach_ns)
        self._counted_ns.append(counted_ns)
        self._before_ns.append(self._before_ns[-1] + counted_ns)
        self._longest_ns = max(self._longest_ns, reach_ns)

    def reaches(self, from_ns: int, to_ns: int) -> bool:
        """Whether anything of that time was counted."""
        return any(self._from_ns[index] < to_ns for index in range(*self._near(from_ns, to_ns)))

    def unusual_ns(self, from_ns: int, to_ns: int) -> int:
        """What the reports that reach into that time count beyond the usual: the median share of all, or half."""
        reaching = [index for index in range(*self._near(from_ns, to_ns)) if self._from_ns[index] < to_ns]
        length_ns = sum(map(self._length_ns, reaching))
        return sum(self._counted_ns[index] for index in reaching) - round(self._usual_share() * length_ns)

    def _usual_share(self) -> float:
        shares = (self._counted_ns[index] / max(1, self._length_ns(index)) for index in range(len(self.t_ns)))
        return min(median(shares), USUAL_WAIT_AT_MOST) if self.t_ns else 0.0

    def _length_ns(self, index: int) -> int:
        return self.t_ns[index] - self._from_ns[index]

    def within_ns(self, from_ns: int, to_ns: int) -> int:
        """The most that can lie in that time: within an interval it may all have been at its edge."""
        first, last = self._near(from_ns, to_ns)
        # Whatever ends so long after the beginning, and by the end, lies inside as a whole.
        begin = max(first, bisect_left(self.t_ns, from_ns + self._longest_ns))
        end = max(begin, bisect_right(self.t_ns, to_ns))
        edges = (index for edge in ((first, min(begin, last)), (end, last)) for index in range(*edge))
        return (
            self._before_ns[end] - self._before_ns[begin] + sum(self._part_ns(each, from_ns, to_ns) for each in edges)
        )

    def _part_ns(self, index: int, from_ns: int, to_ns: int) -> int:
        overlap_ns = min(self.t_ns[index], to_ns) - max(self._from_ns[index], from_ns)
        return max(0, min(self._counted_ns[index], overlap_ns))

    def _near(self, from_ns: int, to_ns: int) -> tuple[int, int]:
        """The range of reports that may reach into that time."""
        return bisect_right(self.t_ns, from_ns), bisect_left(self.t_ns, to_ns + self._longest_ns)


def _sane(ns: int) -> int:
    """Nanoseconds between nothing and a day: a damaged figure must neither excuse for years nor overflow."""
    return min(max(ns, 0), 86_400 * BEAT_NS)
