"""What holds for every pod is judged on the pods of a load, too."""

from pathlib import Path
from random import Random

import msgspec
import pytest

from crashloop.deviations import load_deviations
from crashloop.profiles import load_profile
from crashloop.requirements import load_requirements
from crashloop.slo.lifecycles import lifecycles
from crashloop.spec.scenario import Until
from crashloop.spec.version import KubernetesVersion
from crashloop.stress.checks import no_early_restart
from crashloop.stress.evidence_reader import EveryPod
from crashloop.stress.judging import judge_run
from crashloop.stress.plan import StressPlan, plan_of
from crashloop.stress.pods import scenario_of
from crashloop.stress.profiles import load_stress_profile
from crashloop.verdict import Outcome, Verdict, VerdictMode
from sim import simulate
from suites.selftest.kit.cases import CRASHING, MAX_2S, checked
from suites.selftest.kit.histories import VERSION, History
from suites.selftest.kit.stress_kit import Folder, crashing
from tools.trials import recorded


@pytest.fixture(scope="module")
def plan() -> StressPlan:
    return plan_of(
        load_stress_profile("quick"), provider="local", kubernetes_version="1.37.1", cores=2, kubelet=load_profile
    )


def judged(folder: Folder) -> dict[str, Verdict]:
    """The verdicts on every pod, by requirement."""
    return {each.requirement: each for each in judge_run(folder.run).judged if each.scenario == "every pod"}


def test_a_pod_that_comes_back_although_its_exit_was_final_fails_the_run(plan: StressPlan, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "run", plan)
    folder.write(folder.pod("crashers-0-0", *crashing(5.0, 0.5, 1.5, 1.5, 1.5)))
    folder.write(folder.pod("final-0-0", (30.0, 30.5, 7), (32.0, 32.5, 7)))
    verdict = judged(folder)["RULES-28"]
    assert (verdict.outcome, verdict.mode, verdict.facts) == (
        Outcome.FAIL,
        VerdictMode.GATE,
        {"pods": {"FAIL": 1, "PASS": 1}},
    )
    assert verdict.findings == (
        'RULES-28: in final-0-0 (max-1s): "app" exited with 7 and was restarted (history lines 41 and 45); it was not to '
        "restart: container restart policy Never decides after exit code 7.",
    )
    assert [each.file for each in verdict.evidence] == ["history/final-0-0.jsonl"]


def test_two_instances_of_a_container_at_a_time_fail_the_run(plan: StressPlan, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "run", plan)
    folder.write(folder.pod("crashers-0-0", (5.0, 9.0, 1), (7.0, 7.5, 1)))
    verdict = judged(folder)["BACKOFF-24"]
    assert verdict.outcome is Outcome.FAIL
    assert verdict.findings == (
        'BACKOFF-24: in crashers-0-0 (max-1s): "app" was started (history lines 19 and 25) before the instance '
        "before it had exited.",
    )


def test_pods_that_none_of_them_decides_fail_nothing(plan: StressPlan, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "run", plan)
    folder.write(folder.pod("crashers-0-0", *crashing(5.0, 0.5)))
    verdict = judged(folder)["RULES-17"]
    assert (verdict.outcome, verdict.mode) == (Outcome.INCONCLUSIVE, VerdictMode.REPORT)


def early_where_the_clock_jumped(step_s: float) -> History:
    """The third start comes 1.4 s after its exit, 2 s are due; the wall clock jumps in between."""
    lives = ((0.5, 1.5, 1), (2.0, 3.0, 1), (4.4, 6.3, 1), (8.6, None, 0))
    return History(CRASHING).clock(0).clock_step(3.5, step_s).lives("app", *lives).ends(110)


@pytest.mark.parametrize(("step_s", "outcome"), [(0.9, Outcome.INCONCLUSIVE), (0.1, Outcome.FAIL)])
def test_a_restart_is_read_alike_in_a_conformance_run_and_under_load(step_s: float, outcome: Outcome) -> None:
    history = early_where_the_clock_jumped(step_s)
    every_pod = EveryPod(load_requirements(), load_deviations(), KubernetesVersion.parse(VERSION))
    case = every_pod.case(history.recording(), MAX_2S)
    assert case is not None
    by_every_pod = {each.requirement: each.outcome for each in every_pod.judge(case)}
    assert by_every_pod["BACKOFF-2"] is checked("never-early", history).outcome is outcome
    of_load = no_early_restart(lifecycles(case.recording, case))
    assert (of_load.outcome is Outcome.FAIL) is (outcome is Outcome.FAIL)


def test_a_known_deviation_is_known_in_every_pod_of_its_kind() -> None:
    """Pods of a kind share what the model says of them."""
    version, kubelet = KubernetesVersion.parse("1.37.1"), load_profile("max-1s")
    load = load_stress_profile("rules").loads["all"]
    every_pod = EveryPod({"RULES-22": load_requirements()["RULES-22"]}, load_deviations(), version)

    def verdict(name: str) -> Verdict:
        scenario = scenario_of(load, name, profile=kubelet.name)
        scenario = msgspec.structs.replace(scenario, until=Until(restarts={"app": 4}, at_most_s=60))
        case = every_pod.case(recorded(simulate(scenario, kubelet, version, rng=Random(name))), kubelet)
        assert case is not None
        (found,) = every_pod.judge(case)
        return found

    of_pods = [verdict(f"all-0-{number}") for number in range(3)]
    assert [each.deviation for each in of_pods] == ["restart-all-hides-exit-code"] * 3
    assert not any(each.fails_the_run for each in of_pods)
