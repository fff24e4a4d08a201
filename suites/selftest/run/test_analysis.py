"""A whole run is judged from its directory: every judgement of the plan is in the results."""

from pathlib import Path
from typing import Any

import pytest

from crashloop.checks.everywhere import EVERY_POD
from crashloop.report.conformance import conformance_document
from crashloop.run.analysis import analyze, curve_in_words
from crashloop.rundir import RunDir
from crashloop.spec.plan import Judgement, Skip
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.version import KubernetesVersion
from crashloop.verdict import ExitCode, Outcome
from suites.selftest.kit.cases import CRASHING, good, renamed
from suites.selftest.kit.histories import VERSION
from suites.selftest.kit.run_dirs import ASKED, a_run, record

V = KubernetesVersion.parse(VERSION)


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
    judged = {
        (each.requirement, each.scenario): each.outcome for each in results.verdicts if each.scenario != EVERY_POD
    }
    assert judged == {
        ("BACKOFF-4", "crashing"): Outcome.PASS,
        ("BACKOFF-4", "other"): Outcome.PASS,
        ("CAP-3", "crashing"): Outcome.INCONCLUSIVE,  # three delays, nine needed
        ("RULES-3", "in-matches"): Outcome.SKIPPED,
    }
    assert results.exit_code == ExitCode.INCONCLUSIVE
    assert results.run == "run"
    assert {each.name: each.curve for each in results.profiles}["max-2s"] == "0, 2 s"


def test_pods_behind_open_verdicts_have_a_timeline_and_those_that_passed_have_none(tmp_path: Path) -> None:
    run = a_run(tmp_path, ASKED, Judgement(requirement="CAP-3", scenario="other"))
    record(run, good())
    record(run, good(renamed(CRASHING, "other")))
    assert [each.scenario for each in analyze(run).timelines] == ["other"]  # three delays, nine needed


@pytest.mark.parametrize(
    ("at_least", "code"), [(1, ExitCode.OK), (99, ExitCode.INCONCLUSIVE)], ids=["enough", "too-few"]
)
def test_a_run_that_is_judged_again_still_knows_how_much_it_was_to_judge(
    tmp_path: Path, at_least: int, code: int
) -> None:
    run = a_run(tmp_path, settings={"at_least": at_least})
    record(run, good())
    assert analyze(run).exit_code == code


def test_requirements_that_hold_for_every_pod_are_judged_on_all_that_was_recorded(tmp_path: Path) -> None:
    run = a_run(tmp_path, ASKED, Judgement(requirement="BACKOFF-4", scenario="other"))
    record(run, good())
    record(run, good(renamed(CRASHING, "other")))
    found = {each.requirement: each for each in analyze(run).verdicts if each.scenario == EVERY_POD}
    assert found["BACKOFF-2"].outcome is Outcome.PASS
    assert found["BACKOFF-2"].facts == {"pods": {"PASS": 2}}


def test_a_run_is_judged_by_the_rules_of_another_release_and_says_so(tmp_path: Path) -> None:
    run = a_run(tmp_path, ASKED, Judgement(requirement="RAC-1", scenario=ASKED.scenario))
    record(run, good())
    found = analyze(run, KubernetesVersion.parse("1.33"))
    assert (found.kubernetes_version, found.model_version) == (analyze(run).kubernetes_version, "1.33.0")
    skips = [(each.requirement, each.findings) for each in found.verdicts if each.outcome is Outcome.SKIPPED]
    assert skips == [("RAC-1", ("needs Kubernetes 1.36 or newer; this kubelet is v1.33.0.",))]
    assert ("judged by", "the rules of 1.33.0, as asked for") in conformance_document(found).facts


def test_analysing_again_gives_the_same_results(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    record(run, good())
    assert analyze(run) == analyze(run)


def test_a_run_keeps_its_name_where_it_is_reached_by_a_link(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    record(run, good())
    (tmp_path / "latest").symlink_to(run.root)
    assert analyze(RunDir.open(tmp_path / "latest")) == analyze(run)


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
