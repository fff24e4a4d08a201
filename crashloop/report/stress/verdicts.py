"""results.json of a stress run: its verdicts on requirements, SLOs and the run itself, in the form that every run has."""

import msgspec

from crashloop.report.results import ProfileSummary, RequirementText, Results, RunResults
from crashloop.report.standing import Standing, count
from crashloop.report.stress.results import StressResults
from crashloop.slo.types import SloVerdict
from crashloop.verdict import Verdict, VerdictMode

SUITE = "stress"
CHECK = "A check of the run itself."


def requirement_results(results: StressResults) -> Results:
    """The part of a stress run about requirements of the catalogue; outcome and exit code are those of the whole run."""
    profiles = {
        each.profile: ProfileSummary(
            name=each.profile, config=each.config, curve=each.curve, kubernetes_version=each.kubernetes_version
        )
        for each in results.nodes
    }
    head = {name: getattr(results, name) for name in RunResults.__struct_fields__ if name != "format"}
    return Results(
        **head,
        suite=SUITE,
        scope=results.profile,
        counts=count(results.judged),
        verdicts=tuple(sorted(results.judged, key=lambda each: Standing.of(each).rank)),
        requirements=results.requirements,
        deviations=results.deviations,
        profiles=tuple(profiles.values()),
    )


def run_results(results: StressResults) -> Results:
    """All verdicts of a stress run; an SLO stands where a requirement stands, with its promise as the sentence."""
    judged = requirement_results(results)
    verdicts = (*judged.verdicts, *(_verdict(each, results) for each in results.verdicts))
    return msgspec.structs.replace(
        judged,
        counts=count(verdicts),
        verdicts=tuple(sorted(verdicts, key=lambda each: Standing.of(each).rank)),
        requirements=(*judged.requirements, *(_text(each.slo, results) for each in results.verdicts)),
    )


def _verdict(verdict: SloVerdict, results: StressResults) -> Verdict:
    row = results.row(verdict.slo)
    facts = {"value": verdict.value, "unit": verdict.unit, "target": verdict.target, "samples": verdict.samples}
    return Verdict(
        requirement=verdict.slo,
        scenario=f"{results.profile}/{row.phase}" if row is not None and row.phase else results.profile,
        profile=", ".join(dict.fromkeys(each.profile for each in results.nodes)),
        outcome=verdict.outcome,
        mode=VerdictMode(verdict.mode),
        findings=(verdict.sentence, *verdict.notes),
        deviation=verdict.deviation,
        facts={name: value for name, value in facts.items() if value is not None},
    )


def _text(slo: str, results: StressResults) -> RequirementText:
    row = results.row(slo)
    if row is None:
        return RequirementText(id=slo, sentence=CHECK)
    return RequirementText(id=slo, sentence=row.promise, source=row.source, note=row.definition)
