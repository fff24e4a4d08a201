"""Simulates a node of crashing containers, restart by restart; load.py computes the averages.

Theory of operation. Every container starts at 0. After a life passes the delay of its curve, then the kubelet's lateness
(uniform, up to half of the delay, 30 s at most), then the time to find the exit. Then the restart needs CPU: a queue with one
server per core takes restarts in order, with the cost of one restart as service time. So restarts queue where the CPU is
short, their waiting time is their lateness, and a start of all pods at once is a rush. Draws come from a generator with a
stated seed: the same node gives the same restarts. Nodes are identical and independent, so one node is simulated.
Source: pkg/kubelet/pod_workers.go@v1.37.1 (workerBackOffPeriodJitterFactor 0.5, even, at most 30 s late).
"""

from collections.abc import Iterator
from functools import cache
from heapq import heapify, heapreplace
from itertools import takewhile

import msgspec
import numpy as np
from numpy.typing import NDArray

from crashloop.model.config import Curve
from crashloop.model.restart_counts import delays_s, most_late_s

SEED = 20_240_604
MAX_RESTARTS = 100_000
"""A simulation ends after so many restarts, even if little time has passed."""
_DRAWS = 4096


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
    created_s: NDArray[np.float64]
    started_s: NDArray[np.float64]
    late_s: NDArray[np.float64]
    due_s: NDArray[np.float64]
    """The delay of each restart, without its lateness."""

    def window(self, from_s: float, to_s: float) -> SimulatedWindow:
        """A stretch that ends by `until_s`."""
        starts = int(((self.started_s >= from_s) & (self.started_s < to_s)).sum())
        created = (self.created_s >= from_s) & (self.created_s < to_s)
        late_s, due_s = self.late_s[created], self.due_s[created]
        # inverted_cdf is nearest rank, as everywhere else (crashloop.slo.estimates).
        p50, p99 = np.percentile(late_s, [50, 99], method="inverted_cdf") if len(late_s) else (None, None)
        return SimulatedWindow(
            restarts_per_s=starts / (to_s - from_s),
            mean_delay_s=float(due_s.mean()) if len(due_s) else 0.0,
            lateness_p50_s=None if p50 is None else float(p50),
            lateness_p99_s=None if p99 is None else float(p99),
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
        created_s=np.asarray(created_s),
        started_s=np.asarray(started_s),
        late_s=np.asarray(late_s),
        due_s=np.asarray(due_before_s),
    )


def _draws() -> Iterator[float]:
    """Uniform between 0 and 1, endless."""
    generator = np.random.default_rng(SEED)
    while True:
        yield from generator.random(_DRAWS).tolist()
