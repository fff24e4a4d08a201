"""The kubelet's backoff counters: one entry per container, kept in memory.

client-go util/flowcontrol/backoff.go@v0.37.1 (IsInBackOffSince, Next, GC); pkg/kubelet/kuberuntime/kuberuntime_manager.go
@v1.37.1 doBackOff. An entry is touched at each start attempt that follows an exit; an exit without an entry is free.
"""

from collections.abc import Hashable, Iterable

from crashloop.sim.behaviour import Behaviour, S

GC_PERIOD_NS = 2 * S
"""Housekeeping of the kubelet: kubelet.go housekeepingPeriod."""
SIGNALLED = 128
"""Exit codes from here on are those of a process that a signal ended."""


class BackoffEntry:
    """The delay due before the next start, and when the last start was attempted."""

    __slots__ = ("delay_ns", "exit_code", "luck", "updated_ns")

    def __init__(self, delay_ns: int, updated_ns: int, exit_code: int, luck: float) -> None:
        self.delay_ns = delay_ns
        self.updated_ns = updated_ns
        self.exit_code = exit_code
        """Of the exit before the last start attempt; only a faulty kubelet uses it."""
        self.luck = luck
        """Drawn at each start attempt, from 0 to 1; only a faulty kubelet uses it."""


class Backoffs:
    """All entries of one kubelet process."""

    def __init__(self, initial_ns: int, max_ns: int, behaviour: Behaviour, gc_phase_ns: int) -> None:
        self.initial_ns = initial_ns
        self.max_ns = max_ns
        self.behaviour = behaviour
        self._gc_phase_ns = gc_phase_ns
        self.attempted_ns = 0
        """When the last restart of any container was attempted."""
        self._entries: dict[Hashable, BackoffEntry] = {}
        self._expiry_ns = behaviour.expiry_ns
        if behaviour.expiry_in_max is not None:
            self._expiry_ns = int(max_ns * behaviour.expiry_in_max)
        if behaviour.second_curve_expiry_ns is not None and initial_ns <= S:
            self._expiry_ns = behaviour.second_curve_expiry_ns

    def entry(self, key: Hashable, now_ns: int) -> BackoffEntry | None:
        """The entry, unless housekeeping has collected it by now."""
        entry = self._entries.get(key)
        if entry is None or self._expiry_ns is None:
            return entry
        last_gc_ns = now_ns - (now_ns - self._gc_phase_ns) % GC_PERIOD_NS
        if last_gc_ns - entry.updated_ns > self._expiry_ns:
            del self._entries[key]
            return None
        return entry

    def remaining_ns(self, key: Hashable, since_ns: int, now_ns: int, exit_code: int) -> int:
        """For how long a start of what ended at `since_ns` is still held back; 0 or less: it may start now."""
        entry = self.entry(key, now_ns)
        if entry is None or self._expired(entry, since_ns):
            return since_ns + self.behaviour.first_late_ns - now_ns
        return since_ns + self._due_ns(entry, exit_code) - now_ns

    def throttled_ns(self, now_ns: int) -> int:
        """For how long any restart is held back because another has just come; 0 or less: it is not."""
        return self.attempted_ns + self.behaviour.restarts_apart_ns - now_ns

    def total_ns(self, keys: Iterable[Hashable], now_ns: int) -> int:
        """The sum of the delays of these entries."""
        return sum(entry.delay_ns for key in keys if (entry := self.entry(key, now_ns)) is not None)

    def next(
        self, key: Hashable, since_ns: int, now_ns: int, exit_code: int, luck: float, *, grows: bool = True
    ) -> None:
        """A start is attempted after an exit at `since_ns`: the entry begins, or takes its next step."""
        entry = self.entry(key, now_ns)
        fresh = entry is None or self._expired(entry, since_ns)
        delay_ns = self.initial_ns if entry is None or fresh else entry.delay_ns
        if grows and not fresh:
            delay_ns = self._step(delay_ns)
        self._entries.pop(key, None)
        self._entries[key] = BackoffEntry(delay_ns, now_ns, exit_code, luck)
        if self.behaviour.most_counters is not None and len(self._entries) > self.behaviour.most_counters:
            del self._entries[next(iter(self._entries))]

    def begin(self, key: Hashable, now_ns: int) -> None:
        """Make an entry without a start attempt."""
        if self.entry(key, now_ns) is None:
            self._entries[key] = BackoffEntry(self.initial_ns, now_ns, 0, 0.5)

    def restart_curve(self, key: Hashable) -> None:
        """Set the delay back to the initial one."""
        entry = self._entries.get(key)
        if entry is not None:
            entry.delay_ns = self.initial_ns

    def double(self, key: Hashable) -> None:
        """Take the next step without a start attempt."""
        entry = self._entries.get(key)
        if entry is not None:
            entry.delay_ns = self._step(entry.delay_ns)

    def forget(self, key: Hashable) -> None:
        self._entries.pop(key, None)

    def clear(self) -> None:
        self._entries.clear()

    def _due_ns(self, entry: BackoffEntry, exit_code: int) -> int:
        behaviour = self.behaviour
        if not behaviour.delays or (exit_code == 0 and not behaviour.delays_success):
            return 0
        if entry.luck < behaviour.skipped_share:
            return 0
        factor = behaviour.delay_factor * (1.0 + behaviour.jitter * entry.luck)
        if entry.delay_ns >= self.max_ns:
            factor *= 1.0 + behaviour.cap_jitter * entry.luck
        if exit_code == 0:
            factor *= behaviour.success_factor
        elif exit_code >= SIGNALLED:
            factor *= behaviour.code_factor
        late = entry.luck < behaviour.late_share and entry.delay_ns >= behaviour.late_from_ns
        return int(entry.delay_ns * factor) + late * behaviour.late_ns - behaviour.early_ns

    def _expired(self, entry: BackoffEntry, since_ns: int) -> bool:
        return self._expiry_ns is not None and since_ns - entry.updated_ns > self._expiry_ns

    def _step(self, delay_ns: int) -> int:
        behaviour = self.behaviour
        if behaviour.linear:
            grown = delay_ns + self.initial_ns
        elif behaviour.cap_before_step and delay_ns >= self.max_ns:
            return delay_ns
        else:
            grown = int(delay_ns * behaviour.factor)
        if not behaviour.capped or behaviour.cap_before_step:
            return grown
        return min(grown, self.max_ns)
