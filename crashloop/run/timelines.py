"""Which pods of a run get a timeline: those that an accusation, an open question or a known deviation rests on."""

from collections.abc import Iterator
from itertools import islice

from crashloop.report.results import Results
from crashloop.report.standing import Standing
from crashloop.report.timeline import Timeline, timelines_of
from crashloop.run.judging import read_history
from crashloop.rundir import RunDir
from crashloop.spec.plan import Plan

MOST = 40
"""Timelines of a report; results.json stays small."""
_UNREMARKABLE = (Standing.PASS, Standing.SKIPPED, Standing.REPORTED, Standing.TEXT)


def remarkable_timelines(run: RunDir, plan: Plan, results: Results) -> tuple[Timeline, ...]:
    """In the order of the verdicts, worst first. A history that is missing or unreadable has none."""
    return tuple(islice(_timelines(run, plan, results), MOST))


def _timelines(run: RunDir, plan: Plan, results: Results) -> Iterator[Timeline]:
    subjects = {each.name: each.subject for each in plan.scenarios}
    for scenario in _scenarios(results):
        try:
            recording = read_history(run, scenario) if scenario in subjects else None
        except OSError:
            continue
        if recording is not None:
            yield from timelines_of(scenario, subjects[scenario], recording, results.curves)


def _scenarios(results: Results) -> dict[str, None]:
    """Those whose histories are the evidence of such a verdict."""
    accused = (each for each in results.verdicts if Standing.of(each) not in _UNREMARKABLE)
    return dict.fromkeys(each.scenario for verdict in accused for each in verdict.evidence)
