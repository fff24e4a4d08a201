"""The delays of one curve, of all pods of a run together: lateness that hides in each of them and that chance does not repeat.

Theory of operation. Each delay gives two yes-or-no answers, whose chance for a right kubelet has a bound that holds whatever the
others were: so they are counted, and a count beyond chance is a FAIL. No mean is taken, because the phases of ticks, relists and
lives are locked to each other within a node.

- Was it held back at a look after its due moment? By nothing but a wait between the decision and the line of the log, in one of
  a hundred delays at most. Asked of pods that are made to look about once a second, or just after the due moment.
- Was it created later than the middle of what chance may add? In half of them at most: the jitter of the kubelet's timer and the
  times of the patches are drawn anew for each delay.

What the host is shown to have held up is taken off first; where control containers speak, run queues do not, because stalls
scatter. `CHANCE` is divided by the number of questions that a run asks.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from crashloop.model.lateness import half_late_s
from crashloop.restarts.bounds import ends_with_a_look, refused, stepped_s
from crashloop.restarts.case import Case
from crashloop.restarts.excuse import late_window
from crashloop.restarts.restart import Restart
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.scenario import Mode
from crashloop.words import count, seconds

SAMPLES = "lateness"
"""Key of `Checked.facts`: the samples of a pod."""
CHANCE = 1e-4
"""Of a run of a kubelet that is right."""
HELD_BACK_SHARE = 0.01
LATE_SHARE = 0.5
LOOK_ENDS_POOLED_S = 0.03
"""From a decision to its line in the log where no wait for a CPU is shown; in a count, which one look does not decide."""
LOOK_ENDS_BUSY_S = 0.15
"""The same whatever the run queues are."""


class Sample(NamedTuple):
    """One delay; times count from its due moment, and less what its own time and the host explain."""

    due_s: float
    looked_s: float | None
    """When the last look that held it back was over; None without one, and where the kubelet is not made to look."""
    created_s: float | None
    """How much later than the middle of its chance it was created; None where nothing is known of that."""


class Pool(NamedTuple):
    """The delays of one curve."""

    samples: tuple[Sample, ...]
    chance: float
    """For each of the two questions."""

    @property
    def held_back(self) -> list[tuple[float, float]]:
        """When the last look was over, and the delay."""
        return [(each.looked_s, each.due_s) for each in self.samples if each.looked_s is not None]

    @property
    def created(self) -> list[tuple[float, float]]:
        return [(each.created_s, each.due_s) for each in self.samples if each.created_s is not None]

    def accusations(self) -> Iterator[str]:
        """What chance does not explain, a sentence each."""
        late_s = sorted(late_s for late_s, _ in self.held_back if late_s > 0)
        if len(late_s) >= least_beyond_chance(len(self.held_back), HELD_BACK_SHARE, self.chance):
            yield (
                f"in {len(late_s)} of {count(len(self.held_back), 'delay')} the kubelet still held a restart back at a look that "
                f"came up to {seconds(late_s[-1] + LOOK_ENDS_POOLED_S)} after the due moment; one in a hundred may seem so"
            )
        behind_s = sorted(late_s for late_s, _ in self.created if late_s > 0)
        if len(behind_s) >= least_beyond_chance(len(self.created), LATE_SHARE, self.chance):
            yield (
                f"in {len(behind_s)} of {count(len(self.created), 'delay')} a restart was created later than half of them "
                f"may be, by up to {seconds(behind_s[-1])}"
            )

    def in_words(self) -> str:
        """How many delays it has, and what it would have accused."""
        share = self.sees()
        seen = "too few to accuse" if share is None else f"a FAIL if all of them were {100 * share:.1f} % longer"
        return f"{count(len(self.samples), 'delay')}, {seen}"

    def sees(self) -> float | None:
        """The least share by which all its delays had to be longer to be accused; None: no share would be."""
        found = []
        for times, share in ((self.held_back, HELD_BACK_SHARE), (self.created, LATE_SHARE)):
            needed = least_beyond_chance(len(times), share, self.chance)
            shares = sorted(max(0.0, -late_s / due_s) for late_s, due_s in times)
            found += shares[needed - 1 : needed]
        return min(found, default=None)


def pools(by_curve: Mapping[str, Sequence[Sample]]) -> dict[str, Pool]:
    """The pool of each curve; the chance of error of all of them together is `CHANCE`."""
    chance = CHANCE / (2 * max(len(by_curve), 1))
    return {curve: Pool(tuple(samples), chance) for curve, samples in by_curve.items()}


def sample_of(case: Case, restart: Restart) -> Sample | None:
    """What a restart adds to its pool; None where its due moment or its host is in doubt, or where it had no delay."""
    due, window_ns = restart.due, restart.window_ns
    if due.delay_s <= 0 or due.alternatives or window_ns is None or stepped_s(case, restart) > 0:
        return None
    host, late_ns = case.recording.host, late_window(window_ns, due.delay_s)
    if not host.covers(*late_ns):
        return None
    looked_s, seen = None, refused(case, restart)
    if seen is not None and (case.scenario.mode is Mode.ANNOTATED or _is_aimed_at(case, window_ns)):
        busy_ns = late_ns[0], max(seen.window_ns[1], late_ns[0] + round(LOOK_ENDS_BUSY_S * 1e9))
        held = host.held(*busy_ns)
        looked_s = seen.after_s - min(LOOK_ENDS_POOLED_S + held.stalls_s, LOOK_ENDS_BUSY_S + held.repeated_s)
    return Sample(due.delay_s, looked_s, _behind_half_s(case, restart, host.held(*late_ns).repeated_s))


def _is_aimed_at(case: Case, window_ns: tuple[int, int]) -> bool:
    """Whether the scenario has made the kubelet look in that wait."""
    asked = (each for each in case.recording.interventions if each.data.action == InterventionKind.ANNOTATE and each.ok)
    return any(window_ns[0] <= each.t_ns <= window_ns[1] for each in asked)


def _behind_half_s(case: Case, restart: Restart, held_s: float) -> float | None:
    """By how much it was created later than half of such restarts may be."""
    exited, created, containers = restart.previous.exited, restart.to_create, case.scenario.pod.containers
    if (
        len(containers) > 1
        or containers[0].probes
        or created is None
        or exited is None
        or not ends_with_a_look(case, restart)
    ):
        return None
    half_s = half_late_s(restart.due.delay_s, case.in_force_at(exited.utc_ns).version, case.scenario.mode)
    return None if half_s is None else created.seconds - restart.due.delay_s - half_s - held_s


def fewer_than(least: int, of: int, share: float) -> float:
    """The probability of fewer than `least` hits in so many independent attempts, if `share` of all attempts hit."""
    return sum(_exactly(hits, of, share) for hits in range(least))


def least_beyond_chance(of: int, share: float, chance: float = CHANCE) -> int:
    """The least number of hits in so many attempts that are too many, but for `chance`, if that share of all attempts hit."""
    left = 1.0
    for hits in range(of + 1):
        if left < chance:
            return hits
        left -= _exactly(hits, of, share)
    return of + 1


def _exactly(hits: int, of: int, share: float) -> float:
    ways = math.lgamma(of + 1) - math.lgamma(hits + 1) - math.lgamma(of - hits + 1)
    return math.exp(ways + hits * math.log(share) + (of - hits) * math.log1p(-share))
