"""Queue model of the liveness loop: what the servers of the stress profile demand should do, without a cluster. Pure.

Theory of operation. Time goes in small steps. Requests arrive as planned; clients keep them and send at most `in_flight` at a
time. The server works on as many as it has workers, which share the CPU of its limit; the others, and the probe, wait in one
queue. After `failure_threshold` late probes in a row the container is killed, its requests return to the clients, and the
kubelet starts it again after its delay (pkg/kubelet/kuberuntime@v1.37.1: the first two restarts have none, a life that was
longer than its delay has none either).

Two things are simpler than a real kubelet and server, and can be changed to see what they explain: the CPU of a request besides
its work, and the first probe of a life, which comes right after its start. A real worker of probes keeps its period over restarts
(pkg/kubelet/prober/worker.go@v1.37.1).
"""

import math
import random
from collections import deque
from itertools import takewhile
from typing import NamedTuple

from crashloop.stress.loads import Demand
from crashloop.stress.pods import arrivals_ns

STEP_S = 0.02
OVERHEAD_S = 0.0008
"""CPU of a request besides its work: the program that answers it, measured."""
PROBE_S = 0.001
BOOT_S = 0.12
GRACE_S = 2.0
RESTART_S = 0.7
"""From the end of a container to the next one's start, without a delay."""
LATE_S = 1.2
"""A delay ends when the kubelet looks again."""


class Curve(NamedTuple):
    """Delays of a kubelet."""

    initial_s: float = 10.0
    maximum_s: float = 300.0


class Modelled(NamedTuple):
    """What became of a server."""

    kills: int
    recovery_s: float | None
    """After the last burst; None: the backlog stayed."""
    highest_backlog: int
    last_backlog: int
    down_share: float


class _Job:
    def __init__(self, cpu_s: float, at_s: float, *, is_probe: bool) -> None:
        self.cpu_s, self.at_s, self.is_probe = cpu_s, at_s, is_probe


def modelled(
    load: Demand,
    curve: Curve,
    *,
    long_s: float,
    cores: float = 1.0,
    seed: int = 0,
    overhead_s: float = OVERHEAD_S,
    keeps_period: bool = False,
) -> Modelled:
    """One run of a server. `keeps_period`: a restart does not move the times of its probes."""
    return _Server(load, curve, cores, random.Random(seed), overhead_s, keeps_period).run(long_s)


class _Server:
    def __init__(
        self, load: Demand, curve: Curve, cores: float, draws: random.Random, overhead_s: float, keeps_period: bool
    ) -> None:
        self.load, self.curve, self.draws = load, curve, draws
        self.overhead_s, self.keeps_period = overhead_s, keeps_period
        self.cores = min(cores, load.limit_cores or cores)
        self.waiting = 0
        self.queue: deque[_Job] = deque()
        self.served: list[_Job] = []
        self.probes: list[_Job] = []
        self.booting_s, self.down_until_s = BOOT_S, 0.0
        self.next_probe_s = draws.uniform(0, load.probe.period_s) if load.probe else float("inf")
        self.failures = self.kills = 0
        self.delay_s, self.ended_s, self.down_s = curve.initial_s, 0.0, 0.0

    def run(self, long_s: float) -> Modelled:
        due = deque(t / 1e9 for t in takewhile(lambda t: t < long_s * 1e9, arrivals_ns(self.load, 0)))
        burst_end_s = max(
            (each.to_s for each in self.load.bursts if each.rate_per_s > self.load.rate_per_s), default=0.0
        )
        highest, recovered = 0, None
        for step in range(int(long_s / STEP_S)):
            now_s = step * STEP_S
            while due and due[0] <= now_s:
                due.popleft()
                self.waiting += 1
            if any(each.rate_per_s == 0 and 0 <= now_s - each.after_s < STEP_S for each in self.load.bursts):
                self.waiting = 0
            self._step(now_s)
            backlog = self.backlog
            highest = max(highest, backlog)
            if now_s > burst_end_s:
                if recovered is None and backlog <= self.load.rate_per_s + 3:
                    recovered = now_s - burst_end_s
                if backlog > 20 * self.load.rate_per_s:
                    recovered = None
        return Modelled(self.kills, recovered, highest, self.backlog, 100 * self.down_s / long_s)

    @property
    def backlog(self) -> int:
        return self.waiting + self._at_server

    @property
    def _at_server(self) -> int:
        return sum(1 for job in (*self.queue, *self.served) if not job.is_probe)

    def _step(self, now_s: float) -> None:
        if now_s < self.down_until_s:
            self.down_s += STEP_S
            return
        while self.waiting and self._at_server < self.load.in_flight:
            self.waiting -= 1
            work_s = self.load.work_ms / 1000 + self.overhead_s
            self.queue.append(_Job(work_s * self.draws.uniform(0.9, 1.1), now_s, is_probe=False))
        self._probe(now_s)
        self._work()
        self._judge(now_s)

    def _probe(self, now_s: float) -> None:
        probe = self.load.probe
        if probe is None or now_s < self.next_probe_s:
            return
        self.next_probe_s += probe.period_s
        job = _Job(PROBE_S, now_s, is_probe=True)
        self.probes.append(job)
        (self.served if probe.own_worker else self.queue).append(job)

    def _work(self) -> None:
        if self.booting_s > 0:
            self.booting_s -= self.cores * STEP_S
            return
        own = self.load.probe is not None and self.load.probe.own_worker
        while self.queue and sum(1 for job in self.served if not (own and job.is_probe)) < self.load.workers:
            self.served.append(self.queue.popleft())
        for job in self.served:
            job.cpu_s -= min(1.0, self.cores / len(self.served)) * STEP_S
        self.served = [job for job in self.served if job.cpu_s > 0]

    def _judge(self, now_s: float) -> None:
        probe = self.load.probe
        if probe is None:
            return
        for job in list(self.probes):
            late = now_s - job.at_s >= probe.timeout_s
            if job.cpu_s <= 0 or late:
                self.probes.remove(job)
                self.failures = self.failures + 1 if late else 0
        if self.failures >= probe.failure_threshold:
            self._kill(now_s)

    def _kill(self, now_s: float) -> None:
        self.kills += 1
        ends_s = now_s + GRACE_S
        delay_s = 0.0
        if self.kills > 2:
            if ends_s - self.ended_s < self.delay_s:
                delay_s = self.delay_s + self.draws.uniform(0, LATE_S)
            self.delay_s = min(2 * self.delay_s, self.curve.maximum_s)
        self.down_until_s = ends_s + max(delay_s, RESTART_S)
        self.ended_s = ends_s
        self.waiting += self._at_server
        self.queue.clear()
        self.served.clear()
        self.probes.clear()
        self.failures, self.booting_s = 0, BOOT_S
        if self.load.probe is not None and self.keeps_period:
            missed = math.ceil((self.down_until_s - self.next_probe_s) / self.load.probe.period_s)
            self.next_probe_s += max(0, missed) * self.load.probe.period_s
        elif self.load.probe is not None:
            self.next_probe_s = self.down_until_s + self.draws.uniform(0.1, 1.0)
