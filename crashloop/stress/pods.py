"""The pods of loads, as scenarios: one definition for the load generator and for the recorder. Pure."""

import msgspec

from crashloop.spec.pod import Container, Handler, Pod, Probe, RestartPolicy, RestartRule
from crashloop.spec.program import HOLDS, Life, Program, exits_with
from crashloop.spec.scenario import PodScenario, Until
from crashloop.stress.loads import MAX_LIVES, AnyLoad, Canary, Churn, Crash, Demand, Finish, Jobs, Rollout, succeeds

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
