"""Random scenarios that have more in them: hooks, kills, probes of every kind, sandboxes that go, several interventions, Jobs.

Each is a scenario of random_scenarios with further features, so the two share seeds but not what happens.
"""

from random import Random
from typing import Any

import msgspec

from crashloop.cluster.provider import Capability
from crashloop.history.event import Channel
from crashloop.run.kinds import KINDS
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.owner import Job
from crashloop.spec.pod import Container, ContainerKind, Handler, Probe, ProbeKind, RestartPolicy
from crashloop.spec.program import KILLED, REFUSED, Life, LifeEnd, Program
from crashloop.spec.scenario import Mode, PodScenario
from sim.host import HOSTS, HostModel
from suites.selftest.kit.random_scenarios import CODES, RUNS_S, RandomCase, random_case

ENDS = (*[LifeEnd.EXIT] * 5, LifeEnd.SIGNAL)
KINDS_DONE = (
    InterventionKind.ANNOTATE,
    InterventionKind.LABEL,
    InterventionKind.CHANGE_IMAGE,
    InterventionKind.RESIZE,
    InterventionKind.DELETE_POD,
    InterventionKind.RESTART_KUBELET,
    InterventionKind.KILL_KUBELET,
    InterventionKind.RESTART_RUNTIME,
    InterventionKind.RECREATE_POD,
    InterventionKind.KILL_SANDBOX,
    InterventionKind.KILL_SANDBOX,
)
ENDS_IT = frozenset((InterventionKind.DELETE_POD, InterventionKind.RECREATE_POD))
NEVER_FAILS_S = 1e6


def rich_case(seed: int, hosts: tuple[HostModel, ...] = HOSTS) -> RandomCase:
    """The scenario of that number; a host whose runtime is not seen is only drawn for what needs none."""
    case, chance = random_case(seed, hosts), Random(f"rich {seed}")
    scenario = case.scenario
    if scenario.owner is not None or scenario.objects:
        return case
    containers = [_rich(chance, each) for each in (*scenario.pod.containers, *_further(chance))]
    pod = msgspec.structs.replace(scenario.pod, containers=tuple(containers), grace_s=chance.choice((1, 2, 2, 4)))
    scenario = msgspec.structs.replace(scenario, pod=pod)
    if scenario.mode is Mode.NATURAL and chance.random() < 0.5:
        scenario = msgspec.structs.replace(scenario, interventions=_interventions(chance, containers))
    scenario = _as_job(chance, scenario)
    host = case.host
    if _needs_runtime(scenario) and Channel.RUNTIME in host.missing:
        host = chance.choice([each for each in hosts if Channel.RUNTIME not in each.missing])
    return msgspec.structs.replace(case, scenario=scenario, host=host)


def _needs_runtime(scenario: PodScenario) -> bool:
    needed = set(KINDS[PodScenario].capabilities(scenario))
    return bool(needed & {Capability.RUNTIME_EVENTS, Capability.RUNTIME_RESTART})


def _further(chance: Random) -> list[Container]:
    found = []
    if chance.random() < 0.2:
        always = RestartPolicy.ALWAYS
        found += [Container(name="late", kind=ContainerKind.INIT, restart_policy=always, program=_program(chance))]
    if chance.random() < 0.1:
        succeeds = Life(run_s=1.0, exit_code=0, times=100)
        program = Program((*_program(chance).lives, succeeds))
        found += [Container(name="setup-2", kind=ContainerKind.INIT, program=program)]
    return found


def _rich(chance: Random, container: Container) -> Container:
    if container.kind is ContainerKind.EPHEMERAL:
        return container
    more: dict[str, Any] = {}
    if chance.random() < 0.25:
        more["pre_stop_s"] = chance.choice((1, 1, 2, 3))
    if chance.random() < 0.3:
        more["exit_code_on_term"] = chance.choice((0, 42, KILLED, 1))
    if container.kind is ContainerKind.REGULAR or container.is_sidecar:
        in_memory = chance.random() < 0.15
        if in_memory:
            more["memory_limit"] = "32Mi"
        if chance.random() < 0.4:
            more["program"] = _program(chance, ends=(*ENDS, *([LifeEnd.MEMORY] * 3 if in_memory else [])))
        if chance.random() < 0.3:
            more["probes"] = tuple(_probe(chance, kind) for kind in ProbeKind if chance.random() < 0.4)
        more |= _start(chance, msgspec.structs.replace(container, **more))
    return msgspec.structs.replace(container, restarts_on_resize=chance.random() < 0.2, **more)


def _start(chance: Random, container: Container) -> dict[str, Any]:
    """Now and then starts that the runtime refuses, or a postStart hook, which may fail."""
    if not container.probes and chance.random() < 0.06:
        life = Life(exit_code=REFUSED, times=chance.choice((1, 3, 8)), end=LifeEnd.START)
        return {"program": Program((life,)), "post_start": False}
    if chance.random() > 0.2:
        return {}
    if chance.random() > 0.4:
        return {"post_start": True}
    times = chance.choice((1, 2, 4))
    life = Life(run_s=0.2, exit_code=container.exit_code_on_term, times=times, end=LifeEnd.HOOK)
    return {"post_start": True, "program": Program((life, *container.program.lives))}


def _program(chance: Random, ends: tuple[LifeEnd, ...] = ENDS) -> Program:
    return Program(tuple(_life(chance, chance.choice(ends)) for _ in range(chance.randint(0, 3))))


def _life(chance: Random, end: LifeEnd) -> Life:
    exit_code = chance.choice(CODES) if end is LifeEnd.EXIT else KILLED
    return Life(run_s=chance.choice(RUNS_S), exit_code=exit_code, times=chance.choice((1, 1, 2, 5)), end=end)


def _probe(chance: Random, kind: ProbeKind) -> Probe:
    threshold = chance.randint(1, 4)
    pattern = "".join(chance.choice("SSF") for _ in range(threshold + 3)) if chance.random() < 0.3 else ""
    fails_after_s = chance.choice((0.0, 3.0, 8.0, NEVER_FAILS_S, NEVER_FAILS_S))
    is_readiness = kind is ProbeKind.READINESS
    return Probe(
        kind=kind,
        handler=chance.choice((Handler.EXEC, Handler.EXEC, Handler.HTTP)),
        pattern=pattern,
        fails_after_s=0.0 if pattern else fails_after_s,
        answers_after_s=chance.choice((0.0, 0.0, 0.4, 1.5)),
        initial_delay_s=chance.choice((0, 0, 1, 4)),
        period_s=chance.choice((1, 1, 2, 3)),
        failure_threshold=threshold,
        success_threshold=chance.choice((1, 2)) if is_readiness else 1,
        grace_s=None if is_readiness else chance.choice((None, None, 1, 3)),
    )


def _interventions(chance: Random, containers: list[Container]) -> tuple[Intervention, ...]:
    """One to three, of which a deletion is the last."""
    named = [each.name for each in containers if each.kind is not ContainerKind.EPHEMERAL]
    done = [_intervention(chance, chance.choice(named)) for _ in range(chance.choice((1, 1, 2, 3)))]
    deletion = [each for each in done if each.action is InterventionKind.DELETE_POD][:1]
    return (*(each for each in done if not deletion or each.action not in ENDS_IT), *deletion)


def _intervention(chance: Random, container: str) -> Intervention:
    action = chance.choice(KINDS_DONE)
    arguments: dict[InterventionKind, dict[str, Any]] = {
        InterventionKind.CHANGE_IMAGE: {"container": container, "image": "other:1"},
        InterventionKind.RESIZE: {"container": container, "cpu": "60m"},
        InterventionKind.RESTART_KUBELET: {"down_s": chance.choice((0.0, 3.0, 12.0))},
        InterventionKind.KILL_KUBELET: {"down_s": chance.choice((0.0, 15.0))},
        InterventionKind.RESTART_RUNTIME: {"down_s": chance.choice((0.0, 5.0)), "hangs": chance.random() < 0.3},
    }
    after_s = chance.choice((0.2, 1.0, 3.0, 12.0, 30.0))
    trigger = Trigger(after_s=after_s)
    if chance.random() < 0.6:
        after_s = chance.choice((0.0, 0.5, 1.0, 5.0))
        trigger = Trigger(container=container, after_restart=chance.randint(0, 3), after_s=after_s)
    return Intervention(trigger=trigger, action=action, arguments=arguments.get(action, {}))


def _as_job(chance: Random, scenario: PodScenario) -> PodScenario:
    pod = scenario.pod
    plain = scenario.mode is Mode.NATURAL and not scenario.interventions and pod.active_deadline_s is None
    fits = pod.restart_policy is not RestartPolicy.ALWAYS and not pod.of_kind(ContainerKind.EPHEMERAL)
    if not plain or not fits or chance.random() > 0.12:
        return scenario
    return msgspec.structs.replace(scenario, owner=Job(backoff_limit=chance.choice((0, 1, 3, 6))))
