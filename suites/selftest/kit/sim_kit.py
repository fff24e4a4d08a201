"""Words for tests of the simulated kubelet: short scenarios, and what their histories say."""

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from crashloop.history.event import Channel, Event, Kind
from crashloop.spec.control_plane import ControlPlane
from crashloop.spec.intervention import Intervention
from crashloop.spec.pod import Container, Pod
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import Mode, PodScenario, Until
from crashloop.spec.version import KubernetesVersion
from sim import CALM, Fault, HostModel, simulate
from sim.faults import behaviour_of

V1_37 = KubernetesVersion(1, 37, 1)
V1_34 = KubernetesVersion(1, 34, 4)
S = 1_000_000_000


def profile(period: Any = None, **gates: bool) -> KubeletProfile:
    """A kubelet with that maxContainerRestartPeriod and those gates."""
    config: dict[str, Any] = {}
    if period is not None:
        config["crashLoopBackOff"] = {"maxContainerRestartPeriod": period}
    if gates:
        config["featureGates"] = gates
    return KubeletProfile(name="profile", config=config)


def crashing(
    restarts: int,
    *,
    run_s: float = 1.0,
    exit_code: int = 1,
    mode: Mode = Mode.ANNOTATED,
    interventions: tuple[Intervention, ...] = (),
) -> PodScenario:
    """One container that exits so often, watched until it has restarted as often."""
    return pod_of(
        Container(program=exits_with(exit_code, after_s=run_s, times=restarts)),
        restarts={"app": restarts},
        mode=mode,
        interventions=interventions,
    )


def pod_of(
    *containers: Container,
    restarts: dict[str, int] | None = None,
    exits: dict[str, int] | None = None,
    phase: str | None = None,
    watch_s: float | None = None,
    mode: Mode = Mode.ANNOTATED,
    interventions: tuple[Intervention, ...] = (),
    apart: bool = False,
    **pod: Any,
) -> PodScenario:
    """A pod of these containers, watched until the restarts, exits and phase were seen, or for `watch_s` seconds.

    `apart`: with a control plane for itself.
    """
    return PodScenario(
        name="scenario",
        profile="profile",
        control_plane=ControlPlane() if apart else None,
        pod=Pod(containers=containers, **pod),
        until=Until(
            restarts=restarts or {},
            exits=exits or {},
            phase=phase,
            at_least_s=watch_s or 0.0,
            at_most_s=watch_s or 3_000.0,
        ),
        mode=mode,
        interventions=interventions,
    )


def simulated(
    scenario: PodScenario,
    period: Any = None,
    *,
    version: KubernetesVersion = V1_37,
    seed: int = 1,
    faults: Iterable[Fault] = (),
    host: HostModel = CALM,
    gates: Mapping[str, bool] = {},
) -> tuple[Event, ...]:
    """The history of a scenario on a kubelet with that period and those gates."""
    return simulate(
        scenario, profile(period, **gates), version, rng=Random(seed), behaviour=behaviour_of(faults), host=host
    )


def of(events: Iterable[Event], channel: Channel, *kinds: Kind, container: str | None = None) -> list[Event]:
    """Events of a channel in the order of their times."""
    chosen = [
        event
        for event in events
        if event.channel is channel and event.kind in kinds and container in (None, event.container)
    ]
    return sorted(chosen, key=lambda event: event.t_ns)


def delays_s(events: Iterable[Event], container: str = "app") -> list[float]:
    """Seconds from each exit to the next create, by the runtime."""
    delays, exited_ns = [], None
    for event in of(events, Channel.RUNTIME, Kind.CREATED, Kind.EXITED, container=container):
        if event.kind is Kind.EXITED:
            exited_ns = event.t_ns
        elif exited_ns is not None:
            delays.append((event.t_ns - exited_ns) / S)
            exited_ns = None
    return delays


def starts(events: Iterable[Event], container: str = "app") -> int:
    return len(of(events, Channel.RUNTIME, Kind.STARTED, container=container))


def statuses(events: Iterable[Event]) -> list[dict[str, Any]]:
    """The pod statuses as they were received."""
    return [event.data["status"] for event in of(events, Channel.API, Kind.STATUS)]


def phases(events: Iterable[Event]) -> list[str]:
    """The phases stated, each once in a row."""
    seen: list[str] = []
    for status in statuses(events):
        if seen[-1:] != [status["phase"]]:
            seen.append(status["phase"])
    return seen


def container_states(events: Iterable[Event], container: str = "app") -> list[dict[str, Any]]:
    """Everything stated about a container, in order."""
    return [
        each
        for status in statuses(events)
        for name in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
        for each in status.get(name, ())
        if each["name"] == container
    ]


def restart_counts(events: Iterable[Event], container: str = "app") -> list[int]:
    """The restartCounts stated, each once in a row."""
    seen: list[int] = []
    for each in container_states(events, container):
        if seen[-1:] != [each["restartCount"]]:
            seen.append(each["restartCount"])
    return seen
