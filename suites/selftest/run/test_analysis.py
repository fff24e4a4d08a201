"""A run is judged from its directory: every judgement of the plan gets a verdict, whatever is left of the evidence."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crashloop.run.analysis import analyze, curve_in_words, judge_scenario, verdicts
from crashloop.rundir import RecorderState, RunDir, RunInfo
from crashloop.spec.plan import Judgement, Plan, Skip
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.scenario import StartupScenario
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import ExitCode, Outcome
from suites.selftest.kit.cases import CRASHING, MAX_2S, STOCK, good, renamed
from suites.selftest.kit.histories import VERSION, History

V = KubernetesVersion.parse(VERSION)
ASKED = Judgement(requirement="BACKOFF-4", scenario="crashing")
TRIED = StartupScenario(name="start-max-2s", profile="stock", candidate="max-2s")


def a_run(tmp_path: Path, *judgements: Judgement, **changes: Any) -> RunDir:
    run = RunDir.create(
        tmp_path / "run",
        RunInfo(suite="conformance", started=datetime(2026, 1, 1, tzinfo=UTC), crashloop_version="0"),
    )
    plan = Plan(
        suite="conformance",
        provider="local",
        kubernetes_version=VERSION,
        scope="quick",
        profiles=(MAX_2S, STOCK),
        scenarios=(CRASHING, renamed(CRASHING, "other"), TRIED),
        judgements=judgements or (ASKED,),
        waves=(),
    )
    run.write(run.plan_json, msgspec.structs.replace(plan, **changes))
    return run


def record(run: RunDir, history: History, *, lines: int | None = None) -> None:
    run.history(history.scenario.name).write_bytes(b"".join(history.lines()[:lines]))


def left(run: RunDir, state: str, **more: Any) -> None:
    run.write(run.recorder_json, msgspec.convert({"state": state, "pid": 1, **more}, RecorderState))


def test_a_scenario_is_judged_from_its_history(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    record(run, good())
    verdict = judge_scenario(run, run.plan(), ASKED)
    assert (verdict.requirement, verdict.outcome, verdict.profile) == ("BACKOFF-4", Outcome.PASS, "max-2s")


def test_the_whole_run_is_judged_and_counted(tmp_path: Path) -> None:
    run = a_run(
        tmp_path,
        ASKED,
        Judgement(requirement="CAP-3", scenario="crashing"),
        Judgement(requirement="BACKOFF-4", scenario="other"),
        skipped=(Skip(requirement="RULES-3", scenario="in-matches", profile="max-2s", reason="needs gate X."),),
    )
    record(run, good())
    record(run, good(renamed(CRASHING, "other")))
    results = analyze(run)
    judged = {(each.requirement, each.scenario): each.outcome for each in results.verdicts}
    assert judged == {
        ("BACKOFF-4", "crashing"): Outcome.PASS,
        ("BACKOFF-4", "other"): Outcome.PASS,
        ("CAP-3", "crashing"): Outcome.INCONCLUSIVE,  # three delays, nine needed
        ("RULES-3", "in-matches"): Outcome.SKIPPED,
    }
    assert results.exit_code == ExitCode.INCONCLUSIVE
    assert results.run == "run"
    assert {each.name: each.curve for each in results.profiles}["max-2s"] == "0, 2 s"


def test_analysing_again_gives_the_same_results(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    record(run, good())
    assert tuple(verdicts(run, run.plan())) == tuple(verdicts(run, run.plan())) == analyze(run).verdicts
    assert analyze(run) == analyze(run)


@pytest.mark.parametrize(
    ("state", "outcome", "told"),
    [
        pytest.param(None, Outcome.INCONCLUSIVE, "the recorder was never started.", id="never-started"),
        pytest.param(
            {"state": "failed", "error": "No space left."},
            Outcome.ERROR,
            "the recorder failed. No space left.",
            id="failed",
        ),
        pytest.param({"state": "interrupted"}, Outcome.INCONCLUSIVE, "the recorder was interrupted.", id="interrupted"),
        pytest.param({"state": "done"}, Outcome.ERROR, "although the recorder finished.", id="done"),
        pytest.param(
            {"state": "recording"},
            Outcome.INCONCLUSIVE,
            "the recorder was still recording, or was killed.",
            id="killed",
        ),
    ],
)
def test_a_missing_history_is_explained_by_the_recorders_state(
    tmp_path: Path, state: dict[str, Any] | None, outcome: Outcome, told: str
) -> None:
    run = a_run(tmp_path)
    if state is not None:
        left(run, **state)
    verdict = judge_scenario(run, run.plan(), ASKED)
    assert verdict.outcome is outcome
    assert verdict.findings[0].startswith("BACKOFF-4: there is no history of crashing")
    assert verdict.findings[0].endswith(told)


def test_a_recorder_state_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    run.recorder_json.write_bytes(b"{")
    assert judge_scenario(run, run.plan(), ASKED).outcome is Outcome.ERROR


def test_an_empty_or_unfinished_history_is_inconclusive(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    record(run, good(), lines=0)
    assert judge_scenario(run, run.plan(), ASKED).outcome is Outcome.INCONCLUSIVE
    record(run, good(), lines=-1)
    verdict = judge_scenario(run, run.plan(), ASKED)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.findings[-1].endswith("no end event: the recording stopped before it was sealed.")


@pytest.mark.parametrize(
    ("judgement", "changes", "told"),
    [
        pytest.param(
            Judgement(requirement="GONE-1", scenario="crashing"),
            {},
            "GONE-1: the plan has it, but this catalogue does not. Judge with the crashloop that made the run.",
            id="requirement",
        ),
        pytest.param(
            Judgement(requirement="CAP-3", scenario="nowhere"),
            {},
            "CAP-3: the plan has no scenario 'nowhere' to judge it on.",
            id="scenario",
        ),
        pytest.param(
            ASKED,
            {"profiles": (STOCK,)},
            "BACKOFF-4: the plan has no profile 'max-2s', which scenario 'crashing' needs.",
            id="profile",
        ),
    ],
)
def test_a_plan_that_does_not_hold_what_it_names_is_an_error(
    tmp_path: Path, judgement: Judgement, changes: dict[str, Any], told: str
) -> None:
    run = a_run(tmp_path, judgement, **changes)
    (verdict,) = verdicts(run, run.plan())
    assert verdict.outcome is Outcome.ERROR
    assert verdict.findings == (told,)


def test_a_history_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    run.history("crashing").mkdir()
    verdict = judge_scenario(run, run.plan(), ASKED)
    assert verdict.outcome is Outcome.ERROR
    assert verdict.findings == ("BACKOFF-4: the history of crashing cannot be read (Is a directory).",)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        pytest.param({}, "0, 10, 20, 40, 80, 160, 300 s", id="default"),
        pytest.param({"crashLoopBackOff": {"maxContainerRestartPeriod": "11s"}}, "0, 10, 11 s", id="capped"),
        pytest.param({"crashLoopBackOff": {"maxContainerRestartPeriod": "1s"}}, "0, 1 s", id="lowered"),
        pytest.param({"crashLoopBackOff": {"maxContainerRestartPeriod": "301s"}}, "", id="refused"),
    ],
)
def test_a_curve_in_words(config: dict[str, Any], words: str) -> None:
    assert curve_in_words(KubeletProfile(name="some", config=config), V) == words
