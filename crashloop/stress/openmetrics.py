"""A stress run as OpenMetrics with timestamps, to be backfilled into a time series database, by what its directory holds.

Every recorded series keeps the name and labels that its component gave it; `run`, `source`, `node` and `profile` are added, or
fill labels that are empty. Beside them are crashloop's own: restarts, lateness and start-up by ground truth, and the stages.
Types are those of the names: `_total` is a counter, everything else is unknown. Parts of histograms are series of their
own, which is what a database makes of them.
Source: OpenMetrics 1.0; prometheus.io/docs, "Backfilling from OpenMetrics format".
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.samples import Timestamp

from crashloop.errors import UsageError
from crashloop.slo.measurements import Lifecycle
from crashloop.slo.scrapes import Scrapes
from crashloop.stress.assignment import read_jsonl
from crashloop.stress.figures import restart_times_ns
from crashloop.stress.folder import LIFECYCLES, StressDir, cuts_ns, load_scrapes
from crashloop.stress.phases import Measurement, cut_ns, ended_ns, measurements
from crashloop.stress.plan import SUITE, StressPlan
from crashloop.stress.profile import hosts_in

COUNTER = "_total"
STEP_NS = 5_000_000_000
"""Between two samples of crashloop's own series: as often as components are scraped."""
RESTARTS, LATENESS, STARTUP, STAGE = (
    "crashloop_restarts_total",
    "crashloop_restart_lateness_seconds",
    "crashloop_pod_startup_seconds",
    "crashloop_stage",
)
OWN: Mapping[str, str] = {
    RESTARTS: "Restarts of containers, by ground truth.",
    LATENESS: "From an exit to the create of the next container, minus the due delay; once, at the create.",
    STARTUP: "From the request for a pod to the start of all its containers; once, at the start.",
    STAGE: "1 while a stage of the load is measured, else 0.",
}
"""Series that crashloop adds, and what they are."""


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """What is exported of a run."""

    run: str
    profiles: Mapping[str, str]
    """Kubelet profile by node."""
    scrapes: Sequence[Scrapes]
    lifecycles: Sequence[Lifecycle]
    stages: Sequence[Measurement]


class _Families:
    """What prometheus_client writes: anything with `collect`."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = tuple(metrics)

    def collect(self) -> tuple[Metric, ...]:
        return self._metrics


class _Series(NamedTuple):
    """One series, its samples in order of time."""

    name: str
    labels: Mapping[str, str]
    values: Sequence[tuple[int, float]]


def openmetrics(exported: Exported) -> str:
    """The text, which ends in `# EOF`. Series of a family stand together, each in order of time."""
    families: dict[str, Metric] = {}
    for series in sorted((*_recorded(exported), *_own(exported)), key=lambda each: each.name):
        is_counter = series.name.endswith(COUNTER)
        name = series.name.removesuffix(COUNTER) if is_counter else series.name
        about = OWN.get(series.name, f"{series.name} as its component exposes it.")
        family = families.setdefault(series.name, Metric(name, about, "counter" if is_counter else "unknown"))
        labels = _labels(series.labels, exported)
        for t_ns, value in series.values:
            family.add_sample(series.name, labels, value, timestamp=Timestamp(*divmod(t_ns, 1_000_000_000)))
    text: bytes = generate_latest(_Families(families.values()))  # type: ignore[no-untyped-call]
    return text.decode()


def _labels(own: Mapping[str, str], exported: Exported) -> dict[str, str]:
    node = own.get("node", "")
    return {"run": exported.run, "profile": exported.profiles.get(node, "")} | dict(own)


def _recorded(exported: Exported) -> Iterator[_Series]:
    for scrapes in exported.scrapes:
        source = scrapes.source
        for series in scrapes.series:
            labels = {"source": source.source} | series.labels
            labels["node"] = scrapes.node_of(series)
            yield _Series(series.name, labels, tuple(zip(series.t_ns.tolist(), series.values.tolist(), strict=True)))


def _own(exported: Exported) -> Iterator[_Series]:
    grid = _grid(exported)
    for node in sorted({pod.node for pod in exported.lifecycles}):
        counts = np.searchsorted(restart_times_ns(exported.lifecycles, node), grid, side="right")
        yield _Series(RESTARTS, {"node": node}, _at(grid, counts))
    for stage in exported.stages:
        measured = (grid >= stage.phase.from_ns) & (grid < stage.phase.to_ns)
        yield _Series(STAGE, {"stage": stage.name}, _at(grid, measured))
    for pod in exported.lifecycles:
        yield from _of_pod(pod)


def _of_pod(pod: Lifecycle) -> Iterator[_Series]:
    labels = {"node": pod.node, "pod": pod.pod, "group": pod.group}
    for container in dict.fromkeys(each.container for each in pod.restarts):
        late = tuple(
            (each.created_ns, each.late_s)
            for each in pod.restarts
            if each.container == container and each.created_ns is not None and each.late_s is not None
        )
        yield _Series(LATENESS, labels | {"container": container}, late)
    if pod.asked_ns is not None and pod.started_ns is not None:
        yield _Series(STARTUP, labels, ((pod.started_ns, (pod.started_ns - pod.asked_ns) / 1e9),))


def _grid(exported: Exported) -> NDArray[np.int64]:
    """From the first scrape to the last, by even steps."""
    times = [t_ns for scrapes in exported.scrapes for t_ns in scrapes.t_ns]
    return np.arange(min(times, default=0), max(times, default=-1) + 1, STEP_NS)


def _at(grid: NDArray[np.int64], values: NDArray[Any]) -> tuple[tuple[int, float], ...]:
    return tuple(zip(grid.tolist(), values.astype(float).tolist(), strict=True))


def exported(run_dir: Path) -> Exported:
    """Raises UsageError for a run of another suite, and for one that was never judged: its lifecycles are not there yet."""
    run = StressDir(run_dir)
    if run.info().suite != SUITE:
        raise UsageError(f"{run_dir}: has no metrics; only stress runs record them (`crashloop stress`).")
    lifecycles = run.metrics_dir / LIFECYCLES
    if not lifecycles.exists():
        raise UsageError(f"{run_dir}: was not judged yet.\n`crashloop report --again {run_dir}` judges it.")
    plan, marks = run.stress_plan(), run.marks()
    cut = cut_ns(marks, cuts_ns(run.incidents()))
    return Exported(
        run=run_dir.resolve().name,
        profiles=profiles_of(plan, run.hosts()),
        scrapes=load_scrapes(run.metrics_dir),
        lifecycles=tuple(read_jsonl(lifecycles, Lifecycle)),
        stages=measurements(plan.stages, marks, until_ns=cut or ended_ns(marks)),
    )


def profiles_of(plan: StressPlan, hosts: Mapping[str, str]) -> dict[str, str]:
    """The kubelet profile of each Node object; none for one that had several, as in a comparison that exchanges nodes."""
    if plan.spread:
        return {node: plan.kubelet(node).name for node in plan.spread}
    found: dict[str, set[str]] = {}
    for stage in plan.stages:
        for node, host in hosts_in(stage, hosts).items():
            found.setdefault(host, set()).add(plan.kubelet(node).name)
    return {host: profiles.pop() for host, profiles in found.items() if len(profiles) == 1}
