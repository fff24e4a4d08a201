"""Verdicts on requirements of the catalogue: by the rows of manifests/slo and the checks of the run that name one. Pure.

A verdict says what its row or check says. A row that names a requirement may have further preconditions for it: the row is
then judged once more in the phases that meet them, and without any the verdict on the requirement is INCONCLUSIVE.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from crashloop.model.gates import effective_gates, kubelet_version
from crashloop.requirements import CHECKED
from crashloop.slo.measurements import SloVerdict
from crashloop.slo.rows import (
    ConservationSli,
    GaugeSli,
    HistogramSli,
    KindsSli,
    MovesSli,
    ReadSli,
    Selection,
    ServedSli,
    SloRow,
)
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.requirement import Requirement, applies
from crashloop.spec.version import KubernetesVersion
from crashloop.stress.plan import StressPlan
from crashloop.verdict import Evidence, Outcome, Verdict

LIFECYCLES = "lifecycles.jsonl"
SERVED_SOURCES = ("cadvisor-", "resource-", "probes-")
"""Beginnings of the names of files with counters of pods."""


def requirement_verdicts(
    plan: StressPlan,
    catalogue: Mapping[str, Requirement],
    rows: Iterable[SloRow],
    judge: Callable[[SloRow], SloVerdict],
    checks: Iterable[SloVerdict],
    metrics: Sequence[str],
) -> tuple[Verdict, ...]:
    """The verdicts on requirements, in the order of the catalogue.

    `judge` judges a row for its requirement; `metrics` are the names of the files in RUN/metrics.
    """
    found = [*_of_rows(plan, catalogue, rows, judge, metrics), *_of_checks(plan, catalogue, checks)]
    return tuple(sorted(found, key=lambda each: (tuple(catalogue).index(each.requirement), each.scenario)))


def _of_rows(
    plan: StressPlan,
    catalogue: Mapping[str, Requirement],
    rows: Iterable[SloRow],
    judge: Callable[[SloRow], SloVerdict],
    metrics: Sequence[str],
) -> Iterator[Verdict]:
    for row in rows:
        if row.requirement is not None:
            scenario = f"{plan.load.name}/{row.phase}" if row.phase else plan.load.name
            evidence = tuple(Evidence(file=f"metrics/{name}") for name in metrics if _is_read(row, name))
            requirement = catalogue[row.requirement]
            yield _verdict(plan, requirement, scenario, judge(row), evidence, judged_nodes(plan, row))


def _of_checks(
    plan: StressPlan, catalogue: Mapping[str, Requirement], checks: Iterable[SloVerdict]
) -> Iterator[Verdict]:
    evidence = (Evidence(file=f"metrics/{LIFECYCLES}"),)
    for check in checks:
        if check.slo in CHECKED:
            requirement = catalogue[CHECKED[check.slo]]
            yield _verdict(plan, requirement, plan.load.name, check, evidence, plan.kubelets)


def judged_nodes(plan: StressPlan, row: SloRow) -> tuple[KubeletProfile, ...]:
    """Kubelet profiles of the nodes under load in the mixes or the arm of a row; of all nodes for a row without either."""
    if not row.mixes and row.arm is None:
        return plan.kubelets
    stages = [each for each in plan.stages if row.judges(each.name, each.mix, each.arm)]
    nodes = dict.fromkeys(plan.load.loads[name].node for each in stages for name in each.users)
    return tuple(plan.kubelet(node) for node in nodes)


def _verdict(
    plan: StressPlan,
    requirement: Requirement,
    scenario: str,
    found: SloVerdict,
    evidence: tuple[Evidence, ...],
    kubelets: Sequence[KubeletProfile],
) -> Verdict:
    """The verdict on one requirement; SKIPPED if it does not hold for one of the judged nodes."""
    profile = ", ".join(dict.fromkeys(kubelet.name for kubelet in kubelets))
    verdict = Verdict(
        requirement=requirement.id,
        scenario=scenario,
        profile=profile,
        outcome=found.outcome,
        mode=requirement.mode,
        findings=(f"{requirement.id}: {found.sentence}",),
        evidence=evidence,
        deviation=found.deviation,
        facts=_facts(found),
    )
    reason = next(_objections(plan, kubelets, requirement), None)
    if reason is None:
        return verdict
    return msgspec.structs.replace(
        verdict,
        outcome=Outcome.SKIPPED,
        findings=(f"{requirement.id}: {reason}",),
        evidence=(),
        deviation=None,
        facts={},
    )


def _objections(plan: StressPlan, kubelets: Sequence[KubeletProfile], requirement: Requirement) -> Iterator[str]:
    cluster = KubernetesVersion.parse(plan.kubernetes_version)
    for kubelet in kubelets:
        reason = applies(requirement, kubelet_version(kubelet, cluster), effective_gates(kubelet, cluster))
        if reason is not None:
            yield reason


def _facts(found: SloVerdict) -> dict[str, Any]:
    """The numbers behind a verdict; bounds of the interval that are not known are None."""
    facts = {
        "slo": found.slo,
        "value": found.value,
        "unit": found.unit,
        "target": found.target,
        "percentile": found.percentile,
        "samples": found.samples,
        "interval": None if found.interval is None else [found.interval.lower, found.interval.upper],
    }
    return {name: value for name, value in facts.items() if value is not None}


def _is_read(row: SloRow, name: str) -> bool:
    """Whether a row is judged from a file of RUN/metrics."""
    sli = row.figure
    if isinstance(sli, Selection | MovesSli) and name.startswith((f"{sli.source}-", f"{sli.source}.")):
        return True
    if isinstance(sli, ConservationSli) and name.startswith("kubelet-"):
        return True
    if isinstance(sli, ServedSli) and name.startswith(SERVED_SOURCES):
        return True
    return name == LIFECYCLES and not isinstance(sli, HistogramSli | GaugeSli | ReadSli | KindsSli)
