"""Crash loops that nothing touched, as a run recorded them, and continued at their maximum for hours.

Only a pod that is left alone shows what users' pods show: since 1.35 the kubelet states CrashLoopBackOff at its next look, and
each patch of a pod makes it look (BACKOFF-5).

Their statuses become series as kube-state-metrics states them, and Prometheus scrapes them
(kube-state-metrics internal/store/pod.go@v2.15.0).
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from random import Random
from statistics import mean
from typing import cast

import msgspec

from crashloop.errors import UsageError
from crashloop.history.recording import PodHistory, Recording
from crashloop.history.statuses import ContainerReport, ContainerState, StatusReport
from crashloop.model.config import shipped_curve
from crashloop.model.pod_status import WAITING_REASON
from crashloop.run.judging import read_history
from crashloop.rundir import RunDir
from crashloop.spec.plan import Plan
from crashloop.spec.pod import ContainerKind
from crashloop.spec.scenario import Mode, PodScenario
from crashloop.spec.state_metrics import LAST_CODE, LAST_REASON, RESTARTS, WAITING
from crashloop.spec.version import KubernetesVersion

LEAST_CYCLES = 2
"""Of its own at the maximum that a loop needs to be continued by them."""
SLACK_S = 0.2
"""The runtime's time of an exit, and the one that the kubelet counts from, are less than this apart."""


class State(msgspec.Struct, frozen=True):
    """What the API said of a pod from `at_s` on."""

    at_s: float
    status: StatusReport
    more: int = 0
    """Restarts of the looping container beyond those in the status, in a cycle that is repeated."""


class Cycle(msgspec.Struct, frozen=True):
    """From one restart, as a status stated it, to the next; times of its states count from its beginning."""

    restart: int
    length_s: float
    states: tuple[State, ...]

    def shown_s(self, container: str) -> float:
        """How long statuses said CrashLoopBackOff."""
        ends = [*(each.at_s for each in self.states[1:]), self.length_s]
        return sum(
            end - each.at_s
            for each, end in zip(self.states, ends, strict=True)
            if each.status.containers[container].state.reason == WAITING_REASON
        )


class CrashLoop(msgspec.Struct, frozen=True, kw_only=True):
    """A container that crashes at its maximum, in a pod in which no other restarts."""

    run: str
    scenario: str
    profile: str
    container: str
    kinds: dict[str, ContainerKind]
    """Of all containers of the pod."""
    owner: str
    """Kind of the object that made the pod; `<none>` without one, as kube-state-metrics says it."""
    maximum_s: float
    start: tuple[State, ...]
    """From the pod's first status, at 0 s, up to the first cycle at the maximum."""
    start_s: float
    """How long that took."""
    cycles: tuple[Cycle, ...]
    """Whole ones at the maximum; at least `LEAST_CYCLES`."""

    @property
    def cycle_s(self) -> float:
        """The mean length of its cycles."""
        return mean(each.length_s for each in self.cycles)

    @property
    def shown_s(self) -> float:
        """For how long one of them shows CrashLoopBackOff, likewise."""
        return mean(each.shown_s(self.container) for each in self.cycles)

    def continued(self, until_s: float, order: Random) -> list[State]:
        """Its states as recorded, then its cycles again and again, in an order that is drawn."""
        states, restart, at_s = list(self.start), self.cycles[0].restart, self.start_s
        while at_s < until_s:
            cycle = order.choice(self.cycles)
            states += [State(at_s + each.at_s, each.status, restart - cycle.restart) for each in cycle.states]
            restart, at_s = restart + 1, at_s + cycle.length_s
        return states


def loops_of(*runs: RunDir) -> tuple[list[CrashLoop], Counter[str]]:
    """The loops of conformance runs, by maximum, and how many restarting containers were left out, by the reason.

    Raises UsageError for a run of another suite, and one whose plan cannot be read.
    """
    found, left_out = list[CrashLoop](), Counter[str]()
    for run in runs:
        if (suite := run.info().suite) != "conformance":
            raise UsageError(
                f"run directory {run.root}: it holds a {suite} run; expected a conformance run (`crashloop run`)."
            )
        plan = run.plan()
        for scenario in plan.scenarios:
            recording = read_history(run, scenario.name)
            if recording is not None and recording.pods:
                for each in _loops(run.name, plan, cast(PodScenario, scenario), recording):
                    if isinstance(each, str):
                        left_out[each] += 1
                    else:
                        found.append(each)
    return sorted(found, key=lambda each: (each.maximum_s, each.scenario)), left_out


def _loops(run: str, plan: Plan, scenario: PodScenario, recording: Recording) -> Iterator[CrashLoop | str]:
    """The loop of each pod with a restarting container, or why it is left out."""
    for pod in recording.pods:
        restarting = sorted(
            {name for status in pod.statuses for name, each in status.containers.items() if each.restart_count}
        )
        if not restarting:
            continue
        curve = shipped_curve(plan.profile(scenario.profile), KubernetesVersion.parse(plan.kubernetes_version))
        if scenario.mode is not Mode.NATURAL or scenario.interventions:
            yield "touched by the run"
        elif len(restarting) > 1:
            yield "beside another that restarts"
        elif curve is None or len(cycles := _cycles(pod, restarting[0], curve.maximum_s)) < LEAST_CYCLES:
            yield f"with less than {LEAST_CYCLES} whole cycles at the maximum"
        else:
            zero_ns, begin_ns = pod.statuses[0].t_ns, _first(pod, restarting[0], cycles[0].restart)
            yield CrashLoop(
                run=run,
                scenario=scenario.name,
                profile=scenario.profile,
                container=restarting[0],
                kinds={each.name: each.kind for each in scenario.pod.containers},
                # A bare pod stands for one of a Deployment: hardly any pod of users has no owner.
                owner="ReplicaSet" if scenario.owner is None else type(scenario.owner).__name__,
                maximum_s=curve.maximum_s,
                start=_states(pod.statuses, zero_ns, begin_ns),
                start_s=(begin_ns - zero_ns) / 1e9,
                cycles=cycles,
            )


def _cycles(pod: PodHistory, container: str, maximum_s: float) -> tuple[Cycle, ...]:
    """The whole cycles whose delay, by the runtime, was the maximum."""
    found = []
    for ended, begun in pairwise(pod.instances(container)):
        if (
            ended.exit_ns is None
            or begun.begun_ns is None
            or begun.begun_ns - ended.exit_ns < (maximum_s - SLACK_S) * 1e9
        ):
            continue
        from_ns, to_ns = _first(pod, container, ended.ordinal), _first(pod, container, begun.ordinal)
        if 0 < from_ns < to_ns:
            found.append(Cycle(ended.ordinal, (to_ns - from_ns) / 1e9, _states(pod.statuses, from_ns, to_ns)))
    return tuple(found)


def _first(pod: PodHistory, container: str, restart: int) -> int:
    """When a status first had that restartCount; 0 if none did."""
    reports: Iterator[tuple[int, ContainerReport | None]] = (
        (each.t_ns, each.containers.get(container)) for each in pod.statuses
    )
    return next((t_ns for t_ns, report in reports if report is not None and report.restart_count == restart), 0)


def _states(statuses: Sequence[StatusReport], from_ns: int, to_ns: int) -> tuple[State, ...]:
    return tuple(State((each.t_ns - from_ns) / 1e9, each) for each in statuses if from_ns <= each.t_ns < to_ns)


PHASES = ("Pending", "Succeeded", "Failed", "Unknown", "Running")
OF_A_POD = ("kube_pod_info", "kube_pod_owner", "kube_pod_status_phase", "kube_pod_status_ready")
_STATUS = "kube_pod_container_status_"
OF_A_CONTAINER = (
    RESTARTS,
    WAITING,
    LAST_REASON,
    LAST_CODE,
    *(f"{_STATUS}{each}" for each in ("waiting", "running", "terminated", "ready", "terminated_reason")),
)


def _of_init(family: str) -> str:
    return family.replace("pod_", "pod_init_")


FAMILIES = frozenset((*OF_A_POD, *OF_A_CONTAINER, *map(_of_init, OF_A_CONTAINER)))
"""Those that are made of a recording. Others are about what no pod status says, or are times of day."""

_COUNTERS = (RESTARTS, _of_init(RESTARTS))

Labels = tuple[tuple[str, str], ...]
Value = tuple[str, Labels, float]
"""Name, labels in alphabetical order, value."""
Series = dict[tuple[str, Labels], list[float | None]]
"""A value per scrape; None where the scrape had none."""

HEALTHY = 100
"""Pods of the rollouts that nothing is wrong with."""


def of_loop(loop: CrashLoop, labels: Mapping[str, str], *, at_s: Sequence[float], order: Random) -> Series:
    """The series of a loop's pod, scraped at these times since its creation."""
    base = {**labels, "pod": loop.scenario, "uid": loop.scenario}
    states = loop.continued(at_s[-1], order)
    return scraped(states, base, loop.kinds, at_s=at_s, restarting=loop.container, owner=loop.owner)


def of_rollouts(labels: Mapping[str, str], *, at_s: Sequence[float], draw: Random) -> Series:
    """Pods that are created one after the other, wait for their image, start once and get ready: nothing that wants a person."""
    made: Series = {}
    for number in range(HEALTHY):
        created_s = number * at_s[-1] / HEALTHY
        started_s = created_s + draw.uniform(1, 25)
        ready_s = started_s + draw.uniform(1, 40)
        states = [
            State(created_s, _healthy("waiting", "ContainerCreating")),
            State(started_s, _healthy("running")),
            State(ready_s, _healthy("running", ready=True)),
        ]
        base = {**labels, "pod": f"web-{number}", "uid": f"web-{number}"}
        made |= scraped(states, base, {"app": ContainerKind.REGULAR}, at_s=at_s, restarting="app", owner="ReplicaSet")
    return made


def _healthy(kind: str, reason: str = "", *, ready: bool = False) -> StatusReport:
    report = ContainerReport(0, "", ready, ContainerState(kind, reason), None, started=ready)
    return StatusReport(0, 0, "Pending" if kind == "waiting" else "Running", {"app": report}, ready=ready)


def scraped(
    states: Sequence[State],
    base: Mapping[str, str],
    kinds: Mapping[str, ContainerKind],
    *,
    at_s: Sequence[float],
    restarting: str,
    owner: str,
) -> Series:
    """What scrapes at these times find of a pod with these states, in order; before the first they find nothing."""
    begins = [each.at_s for each in states]
    series: Series = {}
    stated: dict[int, list[tuple[tuple[str, Labels], float, bool]]] = {}  # by status: cycles repeat the same few
    for number, moment_s in enumerate(at_s):
        found = bisect_right(begins, moment_s) - 1
        if found < 0:
            continue
        state = states[found]
        if (values := stated.get(id(state.status))) is None:
            values = stated[id(state.status)] = [
                ((name, labels), value, name in _COUNTERS and ("container", restarting) in labels)
                for name, labels, value in _of_status(state.status, base, kinds, owner)
            ]
        for key, value, counts in values:
            if key not in series:
                series[key] = [None] * len(at_s)
            series[key][number] = value + state.more if counts else value
    return series


def _of_status(
    status: StatusReport, base: Mapping[str, str], kinds: Mapping[str, ContainerKind], owner: str
) -> Iterator[Value]:
    """All values of a pod with this status."""
    yield _value("kube_pod_info", 1, base)
    yield _value("kube_pod_owner", 1, base, owner_kind=owner)
    for phase in PHASES:
        yield _value("kube_pod_status_phase", status.phase == phase, base, phase=phase)
    if status.ready is not None:
        for condition, holds in (("true", status.ready), ("false", not status.ready), ("unknown", False)):
            yield _value("kube_pod_status_ready", holds, base, condition=condition)
    for name, report in status.containers.items():
        kind = kinds.get(name)
        if kind in (ContainerKind.REGULAR, ContainerKind.INIT):  # kube-state-metrics states no ephemeral containers
            for family, value, more in _of_container(report):
                named = family if kind is ContainerKind.REGULAR else _of_init(family)
                yield _value(named, value, base, container=name, **more)


def _of_container(report: ContainerReport) -> Iterator[tuple[str, float, dict[str, str]]]:
    state, last = report.state, report.last_state
    yield RESTARTS, report.restart_count, {}
    yield f"{_STATUS}ready", report.ready, {}
    for kind in ("waiting", "running", "terminated"):
        yield f"{_STATUS}{kind}", state.kind == kind, {}
    if state.kind != "running" and state.reason:
        yield f"{_STATUS}{state.kind}_reason", 1, {"reason": state.reason}
    if last is not None and last.kind == "terminated":
        yield LAST_REASON, 1, {"reason": last.reason}
        yield LAST_CODE, last.exit_code or 0, {}


def _value(name: str, value: float, base: Mapping[str, str], **more: str) -> Value:
    return name, tuple(sorted({**base, **more}.items())), float(value)


def as_promtool(series: Series, families: Iterable[str]) -> list[dict[str, str]]:
    """`input_series` of a rule test. A series that a scrape no longer finds is marked as stale, as Prometheus does."""
    wanted = set(families)
    return [
        {"series": _spelt(name, labels), "values": " ".join(_texts(values))}
        for (name, labels), values in series.items()
        if name in wanted
    ]


def _spelt(name: str, labels: Labels) -> str:
    return name + "{" + ",".join(f'{key}="{value}"' for key, value in labels) + "}"


def _texts(values: Iterable[float | None]) -> Iterator[str]:
    had_one = False
    for value in values:
        yield f"{value:.0f}" if value is not None else "stale" if had_one else "_"
        had_one = value is not None
