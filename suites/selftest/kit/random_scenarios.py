"""Random scenarios for the simulated kubelet: pods, policies, rules, probes, interventions, versions, configurations, hosts."""

from random import Random

import msgspec

from crashloop.sim.host import HOSTS, HostModel
from crashloop.spec.policy import Action, Operator, RestartPolicy, RestartRule
from crashloop.spec.profile import (
    MAX_PERIOD_GATE,
    REDUCED_DECAY_GATE,
    RESTART_ALL_GATE,
    RESTART_RULES_GATE,
    KubeletProfile,
)
from crashloop.spec.program import HOLDS, Life, Program
from crashloop.spec.scenario import (
    Container,
    ContainerKind,
    Intervention,
    InterventionKind,
    Mode,
    Pod,
    PodScenario,
    Probe,
    ProbeKind,
    Trigger,
    Until,
)
from crashloop.spec.version import KubernetesVersion

VERSIONS = tuple(KubernetesVersion.parse(text) for text in ("1.33.13", "1.34.4", "1.35.4", "1.36.3", "1.37.1"))
PERIODS = (None, "1s", "2s", "4s", "10s", "11s", "20s", "60s", "300s")
CODES = (0, 0, 1, 1, 1, 2, 42, 42, 43, 130, 255)
"""Not the codes of kills, 137 and 143: from those nobody can tell whether a container exited by itself."""
RUNS_S = (0.0, 0.0, 0.5, 1.0, 1.0, 2.0, 5.0, 12.0, 30.0)


class RandomCase(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario with all that it runs on."""

    scenario: PodScenario
    profile: KubeletProfile
    version: KubernetesVersion
    host: HostModel


def random_case(seed: int, hosts: tuple[HostModel, ...] = HOSTS) -> RandomCase:
    """The scenario of that number. Every kubelet starts with its profile."""
    chance = Random(seed)
    version = chance.choice(VERSIONS)
    return RandomCase(
        scenario=_scenario(chance, version),
        profile=_profile(chance, version),
        version=version,
        host=chance.choice(hosts),
    )


def _profile(chance: Random, version: KubernetesVersion) -> KubeletProfile:
    gates: dict[str, bool] = {}
    period = chance.choice(PERIODS)
    if chance.random() < 0.3:
        gates[REDUCED_DECAY_GATE] = True
    if version.release < (1, 35) and period is not None:
        gates[MAX_PERIOD_GATE] = True
    if version.release >= (1, 35) and period is None and chance.random() < 0.3:
        gates[MAX_PERIOD_GATE] = False
    if version.release == (1, 34):
        gates[RESTART_RULES_GATE] = True
    if version.release >= (1, 36) and chance.random() < 0.1:
        gates |= {RESTART_RULES_GATE: False, RESTART_ALL_GATE: False}
    section = {} if period is None else {"crashLoopBackOff": {"maxContainerRestartPeriod": period}}
    return KubeletProfile(name="random", config={**section, **({"featureGates": gates} if gates else {})})


def _scenario(chance: Random, version: KubernetesVersion) -> PodScenario:
    containers = [
        _container(chance, version, ContainerKind.REGULAR, f"app-{n}") for n in range(chance.choice((1, 1, 1, 2, 3)))
    ]
    if chance.random() < 0.25:
        containers.append(_container(chance, version, ContainerKind.INIT, "setup"))
    if chance.random() < 0.2:
        containers.append(_sidecar(chance))
    if chance.random() < 0.05:
        containers.append(Container(name="debug", kind=ContainerKind.EPHEMERAL, program=_program(chance)))
    restarts = chance.randint(1, 8)
    at_most_s = chance.choice((20.0, 60.0, 90.0, 90.0, 240.0))
    return PodScenario(
        name="random",
        profile="random",
        pod=Pod(containers=tuple(containers), restart_policy=chance.choice(tuple(RestartPolicy))),
        until=Until(
            restarts={"app-0": restarts} if chance.random() < 0.7 else {},
            at_least_s=min(at_most_s, chance.choice((0.0, 0.0, 30.0, 80.0))),
            quiet_s=chance.choice((0.0, 0.0, 10.0)),
            at_most_s=at_most_s,
        ),
        mode=chance.choice(tuple(Mode)),
        interventions=_interventions(chance),
    )


def _container(chance: Random, version: KubernetesVersion, kind: ContainerKind, name: str) -> Container:
    policy = chance.choice((None, None, *RestartPolicy)) if version.release >= (1, 34) else None
    if kind is ContainerKind.INIT and policy is RestartPolicy.ALWAYS:
        policy = RestartPolicy.ON_FAILURE
    rules: tuple[RestartRule, ...] = ()
    if policy is not None and chance.random() < 0.6:
        rules = tuple(_rule(chance, version) for _ in range(chance.randint(1, 3)))
    if kind is ContainerKind.REGULAR and chance.random() < 0.1:
        # No rules: what they do about a kill (X-1, X-2, RULES-18) has no outcome to be right about.
        return Container(name=name, kind=kind, program=HOLDS, restart_policy=policy, probe=_probe(chance))
    return Container(
        name=name,
        kind=kind,
        program=_program(chance, init=kind is ContainerKind.INIT),
        restart_policy=policy,
        rules=rules,
    )


def _sidecar(chance: Random) -> Container:
    return Container(
        name="sidecar", kind=ContainerKind.INIT, restart_policy=RestartPolicy.ALWAYS, program=_program(chance)
    )


def _program(chance: Random, *, init: bool = False) -> Program:
    lives = tuple(
        Life(run_s=chance.choice(RUNS_S), exit_code=chance.choice(CODES), times=chance.choice((1, 1, 2, 5)))
        for _ in range(chance.randint(0, 3))
    )
    return Program((*lives, Life(run_s=1.0, exit_code=0, times=100))) if init else Program(lives)


def _rule(chance: Random, version: KubernetesVersion) -> RestartRule:
    resets = version.release >= (1, 36) and chance.random() < 0.2
    return RestartRule(
        action=Action.RESTART_ALL_CONTAINERS if resets else Action.RESTART,
        operator=chance.choice(tuple(Operator)),
        values=tuple(chance.choice(CODES) for _ in range(chance.randint(0, 3))),
    )


def _probe(chance: Random) -> Probe:
    return Probe(
        kind=chance.choice(tuple(ProbeKind)),
        fails_after_s=chance.choice((0.0, 3.0, 8.0)),
        period_s=chance.choice((1, 1, 2)),
        failure_threshold=chance.randint(1, 4),
    )


def _interventions(chance: Random) -> tuple[Intervention, ...]:
    if chance.random() > 0.15:
        return ()
    action = chance.choice(tuple(InterventionKind))
    arguments = {
        InterventionKind.CHANGE_IMAGE: {"container": "app-0", "image": "other:1"},
        InterventionKind.RESIZE: {"container": "app-0", "cpu": "60m"},
    }.get(action, {})
    trigger = Trigger(container="app-0", after_restart=chance.randint(0, 3), after_s=chance.choice((0.0, 1.0, 5.0)))
    return (Intervention(trigger=trigger, action=action, arguments=arguments),)
