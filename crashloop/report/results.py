"""results.json: every verdict of a run, with everything needed to understand it. Views are made from this alone."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

import msgspec

from crashloop.report.curves import PlottedCurve, curves_of
from crashloop.report.standing import Standing, count
from crashloop.spec.plan import Plan
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.requirement import Requirement
from crashloop.verdict import Outcome, Verdict, exit_code, worst

RESULTS_FORMAT = "crashloop.results/1"


class RunFacts(Protocol):
    """Fields from run.json (crashloop.rundir.RunInfo)."""

    @property
    def suite(self) -> str: ...
    @property
    def started(self) -> datetime: ...
    @property
    def crashloop_version(self) -> str: ...


class KnownDeviation(Protocol):
    """Fields from deviations.yaml (crashloop.deviations.Deviation)."""

    @property
    def id(self) -> str: ...
    @property
    def sentence(self) -> str: ...
    @property
    def evidence(self) -> str: ...
    @property
    def link(self) -> str | None: ...


class RequirementText(msgspec.Struct, frozen=True, kw_only=True):
    """A judged requirement, with the catalogue's sentence."""

    id: str
    level: str = ""
    """MUST or SHOULD; empty when the catalogue that judged does not have the requirement."""
    sentence: str = ""
    source: str = ""
    note: str = ""


class DeviationText(msgspec.Struct, frozen=True, kw_only=True):
    """A known deviation that explains at least one verdict."""

    id: str
    sentence: str = ""
    """The kubelet's actual behaviour; empty if the judging deviations.yaml lacks it."""
    evidence: str = ""
    """The measurement, and its place in the kubelet's source."""
    link: str | None = None
    """The upstream issue."""


class ProfileSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A kubelet profile of the run."""

    name: str
    description: str = ""
    config: dict[str, Any] = {}
    """KubeletConfiguration fragment, word for word."""
    curve: str = ""
    """The delays that follow from it, in words; empty when the kubelet should refuse it."""
    kubernetes_version: str | None = None
    kubelet_binary: str | None = None


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """results.json."""

    format: str = RESULTS_FORMAT
    suite: str
    provider: str
    kubernetes_version: str
    scope: str
    crashloop_version: str
    run: str = ""
    """The run directory, as a person would type it."""
    started: datetime
    finished: datetime
    outcome: Outcome
    """The worst outcome of the verdicts that no known deviation explains; PASS if all are explained, SKIPPED for none."""
    exit_code: int
    counts: dict[Standing, int]
    """Verdicts by standing; every standing is there. A FAIL under a known deviation counts as DEVIATION only."""
    verdicts: tuple[Verdict, ...]
    """Worst first, then in the order of the catalogue, then by scenario."""
    requirements: tuple[RequirementText, ...]
    """Requirements of the plan and of the verdicts, in the order of the catalogue."""
    deviations: tuple[DeviationText, ...] = ()
    profiles: tuple[ProfileSummary, ...] = ()
    curves: tuple[PlottedCurve, ...] = ()
    environment: dict[str, Any] = {}
    """environment.json: host, binaries and their versions."""

    def requirement(self, name: str) -> RequirementText:
        """The requirement of that id. Raises KeyError."""
        return {each.id: each for each in self.requirements}[name]


def build_results(
    info: RunFacts,
    plan: Plan,
    verdicts: Iterable[Verdict],
    requirements: Mapping[str, Requirement],
    deviations: Iterable[KnownDeviation],
    environment: Mapping[str, Any],
    *,
    finished: datetime,
    run: str = "",
    effective_curves: Mapping[str, str] | None = None,
) -> Results:
    """Assemble the parts of results.json.

    `requirements` is the catalogue in reading order; `effective_curves` maps a profile's name to its delays in words.
    Raises msgspec.ValidationError if the delays in a verdict's facts are not of the shape of `curves.Delay`.
    """
    judged = tuple(verdicts)
    touched = _touched(plan, judged, requirements)
    order = {each.id: position for position, each in enumerate(touched)}
    in_order = sorted(judged, key=lambda v: (Standing.of(v).rank, order[v.requirement], v.scenario, v.profile))
    named = {verdict.deviation for verdict in in_order} - {None}
    known = {
        each.id: DeviationText(id=each.id, sentence=each.sentence, evidence=each.evidence, link=each.link)
        for each in deviations
    }
    return Results(
        suite=info.suite,
        provider=plan.provider,
        kubernetes_version=plan.kubernetes_version,
        scope=plan.scope,
        crashloop_version=info.crashloop_version,
        run=run,
        started=info.started,
        finished=finished,
        outcome=_outcome(in_order),
        exit_code=exit_code(in_order),
        counts=count(in_order),
        verdicts=tuple(in_order),
        requirements=touched,
        deviations=tuple(known.get(name, DeviationText(id=name)) for name in sorted(filter(None, named))),
        profiles=tuple(_profile(each, effective_curves or {}) for each in plan.profiles),
        curves=curves_of(in_order, plan),
        environment=dict(environment),
    )


def _outcome(verdicts: Sequence[Verdict]) -> Outcome:
    unexplained = [verdict.outcome for verdict in verdicts if verdict.deviation is None]
    return worst(unexplained or [Outcome.PASS for _ in verdicts])


def _touched(
    plan: Plan, verdicts: Sequence[Verdict], catalogue: Mapping[str, Requirement]
) -> tuple[RequirementText, ...]:
    """A catalogue may lack requirements of an old run: those come last."""
    wanted = {each.requirement for each in plan.judgements} | {each.requirement for each in verdicts}
    known = tuple(
        RequirementText(id=each.id, level=each.level.value, sentence=each.sentence, source=each.source, note=each.note)
        for name, each in catalogue.items()
        if name in wanted
    )
    return known + tuple(RequirementText(id=name) for name in sorted(wanted - catalogue.keys()))


def _profile(profile: KubeletProfile, curves: Mapping[str, str]) -> ProfileSummary:
    return ProfileSummary(
        name=profile.name,
        description=profile.description,
        config=profile.config,
        curve=curves.get(profile.name, ""),
        kubernetes_version=profile.kubernetes_version,
        kubelet_binary=profile.kubelet_binary,
    )
