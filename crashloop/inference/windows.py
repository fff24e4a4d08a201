"""When a restart may come, in whole seconds of a status, and the curves that may be; all that inference needs without arrays.

`startedAt - finishedAt` is a difference of two times that were rounded down: it is no less than the whole seconds of the
delay, and exceeds the true wait by less than one second. The kubelet's lateness is bounded by the model (lateness.py);
the runtime's time from the decision to the start of the process is part of the wait.
"""

import math
from functools import lru_cache

import msgspec

from crashloop.inference.loops import Wait
from crashloop.model.config import DEFAULT_CURVE, REDUCED_CURVE, Curve
from crashloop.model.lateness import START_SHARE_S, latest_s
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion

RESOLUTION_S = 1
STEPS = 11
"""Free, and ten doublings: 1 s reaches 300 s with the tenth."""
ONE_RESTART_S = 15


class Window(msgspec.Struct, frozen=True):
    """Whole seconds from `earliest` to `latest`."""

    earliest: int
    latest: int


@lru_cache(maxsize=4096)
def window(due_s: float, version: KubernetesVersion) -> Window:
    """The window of a delay."""
    return Window(math.floor(due_s), math.floor(decided_s(due_s, version) + START_SHARE_S) + RESOLUTION_S)


def decided_s(due_s: float, version: KubernetesVersion) -> float:
    """Latest decision of the kubelet. Other sync sources of the pod are unknown, so the later bound counts."""
    return max(latest_s(due_s, version, mode=Mode.NATURAL, other_sync_sources=other) for other in (False, True))


BASES = (DEFAULT_CURVE, REDUCED_CURVE)
"""The curves that a maximum lowers, by the gate ReduceDefaultCrashLoopBackOffDecay."""


def has_delay(curve: Curve, delay_s: float) -> bool:
    """Whether a curve has such a delay at any step but the free one."""
    return any(math.isclose(delay_s, each) for each in doublings(curve))


def grid() -> tuple[Curve, ...]:
    """All curves that whole seconds of maxContainerRestartPeriod and the gates can select, without repetition."""
    found = {
        Curve(min(base.initial_s, float(maximum)), float(maximum)): None for base in BASES for maximum in range(1, 301)
    }
    return tuple(found)


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one candidate."""

    curve: Curve
    fits: bool
    probability: float
    """Posterior among all candidates; zero for candidates that do not fit."""
    early: int
    late: int
    """Waits that were too short, or too long, for every possible step."""
    misstated: bool
    """The kubelet states a delay that it does not have."""
    cut: int
    """Waits from before the observation that fit no step unless a restart of the kubelet cut them short."""
    shown: int
    """Waits that fit the step after the one before, or the longest possible; without free first restarts."""
    shown_whole: int
    """Those of them that began during the observation."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One wait as a candidate explains it."""

    wait: Wait
    due_s: float
    """At the most likely step."""
    objection: str
    """early (also if unseen restarts of the kubelet may explain it), late, or empty."""
    is_judged: bool
    """Whether it is evidence: it was not disturbed, and the counter cannot have been lost."""


def doublings(curve: Curve) -> list[float]:
    return [min(curve.initial_s * 2.0**step, curve.maximum_s) for step in range(STEPS - 1)]
