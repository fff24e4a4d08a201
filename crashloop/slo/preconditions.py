"""Facts for preconditions: the intensity of the load in one phase of a run.

Facts of the load itself (Measured.facts) override those computed here. Of servers: whether their limits took effect, and whether
these let them answer the steady demand.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from crashloop.errors import ObservationError
from crashloop.slo.increase import growths, window_of
from crashloop.slo.measurements import Measured, Phase, ServedPod
from crashloop.slo.scrapes import sample_of
from crashloop.slo.servers import SERVER_FIGURES, last_burst_ns


def servers_reached(measured: Measured, phase: Phase) -> float | None:
    """Share of the servers that ever answered: where pods have no addresses for the host, none does."""
    pods = _servers_in(measured, phase)
    return sum(bool(pod.answered) for pod in pods) / len(pods) if pods else None


def limits_as_planned(measured: Measured, phase: Phase) -> float | None:
    """Share of the servers with a limit and a burst that were throttled, and of those without a limit that were not."""
    asked = [pod for pod in _servers_in(measured, phase) if pod.cpu_limit is None or last_burst_ns(pod) > pod.began_ns]
    try:
        throttled = [SERVER_FIGURES["throttled"].of_pod(pod, measured, phase).value > 0 for pod in asked]
    except ObservationError:
        return None
    as_planned = [seen == (pod.cpu_limit is not None) for pod, seen in zip(asked, throttled, strict=True)]
    return sum(as_planned) / len(as_planned) if as_planned else None


def steady_utilisation(measured: Measured, phase: Phase) -> float | None:
    """The highest of the servers with a limit that were not killed: steady demand against what the limit lets them answer."""
    found = []
    for pod in _servers_in(measured, phase):
        answers = sum(1 for _, t_ns in pod.answered if phase.from_ns <= t_ns < phase.to_ns)
        if pod.cpu_limit is None or not answers or SERVER_FIGURES["kills"].of_pod(pod, measured, phase).value:
            continue
        try:
            used_s = SERVER_FIGURES["cpu"].of_pod(pod, measured, phase).value * phase.seconds
        except ObservationError:
            return None
        found.append(pod.rate_per_s * used_s / answers / pod.cpu_limit)
    return max(found, default=None)


def _servers_in(measured: Measured, phase: Phase) -> list[ServedPod]:
    return [pod for pod in measured.served if pod.has_demand_in(phase)]


SECOND_NS = 1_000_000_000


class LoadFact(NamedTuple):
    """A fact about the load: its text, and its computation."""

    words: str
    """Its text, with {} for the number."""
    find: Callable[[Measured, Phase], float | None]
    """None if it is not known."""
    one: str = ""
    """The text for the number 1, if it differs."""
    share: bool = False
    """Whether it is a number from 0 to 1, printed as a percentage."""


def facts_of(measured: Measured, phase: Phase, names: Collection[str] | None = None) -> dict[str, float]:
    """What is known about a phase; `names`: no more than these facts. Raises KeyError for one that there is not."""
    asked = FACTS if names is None else names
    found = {name: FACTS[name].find(measured, phase) for name in asked if name not in measured.facts}
    stated = {name: value for name, value in measured.facts.items() if name in asked}
    return {**{name: value for name, value in found.items() if value is not None}, **stated}


def fact_in_words(name: str, value: float) -> str:
    """A fact in words: `9 pods/s churn`, `6 % of the host CPU taken by others`."""
    fact, said = FACTS[name], value_in_words(name, value)
    return (fact.one if said == "1" and fact.one else fact.words).format(said)


def value_in_words(name: str, value: float) -> str:
    """The number of a fact: a share as a percentage, everything else with three digits."""
    if not FACTS[name].share:
        return f"{value:.3g}"
    return percentage(value)


def percentage(share: float) -> str:
    """`6 %`; a share below one percent with its first digit, `0.3 %`."""
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 1 or percent == 0 else f"{percent:.1g} %"


def _churn(measured: Measured, phase: Phase) -> float | None:
    """The most pods created and deleted in any second. Requests of users other than the load are not among them."""
    if not measured.lifecycles:
        return None
    changes = Counter((moment_ns - phase.from_ns) // SECOND_NS for moment_ns in _changes_ns(measured, phase))
    return float(max(changes.values(), default=0))


def _changes_ns(measured: Measured, phase: Phase) -> Iterator[int]:
    for pod in measured.lifecycles:
        for moment_ns in (pod.there_ns, pod.deleted_ns):
            if moment_ns is not None and phase.from_ns <= moment_ns < phase.to_ns:
                yield moment_ns


def _pods_per_node(measured: Measured, phase: Phase) -> float | None:
    """The most pods of the load that were on a node at once."""
    if not measured.lifecycles:
        return None
    steps: dict[str, list[tuple[int, int]]] = {}
    for pod in measured.lifecycles:
        if pod.there_ns is not None:
            end_ns = phase.to_ns if pod.deleted_ns is None else pod.deleted_ns
            if pod.there_ns < phase.to_ns and end_ns > phase.from_ns:
                steps.setdefault(pod.node, []).extend(((pod.there_ns, 1), (end_ns, -1)))
    return float(max((_most_at_once(moments) for moments in steps.values()), default=0))


def _most_at_once(moments: list[tuple[int, int]]) -> int:
    highest = there = 0
    for _, step in sorted(moments):
        there += step
        highest = max(highest, there)
    return highest


def _longest_due_s(measured: Measured, phase: Phase) -> float | None:
    """The longest due delay after an exit of the phase; 0 without any."""
    if not measured.lifecycles:
        return None
    dues = (
        restart.due_s
        for pod in measured.lifecycles
        for restart in pod.restarts
        if restart.due_s is not None and phase.from_ns <= restart.exited_ns < phase.to_ns
    )
    return max(dues, default=0.0)


def _nodes(measured: Measured, _phase: Phase) -> float | None:
    sample = sample_of(measured.scrapes)
    if sample is not None:
        return float(sample.of)
    names = {each.source.node for each in measured.scrapes if each.source.source == "kubelet"}
    return float(len(names)) if names else None


def _cores(measured: Measured, _phase: Phase) -> float | None:
    """Of the smallest node, and no more than the run may use of its host (taskset)."""
    found = [
        float(series.values[-1])
        for each in measured.scrapes
        for series in each.series
        if series.name in ("machine_cpu_cores", "host_cpu_cores") and len(series.values)
    ]
    return min(found, default=None)


def _harness_share(measured: Measured, phase: Phase) -> float | None:
    spent = _cpu_spent_s(measured, phase, *COMPONENTS)
    node = spent.get("kubelet", 0.0) + spent.get("runtime", 0.0)
    return spent["harness"] / node if node > 0 and "harness" in spent else None


def _busy_share(measured: Measured, phase: Phase) -> float | None:
    spent = _cpu_spent_s(measured, phase, *HOST)
    total = sum(spent.values())
    return 1 - spent.get("idle", 0.0) / total if total > 0 else None


def _cluster_share(measured: Measured, phase: Phase) -> float | None:
    spent = _cpu_spent_s(measured, phase, *COMPONENTS)
    busy = _cpu_spent_s(measured, phase, *HOST).get("busy", 0.0)
    return sum(cpu_s for component, cpu_s in spent.items() if component != "harness") / busy if busy > 0 else None


def _foreign_share(measured: Measured, phase: Phase) -> float | None:
    components, host = (_cpu_spent_s(measured, phase, *each) for each in (COMPONENTS, HOST))
    total = sum(host.values())
    if not components or total <= 0:
        return None
    return max(0.0, host.get("busy", 0.0) - sum(components.values())) / total


COMPONENTS, HOST = ("component_cpu_seconds_total", "component"), ("host_cpu_seconds_total", "mode")
"""Counters of CPU seconds, and the label that says whose or which."""


def _cpu_spent_s(measured: Measured, phase: Phase, name: str, label: str) -> dict[str, float]:
    spent: defaultdict[str, float] = defaultdict(float)
    for scrapes in measured.scrapes:
        window = window_of(scrapes, phase.from_ns, phase.to_ns) if scrapes.source.source == "processes" else None
        for growth in growths(scrapes, name, window) if window else ():
            spent[growth.labels.get(label, "")] += growth.total
    return spent


FACTS: Mapping[str, LoadFact] = {
    "churn_per_s": LoadFact("{} pods/s churn", _churn, one="{} pod/s churn"),
    "pods_per_node": LoadFact("{} pods per node", _pods_per_node, one="{} pod per node"),
    "longest_due_s": LoadFact("delays of up to {} s", _longest_due_s),
    "nodes": LoadFact("{} nodes", _nodes, one="{} node"),
    "cores": LoadFact("{} cores per node", _cores, one="{} core per node"),
    "harness_cpu_share": LoadFact("harness CPU {} of kubelet and runtime", _harness_share, share=True),
    "cpu_busy_share": LoadFact("host CPU {} busy", _busy_share, share=True),
    "foreign_cpu_share": LoadFact("{} of the host CPU taken by others", _foreign_share, share=True),
    "servers_reached": LoadFact("{} of the servers reached", servers_reached, share=True),
    "limits_as_planned": LoadFact(
        "{} of the servers throttled in a burst if and only if they have a CPU limit", limits_as_planned, share=True
    ),
    "steady_utilisation": LoadFact("steady demand {} of what a limit allows", steady_utilisation, share=True),
    "etcd_fsync": LoadFact("{} of etcd's writes wait for its disk", lambda _, __: None, share=True),
    "cluster_cpu_share": LoadFact("cluster {} of the busy host CPU", _cluster_share, share=True),
}
"""By name. pods_per_node counts the pods of the load; cores is that of the smallest node; shares are 0 to 1."""
