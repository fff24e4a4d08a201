"""Rows that judge a stress run, and verdicts on the requirements that rows and checks of the run name. Pure.

A verdict says what its row or check says. A row that names a requirement may have further preconditions for it: the row is
then judged once more in the phases that meet them, and without any the verdict on the requirement is INCONCLUSIVE.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from crashloop.errors import UsageError
from crashloop.model.gates import effective_gates, kubelet_version
from crashloop.requirements import CHECKED
from crashloop.slo.events import SHARES
from crashloop.slo.measurements import Phase, SloVerdict
from crashloop.slo.row_faults import unfit
from crashloop.slo.rows import (
    ConservationSli,
    GaugeSli,
    HistogramSli,
    KindsSli,
    MovesSli,
    Precondition,
    RateSli,
    ReadSli,
    SampleSli,
    Selection,
    ServedSli,
    ShareSli,
    SloRow,
)
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.requirement import Requirement, applies
from crashloop.spec.version import KubernetesVersion
from crashloop.stress.folder import load_rows
from crashloop.stress.loads import GROUPS
from crashloop.stress.plan import StressPlan
from crashloop.stress.profile import Slos, StressProfile
from crashloop.verdict import Evidence, Outcome, Verdict

MOST_FOREIGN = 0.35
"""Share of the host's CPU that others may use; beyond it figures are theirs."""
LEFT_ALONE = Precondition(fact="foreign_cpu_share", at_most=MOST_FOREIGN)
"""Times and rates on a host with other work are no evidence about the load. The share includes CPU of no process: in a storm
the kernel's own work for starting and ending containers takes up to a fifth of a quiet host."""

_OF_TIME = (HistogramSli, SampleSli, RateSli, ReadSli)


def rows_of(slos: Slos) -> tuple[SloRow, ...]:
    """The rows of a profile. Raises UsageError for an unknown file or id."""
    rows = load_rows(*slos.files)
    known = {row.id for row in rows}
    for name in (*slos.without, *slos.report):
        if name != "*" and name not in known:
            raise UsageError(f"SLO {name!r}: no row of {', '.join(slos.files)} has that id.")
    shown = known if "*" in slos.report else set(slos.report)
    return tuple(_as_asked(row, shown=row.id in shown) for row in rows if row.id not in slos.without)


def fitting_rows(profile: StressProfile) -> tuple[SloRow, ...]:
    """The rows of a profile before its run.

    Raises UsageError also for a row with a group of pods or a stage that the profile lacks: it could not be judged.
    """
    rows = rows_of(profile.slos)
    phases = [Phase(name=each.name, arm=each.arm, mix=each.mix, from_ns=0, to_ns=0) for each in profile.stages]
    for row in rows:
        for fault in unfit(row, groups=GROUPS, phases=phases, loads=profile.loads):
            raise UsageError(
                f"SLO {row.id!r}: {fault}.\nSeen in {', '.join(profile.slos.files)}, for the stress profile "
                f'"{profile.name}".\nCorrect the row, or leave it out of this profile: slos.without.'
            )
    return rows


def sample_targets(rows: Iterable[SloRow]) -> dict[str, float]:
    """The strictest target on each kind of single event, in seconds, by its name; of manifests/slo where `rows` have none."""
    return _strictest(load_rows()) | _strictest(rows)


def _strictest(rows: Iterable[SloRow]) -> dict[str, float]:
    targets: dict[str, float] = {}
    for row in rows:
        if isinstance(row.sli, SampleSli):
            targets[row.sli.of] = min(row.target.bound, targets.get(row.sli.of, row.target.bound))
    return targets


def _as_asked(row: SloRow, *, shown: bool) -> SloRow:
    if shown:
        row = msgspec.structs.replace(row, mode="report")
    if isinstance(row.figure, _OF_TIME) or (isinstance(row.sli, ShareSli) and SHARES[row.sli.of].of_time):
        row = msgspec.structs.replace(row, preconditions=(*row.preconditions, LEFT_ALONE))
    return row


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
