"""Judges a run from its directory alone: during the run, one scenario at a time, and afterwards as a whole."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from multiprocessing import get_context
from pathlib import Path

import msgspec

from crashloop.checks.case import Memo
from crashloop.checks.evaluate import JudgementInput
from crashloop.checks.finding import Checked, Finding, error, inconclusive
from crashloop.checks.judge import judge, verdict_of
from crashloop.deviations import load_deviations
from crashloop.history.recording import Recording
from crashloop.history.reduction import read_recording
from crashloop.model.config import Curve, Refusal, effective_curve
from crashloop.model.gates import kubelet_version
from crashloop.model.variants import as_shipped
from crashloop.report.results import Results, build_results
from crashloop.requirements import load_requirements
from crashloop.rundir import RecorderState, RunDir
from crashloop.spec.plan import Judgement, Plan
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import Scenario, StartupScenario
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Outcome, Verdict

NOTHING = read_recording(())

WORTH_SHARING_BYTES = 32_000_000
"""Size of histories from which on all processors judge: a further process costs a second to start."""


def judge_scenario(run: RunDir, plan: Plan, judgement: Judgement) -> Verdict:
    """The verdict of one judgement of the plan. The recorder's last state explains a missing history."""
    return _verdict(plan, judgement, _recorded(run, judgement.scenario), Memo())


def verdicts(run: RunDir, plan: Plan) -> Iterator[Verdict]:
    """The verdict of every judgement of the plan, those skipped before the run included; each history is read once."""
    return (verdict for verdict, _ in _judged(run, plan))


def analyze(run: RunDir) -> Results:
    """Judge the whole run. Raises UsageError if run.json or plan.json cannot be read.

    A run is finished when the last of its histories ends, so that judging it again gives the same results.
    """
    plan, info = run.plan(), run.info()
    version = KubernetesVersion.parse(plan.kubernetes_version)
    judged = list(_judged(run, plan))
    return build_results(
        info,
        plan,
        [verdict for verdict, _ in judged],
        load_requirements(),
        load_deviations(),
        run.environment(),
        finished=max([info.started, *(ended for _, ended in judged if ended is not None)]),
        run=run.root.name,
        effective_curves={each.name: curve_in_words(each, version) for each in plan.profiles},
    )


def read_history(run: RunDir, scenario: str) -> Recording | None:
    """The recording of a scenario, read line by line; None without a file. Raises OSError if it cannot be read."""
    try:
        with run.history(scenario).open("rb") as lines:
            return read_recording(lines)
    except FileNotFoundError:
        return None


def _judged(run: RunDir, plan: Plan) -> Iterator[tuple[Verdict, datetime | None]]:
    """Every verdict, with the end of its history."""
    scenarios = tuple(dict.fromkeys(each.scenario for each in plan.judgements))
    judged = partial(_judged_on, run.root, plan)
    if len(scenarios) > 1 and sum(map(_size, map(run.history, scenarios))) >= WORTH_SHARING_BYTES:
        with ProcessPoolExecutor(mp_context=get_context("spawn")) as processes:
            for verdicts_ in processes.map(judged, scenarios):
                yield from verdicts_
    else:
        for scenario in scenarios:
            yield from judged(scenario)
    for skip in plan.skipped:
        skipped = Verdict(
            requirement=skip.requirement,
            scenario=skip.scenario,
            profile=skip.profile,
            outcome=Outcome.SKIPPED,
            findings=(skip.reason,),
        )
        yield skipped, None


def _judged_on(root: Path, plan: Plan, scenario: str) -> list[tuple[Verdict, datetime | None]]:
    """The verdicts on one scenario, whose history is read once."""
    recorded, memo = _recorded(RunDir(root), scenario), Memo()
    ended = _ended(recorded)
    return [
        (_verdict(plan, judgement, recorded, memo), ended)
        for judgement in plan.judgements
        if judgement.scenario == scenario
    ]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _ended(recorded: Recording | Finding) -> datetime | None:
    if isinstance(recorded, Finding) or recorded.broken or not recorded.end_ns:
        return None
    return datetime.fromtimestamp(recorded.end_ns / 1e9, UTC)


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
    profile = next((each for each in plan.profiles if each.name == _profile_name(scenario)), None)
    if profile is None:
        return f"the plan has no profile {_profile_name(scenario)!r}, which scenario {scenario.name!r} needs."
    return JudgementInput(
        requirement=requirement,
        scenario=scenario,
        profile=profile,
        version=KubernetesVersion.parse(plan.kubernetes_version),
        recording=recording,
        memo=memo,
    )


def _profile_name(scenario: Scenario) -> str:
    return scenario.candidate if isinstance(scenario, StartupScenario) else scenario.profile


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
