"""One scenario on a simulated node: the history that a recorder would have written."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from random import Random
from types import NoneType
from typing import Any

import msgspec

from crashloop.history.event import Event, Kind
from crashloop.spec.owner import Deployment, Job, Owner, StaticPod
from crashloop.spec.profile import MAX_PERIOD_GATE, KubeletProfile
from crashloop.spec.scenario import ApiScenario, PodScenario, Scenario, StartupScenario, TextScenario
from crashloop.spec.version import KubernetesVersion
from sim.behaviour import CORRECT, Behaviour, S
from sim.config import Effective, StartRefusal, take
from sim.control_plane import ApiServer
from sim.director import ScenarioPlayer
from sim.host import CALM, HostModel, Loop, SimulatedHost, World
from sim.kubelet import Kubelet
from sim.owner_player import DeploymentPlayer, JobPlayer, StaticPlayer
from sim.recorder import Tape
from sim.runtime import Runtime

BEGIN_NS = 1_800_000_000 * S
"""The Unix time at which every simulation begins (January 2027)."""
KUBELET_EXITS_MS = (150, 900)
KUBELET_HEALTHY_MS = (700, 3_000)
API_ANSWERS_MS = (2, 40)
VALID = KubeletProfile(
    name="valid",
    config={
        "featureGates": {MAX_PERIOD_GATE: True},
        "crashLoopBackOff": {"maxContainerRestartPeriod": "300s"},
    },
)
"""What a control start runs with; every release takes it."""


def simulate(
    scenario: PodScenario,
    profile: KubeletProfile,
    version: KubernetesVersion,
    *,
    rng: Random,
    behaviour: Behaviour = CORRECT,
    host: HostModel = CALM,
    later: Sequence[KubeletProfile] = (),
) -> tuple[Event, ...]:
    """The history of a pod scenario on a node whose kubelet has that profile, version and behaviour.

    `later` are the profiles that the scenario restarts the kubelet with. Raises ValueError if the kubelet does not start with
    one of them.
    """
    return simulate_node((scenario,), profile, version, rng=rng, behaviour=behaviour, host=host, later=later)[0]


def simulate_node(
    scenarios: Sequence[PodScenario],
    profile: KubeletProfile,
    version: KubernetesVersion,
    *,
    rng: Random,
    behaviour: Behaviour = CORRECT,
    host: HostModel = CALM,
    later: Sequence[KubeletProfile] = (),
) -> tuple[tuple[Event, ...], ...]:
    """The histories of pod scenarios that begin together on one node; a pod whose scenario has ended stays there.

    `later` are the profiles that the scenarios restart the kubelet with. Raises ValueError if the kubelet does not start with
    one of them.
    """
    effective = _started(profile, version, behaviour)
    refused = {name for each in scenarios for name in each.refused_profiles}
    further = {
        each.name: take(each, version, behaviour) if each.name in refused else _started(each, version, behaviour)
        for each in (*later, profile)
    }
    lengths_ns = [int(each.until.at_most_s * 1e9) for each in scenarios]
    machine = SimulatedHost(host, rng, BEGIN_NS, max(lengths_ns))
    loop = Loop(BEGIN_NS, machine.awake)
    world = World(loop, machine)
    tapes = [_begun(scenario, profile, version, machine) for scenario in scenarios]
    runtime = Runtime(world)
    kubelet = Kubelet(world, tapes, runtime, effective, behaviour)
    kubelet.start(BEGIN_NS - S)
    players: list[ScenarioPlayer] = []

    def stop_with_the_last() -> None:
        if all(player.history is not None for player in players):
            loop.stop()

    players += [
        PLAYERS[type(scenario.owner)](scenario, world, tape, runtime, kubelet, further, stop_with_the_last)
        for scenario, tape in zip(scenarios, tapes, strict=True)
    ]
    for player, length_ns in sorted(zip(players, lengths_ns, strict=True), key=lambda each: each[1]):
        loop.run(BEGIN_NS + length_ns)
        if player.history is None:
            player.end("deadline")
    return tuple(player.history or () for player in players)


PLAYERS: Mapping[type[Owner] | type[None], type[ScenarioPlayer]] = {
    NoneType: ScenarioPlayer,
    Job: JobPlayer,
    Deployment: DeploymentPlayer,
    StaticPod: StaticPlayer,
}
"""What carries a scenario out, by the owner of its pods."""


def _started(profile: KubeletProfile, version: KubernetesVersion, behaviour: Behaviour) -> Effective:
    """The configuration of a kubelet that starts."""
    effective = take(profile, version, behaviour)
    if isinstance(effective, StartRefusal):
        raise ValueError(f"profile {profile.name!r}: kubelet {version} does not start: {effective.text}")
    return effective


def simulate_startup(
    scenario: StartupScenario,
    candidate: KubeletProfile,
    version: KubernetesVersion,
    *,
    rng: Random,
    behaviour: Behaviour = CORRECT,
    host: HostModel = CALM,
) -> tuple[Event, ...]:
    """The history of a kubelet that is started with the candidate's configuration."""
    flagged = msgspec.structs.replace(candidate, arguments=scenario.unknown_flags)
    outcome = take(flagged, version, behaviour)
    tape = _begun(scenario, candidate, version, SimulatedHost(host, rng, BEGIN_NS, int(scenario.at_most_s * 1e9)))
    now = _start_once(tape, BEGIN_NS, outcome, {})
    if scenario.control is not None:
        valid = msgspec.structs.replace(VALID, name=scenario.control)
        now = _start_once(tape, now, take(valid, version, behaviour), {"control": scenario.control})
    return tape.seal(now + S // 100, "complete")


def _begun(scenario: Scenario, profile: KubeletProfile, version: KubernetesVersion, machine: SimulatedHost) -> Tape:
    tape = Tape(machine, BEGIN_NS)
    tape.began(scenario, profile, version)
    return tape


def _start_once(tape: Tape, now: int, outcome: Effective | StartRefusal, mark: dict[str, Any]) -> int:
    """One kubelet process from its start to its exit or its health; returns when that was."""
    machine = tape.host
    now += machine.takes_ms((5, 50))
    tape.kubelet(now, Kind.PROCESS_STARTED, {"pid": 5_001, "argv": ["kubelet", "--config=config.yaml"]} | mark)
    if isinstance(outcome, StartRefusal):
        now = machine.awake(now + machine.takes_ms(KUBELET_EXITS_MS))
        tape.kubelet(now, Kind.PROCESS_EXITED, {"exit_code": outcome.exit_code, "stderr": outcome.text} | mark)
    else:
        now = machine.awake(now + machine.takes_ms(KUBELET_HEALTHY_MS))
        tape.kubelet(now, Kind.PROCESS_HEALTHY, {"configz": outcome.configz, "stderr": outcome.warning} | mark)
    return now


def simulate_api(
    scenario: ApiScenario,
    settings: KubeletProfile,
    version: KubernetesVersion,
    *,
    rng: Random,
    behaviour: Behaviour = CORRECT,
    host: HostModel = CALM,
) -> tuple[Event, ...]:
    """The history of requests to an API server with those gates."""
    server = ApiServer(settings, version, behaviour)
    machine = SimulatedHost(host, rng, BEGIN_NS, int(scenario.at_most_s * 1e9))
    tape = _begun(scenario, settings, version, machine)
    now = BEGIN_NS
    for index, request in enumerate(scenario.requests):
        now = machine.awake(now + machine.takes_ms(API_ANSWERS_MS))
        if request.feature_gates is not None:
            server.start(request.feature_gates)
        answer = deepcopy(server.answer(request))
        found = deepcopy(server.stored.get(request.name))
        data: dict[str, Any] = {
            "index": index,
            "verb": request.verb.value,
            "dry_run": request.dry_run,
            "warnings": [],
            "found": found,
            "stored_bytes": server.stored_bytes(request.name),
        }
        tape.answered(now, data | answer)
    return tape.seal(now + S // 100, "complete")


def simulate_text(
    scenario: TextScenario,
    settings: KubeletProfile,
    version: KubernetesVersion,
    *,
    rng: Random,
    behaviour: Behaviour = CORRECT,  # noqa: ARG001 (a kubelet has no part in it)
    host: HostModel = CALM,
) -> tuple[Event, ...]:
    """The history of a text, in which nothing happens."""
    tape = _begun(scenario, settings, version, SimulatedHost(host, rng, BEGIN_NS, S))
    return tape.seal(BEGIN_NS + S // 100, "complete")
