"""A scenario is judged from the run directory: every judgement gets a verdict, whatever is left of the evidence."""

import json
from pathlib import Path
from typing import Any

import pytest

from crashloop.checks.everywhere import EVERY_POD
from crashloop.cluster.provider import Capability
from crashloop.history.event import Kind
from crashloop.requirements import load_requirements
from crashloop.run.analysis import analyze
from crashloop.run.judging import judge_scenario
from crashloop.rundir import RunDir
from crashloop.spec.plan import Judgement
from crashloop.spec.profile import KubeletProfile
from crashloop.verdict import Outcome, Verdict
from suites.selftest.kit.cases import CRASHING, STOCK, good, renamed
from suites.selftest.kit.histories import startup
from suites.selftest.kit.run_dirs import ASKED, TRIED, a_run, left, record


def verdict_in(run: RunDir, scenario: str = ASKED.scenario) -> Verdict:
    (verdict,) = judge_scenario(run, run.plan(), scenario).verdicts
    return verdict


def test_a_scenario_is_judged_from_its_history(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    record(run, good())
    verdict = verdict_in(run)
    assert (verdict.requirement, verdict.outcome, verdict.profile) == ("BACKOFF-4", Outcome.PASS, "max-2s")


def test_without_deviations_a_broken_promise_is_not_excused(tmp_path: Path) -> None:
    off = {
        "featureGates": {"KubeletCrashLoopBackOffMax": False},
        "crashLoopBackOff": {"maxContainerRestartPeriod": "2s"},
    }
    run = a_run(
        tmp_path,
        Judgement(requirement="CONFIG-4", scenario=TRIED.name),
        profiles=(KubeletProfile(name=TRIED.candidate, config=off), STOCK),
    )
    refusal = (
        "FeatureGate KubeletCrashLoopBackOffMax not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must not be set"
    )
    record(run, startup(TRIED).process(0.5, Kind.PROCESS_EXITED, exit_code=1, stderr=refusal).ends(1))
    (excused,) = judge_scenario(run, run.plan(), TRIED.name).verdicts
    (promised,) = judge_scenario(run, run.plan(), TRIED.name, deviations=()).verdicts
    assert (excused.deviation, promised.outcome, promised.deviation) == ("gate-off-refuses-start", Outcome.FAIL, None)


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
    verdict = verdict_in(run)
    assert verdict.outcome is outcome
    assert verdict.findings[0].startswith("BACKOFF-4: there is no history of crashing")
    assert verdict.findings[0].endswith(told)


def test_a_recorder_state_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    run.recorder_json.write_bytes(b"{")
    assert verdict_in(run).outcome is Outcome.ERROR


def test_an_empty_or_unfinished_history_is_inconclusive(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    record(run, good(), lines=0)
    assert verdict_in(run).outcome is Outcome.INCONCLUSIVE
    record(run, good(), lines=-1)
    verdict = verdict_in(run)
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
    verdict = verdict_in(run, judgement.scenario)
    assert verdict.outcome is Outcome.ERROR
    assert verdict.findings == (told,)


@pytest.mark.parametrize("lacked", ["runtime-events", "kubelet-restart", "config-objects"])
def test_what_the_cluster_lacks_a_capability_for_is_skipped_on_every_pod(tmp_path: Path, lacked: str) -> None:
    run = a_run(tmp_path)
    record(run, good())
    run.cluster_json.write_text(json.dumps({"capabilities": sorted(set(Capability) - {lacked})}))
    on_every_pod = {each.requirement: each for each in analyze(run).verdicts if each.scenario == EVERY_POD}
    skipped = {name for name, each in on_every_pod.items() if each.outcome is Outcome.SKIPPED}
    assert skipped == {name for name, each in load_requirements().items() if each.everywhere and lacked in each.needs}
    assert {on_every_pod[name].findings for name in skipped} == {(f"the provider lacks the capability {lacked}",)}
    assert on_every_pod["BACKOFF-2"].outcome is Outcome.PASS


@pytest.mark.parametrize("facts", [{"capabilities": sorted(Capability)}, {"capabilities": []}, {}])
def test_nothing_is_skipped_on_every_pod_of_a_cluster_that_lacks_nothing(
    tmp_path: Path, facts: dict[str, object]
) -> None:
    run = a_run(tmp_path)
    record(run, good())
    run.cluster_json.write_text(json.dumps(facts))
    verdicts = [each for each in analyze(run).verdicts if each.scenario == EVERY_POD]
    assert "RULES-17" in {each.requirement for each in verdicts}
    assert Outcome.SKIPPED not in {each.outcome for each in verdicts}


def test_a_run_without_a_pod_skips_nothing_on_every_pod(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    run.cluster_json.write_text(json.dumps({"capabilities": ["jobs"]}))
    assert EVERY_POD not in {each.scenario for each in analyze(run).verdicts}


def test_a_history_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    run.history("crashing").mkdir()
    verdict = verdict_in(run)
    assert verdict.outcome is Outcome.ERROR
    assert verdict.findings == ("BACKOFF-4: the history of crashing cannot be read (Is a directory).",)


BOTH = Judgement(requirement="CAP-5", scenario="both", compared=("crashing", "other"))
OTHER = renamed(CRASHING, "other")


def test_a_comparison_is_one_verdict_on_several_histories(tmp_path: Path) -> None:
    run = a_run(tmp_path, BOTH)
    record(run, good())
    record(run, good(OTHER))
    judged = judge_scenario(run, run.plan(), "both")
    (verdict,) = judged.verdicts
    assert (verdict.scenario, verdict.outcome) == ("both", Outcome.INCONCLUSIVE)
    assert verdict.findings[-1].startswith("CAP-5: 2 delays in all scenarios seen, 4 needed")
    assert [each.file for each in verdict.evidence] == ["history/crashing.jsonl", "history/other.jsonl"]
    assert judged.everywhere == ()
    assert judged.ended is not None


def test_a_history_that_a_comparison_lacks_leaves_it_open(tmp_path: Path) -> None:
    run = a_run(tmp_path, BOTH)
    record(run, good())
    left(run, "interrupted")
    verdict = verdict_in(run, "both")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.findings == ("CAP-5: there is no history of other: the recorder was interrupted.",)


def test_a_comparison_of_a_scenario_that_the_plan_lacks_is_an_error(tmp_path: Path) -> None:
    run = a_run(tmp_path, Judgement(requirement="CAP-5", scenario="both", compared=("crashing", "nowhere")))
    record(run, good())
    verdict = verdict_in(run, "both")
    assert verdict.outcome is Outcome.ERROR
    assert verdict.findings == ("CAP-5: the plan has no scenario 'nowhere' to judge it on.",)


def test_the_pods_of_a_comparison_are_among_every_pod(tmp_path: Path) -> None:
    run = a_run(tmp_path, BOTH)
    record(run, good())
    record(run, good(OTHER))
    results = analyze(run)
    assert [each.scenario for each in results.verdicts if each.requirement == "CAP-5"] == ["both"]
    pods = [each.facts["pods"] for each in results.verdicts if each.scenario == EVERY_POD]
    assert pods
    assert {sum(each.values()) for each in pods} == {2}
