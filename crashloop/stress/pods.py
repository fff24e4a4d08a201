"""The pods of loads, as scenarios, and when they are due: one definition for the load generator and for the recorder. Pure.

Arrivals of an open model are due by the rate alone, even if the system answers slowly. A closed model waits for an answer before
its next request, so a slow system slows the load down and hides its slowness (coordinated omission). Here the intended times are
fixed, and missed arrivals are counted.
"""

import math
import random
from collections.abc import Iterator, Sequence

import msgspec

from crashloop.spec.pod import Container, Handler, Pod, Probe, RestartPolicy, RestartRule
from crashloop.spec.program import HOLDS, Life, Program, exits_with
from crashloop.spec.scenario import PodScenario, Until
from crashloop.stress.loads import (
    MAX_LIVES,
    AnyLoad,
    Burst,
    Canary,
    Churn,
    Crash,
    Demand,
    Finish,
    Jobs,
    OpenLoad,
    Rollout,
    succeeds,
)

SERVER = "server"
"""Container of a Demand."""
NEVER_S = 1e6
_NEVER = RestartPolicy.NEVER


def pod_of(load: AnyLoad, serial: int) -> Pod:
    """The pod with that serial number on its worker."""
    if isinstance(load, Crash):
        return _crashing(load, serial) if load.own is None else load.own.pod
    if isinstance(load, Churn | Canary):
        return Pod(containers=(Container(program=HOLDS),))
    if isinstance(load, Finish):
        program = exits_with(load.exit_code, after_s=load.run_s, times=MAX_LIVES)
        return Pod(containers=_each(program, load.containers, _NEVER, load.rule), restart_policy=_NEVER)
    if isinstance(load, Jobs):
        failing = (Life(run_s=load.run_s, exit_code=1, times=load.failures),) if load.failures else ()
        program = Program((*failing, Life(run_s=load.run_s, exit_code=0)))
        return Pod(containers=(Container(program=program),), restart_policy=RestartPolicy.ON_FAILURE)
    if isinstance(load, Rollout):
        return Pod(containers=(Container(program=exits_with(load.exit_code, after_s=load.run_s, times=MAX_LIVES)),))
    return Pod(containers=(Container(name=SERVER, program=HOLDS, probes=_probes(load)),))


def scenario_of(load: AnyLoad, pod: str, *, profile: str) -> PodScenario:
    """The scenario of a load's pod, by the pod's name; the recorder writes it at the top of its history."""
    return PodScenario(name=pod, profile=profile, pod=pod_of(load, serial_of(pod)), until=Until())


def name_of(load: str, worker: int, serial: int) -> str:
    """Name of the object with that serial number."""
    return f"{load}-{worker}-{serial}"


def serial_of(pod: str) -> int:
    """The serial number in a pod's name; 0 in names chosen by controllers."""
    number = pod.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


def _probes(load: Demand) -> tuple[Probe, ...]:
    """The liveness probe, which may kill; by itself it never fails."""
    if load.probe is None:
        return ()
    return (
        Probe(
            handler=Handler.HTTP,
            fails_after_s=NEVER_S,
            period_s=load.probe.period_s,
            timeout_s=load.probe.timeout_s,
            failure_threshold=load.probe.failure_threshold,
        ),
    )


def _crashing(load: Crash, serial: int) -> Pod:
    code = 0 if succeeds(load, serial) else load.exit_code
    program = exits_with(code, after_s=load.run_s, times=MAX_LIVES)
    if load.startup is not None:
        own = {"startup_cpu_s": load.startup.cpu_s, "startup_read_mb": load.startup.read_mb}
        program = msgspec.structs.replace(program, **own)
    crashers = _each(program, load.containers, load.restart_policy, load.rule)
    beside = (Container(name=f"beside-{number}") for number in range(1, load.companions + 1))
    return Pod(containers=(*crashers, *beside), restart_policy=load.restart_policy)


def _each(program: Program, number: int, policy: RestartPolicy, rule: RestartRule | None) -> tuple[Container, ...]:
    """So many containers with one program."""
    names = ["app", *(f"app-{each}" for each in range(2, number + 1))]
    # A container with rules needs a restart policy of its own.
    own, rules = (None, ()) if rule is None else (policy, (rule,))
    return tuple(Container(name=name, program=program, restart_policy=own, rules=rules) for name in names)


def arrivals_ns(load: OpenLoad, began_ns: int) -> Iterator[int]:
    """Intended times of a load that begins then."""
    seconds = _poisson_s(load) if isinstance(load, Demand) else _regular_s(load.rate_per_s)
    return (began_ns + round(at_s * 1e9) for at_s in seconds)


def _regular_s(rate_per_s: float) -> Iterator[float]:
    """The first is one interval after the beginning."""
    at_s = 0.0
    while True:
        at_s += 1 / rate_per_s
        yield at_s


def _poisson_s(load: Demand) -> Iterator[float]:
    """A Poisson process whose rate changes: each arrival needs a random number of expected ones since the one before."""
    draws, at_s = random.Random(load.seed), 0.0
    while True:
        needed = draws.expovariate(1.0)
        rate, until_s = _piece(load.rate_per_s, load.bursts, at_s)
        while needed > rate * (until_s - at_s):
            needed -= rate * (until_s - at_s)
            at_s = until_s
            rate, until_s = _piece(load.rate_per_s, load.bursts, at_s)
        at_s += needed / rate
        yield at_s


def _piece(rate_per_s: float, bursts: Sequence[Burst], at_s: float) -> tuple[float, float]:
    """The rate at a time, and how long it stays."""
    for burst in bursts:
        if at_s < burst.after_s:
            return rate_per_s, burst.after_s
        if at_s < burst.to_s:
            return burst.rate_per_s, burst.to_s
    return rate_per_s, math.inf
