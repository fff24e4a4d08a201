"""The control of a run: a copy of one of its own recordings, with restarts that come too early, which the judge has to refuse.

Theory of operation. Whether a PASS means anything depends on the evidence of this run: its clocks, its host, its gaps. So
each run judges a kubelet that is wrong for certain, in this evidence: the recording of a container that kept its delays,
with all of them shortened, on a node that nothing disturbed (a kubelet that was restarted may have forgotten them). Nothing
excuses an early restart, so that the verdict is FAIL on any host. The run's name draws the recording. What the control
does not show is whether the recorder sees what a wrong kubelet does: `make quality` does.
"""

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256

from crashloop.history.reduction import read_recording
from crashloop.history.stretched import can_be_moved, stretched
from crashloop.report.curves import PlottedCurve, ReportedDelay, curves_of
from crashloop.report.results import Control
from crashloop.report.standing import Standing
from crashloop.run.judging import judge_recorded
from crashloop.rundir import RunDir
from crashloop.spec.plan import Plan
from crashloop.verdict import Outcome, Verdict

REQUIREMENT = "BACKOFF-2"
"""No restart before its delay has passed; it holds for every pod."""
SHARE = 0.4
"""By which each delay becomes shorter."""
LEAST_S, CLOSE = 2.0, 1.25
"""A delay that shows it: due after so many seconds at least, and by the runtime's create taken for at most so many times what
was due. What is left of it is a quarter too short, which is more than the resolution of any clock."""


def control_of(run: RunDir, plan: Plan, verdicts: Iterable[Verdict]) -> Control:
    """Judge the control of a run with these verdicts: the first drawn recording in which the evidence decides.

    Its outcome is None where no recording can be one.
    """
    control = Control(requirement=REQUIREMENT)
    left_alone = {each.name for each in plan.scenarios if not each.disturbs_node}
    curves = [each for each in curves_of(verdicts, plan) if each.scenario in left_alone and _keeps_delays(each)]
    drawn = sorted(curves, key=lambda each: sha256(f"{run.name} {each.scenario} {each.container}".encode()).digest())
    for curve in drawn:
        lines = list(_lines(run, curve.scenario))
        if can_be_moved(lines, curve.container):
            control = _judged(plan, curve, lines)
            if control.outcome is not Outcome.INCONCLUSIVE:
                break
    return control


def refused(control: Control) -> Iterator[Verdict]:
    """The ERROR of a run whose control passed."""
    if control.outcome is Outcome.PASS:
        yield Verdict(
            requirement=control.requirement,
            scenario=control.scenario,
            profile="",
            outcome=Outcome.ERROR,
            findings=(f"{control.sentence} No PASS of this run means anything.",),
        )


def _judged(plan: Plan, curve: PlottedCurve, lines: list[dict[str, object]]) -> Control:
    moved = stretched(lines, curve.container, lambda _, took_s: -SHARE * took_s)
    recording = read_recording(json.dumps(line).encode() for line in moved)
    outcomes = {each.requirement: each.outcome for each in judge_recorded(plan, curve.scenario, recording)}
    outcome = outcomes.get(REQUIREMENT, Outcome.PASS)
    return Control(requirement=REQUIREMENT, scenario=curve.scenario, container=curve.container, outcome=outcome)


def _keeps_delays(curve: PlottedCurve) -> bool:
    return curve.standing is Standing.PASS and any(map(_shows, curve.delays))


def _shows(delay: ReportedDelay) -> bool:
    return not delay.alternatives and LEAST_S <= delay.due_s <= (delay.created_s or 0.0) <= CLOSE * delay.due_s


def _lines(run: RunDir, scenario: str) -> Iterator[dict[str, object]]:
    with run.history(scenario).open("rb") as history:
        yield from map(json.loads, history)
