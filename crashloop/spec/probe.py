"""Probes of a container: how the kubelet asks, and what is answered."""

from enum import StrEnum

import msgspec


class ProbeKind(StrEnum):
    """What a probe decides. The failure of a readiness probe kills nothing."""

    LIVENESS = "liveness"
    READINESS = "readiness"
    STARTUP = "startup"


class Handler(StrEnum):
    """How the kubelet asks."""

    EXEC = "exec"
    """A command in the container."""
    HTTP = "http"
    """A request to a server in the container; any code from 400 on is a failure."""


SUCCEEDS, FAILS = "S", "F"


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """A probe whose answers are planned: by a pattern, or from a moment of each life on failures."""

    kind: ProbeKind = ProbeKind.LIVENESS
    handler: Handler = Handler.EXEC
    fails_after_s: float = 0.0
    """From so many seconds into each life on it fails. Without meaning beside a pattern."""
    pattern: str = ""
    """The answers of each life in turn, S or F, over and over again; empty: `fails_after_s` decides."""
    answers_after_s: float = 0.0
    """Seconds that each answer takes."""
    hangs: bool = False
    """It gives no answer at all instead of a failure."""
    initial_delay_s: int = 0
    """Seconds from the start of each life before the kubelet asks."""
    period_s: int = 1
    failure_threshold: int = 3
    success_threshold: int = 1
    """Successes in a row after which a readiness probe has succeeded; of the others it is 1."""
    timeout_s: int = 1
    grace_s: int | None = None
    """Its own terminationGracePeriodSeconds; None: a container that it has killed has that of the pod."""

    def __post_init__(self) -> None:
        if set(self.pattern) - {SUCCEEDS, FAILS}:
            raise ValueError(f"probe pattern {self.pattern!r}: expected {SUCCEEDS} and {FAILS} only")
        if 0 < len(self.pattern) < self.failure_threshold:
            raise ValueError(
                f"probe pattern {self.pattern!r} is shorter than the failureThreshold of {self.failure_threshold}"
            )
        if self.pattern and self.fails_after_s:
            raise ValueError(
                f"a probe fails by its pattern {self.pattern!r} or after {self.fails_after_s:g} s, not both"
            )
        if self.initial_delay_s < 0:
            raise ValueError(f"{self}: initial_delay_s is at least 0")
        if self.success_threshold < 1 or (self.success_threshold > 1 and self.kind is not ProbeKind.READINESS):
            raise ValueError(f"{self}: success_threshold is 1, or more of a readiness probe")
        if self.grace_s is not None and (self.grace_s < 1 or self.kind is ProbeKind.READINESS):
            raise ValueError(f"{self}: grace_s is at least 1, and none of a readiness probe")
        if min(self.period_s, self.failure_threshold, self.timeout_s) < 1 or self.answers_after_s < 0:
            raise ValueError(f"{self}: period_s, failure_threshold and timeout_s are at least 1")

    @property
    def is_late(self) -> bool:
        """Whether every answer comes after the kubelet has stopped waiting, and so counts as a failure."""
        return self.answers_after_s > self.timeout_s

    def answer(self, number: int, at_s: float) -> str:
        """What it answers the time `number` (from 0) in a life, `at_s` seconds after its start: S or F."""
        if self.pattern:
            return self.pattern[number % len(self.pattern)]
        return FAILS if at_s >= self.fails_after_s else SUCCEEDS

    def counts_as_failure(self, answer: str) -> bool:
        """Whether the kubelet takes that answer for a failure."""
        return answer == FAILS or self.is_late

    def answering_s(self, answer: str) -> float:
        """How long the kubelet waits for that answer."""
        return float(self.timeout_s) if answer == FAILS and self.hangs else min(self.answers_after_s, self.timeout_s)
