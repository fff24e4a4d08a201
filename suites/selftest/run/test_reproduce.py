"""What a run shows, with kubectl alone: every scenario has a script of 30 lines, and a script prints what its pod did."""

import os
import subprocess
from pathlib import Path

import msgspec
import pytest
import yaml

from crashloop.cluster.provider import Capability
from crashloop.errors import UsageError
from crashloop.run.kubectl_script import ACTIONS
from crashloop.run.planning import build_plan
from crashloop.run.reproduce import MOST_LINES, SCRIPT, reproducer
from crashloop.spec.intervention import Intervention, InterventionKind, Trigger
from crashloop.spec.plan import Budgets, Plan
from crashloop.spec.profile import KubeletProfile
from crashloop.spec.program import Life
from crashloop.spec.requirement import Scope
from crashloop.spec.scenario import PodScenario, Scenario, TextScenario
from crashloop.verdict import Ground, Missed, Outcome, Verdict
from fixtures.requirements import declared_in, in_scope
from suites import conformance
from suites.conformance.scenarios import crashing
from suites.selftest.kit.report_example import example_results

SETTINGS = {"provider": "local", "scope": "soak", "kubernetes_version": "1.37.1"}
DECLARED = [each for each in declared_in(conformance) if in_scope(each, Scope.SOAK)]
FULL = build_plan(DECLARED, SETTINGS, frozenset(Capability), Budgets()) or pytest.fail("nothing is planned")
SCENARIOS = {each.name: each for each in FULL.scenarios if not isinstance(each, TextScenario)}
JOURNAL = """\
crashloop/1 start 0 100.00 -
crashloop/1 exit 0 101.00 1
crashloop/1 start 1 101.20 -
crashloop/1 exit 1 102.20 1
crashloop/1 start 2 103.45 -
"""


def files_of(scenario: Scenario, verdict: Verdict | None = None, plan: Plan = FULL) -> dict[str, str]:
    """The files of a verdict on a scenario, in a run of this plan."""
    found = verdict or Verdict(
        requirement="X-3", scenario=scenario.name, profile=scenario.subject, outcome=Outcome.FAIL
    )
    return reproducer(example_results((found,)), plan, found.requirement)


def plan_of(scenario: Scenario) -> Plan:
    profiles = tuple(KubeletProfile(name=name) for name in scenario.profiles)
    return Plan(
        suite="conformance", provider="local", kubernetes_version="1.37.1", scope="quick", profiles=profiles,
        scenarios=(scenario,), judgements=(),
    )  # fmt: skip


def test_the_script_of_every_scenario_is_short_and_is_shell() -> None:
    for name, scenario in SCENARIOS.items():
        script = files_of(scenario)[SCRIPT]
        assert len(script.splitlines()) <= MOST_LINES, name
        assert subprocess.run(["sh", "-n"], input=script, text=True, capture_output=True, check=False).stderr == "", (
            name
        )


@pytest.mark.parametrize(
    ("kind", "arguments", "line"),
    [
        ("restart-kubelet", {"down_s": 3.0}, "on_node 'systemctl stop kubelet; sleep 3; systemctl start kubelet'"),
        ("restart-runtime", {"down_s": 3.0, "hangs": True},
         "on_node 'kill -STOP $(pidof containerd); sleep 3; kill -CONT $(pidof containerd)'"),
        ("resize", {"container": "app", "cpu": "20m"}, "kubectl patch pod $pod --subresource resize -p "
         """'{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"20m"}}}]}}'"""),
        ("delete-pod", {"wait": False, "at_once": True}, "kubectl delete pod $pod --wait=false --force --grace-period=0"),
        ("write-kubelet-config", {"profile": "max-2s"},
         "by_hand 'Put kubelet-max-2s.yaml in the place of kubelet.yaml on the node.'"),
    ],
)  # fmt: skip
def test_what_the_recorder_did_is_a_command_or_a_sentence_at_its_time(
    kind: str, arguments: dict[str, object], line: str
) -> None:
    trigger = Trigger(container="app", after_restart=1, after_s=2.0)
    done = Intervention(trigger=trigger, action=InterventionKind(kind), arguments=arguments)
    scenario = msgspec.structs.replace(crashing("stock", restarts=3), interventions=(done,))
    assert f"wait_for exited app 1; sleep 2; {line}" in files_of(scenario, plan=plan_of(scenario))[SCRIPT].splitlines()


def test_everything_that_a_recorder_does_has_its_command() -> None:
    assert set(ACTIONS) == set(InterventionKind)


def test_the_pod_is_that_of_the_run_on_a_node_and_with_an_image_that_the_script_names() -> None:
    scenario = crashing("max-2s", restarts=2)
    files = files_of(scenario, plan=plan_of(scenario))
    (pod,) = yaml.safe_load_all(files["objects.yaml"])
    assert (pod["metadata"]["name"], pod["spec"]["nodeName"]) == (scenario.name, "the-node")
    assert pod["spec"]["containers"][0]["command"][-1] == "1:1:2"
    assert yaml.safe_load(files["kubelet.yaml"]) == {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
    }


def test_a_script_prints_observed_delays_beside_documented_ones(tmp_path: Path) -> None:
    scenario = crashing("max-2s", restarts=2)
    missed = Missed(number=2, container="app", verb="came", taken_s=1.25, due_s=2.0)
    verdict = Verdict(
        requirement="X-3", scenario=scenario.name, profile="max-2s", outcome=Outcome.FAIL, deviation="known",
        findings=("X-3: it came too early.",), grounds=(Ground(scenario=scenario.name, profile="max-2s", missed=missed),),
        facts={"delays": [{"container": "app", "restart": 1, "due_s": 0.0}]},
    )  # fmt: skip
    files = files_of(scenario, verdict, plan_of(scenario))
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "journal").write_text(JOURNAL)
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(
        f'#!/bin/sh\ncase "$*" in logs*) cat {tmp_path}/journal ;; *range*restartCount*) echo "2 " ;; esac\n'
    )
    kubectl.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    ran = subprocess.run(
        ["sh", str(tmp_path / SCRIPT)], env={"PATH": path, "NODE": "n"}, text=True, capture_output=True, check=True
    )
    assert ran.stdout.splitlines()[:2] == [
        "restart 1 of app: 0.20 s after the exit, documented: -",
        "restart 2 of app: 1.25 s after the exit, documented: 2s",
    ]
    assert "recorded: it came too early." in ran.stdout.splitlines()


def test_what_no_cluster_shows_is_refused() -> None:
    text = next(each for each in FULL.scenarios if isinstance(each, TextScenario))
    with pytest.raises(UsageError, match="no cluster shows them"):
        files_of(text)


def test_what_every_pod_kept_has_no_scenario_of_its_own() -> None:
    kept = Verdict(requirement="OVH-24", scenario="every pod", profile="p", outcome=Outcome.PASS)
    with pytest.raises(UsageError, match="OVH-24: the run judged every pod by it and found no fault"):
        reproducer(example_results((kept,)), FULL, "OVH-24")


def test_a_plan_whose_parts_do_not_fit_together_is_damaged() -> None:
    scenario = SCENARIOS["crashing-max-2s"]
    assert isinstance(scenario, PodScenario)
    without = msgspec.structs.replace(plan_of(scenario), profiles=())
    with pytest.raises(UsageError, match=r"plan.json is damaged: .* crashing-max-2s does not .*KeyError: 'max-2s'"):
        files_of(scenario, plan=without)
    for cpu_s in (1e308, float("nan")):
        endless = changed(scenario, startup_cpu_s=cpu_s)
        with pytest.raises(UsageError, match=r"plan.json is damaged: .* crashing-max-2s does not fit together"):
            files_of(endless, plan=plan_of(endless))


@pytest.mark.parametrize("name", ["x;touch y", "x$(touch y)", "x' 'y", "x\ny", "x y", "../x"])
def test_a_name_in_which_a_command_hides_is_in_no_script(name: str) -> None:
    scenario = SCENARIOS["crashing-max-2s"]
    assert isinstance(scenario, PodScenario)
    (first, *others) = scenario.pod.containers
    containers = (msgspec.structs.replace(first, name=name), *others)
    pod = msgspec.structs.replace(scenario.pod, containers=containers)
    for each in (msgspec.structs.replace(scenario, name=name), msgspec.structs.replace(scenario, pod=pod)):
        with pytest.raises(UsageError, match=r"(?s)plan.json is damaged: .*is no name"):
            files_of(each, plan=plan_of(each))
    release = msgspec.structs.replace(plan_of(scenario), kubernetes_version=name)
    with pytest.raises(UsageError, match=r"(?s)plan.json is damaged: .*is no name"):
        files_of(scenario, plan=release)


def changed(scenario: PodScenario, **fields: float) -> PodScenario:
    """With other fields of its first container's program."""
    pod = scenario.pod
    first, *others = pod.containers
    program = msgspec.structs.replace(first.program, **fields)
    containers = (msgspec.structs.replace(first, program=program), *others)
    return msgspec.structs.replace(scenario, pod=msgspec.structs.replace(pod, containers=containers))


def test_a_pod_has_no_more_lives_in_a_row_than_can_be_written_down() -> None:
    assert Life(times=1_000_000).times == 1_000_000
    with pytest.raises(ValueError, match="times 1 to 1,000,000"):
        Life(times=10**18)


def test_a_requirement_without_a_judgement_is_refused_with_those_that_failed() -> None:
    failed = Verdict(requirement="CAP-3", scenario="s", profile="p", outcome=Outcome.FAIL)
    with pytest.raises(UsageError, match=r"X-3: the run has no judgement of it\.\nIt has .*: CAP-3\."):
        reproducer(example_results((failed,)), FULL, "X-3")
