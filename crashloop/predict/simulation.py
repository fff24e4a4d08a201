"""Simulates a node of crashing containers, restart by restart; load.py computes the averages.

Theory of operation. Every container starts at 0. After a life passes the delay of its curve, then the kubelet's lateness
(uniform, up to half of the delay, 30 s at most), then the time to find the exit. Then the restart needs CPU: a queue with one
server per core takes restarts in order, with the cost of one restart as service time. So restarts queue where the CPU is
short, their waiting time is their lateness, and a start of all pods at once is a rush. Draws come from one stated state of
PCG64 (M. O'Neill, pcg-random.org; a 128-bit state, output XSL-RR): the same node gives the same restarts. Nodes are identical
and independent, so one node is simulated. Source: pkg/kubelet/pod_workers.go@v1.37.1 (workerBackOffPeriodJitterFactor 0.5,
even, at most 30 s late).
"""

from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from heapq import heapify, heapreplace
from itertools import takewhile
from math import ceil, fsum

import msgspec

from crashloop.model.config import Curve
from crashloop.model.restart_counts import delays_s, most_late_s

STATE = 223394603059205636325164672876183462219
INCREMENT = 258963363238330845709995133036457047989
MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
MAX_RESTARTS = 100_000
"""A simulation ends after so many restarts, even if little time has passed."""


class SimulatedNode(msgspec.Struct, frozen=True, kw_only=True):
    """The containers of a node, and the cost of a restart."""

    containers: int
    curve: Curve
    run_s: float
    """How long each life runs."""
    places: int
    """Restarts that run at the same time."""
    service_s: float
    """CPU time of one restart."""
    find_s: float
    """From the end of the delay until a restart needs CPU, without the jitter."""


class SimulatedWindow(msgspec.Struct, frozen=True, kw_only=True):
    """Restarts of a node in a window."""

    restarts_per_s: float
    mean_delay_s: float
    """Due before these restarts, on average; 0 without any."""
    lateness_p50_s: float | None
    """Exit to create, minus the due delay, of these restarts; None without any."""
    lateness_p99_s: float | None


class Simulated(msgspec.Struct, frozen=True, kw_only=True):
    """The restarts of a node, in order. Seconds since the start of all."""

    until_s: float
    """Later restarts were not simulated."""
    created_s: list[float]
    """In order, as are `started_s`."""
    started_s: list[float]
    late_s: list[float]
    due_s: list[float]
    """The delay of each restart, without its lateness."""

    def window(self, from_s: float, to_s: float) -> SimulatedWindow:
        """A stretch that ends by `until_s`."""
        starts = bisect_left(self.started_s, to_s) - bisect_left(self.started_s, from_s)
        created = slice(bisect_left(self.created_s, from_s), bisect_left(self.created_s, to_s))
        late_s, due_s = sorted(self.late_s[created]), self.due_s[created]
        return SimulatedWindow(
            restarts_per_s=starts / (to_s - from_s),
            mean_delay_s=fsum(due_s) / len(due_s) if due_s else 0.0,
            # Nearest rank, as everywhere else (crashloop.slo.estimates).
            lateness_p50_s=late_s[ceil(0.5 * len(late_s)) - 1] if late_s else None,
            lateness_p99_s=late_s[ceil(0.99 * len(late_s)) - 1] if late_s else None,
        )


@cache
def simulate(node: SimulatedNode, *, until_s: float, most: int = MAX_RESTARTS) -> Simulated:
    """All restarts that need CPU before `until_s`, or the first `most` of them; then `until_s` of the result is earlier."""
    dues_s = [*takewhile(lambda delay_s: delay_s < node.curve.maximum_s, delays_s(node.curve)), node.curve.maximum_s]
    last, draws = len(dues_s) - 1, _draws()
    # When every container needs CPU, and since when and for which restart it waits.
    wanting = [
        (node.run_s + node.find_s + next(draws) * most_late_s(0.0), index, node.run_s, 0)
        for index in range(node.containers)
    ]
    heapify(wanting)
    free_s = [0.0] * node.places
    created_s: list[float] = []
    started_s: list[float] = []
    late_s: list[float] = []
    due_before_s: list[float] = []
    while len(created_s) < most and wanting[0][0] < until_s:
        wanted_s, index, exited_s, restart = wanting[0]
        began_s = max(wanted_s, free_s[0])
        ended_s = began_s + node.service_s
        heapreplace(free_s, ended_s)
        created_s.append(began_s)
        started_s.append(ended_s)
        late_s.append(began_s - exited_s - dues_s[restart])
        due_before_s.append(dues_s[restart])
        following, exits_s = min(restart + 1, last), ended_s + node.run_s
        due_s = dues_s[following]
        wants_s = exits_s + due_s + next(draws) * most_late_s(due_s) + node.find_s
        heapreplace(wanting, (wants_s, index, exits_s, following))
    return Simulated(
        until_s=min(until_s, wanting[0][0]),
        created_s=created_s,
        started_s=started_s,
        late_s=late_s,
        due_s=due_before_s,
    )


def _draws() -> Iterator[float]:
    """Uniform between 0 and 1, endless."""
    state = STATE
    while True:
        state = (state * MULTIPLIER + INCREMENT) % 2**128
        folded, by = (state >> 64 ^ state) % 2**64, state >> 122
        yield ((folded >> by | folded << (64 - by)) % 2**64 >> 11) / 2**53
