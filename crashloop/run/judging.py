"""Judges one scenario of a run from its directory alone, also with damaged or missing evidence."""

from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from crashloop.checks.case import Memo
from crashloop.checks.everywhere import judge_everywhere
from crashloop.checks.finding import Checked, Finding, error, inconclusive
from crashloop.checks.judge import judge, verdict_of
from crashloop.checks.judgement import JudgementInput
from crashloop.deviations import load_deviations
from crashloop.history.recording import Recording
from crashloop.history.reduction import read_recording
from crashloop.requirements import load_requirements
from crashloop.rundir import RecorderState, RunDir
from crashloop.spec.plan import Judgement, Plan, Skip
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import Scenario
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Outcome, Verdict

NOTHING = read_recording(())


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts on one scenario."""

    ended: datetime | None
    """End of their history; None if it has none."""
    verdicts: tuple[Verdict, ...]
    """One per judgement of the plan."""
    everywhere: tuple[Verdict, ...] = ()
    """Of a pod: one per requirement that holds for every pod."""


def judge_scenario(run: RunDir, plan: Plan, scenario: str) -> Judged:
    """Make every judgement of the plan on one scenario, whose history is read once.

    The recorder's last state explains a missing history.
    """
    recorded, memo = _recorded(run, scenario), Memo()
    return Judged(
        ended=_ended(recorded),
        verdicts=tuple(
            _verdict(plan, judgement, recorded, memo) for judgement in plan.judgements if judgement.scenario == scenario
        ),
        everywhere=tuple(_everywhere(plan, scenario, recorded, memo)),
    )


def _everywhere(plan: Plan, scenario: str, recorded: Recording | Finding, memo: Memo) -> Iterator[Verdict]:
    """The verdicts of the requirements that hold for every pod, if this is one that was recorded."""
    judgement = next((each for each in plan.judgements if each.scenario == scenario), None)
    if judgement is None or isinstance(recorded, Finding):
        return
    question = _question(plan, judgement, recorded, memo)
    if not isinstance(question, str) and question.scenario.pod_spec is not None:
        yield from judge_everywhere(load_requirements(), question, load_deviations())


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


def _verdict(plan: Plan, judgement: Judgement, recorded: Recording | Finding, memo: Memo) -> Verdict:
    question = _question(plan, judgement, recorded if isinstance(recorded, Recording) else NOTHING, memo)
    if isinstance(question, str):
        return Verdict(
            requirement=judgement.requirement,
            scenario=judgement.scenario,
            profile="",
            outcome=Outcome.ERROR,
            findings=(f"{judgement.requirement}: {question}",),
        )
    if isinstance(recorded, Finding):
        return verdict_of(question, Checked(findings=(recorded,)))
    return judge(question, load_deviations())


def _question(plan: Plan, judgement: Judgement, recording: Recording, memo: Memo) -> JudgementInput | str:
    """The case to judge; a sentence if plan or catalogue lack what the judgement names."""
    requirement = load_requirements().get(judgement.requirement)
    if requirement is None:
        return "the plan has it, but this catalogue does not. Judge with the crashloop that made the run."
    scenario = next((each for each in plan.scenarios if each.name == judgement.scenario), None)
    if scenario is None:
        return f"the plan has no scenario {judgement.scenario!r} to judge it on."
    profile = _judged_profile(plan, scenario)
    if profile is None:
        return f"the plan has no profile {scenario.judged_profile!r}, which scenario {scenario.name!r} needs."
    return JudgementInput(
        requirement=requirement,
        scenario=scenario,
        profile=profile,
        version=KubernetesVersion.parse(plan.kubernetes_version),
        recording=recording,
        memo=memo,
    )


def _judged_profile(plan: Plan, scenario: Scenario) -> KubeletProfile | None:
    """The judged profile; of the API server only its gates count. None if the plan lacks it."""
    if scenario.judged_profile is None:
        return KubeletProfile(name=scenario.subject, config={"featureGates": plan.feature_gates})
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
