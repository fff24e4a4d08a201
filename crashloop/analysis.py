"""Judging a run from its directory alone: during the run, one scenario at a time, and afterwards as a whole."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from crashloop.checks.asking import Question
from crashloop.checks.finding import Checked, Finding, error, inconclusive
from crashloop.checks.judge import judge, verdict_of
from crashloop.deviations import load_deviations
from crashloop.errors import UsageError
from crashloop.history.recording import Recording
from crashloop.history.reduction import read_recording
from crashloop.report.results import DeviationText, Results, build_results
from crashloop.requirements import Requirement, load_requirements
from crashloop.rundir import RecorderState, RunDir
from crashloop.spec.plan import Judgement, Plan
from crashloop.spec.scenario import Scenario, StartupScenario
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Outcome, Verdict


def read_history(run: RunDir, scenario: str) -> Recording | None:
    """What was recorded of a scenario, read line by line; None if there is no file."""
    try:
        with run.history(scenario).open("rb") as lines:
            return read_recording(lines)
    except FileNotFoundError:
        return None


def judge_scenario(run: RunDir, plan: Plan, judgement: Judgement) -> Verdict:
    """The verdict of one judgement of the plan. A history that is missing is explained by what the recorder left behind."""
    return _verdict(run, plan, judgement, read_history(run, judgement.scenario))


def verdicts(run: RunDir, plan: Plan) -> tuple[Verdict, ...]:
    """The verdict of every judgement of the plan, those skipped before the run included; each history is read once."""
    judged: list[Verdict] = []
    for scenario in plan.scenarios:
        wanted = [each for each in plan.judgements if each.scenario == scenario.name]
        recording = read_history(run, scenario.name) if wanted else None
        judged += [_verdict(run, plan, each, recording) for each in wanted]
    skipped = [
        Verdict(
            requirement=each.requirement,
            scenario=each.scenario,
            profile=each.profile,
            outcome=Outcome.SKIPPED,
            findings=(each.reason,),
        )
        for each in plan.skipped
    ]
    return (*judged, *skipped)


def analyze(run: RunDir) -> Results:
    """Judge the whole run anew. Raises UsageError if run.json or plan.json cannot be read."""
    plan = run.plan()
    return build_results(
        run.info(),
        plan,
        verdicts(run, plan),
        load_requirements(),
        [DeviationText(id=each.id, sentence=each.sentence, link=each.link or "") for each in load_deviations()],
        _environment(run.environment_json),
        finished=datetime.now(UTC),
        run=run.root.name,
    )


def _verdict(run: RunDir, plan: Plan, judgement: Judgement, recording: Recording | None) -> Verdict:
    scenario = plan.scenario(judgement.scenario)
    question = Question(
        requirement=_requirement(judgement.requirement),
        scenario=scenario,
        profile=plan.profile(_profile_name(scenario)),
        version=KubernetesVersion.parse(plan.kubernetes_version),
        recording=recording or read_recording(()),
    )
    if recording is None:
        return verdict_of(question, Checked(findings=(_why_missing(run, scenario.name),)))
    return judge(question, load_deviations())


def _profile_name(scenario: Scenario) -> str:
    return scenario.candidate if isinstance(scenario, StartupScenario) else scenario.profile


def _requirement(name: str) -> Requirement:
    """The requirement of that id. Raises UsageError if the catalogue no longer has it."""
    found = load_requirements().get(name)
    if found is None:
        raise UsageError(
            f"requirement {name}: the plan asks for it, and the catalogue does not have it.\n"
            "Judge the run with the crashloop that made it."
        )
    return found


def _why_missing(run: RunDir, scenario: str) -> Finding:
    """Why there is no history, by the state in which the recorder left the run."""
    missing = f"there is no history of {scenario}"
    try:
        state = msgspec.json.decode(run.recorder_json.read_bytes(), type=RecorderState)
    except FileNotFoundError:
        return inconclusive(f"{missing}: the recorder was never started.")
    except msgspec.MsgspecError as damage:
        return error(f"{missing}, and recorder.json is damaged ({damage}).")
    match state.state:
        case "failed":
            return error(f"{missing}: the recorder failed. {state.error or 'It left no message.'}")
        case "interrupted":
            return inconclusive(f"{missing}: the recorder was interrupted.")
        case "done":
            return error(f"{missing}, although the recorder finished.")
        case "starting" | "recording":
            return inconclusive(f"{missing}: the recorder was still {state.state}, or was killed.")


def _environment(path: Path) -> dict[str, Any]:
    try:
        environment = msgspec.json.decode(path.read_bytes())
    except (FileNotFoundError, msgspec.DecodeError):
        return {}
    return environment if isinstance(environment, dict) else {}
