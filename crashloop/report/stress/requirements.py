"""results.json of a stress run: its verdicts on requirements, in the form that every run has."""

from crashloop.report.results import ProfileSummary, Results
from crashloop.report.standing import Standing, count
from crashloop.report.stress.results import StressResults

SUITE = "stress"


def requirement_results(results: StressResults) -> Results:
    """The part of a stress run that is about requirements; outcome and exit code are those of the whole run."""
    profiles = {
        each.profile: ProfileSummary(
            name=each.profile, config=each.config, curve=each.curve, kubernetes_version=each.kubernetes_version
        )
        for each in results.nodes
    }
    return Results(
        suite=SUITE,
        provider=results.provider,
        kubernetes_version=results.kubernetes_version,
        scope=results.profile,
        crashloop_version=results.crashloop_version,
        run=results.run,
        started=results.started,
        finished=results.finished,
        outcome=results.outcome,
        exit_code=results.exit_code,
        counts=count(results.judged),
        coverage=results.coverage,
        verdicts=tuple(sorted(results.judged, key=lambda each: Standing.of(each).rank)),
        requirements=results.requirements,
        profiles=tuple(profiles.values()),
        environment=results.environment,
    )
