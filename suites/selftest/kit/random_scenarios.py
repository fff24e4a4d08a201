"""Random scenarios for the simulated kubelet: pods, policies, rules, probes, interventions, versions, configurations, hosts."""

from random import Random
from typing import Any

import msgspec

from crashloop.spec.dependency import ConfigObject, Variable
from crashloop.spec.intervention import (
    NEED_OWN_CONTROL_PLANE,
    RESTART_THE_KUBELET,
    Intervention,
    InterventionKind,
    Trigger,
)
from crashloop.spec.owner import OF_STATIC_PODS, StaticPod
from crashloop.spec.pod import (
    Action,
    Container,
    ContainerKind,
    Operator,
    Pod,
    Probe,
    ProbeKind,
    RestartPolicy,
    RestartRule,
)
from crashloop.spec.profile import (
    MAX_PERIOD_GATE,
    REDUCED_DECAY_GATE,
    RESTART_ALL_GATE,
    RESTART_RULES_GATE,
    KubeletProfile,
)
from crashloop.spec.program import HOLDS, Life, Program
from crashloop.spec.scenario import Mode, PodScenario, Until
from crashloop.spec.version import KubernetesVersion
from sim.host import HOSTS, HostModel

VERSIONS = tuple(KubernetesVersion.parse(text) for text in ("1.33.13", "1.34.4", "1.35.4", "1.36.3", "1.37.1"))
PERIODS = (None, "1s", "2s", "4s", "10s", "11s", "20s", "60s", "300s")
CODES = (0, 0, 1, 1, 1, 2, 42, 42, 43, 130, 255)
"""Not the codes of kills, 137 and 143: from those nobody can tell whether a container exited by itself."""
LATER = "random-later"
RUNS_S = (0.0, 0.0, 0.5, 1.0, 1.0, 2.0, 5.0, 12.0, 30.0)


NOT_DRAWN = (
    # What a pod without its sandbox does beyond RESET-11 and X-1 has no outcome to be right about.
    InterventionKind.KILL_SANDBOX,
    # A kubelet before 1.36 does not state how such a container ended.
    InterventionKind.REMOVE_CONTAINER,
    # Drawn by _with_objects, for they need an object or end the pod.
    InterventionKind.DELETE_POD,
    InterventionKind.CREATE_OBJECT,
    InterventionKind.CHANGE_OBJECT,
    InterventionKind.DELETE_OBJECT,
    # Does what ANNOTATE does, and the scenarios of all seeds stay what they were.
    InterventionKind.LABEL,
    # Drawn by _with_written_config, so that the scenarios of all seeds stay what they were.
    InterventionKind.WRITE_KUBELET_CONFIG,
    # Drawn by _as_static_pod.
    *OF_STATIC_PODS,
    # Needs an image of the registry.
    InterventionKind.OFFER_IMAGE,
    # Comes before the pod, or not at all.
    InterventionKind.TAKE_NETWORK,
    InterventionKind.GIVE_NETWORK,
    # Nothing of a right kubelet goes by it.
    InterventionKind.UNLABEL_NODE,
    # Need a control plane for themselves.
    *NEED_OWN_CONTROL_PLANE,
)
STATIC_SHARE = 0.06
DEADLINE_SHARE = 0.08
SETTINGS = ConfigObject(name="settings", data={"A": "old"})


class RandomCase(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario with all that it runs on."""

    scenario: PodScenario
    profile: KubeletProfile
    later: KubeletProfile
    """What a restart of the kubelet may change the profile to."""
    version: KubernetesVersion
    host: HostModel


def random_case(seed: int, hosts: tuple[HostModel, ...] = HOSTS) -> RandomCase:
    """The scenario of that number. Every kubelet starts with its profile."""
    chance = Random(seed)
    version = chance.choice(VERSIONS)
    scenario = _with_objects(_scenario(chance, version), Random(f"objects {seed}"))
    scenario = _with_notes(scenario, Random(f"notes {seed}"))
    scenario = _with_deadline(scenario, Random(f"deadline {seed}"))
    scenario = _as_static_pod(scenario, Random(f"static {seed}"))
    return RandomCase(
        scenario=_with_written_config(scenario, Random(f"written {seed}")),
        profile=_profile(chance, version, "random"),
        version=version,
        host=chance.choice(hosts),
        later=_profile(chance, version, LATER),
    )


def _profile(chance: Random, version: KubernetesVersion, name: str) -> KubeletProfile:
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
    return KubeletProfile(name=name, config={**section, **({"featureGates": gates} if gates else {})})


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


def _with_objects(scenario: PodScenario, chance: Random) -> PodScenario:
    """Now and then an object that a container needs, which comes, changes or goes, or the end of the pod."""
    if scenario.interventions or chance.random() > 0.1:
        return scenario
    kinds = InterventionKind
    action = chance.choice((kinds.DELETE_POD, kinds.CREATE_OBJECT, kinds.CHANGE_OBJECT, kinds.DELETE_OBJECT))
    arguments = {"object": SETTINGS.name} | ({"data": {"A": "new"}} if action is kinds.CHANGE_OBJECT else {})
    done = Intervention(
        trigger=Trigger(after_s=chance.choice((3.0, 12.0, 40.0))),
        action=action,
        arguments={} if action is kinds.DELETE_POD else arguments,
    )
    first, *others = scenario.pod.containers
    needing = msgspec.structs.replace(first, env=(Variable(name="A", object=SETTINGS.name),))
    return msgspec.structs.replace(
        scenario,
        pod=msgspec.structs.replace(scenario.pod, containers=(needing, *others)),
        objects=(msgspec.structs.replace(SETTINGS, present=action is not kinds.CREATE_OBJECT),),
        interventions=(done,),
    )


def _with_notes(scenario: PodScenario, chance: Random) -> PodScenario:
    """Now and then a first container that marks its root filesystem and a volume, or has a postStart hook."""
    if chance.random() > 0.25:
        return scenario
    first, *others = scenario.pod.containers
    marks = chance.random() < 0.5
    program = msgspec.structs.replace(first.program, marks_root=marks, marks_volume=marks)
    noting = msgspec.structs.replace(first, program=program, post_start=not marks)
    return msgspec.structs.replace(scenario, pod=msgspec.structs.replace(scenario.pod, containers=(noting, *others)))


def _with_deadline(scenario: PodScenario, chance: Random) -> PodScenario:
    """Now and then a pod that has to end by itself, with whatever of it runs then."""
    if chance.random() > DEADLINE_SHARE:
        return scenario
    pod = msgspec.structs.replace(scenario.pod, active_deadline_s=chance.choice((5, 12, 25, 60)))
    return msgspec.structs.replace(scenario, pod=pod)


def _as_static_pod(scenario: PodScenario, chance: Random) -> PodScenario:
    """Now and then a file of the node instead, which is edited, or whose mirror pod is deleted."""
    pod = scenario.pod
    plain = scenario.mode is Mode.NATURAL and not (
        scenario.objects or scenario.interventions or pod.active_deadline_s is not None
    )
    if not plain or pod.of_kind(ContainerKind.EPHEMERAL) or chance.random() > STATIC_SHARE:
        return scenario
    done = Intervention(
        trigger=Trigger(after_s=chance.choice((3.0, 12.0, 40.0))),
        action=chance.choice(sorted(OF_STATIC_PODS - {InterventionKind.RENEW_STATIC_POD})),
    )
    return msgspec.structs.replace(scenario, owner=StaticPod(), interventions=(done,))


def _with_written_config(scenario: PodScenario, chance: Random) -> PodScenario:
    """Now and then another configuration for the kubelet's next start, which does not come."""
    if scenario.interventions or chance.random() > 0.02:
        return scenario
    written = Intervention(
        trigger=Trigger(after_s=chance.choice((3.0, 12.0, 40.0))),
        action=InterventionKind.WRITE_KUBELET_CONFIG,
        arguments={"profile": LATER},
    )
    return msgspec.structs.replace(scenario, interventions=(written,))


def _container(chance: Random, version: KubernetesVersion, kind: ContainerKind, name: str) -> Container:
    policy = chance.choice((None, None, *RestartPolicy)) if version.release >= (1, 34) else None
    if kind is ContainerKind.INIT and policy is RestartPolicy.ALWAYS:
        policy = RestartPolicy.ON_FAILURE
    rules: tuple[RestartRule, ...] = ()
    if policy is not None and chance.random() < 0.6:
        rules = tuple(_rule(chance, version) for _ in range(chance.randint(1, 3)))
    if kind is ContainerKind.REGULAR and chance.random() < 0.1:
        # No rules: what they do about a kill (X-1, X-2, RULES-18) has no outcome to be right about.
        return Container(name=name, kind=kind, program=HOLDS, restart_policy=policy, probes=_probes(chance))
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


def _probes(chance: Random) -> tuple[Probe, ...]:
    kinds = [kind for kind in ProbeKind if chance.random() < 0.6] or [ProbeKind.LIVENESS]
    return tuple(_probe(chance, kind) for kind in kinds)


def _probe(chance: Random, kind: ProbeKind) -> Probe:
    threshold = chance.randint(1, 4)
    pattern = "".join(chance.choice("SSF") for _ in range(threshold + 3)) if chance.random() < 0.4 else ""
    return Probe(
        kind=kind,
        fails_after_s=0.0 if pattern else chance.choice((0.0, 3.0, 8.0)),
        pattern=pattern,
        answers_after_s=chance.choice((0.0, 0.0, 0.0, 0.4, 1.5)),
        hangs=chance.random() < 0.2,
        period_s=chance.choice((1, 1, 2)),
        failure_threshold=threshold,
    )


def _interventions(chance: Random) -> tuple[Intervention, ...]:
    if chance.random() > 0.15:
        return ()
    action = chance.choice([each for each in InterventionKind if each not in NOT_DRAWN])
    known: dict[InterventionKind, dict[str, Any]] = {
        InterventionKind.CHANGE_IMAGE: {"container": "app-0", "image": "other:1"},
        InterventionKind.RESIZE: {"container": "app-0", "cpu": "60m"},
        InterventionKind.RESTART_KUBELET: {"down_s": 12.0},
        InterventionKind.KILL_KUBELET: {"down_s": 15.0},
    }
    arguments = known.get(action, {})
    if action in RESTART_THE_KUBELET and chance.random() < 0.5:
        arguments = {"profile": LATER}
    trigger = Trigger(container="app-0", after_restart=chance.randint(0, 3), after_s=chance.choice((0.0, 1.0, 5.0)))
    return (Intervention(trigger=trigger, action=action, arguments=arguments),)
