"""Judges one scenario or comparison of a run once, from its directory alone, as soon as its history is complete.

It does so also with damaged or missing evidence.

The tests of a scenario can be spread over processes; the others read what the first has written, and so do the results.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
import psutil
from filelock import FileLock

from crashloop.checks.everywhere import EVERY_POD, judge_everywhere
from crashloop.checks.finding import Checked, Finding, error, inconclusive
from crashloop.checks.judge import judge, verdict_of
from crashloop.checks.judgement import ComparisonInput, JudgementInput, Question
from crashloop.cluster.provider import Capability
from crashloop.deviations import load_deviations
from crashloop.errors import ClusterError
from crashloop.history.recording import Recording
from crashloop.history.reduction import read_recording
from crashloop.record.schedule import SLOWEST
from crashloop.requirements import load_requirements
from crashloop.restarts.case import Memo
from crashloop.rundir import RecorderState, RunDir
from crashloop.spec.plan import Judgement, Plan, Skip
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.requirement import Deviation, Requirement
from crashloop.spec.scenario import Scenario
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import Outcome, Verdict
from crashloop.waiting import wait_until

BRING_UP_S = 2400.0
"""Longest time for binaries (built from source at worst) and cluster."""

OVERHEAD_S = 120.0
"""Longest time to launch and seal a scenario, beyond its observation and the start of its node."""

_END = b'"kind":"end"'


def wait_until_sealed(run: RunDir, plan: Plan, scenario: str) -> None:
    """Return when the scenario's history is sealed, or when the recorder has ended without it.

    Raises WaitTimeout beyond the plan's own time, so that a hung recorder is noticed.
    """
    history = run.history(scenario)
    wait_until(
        f"history of {scenario} to be complete",
        lambda: is_sealed(history) or has_ended(run),
        timeout_s=BRING_UP_S + longest_s(plan),
        every_s=0.2,
        last_seen=lambda: f"{history.name}: {_size(history)} bytes; recorder: {_state(run)}",
    )


def failure_of(run: RunDir) -> RecorderState | None:
    """The recorder's state if it failed: then nothing more is recorded."""
    state = _state(run)
    return state if state is not None and state.state == "failed" else None


def is_sealed(history: Path) -> bool:
    """Whether the last line of a history is its `end` event."""
    try:
        with history.open("rb") as file:
            file.seek(max(0, history.stat().st_size - 4096))
            return _END in file.read().rstrip(b"\n").rpartition(b"\n")[2]
    except FileNotFoundError:
        return False


def has_ended(run: RunDir) -> bool:
    """Whether the recorder has ended, for whatever reason."""
    state = _state(run)
    return state is not None and (state.state in ("done", "failed", "interrupted") or not psutil.pid_exists(state.pid))


def _state(run: RunDir) -> RecorderState | None:
    try:
        return msgspec.json.decode(run.recorder_json.read_bytes(), type=RecorderState)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise ClusterError(f"run directory {run.root}: recorder.json is damaged ({error}).") from error


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def longest_s(plan: Plan) -> float:
    """Longest duration of the recording, with the longest duration of every scenario."""
    budgets, scenarios = plan.budgets, {each.name: each for each in plan.scenarios}
    side_by_side_s: dict[str, float] = {}
    one_by_one_s: defaultdict[str, float] = defaultdict(float)
    apart_s = 0.0
    for name, node in plan.placements.items():
        taken_s = OVERHEAD_S + scenarios[name].longest_s
        if scenarios[name].control_plane is not None:
            apart_s += taken_s
        elif scenarios[name].disturbs_node:
            one_by_one_s[node] += taken_s
        else:
            side_by_side_s[node] = max(side_by_side_s.get(node, 0.0), taken_s)
    occupied_s = [side_by_side_s.get(node.name, 0.0) + one_by_one_s[node.name] for node in plan.nodes]
    total_s = apart_s + sum(occupied_s) / budgets.live_nodes + max(occupied_s, default=0.0)
    total_s += plan.launching_s / SLOWEST
    total_s += sum(OVERHEAD_S + each.longest_s for each in plan.scenarios if each.node_profile is None)
    if budgets.live_pods is not None:
        pods_s = sum(OVERHEAD_S + each.longest_s for each in plan.scenarios if each.pod_spec is not None)
        total_s += pods_s / max(budgets.live_pods // 2, 1)  # the others may be heartbeats
    return total_s


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
        everywhere=tuple(_everywhere(plan, histories[0], excuses, _judgeable(run)))
        if histories[0].scenario == name
        else (),
    )


def judge_recorded(plan: Plan, scenario: str, recording: Recording) -> tuple[Verdict, ...]:
    """The verdicts that hold for every pod, on a recording in the place of a scenario's own; nothing is excused."""
    return tuple(_everywhere(plan, _History(scenario, recording, Memo()), (), load_requirements()))


class _Facts(msgspec.Struct, frozen=True):
    """Of cluster.json."""

    capabilities: frozenset[str] = frozenset()


def _judgeable(run: RunDir) -> Mapping[str, Requirement]:
    """Those of the catalogue that the run's cluster has all capabilities for."""
    capabilities = _capabilities(run)
    return {name: each for name, each in load_requirements().items() if capabilities.issuperset(each.needs)}


def _capabilities(run: RunDir) -> frozenset[str]:
    """All if the facts of the cluster are gone, or have none."""
    try:
        found = msgspec.json.decode(run.cluster_json.read_bytes(), type=_Facts).capabilities
    except (OSError, msgspec.MsgspecError):
        found = frozenset()
    return found or frozenset(Capability)


def unjudged_everywhere(run: RunDir, judged: Iterable[Judged]) -> Iterator[Verdict]:
    """SKIPPED, in the words of a plan, for each requirement on every pod whose capabilities the run's cluster lacks.

    None if no pod was judged so.
    """
    capabilities = _capabilities(run)
    for each in load_requirements().values() if any(one.everywhere for one in judged) else ():
        lacks = next((need for need in each.needs if need not in capabilities), None)
        if each.everywhere and lacks is not None:
            reason = f"the provider lacks the capability {lacks}"
            yield skipped(Skip(requirement=each.id, scenario=EVERY_POD, profile="", reason=reason))


def _everywhere(
    plan: Plan, history: _History, excuses: Sequence[Deviation], catalogue: Mapping[str, Requirement]
) -> Iterator[Verdict]:
    """The verdicts of the requirements that hold for every pod, if this is one that was recorded."""
    judgement = next((each for each in plan.judgements if history.scenario in each.histories), None)
    if judgement is None or isinstance(history.recorded, Finding):
        return
    question = _input(plan, judgement.requirement, history)
    if not isinstance(question, str) and question.scenario.pod_spec is not None:
        yield from judge_everywhere(catalogue, question, excuses)


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


def judge_once(run: RunDir, plan: Plan, scenario: str) -> Judged:
    """The verdicts on a scenario or comparison, which no process of the run makes again.

    Those on a history that is not sealed are not kept: its recorder may still be writing it.
    """
    run.verdicts_dir.mkdir(exist_ok=True)
    with FileLock(run.verdicts_dir / f".{scenario}.lock"):
        judged = _kept(run, scenario)
        if judged is None:
            judged = judge_scenario(run, plan, scenario)
            if all(is_sealed(run.history(each)) for each in plan.histories_of(scenario)):
                run.write(run.verdicts(scenario), judged)
    return judged


def kept_verdicts(run: RunDir, scenarios: Iterable[str]) -> dict[str, Judged]:
    """The verdicts that were kept, by scenario, once no test judges any more."""
    for lock in run.verdicts_dir.glob(".*.lock"):
        lock.unlink()
    return {scenario: judged for scenario in scenarios if (judged := _kept(run, scenario)) is not None}


def _kept(run: RunDir, scenario: str) -> Judged | None:
    """None if there are none, or none that can be read: they can be made again."""
    try:
        return msgspec.json.decode(run.verdicts(scenario).read_bytes(), type=Judged)
    except (OSError, msgspec.MsgspecError):
        return None
