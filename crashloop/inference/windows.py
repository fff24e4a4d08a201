"""The possible waits, in whole seconds of a status, for a due delay, with their probabilities.

`startedAt - finishedAt` is a difference of two times that were rounded down: it is no less than the whole seconds of the
delay, and exceeds the true wait by less than one second. The kubelet's lateness is bounded by the model (lateness.py);
the runtime's time from the decision to the start of the process is part of the wait.
"""

import math
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from crashloop.model.lateness import START_SHARE_S, USUAL_START_S, latest_s, polls, soonest_s
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion

RESOLUTION_S = 1
LONGEST_S = 600
"""Longer waits are not distinguished."""

_TICK_S, _POLLS_S = 1.0, 15.0
_GRID_S = 0.05
_AS_USUAL, _HELD_UP = 0.95, 0.05

Chances = NDArray[np.float64]


class Window(msgspec.Struct, frozen=True):
    """Whole seconds from `earliest` to `latest`."""

    earliest: int
    latest: int


@lru_cache(maxsize=4096)
def window(due_s: float, version: KubernetesVersion) -> Window:
    """The window of a delay."""
    return Window(math.floor(due_s), math.floor(_decided_s(due_s, version) + START_SHARE_S) + RESOLUTION_S)


@lru_cache(maxsize=4096)
def chances(due_s: float, version: KubernetesVersion) -> Chances:
    """The probability of each number of seconds; none outside of the window.

    The kubelet's retry is uniform between its earliest and latest time; a tick and the usual start time are added.
    """
    allowed = window(due_s, version)
    soonest = soonest_s(due_s, version, mode=Mode.NATURAL)
    retry = _uniform(_spread_s(due_s, soonest, version))
    density = np.convolve(np.convolve(retry, _uniform(_TICK_S)), _uniform(USUAL_START_S))
    seen = np.zeros(LONGEST_S)
    for place, weight in enumerate(density):
        wait_s = soonest + place * _GRID_S
        whole = math.floor(wait_s)
        # Both times are rounded down: the fraction decides how often the difference is the next whole second.
        seen[whole] += weight * (1 - (wait_s - whole))
        seen[whole + 1] += weight * (wait_s - whole)
    inside = np.zeros(LONGEST_S)
    inside[allowed.earliest : allowed.latest + 1] = 1.0
    usual = seen * inside
    found: Chances = _AS_USUAL * usual / usual.sum() + _HELD_UP * inside / inside.sum()
    return found


def _spread_s(due_s: float, soonest_s: float, version: KubernetesVersion) -> float:
    """From the earliest to the latest retry. Polls are 10 to 15 s apart, and the first one after the delay restarts."""
    if polls(version) and due_s > 0:
        return min(soonest_s / 2, _POLLS_S)
    return max(_decided_s(due_s, version) - _TICK_S - soonest_s, 0.0)


def _decided_s(due_s: float, version: KubernetesVersion) -> float:
    """Latest decision of the kubelet. Other sync sources of the pod are unknown, so the later bound counts."""
    return max(latest_s(due_s, version, mode=Mode.NATURAL, other_sync_sources=other) for other in (False, True))


def _uniform(length_s: float) -> Chances:
    count = max(round(length_s / _GRID_S), 1)
    return np.full(count, 1.0 / count)
