"""Curves that fit the waits of a node's crash loops, by the probabilities of each wait in whole seconds of a status.

Theory of operation. A candidate is an initial delay and a maximum. Along a chain of waits its counter steps through
free, initial, 2 initial, ... maximum. The counter's step at the start of the observation is unknown, except that the
first restart is free and that restart n is at step n at most. So every possible step of a chain is tracked with its
probability, and a wait keeps the steps whose window it fits. A wait that fits no step is an objection to the candidate,
and the chain continues from any step. All candidates are computed at once, as rows of arrays.

An objection is not yet a contradiction. A kubelet that restarts starts every waiting container at once and forgets all
counters, so early waits rule a candidate out only if they end more than `ONE_RESTART_S` apart. Waits that began before
the observation may have been cut short by restarts that nobody saw: those that only this explains show no agreement, and
rule a candidate out if they end at `UNSEEN_RESTARTS` such times. A wait at an unknown step fits some delay of a long curve
whatever its length: it shows agreement only at the longest delay that its restart count allows. A start can be held up
by the node, an image or a device, so late waits do only if they are more than one in ten.
"""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from crashloop.inference.loops import Wait
from crashloop.inference.windows import ONE_RESTART_S, STEPS, Fit, Reading, decided_s, doublings, has_delay, window
from crashloop.model.config import DEFAULT_CURVE, REDUCED_CURVE, Curve
from crashloop.model.lateness import USUAL_START_S, polls, soonest_s
from crashloop.spec.scenario import Mode
from crashloop.spec.version import KubernetesVersion

LONGEST_S = 600
"""Longer waits are not distinguished."""

_TICK_S, _POLLS_S = 1.0, 15.0
_GRID_S = 0.05
_AS_USUAL, _HELD_UP = 0.95, 0.05

Chances = NDArray[np.float64]


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
    return max(decided_s(due_s, version) - _TICK_S - soonest_s, 0.0)


def _uniform(length_s: float) -> Chances:
    count = max(round(length_s / _GRID_S), 1)
    return np.full(count, 1.0 / count)


UNSEEN_RESTARTS = 3
"""Restarts of a kubelet that would have to explain early waits, some of them from before the observation, to rule a curve out."""
LATE_SHARE = 0.1

_SANE = 0.99
_STRAY = (1 - _SANE) / LONGEST_S
"""The probability of a wait that fits no window: equally small everywhere."""
_COMMON = 20.0
"""Prior odds of upstream's own curves against any other curve."""

Numbers = NDArray[np.float64]


_USUAL = frozenset({DEFAULT_CURVE, REDUCED_CURVE, Curve(1.0, 300.0)})


class Fitter:
    """Candidates, judged by chains of waits."""

    def __init__(self, candidates: Sequence[Curve], version: KubernetesVersion) -> None:
        self.candidates = tuple(candidates)
        self.used = 0
        """Waits that were evidence, without free first restarts."""
        ladder = [[0.0, *doublings(curve)] for curve in self.candidates]
        delays = sorted({due_s for row in ladder for due_s in row})
        place = {due_s: number for number, due_s in enumerate(delays)}
        self._due = np.array(ladder)
        self._earliest = np.floor(self._due)
        self._chances = np.array([chances(due_s, version) for due_s in delays])
        self._place = np.array([[place[due_s] for due_s in row] for row in ladder])
        count = len(self.candidates)
        self._log = np.zeros(count)
        self._early, self._late = np.zeros(count, dtype=int), np.zeros(count, dtype=int)
        self._cut, self._shown, self._shown_whole = (np.zeros(count, dtype=int) for _ in range(3))
        self._misstated = np.zeros(count, dtype=bool)
        self._step_known = np.zeros(count, dtype=bool)
        """Whether the wait before tells the step of the counter."""
        self._shortenings: list[tuple[int, bool, NDArray[np.bool_]]] = []
        """End of an early wait, whether it was seen whole, and the candidates for which it is early."""

    def take(self, chain: Iterable[Wait]) -> list[Reading]:
        """Judge every candidate by a chain; the reading of the first candidate."""
        readings, steps = [], None
        for wait in chain:
            if steps is None:
                steps = self._beginning(wait.restart)
                self._step_known[:] = wait.restart <= 1
            steps, reading = self._step(steps, wait)
            readings.append(reading)
        return readings

    def state(self, stated_s: float) -> None:
        """Rule out every candidate without the delay that the kubelet states; failed starts double it too, so any step may do."""
        self._misstated |= np.array([not has_delay(curve, stated_s) for curve in self.candidates])

    def fits(self) -> tuple[Fit, ...]:
        """Every candidate, the most likely first."""
        seen = self._restarts_needed(seen_whole=True) > 1
        unseen = self._restarts_needed(seen_whole=False) >= UNSEEN_RESTARTS
        late = self._late > max(1.0, LATE_SHARE * self.used)
        fitting = ~(seen | unseen | late | self._misstated)
        weights = np.array([_COMMON if curve in _USUAL else 1.0 for curve in self.candidates])
        log = np.where(fitting, self._log + np.log(weights), -np.inf)
        likely = np.exp(log - log.max()) if fitting.any() else np.zeros(len(log))
        probability = likely / likely.sum() if fitting.any() else likely
        found = [
            Fit(
                curve=curve,
                fits=bool(fitting[row]),
                probability=float(probability[row]),
                early=int(self._early[row]),
                late=int(self._late[row]),
                misstated=bool(self._misstated[row]),
                cut=int(self._cut[row]),
                shown=int(self._shown[row]),
                shown_whole=int(self._shown_whole[row]),
            )
            for row, curve in enumerate(self.candidates)
        ]
        return tuple(sorted(found, key=lambda fit: (-fit.probability, not fit.fits, fit.curve.maximum_s)))

    def _beginning(self, restart: int) -> Numbers:
        steps = np.zeros((len(self.candidates), STEPS))
        if restart <= 1:
            steps[:, 0] = 1.0
        else:
            reached = min(restart - 1, STEPS - 1)
            steps[:, 1 : reached + 1] = 1.0 / reached
        return steps

    def _step(self, steps: Numbers, wait: Wait) -> tuple[Numbers, Reading]:
        """Possible steps of the counter after a wait, from the possible steps before it."""
        if wait.may_forget:
            self._step_known[:] = False
            return self._anywhere(free=wait.disturbed), self._reading(steps, wait, objection="", is_judged=False)
        self.used += wait.restart > 1
        chance = _SANE * self._chances[self._place, min(wait.seconds, LONGEST_S - 1)]
        # A wait that began before the observation may have been cut short by a restart of the kubelet.
        shortened = (wait.seconds < self._earliest) & (steps > 0) & (not wait.seen_whole)
        weighed = steps * (chance + shortened * _STRAY)
        total = weighed.sum(axis=1)
        stray = total <= 0
        possible = steps > 0
        early = stray & np.all(~possible | (wait.seconds < self._earliest), axis=1)
        cut = ~stray & ((steps * chance).sum(axis=1) <= 0)
        self._object(early, stray & ~early, cut, wait)
        longest = STEPS - 1 - np.argmax(possible[:, ::-1], axis=1)
        at_longest = np.take_along_axis(chance, longest[:, None], axis=1)[:, 0] > 0
        if wait.restart > 1:
            shows = ~stray & ~cut & (self._step_known | at_longest)
            self._shown += shows
            self._shown_whole += shows & wait.seen_whole
        self._step_known = ~stray & ~cut
        self._log += np.log(np.where(stray, _STRAY, total))
        objection = "early" if early[0] or cut[0] else "late" if stray[0] else ""
        reading = self._reading(steps if stray[0] else weighed, wait, objection=objection, is_judged=True)
        following = self._doubled(weighed / np.where(stray, 1.0, total)[:, None])
        if not wait.seen_whole:
            following[:, 1] += shortened.any(axis=1) * _STRAY
        following[stray] = self._anywhere()[stray]
        return following, reading

    def _object(self, early: NDArray[np.bool_], late: NDArray[np.bool_], cut: NDArray[np.bool_], wait: Wait) -> None:
        self._early += early
        self._late += late
        self._cut += cut
        self._shortenings.append((wait.started_s, wait.seen_whole, early | cut))

    def _restarts_needed(self, *, seen_whole: bool) -> NDArray[np.int_]:
        """How many restarts of the kubelet would explain the early waits, by candidate; without `seen_whole` all of them."""
        count = len(self.candidates)
        restarts, began_s = np.zeros(count, dtype=int), np.full(count, -np.inf)
        for ended_s, whole, early in sorted(self._shortenings, key=lambda each: each[0]):
            if seen_whole and not whole:
                continue
            another = early & (ended_s - began_s > ONE_RESTART_S)
            restarts += another
            began_s = np.where(another, ended_s, began_s)
        return restarts

    def _doubled(self, steps: Numbers) -> Numbers:
        following = np.zeros_like(steps)
        following[:, 1:] = steps[:, :-1]
        following[:, -1] += steps[:, -1]
        return following

    def _anywhere(self, *, free: bool = False) -> Numbers:
        """Any delay may follow; no delay at all only after a change of the container, which gives it a new counter."""
        steps = np.full((len(self.candidates), STEPS), 1.0 / STEPS)
        steps[:, 0] *= free
        return steps

    def _reading(self, steps: Numbers, wait: Wait, *, objection: str, is_judged: bool) -> Reading:
        due_s = float(self._due[0][int(np.argmax(steps[0]))])
        return Reading(wait=wait, due_s=due_s, objection=objection, is_judged=is_judged)
