"""How long a container lives at least before a liveness or startup probe can have had it killed, by the probe's own fields."""

import msgspec

_MARGIN_S = 1.0
"""The kubelet's ticker and the time of a start may make the first probe of a life come so much sooner."""


class KillingProbe(msgspec.Struct, frozen=True, rename="camel"):
    """A liveness or startup probe, with the defaults of core/v1."""

    initial_delay_seconds: int = 0
    period_seconds: int = 10
    failure_threshold: int = 3

    @property
    def kills_after_s(self) -> float:
        """How long a life lasts at least before this probe has failed often enough (pkg/kubelet/prober/worker.go@v1.37.1)."""
        failures_s = (self.failure_threshold - 1) * self.period_seconds
        return max(0.0, self.initial_delay_seconds + failures_s - _MARGIN_S)


def killed_after_s(*probes: KillingProbe | None) -> float | None:
    """The soonest of some probes; None without any."""
    return min((each.kills_after_s for each in probes if each is not None), default=None)
