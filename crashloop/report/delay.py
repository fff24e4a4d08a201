"""One delay beside the due one, from checkers to plots."""

import msgspec

RESOLUTION_S = 0.02
"""A reading this close to the band is drawn inside of it: two stamps of /proc/uptime, of 10 ms resolution."""


class DelayWindow(msgspec.Struct, frozen=True, kw_only=True):
    """The window of a correct restart, in seconds after the exit."""

    due_s: float
    """No start is allowed before it."""
    latest_s: float | None = None
    """Latest time for the kubelet to create the container; None without a bound."""


class ReportedDelay(DelayWindow, frozen=True, kw_only=True):
    """From the exit of an instance to the start of the next, in seconds. The window is the model's."""

    restart: int
    """Number of the restart that ends the delay, from 1."""
    alternatives: tuple[DelayWindow, ...] = ()
    """Other windows that are equally possible by the evidence."""
    seen_s: float | None = None
    """Exit to start; None if the restart was not seen."""
    created_s: float | None = None
    """Exit to the runtime's container create, the kubelet's own decision; None if only the journal saw it."""
    stalled_s: float = 0.0
    """Proven stall of the host during the delay, from the due moment on."""
    channel: str = ""
    """Source: runtime or journal."""
    reason: str = ""
    """Reason of the due delay, by the model."""

    @property
    def windows(self) -> tuple[DelayWindow, ...]:
        """This window and the alternatives; a restart is correct if it fits any of them."""
        return (self, *self.alternatives)

    @property
    def decided_s(self) -> float | None:
        """The closest known time of the kubelet's action; None if the restart was not seen."""
        return self.created_s if self.created_s is not None else self.seen_s

    @property
    def is_early(self) -> bool:
        """Started before every window."""
        return self.seen_s is not None and self.seen_s < min(each.due_s for each in self.windows) - RESOLUTION_S

    @property
    def is_late(self) -> bool:
        """Created after the last window that had begun; without a create the kubelet's action has no known time."""
        if self.created_s is None or self.is_early:
            return False
        latest = self.latest_begun_s
        return latest is not None and self.created_s > latest + RESOLUTION_S

    @property
    def is_outside(self) -> bool:
        """Outside the allowed band; the checkers decide whether that is a FAIL."""
        return self.is_early or self.is_late

    @property
    def is_excusable(self) -> bool:
        """Late by no more than the host's stall, which may be the cause. Nothing excuses an early start."""
        latest = self.latest_begun_s
        if not self.is_late or latest is None or self.created_s is None:
            return False
        return self.created_s - latest <= self.stalled_s

    @property
    def latest_begun_s(self) -> float | None:
        """End of the last window that had begun at the restart; None without a bound."""
        decided = self.decided_s or 0.0
        begun = [each.latest_s for each in self.windows if each.due_s <= decided + RESOLUTION_S] or [self.latest_s]
        bounded = [latest for latest in begun if latest is not None]
        return max(bounded) if len(bounded) == len(begun) else None

    @property
    def lateness_used(self) -> float | None:
        """Share of the allowed lateness that had passed at the create; None without a bound or a create."""
        if self.created_s is None or self.latest_s is None or self.alternatives or self.latest_s <= self.due_s:
            return None
        return max(0.0, (self.created_s - self.due_s) / (self.latest_s - self.due_s))
