"""Judges one scenario or comparison of a run from its directory alone, also with damaged or missing evidence."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from crashloop.checks.everywhere import judge_everywhere
from crashloop.checks.finding import Checked, Finding, error, inconclusive
from crashloop.checks.judge import judge, verdict_of
from crashloop.checks.judgement import ComparisonInput, JudgementInput, Question
from crashloop.deviations import load_deviations
from crashloop.history.recording import Recording
from crashloop.history.reduction import read_recording
from crashloop.requirements import load_requirements
from crashloop.restarts.case import Memo
from crashloop.rundir import RecorderState, RunDir
from crashloop.spec.plan import Judgement, Plan, Skip
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.requirement import Deviation
from crashloop.spec.scenario import Scenario
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Outcome, Verdict

NOTHING = read_recording(())


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts on one scenario, or on one comparison."""

    ended: datetime | None
    """End of the last of their histories; None if there is none."""
    verdicts: tuple[Verdict, ...]
    """One per judgement of the plan."""
    everywhere: tuple[Verdict, ...] = ()
    """Of a pod: one per requirement that holds for every pod."""


class _History(NamedTuple):
    """The recording of a scenario, or why it cannot be judged; and what its judgements have in common."""

    scenario: str
    recorded: Recording | Finding
    memo: Memo

    @property
    def recording(self) -> Recording:
        return NOTHING if isinstance(self.recorded, Finding) else self.recorded


def judge_scenario(run: RunDir, plan: Plan, name: str, *, deviations: Sequence[Deviation] | None = None) -> Judged:
    """Make every judgement of the plan on one scenario or comparison, whose histories are read once.

    The recorder's last state explains a missing history. `deviations` are those that excuse; all that are known by default.
    """
    excuses = load_deviations() if deviations is None else deviations
    histories = [_History(each, _recorded(run, each), Memo()) for each in plan.histories_of(name)]
    return Judged(
        ended=max(filter(None, (_ended(each.recorded) for each in histories)), default=None),
        verdicts=tuple(
            _verdict(plan, judgement, histories, excuses) for judgement in plan.judgements if judgement.scenario == name
        ),
        everywhere=tuple(_everywhere(plan, histories[0], excuses)) if histories[0].scenario == name else (),
    )


def _everywhere(plan: Plan, history: _History, excuses: Sequence[Deviation]) -> Iterator[Verdict]:
    """The verdicts of the requirements that hold for every pod, if this is one that was recorded."""
    judgement = next((each for each in plan.judgements if history.scenario in each.histories), None)
    if judgement is None or isinstance(history.recorded, Finding):
        return
    question = _input(plan, judgement.requirement, history)
    if not isinstance(question, str) and question.scenario.pod_spec is not None:
        yield from judge_everywhere(load_requirements(), question, excuses)


def skipped(skip: Skip) -> Verdict:
    """The verdict of a judgement that the plan does not make."""
    return Verdict(
        requirement=skip.requirement,
        scenario=skip.scenario,
        profile=skip.profile,
        outcome=Outcome.SKIPPED,
        findings=(skip.reason,),
    )


def read_history(run: RunDir, scenario: str) -> Recording | None:
    """The recording of a scenario, read line by line; None without a file. Raises OSError if it cannot be read."""
    try:
        with run.history(scenario).open("rb") as lines:
            return read_recording(lines)
    except FileNotFoundError:
        return None


def _ended(recorded: Recording | Finding) -> datetime | None:
    if isinstance(recorded, Finding) or recorded.broken or not recorded.end_ns:
        return None
    return datetime.fromtimestamp(recorded.end_ns / 1e9, UTC)


def _verdict(plan: Plan, judgement: Judgement, histories: Sequence[_History], excuses: Sequence[Deviation]) -> Verdict:
    inputs = [_input(plan, judgement.requirement, each) for each in histories]
    known = [each for each in inputs if not isinstance(each, str)]
    if len(known) < len(inputs):
        return Verdict(
            requirement=judgement.requirement,
            scenario=judgement.scenario,
            profile="",
            outcome=Outcome.ERROR,
            findings=tuple(f"{judgement.requirement}: {each}" for each in inputs if isinstance(each, str)),
        )
    question: Question = known[0]
    if judgement.compared:
        question = ComparisonInput(requirement=known[0].requirement, name=judgement.scenario, histories=tuple(known))
    missing = tuple(each.recorded for each in histories if isinstance(each.recorded, Finding))
    return verdict_of(question, Checked(findings=missing)) if missing else judge(question, excuses)


def _input(plan: Plan, identifier: str, history: _History) -> JudgementInput | str:
    """A requirement on one history; a sentence if plan or catalogue lack what the judgement names."""
    requirement = load_requirements().get(identifier)
    if requirement is None:
        return "the plan has it, but this catalogue does not. Judge with the crashloop that made the run."
    recording = history.recording
    scenario = next((each for each in plan.scenarios if each.name == history.scenario), None)
    if scenario is None:
        return f"the plan has no scenario {history.scenario!r} to judge it on."
    profile = _judged_profile(plan, scenario)
    if profile is None:
        return f"the plan has no profile {scenario.judged_profile!r}, which scenario {scenario.name!r} needs."
    restarted_with = {each.profile for each in recording.interventions if each.profile is not None}
    restarted_with |= set(scenario.later_profiles)
    if unknown := sorted(restarted_with - {each.name for each in plan.profiles}):
        return f"the plan has no profile {unknown[0]!r}, which the kubelet was restarted with."
    return JudgementInput(
        requirement=requirement,
        scenario=scenario,
        profile=profile,
        version=KubernetesVersion.parse(plan.kubernetes_version),
        later=tuple(each for each in plan.profiles if each.name in restarted_with and each is not profile),
        recording=recording,
        memo=history.memo,
    )


def _judged_profile(plan: Plan, scenario: Scenario) -> KubeletProfile | None:
    """The judged profile; of the API server only its gates count. None if the plan lacks it."""
    if scenario.judged_profile is None:
        return KubeletProfile(name=scenario.subject, config={"featureGates": plan.gates_for(scenario)})
    return next((each for each in plan.profiles if each.name == scenario.judged_profile), None)


def _recorded(run: RunDir, scenario: str) -> Recording | Finding:
    """The recording of a scenario, or why it cannot be judged."""
    try:
        return read_history(run, scenario) or _why_missing(run, scenario)
    except OSError as failure:
        return error(f"the history of {scenario} cannot be read ({failure.strerror}).")


def _why_missing(run: RunDir, scenario: str) -> Finding:
    """Why there is no history, by the recorder's last state."""
    missing = f"there is no history of {scenario}"
    try:
        state = msgspec.json.decode(run.recorder_json.read_bytes(), type=RecorderState)
    except FileNotFoundError:
        return inconclusive(f"{missing}: the recorder was never started.")
    except (OSError, msgspec.MsgspecError) as damage:
        return error(f"{missing}, and recorder.json cannot be read ({damage}).")
    match state.state:
        case "failed":
            return error(f"{missing}: the recorder failed. {state.error or 'It left no message.'}")
        case "interrupted":
            return inconclusive(f"{missing}: the recorder was interrupted.")
        case "done":
            return error(f"{missing}, although the recorder finished.")
        case "starting" | "recording":
            return inconclusive(f"{missing}: the recorder was still {state.state}, or was killed.")
