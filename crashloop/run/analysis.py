"""Judges a whole run from the verdicts of its tests or from its evidence alone, with a control, and publishes its results.

Theory of operation of the control. Whether a PASS means anything depends on the evidence of this run: its clocks, its host,
its gaps. So each run judges a kubelet that is wrong for certain, in this evidence: the recording of a container that kept its
delays, with all of them shortened, on a node that nothing disturbed (a kubelet that was restarted may have forgotten them).
Nothing excuses an early restart, so that the verdict is FAIL on any host. The run's name draws the recording. What the control
does not show is whether the recorder sees what a wrong kubelet does: `make quality` does.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from itertools import islice, takewhile
from pathlib import Path

import msgspec

from crashloop.checks.everywhere import of_all_pods
from crashloop.deviations import load_deviations
from crashloop.errors import UsageError
from crashloop.history.reduction import read_recording
from crashloop.history.stretched import can_be_moved, stretched
from crashloop.model.config import Curve, Refusal, effective_curve
from crashloop.model.gates import kubelet_version
from crashloop.model.variants import as_shipped
from crashloop.processors import are_worth_sharing, on_all_processors
from crashloop.report.causes import causes_by_verdict, causes_of
from crashloop.report.conformance import conformance_document
from crashloop.report.curves import PlottedCurve, ReportedDelay, curves_of
from crashloop.report.document import Document
from crashloop.report.html import to_html
from crashloop.report.junit import to_junit
from crashloop.report.markdown import to_markdown
from crashloop.report.results import RESULTS_FORMAT, Control, Quote, Results, build_results
from crashloop.report.standing import Standing
from crashloop.report.text import shortened
from crashloop.report.timeline import Timeline, timelines_of
from crashloop.requirements import load_requirements
from crashloop.run.judging import (
    Judged,
    judge_recorded,
    judge_scenario,
    kept_verdicts,
    read_history,
    skipped,
    unjudged_everywhere,
)
from crashloop.rundir import RunDir, read_document
from crashloop.spec.plan import Plan, Skip
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.requirement import applies
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Outcome, Verdict

MOST_QUOTED, LONGEST_QUOTE = 6, 240
"""Lines of one cause, and characters of a line."""
MOST = 40
"""Timelines of a report; results.json stays small."""
_UNREMARKABLE = (Standing.PASS, Standing.SKIPPED, Standing.REPORTED, Standing.TEXT)


def remarkable_timelines(run: RunDir, plan: Plan, results: Results) -> tuple[Timeline, ...]:
    """In the order of the verdicts, worst first. A history that is missing or unreadable has none."""
    return tuple(islice(_timelines(run, plan, results), MOST))


def _timelines(run: RunDir, plan: Plan, results: Results) -> Iterator[Timeline]:
    subjects = {each.name: each.subject for each in plan.scenarios}
    for scenario in _scenarios_in_doubt(results):
        try:
            recording = read_history(run, scenario) if scenario in subjects else None
        except OSError:
            continue
        if recording is not None:
            yield from timelines_of(scenario, subjects[scenario], recording, results.curves)


def _scenarios_in_doubt(results: Results) -> dict[str, None]:
    """Those whose histories are the evidence of such a verdict."""
    accused = (each for each in results.verdicts if Standing.of(each) not in _UNREMARKABLE)
    return dict.fromkeys(each.scenario for verdict in accused for each in verdict.evidence)


def analyze(run: RunDir, model: KubernetesVersion | None = None) -> Results:
    """Judge the whole run, from its evidence alone. Raises UsageError if run.json or plan.json cannot be read.

    `model`: the release by whose rules every kubelet is judged, instead of its own.
    """
    plan = run.plan()
    rules = plan if model is None else by_rules_of(plan, model)
    results = _results(run, rules, _judge(run, rules, _scenarios(rules)))
    own = plan.kubernetes_version
    return (
        results if model is None else msgspec.structs.replace(results, kubernetes_version=own, model_version=str(model))
    )


def by_rules_of(plan: Plan, model: KubernetesVersion) -> Plan:
    """The plan as if its cluster and every kubelet were of that version; what does not hold there is skipped."""
    catalogue, kept, skips = load_requirements(), [], list(plan.skipped)
    for each in plan.judgements:
        requirement = catalogue.get(each.requirement)
        gates = {} if requirement is None else dict.fromkeys(requirement.gates, True)
        reason = None if requirement is None else applies(requirement, model, gates)
        if reason is None:
            kept.append(each)
        else:
            skips.append(Skip(requirement=each.requirement, scenario=each.scenario, profile="", reason=reason))
    profiles = tuple(msgspec.structs.replace(each, kubernetes_version=None) for each in plan.profiles)
    return msgspec.structs.replace(
        plan, kubernetes_version=str(model), profiles=profiles, judgements=tuple(kept), skipped=tuple(skips)
    )


def conclude(run: RunDir) -> Results:
    """The results of a run that ends: the verdicts that its tests have shown; what no test has judged is judged now."""
    plan = run.plan()
    shown = kept_verdicts(run, _scenarios(plan))
    missing = [name for name in _scenarios(plan) if name not in shown]
    return _results(run, plan, [*shown.values(), *_judge(run, plan, missing)])


def _scenarios(plan: Plan) -> tuple[str, ...]:
    """What is judged: scenarios and comparisons, and each scenario that is only compared, for the sake of every pod."""
    compared = (name for each in plan.judgements for name in each.compared)
    return tuple(dict.fromkeys((*(each.scenario for each in plan.judgements), *compared)))


def _judge(run: RunDir, plan: Plan, scenarios: Sequence[str]) -> list[Judged]:
    judge = partial(_judge_each, run, plan)
    return on_all_processors(judge, scenarios) if are_worth_sharing(map(run.history, scenarios)) else judge(scenarios)


def _judge_each(run: RunDir, plan: Plan, scenarios: Sequence[str]) -> list[Judged]:
    return [judge_scenario(run, plan, each) for each in scenarios]


def _results(run: RunDir, plan: Plan, judged: Iterable[Judged]) -> Results:
    """A run is finished when the last of its histories ends, so that judging it again gives the same results."""
    info, known = run.info(), tuple(judged)
    version = KubernetesVersion.parse(plan.kubernetes_version)
    verdicts = [verdict for each in known for verdict in each.verdicts]
    control = control_of(run, plan, verdicts)
    results = build_results(
        info,
        plan,
        [
            *refused(control),
            *verdicts,
            *of_all_pods(verdict for each in known for verdict in each.everywhere),
            *unjudged_everywhere(run, known),
            *map(skipped, plan.skipped),
        ],
        load_requirements(),
        load_deviations(),
        run.environment(),
        finished=max([info.started, *(each.ended for each in known if each.ended is not None)]),
        run=run.name,
        at_least=int(info.settings.get("at_least") or 0),
        effective_curves={each.name: curve_in_words(each, version) for each in plan.profiles},
    )
    binary = info.settings.get("kubelet_binary")
    return msgspec.structs.replace(
        results,
        kubelet_binary=None if binary is None else str(binary),
        directory=str(run.root.resolve()),
        selection=tuple(map(str, info.settings.get("selection", ()))),
        arguments=tuple(map(str, info.settings.get("arguments", ()))),
        timelines=remarkable_timelines(run, plan, results),
        quotes=tuple(_quotes(run, results)),
        control=control,
    )


def _quotes(run: RunDir, results: Results) -> Iterator[Quote]:
    """The lines that each cause rests on; a history that is missing or unreadable has none."""
    wanted: dict[str, set[int]] = {}
    for each in causes_of(results):
        wanted.setdefault(each.first.ground.scenario, set()).update(each.first.ground.lines[:MOST_QUOTED])
    for scenario, lines in islice(wanted.items(), MOST):
        try:
            with run.history(scenario).open(encoding="utf-8", errors="replace") as history:
                for number, text in enumerate(history, start=1):
                    if number in lines:
                        yield Quote(scenario=scenario, line=number, text=shortened(text.strip(), LONGEST_QUOTE))
        except OSError:
            continue


def curve_in_words(profile: KubeletProfile, version: KubernetesVersion) -> str:
    """The delays of a node, such as `0, 10, 20, 40, 60 s`; empty where the kubelet does not start with the profile."""
    shipped = as_shipped(kubelet_version(profile, version))
    curve = effective_curve(profile, version, deviations=shipped)
    if isinstance(curve, Refusal):
        return ""
    growing = [f"{delay_s:g}" for delay_s in takewhile(lambda delay_s: delay_s < curve.maximum_s, _doubling(curve))]
    return f"{', '.join(['0', *growing, f'{curve.maximum_s:g}'])} s"


def _doubling(curve: Curve) -> Iterator[float]:
    delay_s = curve.initial_s
    while True:
        yield delay_s
        delay_s = curve.after(delay_s)


def publish(run: RunDir, results: Results, document: Document | None = None) -> None:
    """Write results.json first, then report.html, junit.xml and summary.md; views of an earlier judgement are replaced.

    `document` is the report. Default: that of a conformance run.
    """
    shown = document or conformance_document(results)
    run.write(run.results_json, results)
    run.write_text(run.report_html, to_html(shown))
    run.write_text(run.junit_xml, to_junit(results, causes_by_verdict(causes_of(results))))
    run.write_text(run.summary_md, to_markdown(shown))


def require_judged(run: RunDir, results: Path) -> None:
    """Raise UsageError if the run has no such file of results yet."""
    if not results.exists():
        raise UsageError(
            f"run directory {run.root}: it was not judged yet.\nJudge it: crashloop report --again {run.root}"
        )


def published(run: RunDir) -> Results:
    """The results of a judged run. Raises UsageError if there are none, or if they have another format."""
    require_judged(run, run.results_json)
    return read_document(run.results_json, Results, RESULTS_FORMAT)


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
