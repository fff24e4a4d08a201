"""Crash loops for the tests of inference: from hand-written statements, and from the simulated kubelet's."""

from datetime import UTC, datetime
from random import Random
from typing import Any

import msgspec

from crashloop.history.event import Channel, Kind
from crashloop.inference.loops import CrashLoop, CrashLoops, PodStatement, statement
from crashloop.model.config import Curve
from crashloop.spec.pod import Container, Pod
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import Mode, PodScenario, Until
from crashloop.spec.version import KubernetesVersion
from sim import simulate
from sim.behaviour import Behaviour, S
from sim.config import Effective, take

V1_37 = KubernetesVersion(1, 37, 1)
V1_34 = KubernetesVersion(1, 34, 4)
ZERO_S = 1_800_000_000

Json = dict[str, Any]


def at(seconds: float) -> str:
    """A moment as the API writes it, `seconds` after we began to look."""
    return datetime.fromtimestamp(ZERO_S + int(seconds // 1), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def running(since_s: float) -> Json:
    return {"running": {"startedAt": at(since_s)}}


def terminated(from_s: float, to_s: float, reason: str = "Error") -> Json:
    return {"terminated": {"exitCode": 1, "reason": reason, "startedAt": at(from_s), "finishedAt": at(to_s)}}


def waiting(reason: str, message: str = "") -> Json:
    return {"waiting": {"reason": reason, "message": message}}


def status(restart_count: int, state: Json, last: Json | None = None, name: str = "app") -> Json:
    return {"name": name, "restartCount": restart_count, "state": state, "lastState": last or {}}


def pod(
    *statuses: Json,
    container: Json | None = None,
    name: str = "web",
    node: str = "worker",
    init: tuple[Json, Json] | None = None,
) -> PodStatement:
    """A statement about a pod with one container called app, and perhaps an init container: its spec and status."""
    spec: Json = {"nodeName": node, "containers": [{"name": "app", "image": "i:1"} | (container or {})]}
    told: Json = {"phase": "Running", "containerStatuses": list(statuses)}
    if init is not None:
        spec["initContainers"], told["initContainerStatuses"] = [init[0]], [init[1]]
    return statement("ns", name, f"uid-{name}", msgspec.json.encode(spec), msgspec.json.encode(told))


def loop_of(*waits_s: int, first_restart: int = 2, run_s: int = 1, name: str = "web", from_s: int = 100) -> CrashLoop:
    """A container that restarts after these waits, all of them after we began to look."""
    loops = CrashLoops(since_s=ZERO_S)
    exited_s = from_s
    for restart, wait_s in enumerate(waits_s, start=first_restart):
        last = terminated(exited_s - run_s, exited_s)
        loops.take(pod(status(restart, running(exited_s + wait_s), last), name=name))
        exited_s += wait_s + run_s
    (found,) = loops.by_node()["worker"]
    return found


def simulated_loops(
    profile: KubeletProfile,
    version: KubernetesVersion,
    *,
    pods: int,
    restarts: int,
    seed: int = 0,
    run_s: float = 1.0,
    missed: int = 0,
) -> tuple[CrashLoop, ...]:
    """Crash loops on a node of the simulated kubelet, without the first `missed` statements about each."""
    found: list[CrashLoop] = []
    for number in range(pods):
        scenario = PodScenario(
            name=f"pod-{number}",
            profile=profile.name,
            pod=Pod(containers=(Container(program=exits_with(1, after_s=run_s, times=restarts)),)),
            until=Until(restarts={"app": restarts}, at_most_s=20_000.0),
            mode=Mode.NATURAL,
        )
        events = simulate(scenario, profile, version, rng=Random(seed * 1000 + number))
        told = [each for each in events if each.channel is Channel.API and each.kind is Kind.STATUS][missed:]
        if not told:
            continue
        loops = CrashLoops(since_s=told[0].received_ns / S)
        spec = msgspec.json.encode({"nodeName": "node", "containers": [{"name": "app"}]})
        for each in told:
            said = msgspec.json.encode(each.data["status"])
            loops.take(statement("ns", scenario.name, scenario.name, spec, said))
        found += loops.by_node().get("node", ())
    return tuple(found)


def simulated_curve(profile: KubeletProfile, version: KubernetesVersion) -> Curve | None:
    """The curve that the simulated kubelet follows with a profile; None if it does not start with it."""
    effective = take(profile, version, Behaviour())
    return Curve(effective.initial_ns / S, effective.max_ns / S) if isinstance(effective, Effective) else None
