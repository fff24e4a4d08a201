"""A node of crashing containers, restart by restart: what load.py averages is played through here.

Theory of operation. Every container starts at 0. After each life the delay of its curve passes, then the kubelet's lateness
(even, up to half of the delay, 30 s at the most), then what finding the exit takes. Then the restart wants CPU: a server with
a place for each core takes restarts first come, first served, and each for as long as one costs. So restarts queue where the
CPU is short, lateness is what they wait, and a start of all pods at once is the rush that it is. Draws come from a generator
with a stated seed: the same node gives the same restarts. Nodes are alike and independent, so one stands for all.
Source: pkg/kubelet/pod_workers.go@v1.37.1 (workerBackOffPeriodJitterFactor 0.5, even, at most 30 s late).
"""

from collections.abc import Iterator
from heapq import heapify, heapreplace
from itertools import takewhile

import msgspec
import numpy as np
from numpy.typing import NDArray

from crashloop.model.config import Curve
from crashloop.model.restart_counts import delays_s, most_late_s

SEED = 20_240_604
MAX_RESTARTS = 100_000
"""A simulation ends with so many restarts, however little time has passed."""
_DRAWS = 4096


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """What is on a node, and what it takes to restart it."""

    containers: int
    curve: Curve
    run_s: float
    """How long each life runs."""
    places: int
    """Restarts that have CPU at once."""
    service_s: float
    """For how long one of them has it."""
    find_s: float
    """From the end of the delay until a restart wants CPU, its jitter aside."""


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a node in a stretch of time."""

    restarts_per_s: float
    lateness_p50_s: float | None
    """Exit to create, minus the delay that was due, of the restarts that came; None if none did."""
    lateness_p99_s: float | None


class Simulated(msgspec.Struct, frozen=True, kw_only=True):
    """The restarts of a node, in order. Seconds since the start of all."""

    until_s: float
    """What came later is not known."""
    created_s: NDArray[np.float64]
    started_s: NDArray[np.float64]
    late_s: NDArray[np.float64]

    def window(self, from_s: float, to_s: float) -> Window:
        """A stretch that ends by `until_s`."""
        starts = int(((self.started_s >= from_s) & (self.started_s < to_s)).sum())
        late_s = self.late_s[(self.created_s >= from_s) & (self.created_s < to_s)]
        # inverted_cdf is nearest rank, as everywhere else (crashloop.slo.estimates).
        p50, p99 = np.percentile(late_s, [50, 99], method="inverted_cdf") if len(late_s) else (None, None)
        return Window(
            restarts_per_s=starts / (to_s - from_s),
            lateness_p50_s=None if p50 is None else float(p50),
            lateness_p99_s=None if p99 is None else float(p99),
        )


def simulate(node: Node, *, until_s: float, most: int = MAX_RESTARTS) -> Simulated:
    """All restarts that want CPU before `until_s`, or the first `most` of them; then `until_s` of the result is earlier."""
    dues_s = [*takewhile(lambda delay_s: delay_s < node.curve.maximum_s, delays_s(node.curve)), node.curve.maximum_s]
    last, draws = len(dues_s) - 1, _draws()
    # When each container wants CPU, and since when and for which restart it has waited for it.
    wanting = [
        (node.run_s + node.find_s + next(draws) * most_late_s(0.0), index, node.run_s, 0)
        for index in range(node.containers)
    ]
    heapify(wanting)
    free_s = [0.0] * node.places
    created_s: list[float] = []
    started_s: list[float] = []
    late_s: list[float] = []
    while len(created_s) < most and wanting[0][0] < until_s:
        wanted_s, index, exited_s, restart = wanting[0]
        began_s = max(wanted_s, free_s[0])
        ended_s = began_s + node.service_s
        heapreplace(free_s, ended_s)
        created_s.append(began_s)
        started_s.append(ended_s)
        late_s.append(began_s - exited_s - dues_s[restart])
        following, exits_s = min(restart + 1, last), ended_s + node.run_s
        due_s = dues_s[following]
        wants_s = exits_s + due_s + next(draws) * most_late_s(due_s) + node.find_s
        heapreplace(wanting, (wants_s, index, exits_s, following))
    return Simulated(
        until_s=min(until_s, wanting[0][0]),
        created_s=np.asarray(created_s),
        started_s=np.asarray(started_s),
        late_s=np.asarray(late_s),
    )


def _draws() -> Iterator[float]:
    """Even between 0 and 1, without end."""
    generator = np.random.default_rng(SEED)
    while True:
        yield from generator.random(_DRAWS).tolist()
