"""Reads what is exported of a stress run from its directory."""

from collections.abc import Mapping
from pathlib import Path

from crashloop.errors import UsageError
from crashloop.measure.files import LIFECYCLES, load_scrapes
from crashloop.slo.measurements import Lifecycle
from crashloop.stress.folder import StressDir, read_jsonl
from crashloop.stress.incidents import cuts_ns
from crashloop.stress.openmetrics import Exported
from crashloop.stress.phases import cut_ns, ended_ns, measurements
from crashloop.stress.places import hosts_in
from crashloop.stress.plan import SUITE, StressPlan


def exported(run_dir: Path) -> Exported:
    """Raises UsageError for a run of another suite, and for one that was never judged: its lifecycles are not there yet."""
    run = StressDir(run_dir)
    if run.info().suite != SUITE:
        raise UsageError(f"{run_dir}: has no metrics; only stress runs record them (`crashloop stress`).")
    lifecycles = run.metrics_dir / LIFECYCLES
    if not lifecycles.exists():
        raise UsageError(f"{run_dir}: was not judged yet.\n`crashloop analyze {run_dir}` judges it.")
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
