"""results.json, with all that is needed to understand a run's verdicts. Views are made from results alone.

Coverage tells how much of the catalogue a run judged, counted in requirements.
"""

import shlex
from collections.abc import Iterable, Mapping, Set
from datetime import datetime
from typing import Any, Protocol, Self

import msgspec

from crashloop.report.curves import PlottedCurve, curves_of
from crashloop.report.standing import Standing, count
from crashloop.report.text import counted
from crashloop.report.timeline import Timeline
from crashloop.spec.plan import Plan
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.requirement import Basis, Bound, Deviation, Requirement
from crashloop.verdict import ExitCode, Outcome, Verdict, VerdictMode, exit_code, judged_requirements, run_outcome


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """Requirements; every selected one is judged, skipped or undecided."""

    judged: int
    """PASS or FAIL as the worst over all scenarios."""
    report_only: int = 0
    """Of those, the requirements that can never fail a run: a SHOULD, an observation, a text."""
    skipped: int
    """SKIPPED on every scenario."""
    undecided: int
    """INCONCLUSIVE or ERROR as the worst."""
    catalogue: int
    """All that the catalogue has."""
    at_least: int = 0
    """How many the run was to judge: --at-least."""

    @property
    def is_enough(self) -> bool:
        return self.judged >= self.at_least

    @property
    def sentence(self) -> str:
        """`49 of 258 requirements judged (of which 7 report only), 3 skipped, 1 undecided.`"""
        apart = f" (of which {self.report_only} report only)" if self.report_only else ""
        parts = [f"{self.judged} of {counted(self.catalogue, 'requirement')} judged{apart}"]
        parts += [f"{self.skipped} skipped"] if self.skipped else []
        parts += [f"{self.undecided} undecided"] if self.undecided else []
        wanted = "" if self.is_enough else f": fewer than --at-least {self.at_least}"
        return f"{', '.join(parts)}{wanted}."


def coverage_of(verdicts: Iterable[Verdict], *, catalogue: int, at_least: int = 0) -> Coverage:
    """The coverage of a run by its verdicts."""
    seen = list(verdicts)
    asked = {each.requirement for each in seen}
    judged = judged_requirements(seen)
    undecided = {each.requirement for each in seen if each.outcome is not Outcome.SKIPPED} - judged
    gating = {each.requirement for each in seen if each.mode is VerdictMode.GATE}
    return Coverage(
        judged=len(judged),
        report_only=len(judged - gating),
        skipped=len(asked - judged - undecided),
        undecided=len(undecided),
        catalogue=catalogue,
        at_least=at_least,
    )


RESULTS_FORMAT = "crashloop.results/1"


class RunFacts(Protocol):
    """Fields from run.json (crashloop.rundir.RunInfo)."""

    @property
    def suite(self) -> str: ...
    @property
    def started(self) -> datetime: ...
    @property
    def crashloop_version(self) -> str: ...


class RequirementText(msgspec.Struct, frozen=True, kw_only=True):
    """A judged requirement, with the catalogue's sentence."""

    id: str
    level: str = ""
    """MUST or SHOULD; empty when the catalogue that judged does not have the requirement."""
    sentence: str = ""
    source: str = ""
    basis: Basis | None = None
    """None when the catalogue that judged does not have the requirement, or did not say."""
    bound: Bound = Bound.TEXT
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

    @classmethod
    def of(cls, known: Deviation) -> Self:
        return cls(id=known.id, sentence=known.sentence, evidence=known.evidence, link=known.link)


class ProfileSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A kubelet profile of the run."""

    name: str
    description: str = ""
    config: dict[str, Any] = {}
    """KubeletConfiguration fragment, word for word."""
    drop_ins: tuple[dict[str, Any], ...] = ()
    """Fragments of its drop-in files, in their order."""
    curve: str = ""
    """The delays that follow from it, in words; empty when the kubelet should refuse it."""
    kubernetes_version: str | None = None
    kubelet_binary: str | None = None

    @classmethod
    def of(cls, profile: KubeletProfile, curve: str) -> Self:
        return cls(
            name=profile.name,
            description=profile.description,
            config=profile.config,
            drop_ins=profile.drop_ins,
            curve=curve,
            kubernetes_version=profile.kubernetes_version,
            kubelet_binary=profile.kubelet_binary,
        )


class RunResults(msgspec.Struct, frozen=True, kw_only=True):
    """The head of results.json and of slo.json: circumstances and outcome of a run."""

    format: str
    provider: str
    kubernetes_version: str
    crashloop_version: str
    run: str = ""
    """The run directory, as a person would type it."""
    started: datetime
    finished: datetime
    outcome: Outcome
    """The worst outcome of the verdicts that count."""
    exit_code: int
    coverage: Coverage | None = None
    """How many requirements were judged; None: the file was written before this was counted."""
    environment: dict[str, Any] = {}
    """environment.json: host, binaries and their versions."""
    directory: str = ""
    """The path of the run directory when it was judged."""
    arguments: tuple[str, ...] = ()
    """Of the command that runs the same again, without those of `selection`; empty in a run of an older release."""


class Quote(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a history, from its beginning."""

    scenario: str
    line: int
    text: str


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """What the judge said of a wrong kubelet in the run's own evidence: a recording whose delays were all shortened."""

    requirement: str
    """That has to be FAIL."""
    scenario: str = ""
    container: str = ""
    outcome: Outcome | None = None
    """None: no recording of the run shows a delay that was kept, of two seconds or more, by the runtime's events."""

    @property
    def sentence(self) -> str:
        if self.outcome is None:
            return "No recording has a delay that could be shortened."
        said = {Outcome.FAIL: "was refused by", Outcome.PASS: "was not refused by"}.get(
            self.outcome, "was left open by"
        )
        return f"A copy of {self.scenario} with delays that are 40 % shorter {said} {self.requirement}."


class Results(RunResults, frozen=True, kw_only=True):
    """results.json."""

    format: str = RESULTS_FORMAT
    suite: str
    scope: str
    kubelet_binary: str | None = None
    """The binary under test, where one was given."""
    selection: tuple[str, ...] = ()
    """Arguments that selected requirements or tests."""
    counts: dict[Standing, int]
    """Verdicts by standing; every standing is there. A FAIL under a known deviation counts as DEVIATION only,
    and what is only reported as REPORTED, unless it is a PASS."""
    verdicts: tuple[Verdict, ...]
    """Worst first, then in the order of the catalogue, then by scenario."""
    requirements: tuple[RequirementText, ...]
    """Requirements of the plan and of the verdicts, in the order of the catalogue."""
    deviations: tuple[DeviationText, ...] = ()
    profiles: tuple[ProfileSummary, ...] = ()
    curves: tuple[PlottedCurve, ...] = ()
    timelines: tuple[Timeline, ...] = ()
    """Of the pods that a verdict other than PASS rests on, worst first."""
    quotes: tuple[Quote, ...] = ()
    """The lines of histories that FAIL, ERROR and INCONCLUSIVE rest on."""
    control: Control | None = None
    """None: judged by a release without a control."""
    model_version: str | None = None
    """The release by whose rules every kubelet was judged, where that was asked for."""

    def requirement(self, name: str) -> RequirementText:
        """The requirement of that id. Raises KeyError."""
        return {each.id: each for each in self.requirements}[name]


def build_results(
    info: RunFacts,
    plan: Plan,
    verdicts: Iterable[Verdict],
    requirements: Mapping[str, Requirement],
    deviations: Iterable[Deviation],
    environment: Mapping[str, Any],
    *,
    finished: datetime,
    run: str = "",
    effective_curves: Mapping[str, str] | None = None,
    at_least: int = 0,
) -> Results:
    """Assemble the parts of results.json.

    `requirements` is the catalogue in reading order; `effective_curves` maps a profile's name to its delays in words;
    `at_least` is how many requirements the run was to judge.
    Raises msgspec.ValidationError if the delays in a verdict's facts are not of the shape of `curves.Delay`.
    """
    judged = tuple(verdicts)
    touched = texts_of(
        {each.requirement for each in plan.judgements} | {each.requirement for each in judged}, requirements
    )
    order = {each.id: position for position, each in enumerate(touched)}
    in_order = sorted(judged, key=lambda v: (Standing.of(v).rank, order[v.requirement], v.scenario, v.profile))
    outcome = run_outcome(in_order, at_least=at_least)
    named = {verdict.deviation for verdict in in_order} - {None}
    known = {each.id: DeviationText.of(each) for each in deviations}
    return Results(
        suite=info.suite,
        provider=plan.provider,
        kubernetes_version=plan.kubernetes_version,
        scope=plan.scope,
        crashloop_version=info.crashloop_version,
        run=run,
        started=info.started,
        finished=finished,
        outcome=outcome,
        exit_code=exit_code(outcome) if in_order else ExitCode.USAGE,
        counts=count(in_order),
        coverage=coverage_of(in_order, catalogue=len(requirements), at_least=at_least),
        verdicts=tuple(in_order),
        requirements=touched,
        deviations=tuple(known.get(name, DeviationText(id=name)) for name in sorted(filter(None, named))),
        profiles=tuple(ProfileSummary.of(each, (effective_curves or {}).get(each.name, "")) for each in plan.profiles),
        curves=curves_of(in_order, plan),
        environment=dict(environment),
    )


def texts_of(wanted: Set[str], catalogue: Mapping[str, Requirement]) -> tuple[RequirementText, ...]:
    """The requirements of these ids, in the order of the catalogue; ids that it lacks come last, without a text."""
    known = tuple(
        RequirementText(
            id=each.id,
            level=each.level.value,
            sentence=each.sentence,
            source=each.source,
            basis=each.basis,
            bound=each.bound,
            note=each.note,
        )
        for name, each in catalogue.items()
        if name in wanted
    )
    return known + tuple(RequirementText(id=name) for name in sorted(wanted - catalogue.keys()))


def analyze_again(results: RunResults) -> str:
    """The command that judges the recording again, as a shell takes it."""
    return shlex.join(("crashloop", "report", "--again", results.directory or results.run or "RUN"))


def with_kubectl_alone(results: RunResults, requirement: str) -> str:
    """The command that writes a script of kubectl that shows the verdict on a requirement."""
    return shlex.join(("crashloop", "reproduce", results.directory or results.run or "RUN", requirement))


def run_again(results: Results, requirements: Iterable[str] = ()) -> str:
    """The command that runs the same again: on these requirements, or on all that the run selected."""
    chosen = tuple(f"--requirement={each}" for each in requirements) or results.selection
    own = (f"--kubelet-binary={results.kubelet_binary}",) if results.kubelet_binary else ()
    version = f"--kubernetes-version={results.kubernetes_version}"
    older = (f"--provider={results.provider}", f"--scope={results.scope}", version, *own)
    return command_line("run", (*chosen, *(results.arguments or older)))


def command_line(name: str, arguments: Iterable[str]) -> str:
    """A command with its arguments, as a shell takes it."""
    return shlex.join(("crashloop", name, *(word for each in arguments for word in _words(each))))


def _words(argument: str) -> tuple[str, ...]:
    """`--option=value` as people type it, unless the value would be taken for an option."""
    option, separator, value = argument.partition("=")
    is_plain = argument.startswith("--") and separator and not value.startswith("-")
    return (option, value) if is_plain else (argument,)
