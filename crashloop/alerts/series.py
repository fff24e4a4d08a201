"""What kube-state-metrics states of pods, as Prometheus scrapes it (kube-state-metrics internal/store/pod.go@v2.15.0)."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random

from crashloop.alerts.loops import CrashLoop, State
from crashloop.history.statuses import ContainerReport, ContainerState, StatusReport
from crashloop.spec.pod import ContainerKind
from crashloop.spec.state_metrics import LAST_CODE, LAST_REASON, RESTARTS, WAITING

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
FAMILIES = frozenset((*OF_A_POD, *OF_A_CONTAINER, *(each.replace("pod_", "pod_init_") for each in OF_A_CONTAINER)))
"""Those that are made of a recording. Others are about what no pod status says, or are times of day."""

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
    for number, moment_s in enumerate(at_s):
        found = bisect_right(begins, moment_s) - 1
        if found < 0:
            continue
        for name, labels, value in of_state(states[found], base, kinds, restarting=restarting, owner=owner):
            values = series.setdefault((name, labels), [None] * len(at_s))
            values[number] = value
    return series


def of_state(
    state: State, base: Mapping[str, str], kinds: Mapping[str, ContainerKind], *, restarting: str, owner: str
) -> Iterator[Value]:
    """All values of a pod at a time."""
    status = state.status
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
            for family, value, more in _of_container(report, state.more if name == restarting else 0):
                named = family if kind is ContainerKind.REGULAR else family.replace("pod_", "pod_init_")
                yield _value(named, value, base, container=name, **more)


def _of_container(report: ContainerReport, more: int) -> Iterator[tuple[str, float, dict[str, str]]]:
    state, last = report.state, report.last_state
    yield RESTARTS, report.restart_count + more, {}
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
