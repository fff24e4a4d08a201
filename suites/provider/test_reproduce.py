"""Findings with kubectl alone: the script of a judged scenario, on a real cluster, prints delays that the promise forbids."""

import os
import re
import subprocess
from pathlib import Path

import msgspec
import pytest

from crashloop.cluster.binaries.ensure import ensure_binaries
from crashloop.cluster.provider import Cluster
from crashloop.progress import SilentProgress
from crashloop.run.reproduce import SCRIPT, reproducer
from crashloop.settings import resolve_settings
from crashloop.spec.plan import Plan
from crashloop.spec.scenario import PodScenario
from crashloop.verdict import Ground, Missed, Outcome, Verdict
from suites.conformance.test_jobs import ALL_AT_ONCE
from suites.conformance.test_restart_all import AGAIN_AND_AGAIN
from suites.selftest.kit.report_example import example_results

from .conftest import Kit, node

ENDS_WITHIN_S = 60


def shown(scenario: PodScenario, verdict: Verdict, cluster: Cluster, kit: Kit, folder: Path) -> str:
    """What the script prints on the node with a maximum of 2 s, whatever node the suite has the scenario on."""
    scenario = msgspec.structs.replace(scenario, profile="max-2s")
    plan = Plan(
        suite="conformance", provider=kit.provider.name, kubernetes_version=kit.settings["kubernetes_version"],
        scope="quick", profiles=(node("node-max-2s", "max-2s").profile,), scenarios=(scenario,), judgements=(),
    )  # fmt: skip
    for name, text in reproducer(example_results((verdict,)), plan, verdict.requirement).items():
        (folder / name).write_text(text)
    version = kit.settings["kubernetes_version"]
    kubectl = ensure_binaries(resolve_settings(), kubernetes_version=version, progress=SilentProgress()).kubectl
    environment = {
        "PATH": f"{kubectl.parent}:{os.environ['PATH']}",
        "KUBECONFIG": str(cluster.info.kubeconfig),
        "NODE": next(name for name, profile in kit.nodes.items() if profile == "max-2s"),
        "IMAGE": cluster.info.image,
    }
    ran = subprocess.run(
        ["sh", str(folder / SCRIPT)],
        env=environment,
        text=True,
        capture_output=True,
        check=False,
        timeout=ENDS_WITHIN_S,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def verdict_on(requirement: str, scenario: PodScenario, *grounds: Ground) -> Verdict:
    said = ("It is broken.",) * len(grounds)
    return Verdict(
        requirement=requirement, scenario=scenario.name, profile="max-2s", outcome=Outcome.FAIL, grounds=grounds, findings=said
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _own_nodes(kit: Kit) -> None:
    if "max-2s" not in kit.nodes.values():
        pytest.skip("no node has a maximum of 2 s")


def test_restarts_by_restart_all_containers_come_without_the_delay_that_is_promised(
    cluster: Cluster, kit: Kit, tmp_path: Path
) -> None:
    missed = Missed(number=2, container="app", verb="came", taken_s=0.9, due_s=2.0)
    verdict = verdict_on("X-3", AGAIN_AND_AGAIN, Ground(scenario=AGAIN_AND_AGAIN.name, missed=missed))
    printed = shown(AGAIN_AND_AGAIN, verdict, cluster, kit, tmp_path)
    observed = re.findall(
        r"^restart (\d+) of app: ([\d.]+) s after the exit, documented: (\S+)$", printed, re.MULTILINE
    )
    assert [int(number) for number, _, _ in observed] == [1, 2, 3, 4, 5]
    assert observed[1][2] == "2s"
    assert any(float(delay_s) < 2.0 for _, delay_s, _ in observed[1:])


def test_a_job_fails_by_one_restart_of_all_containers(cluster: Cluster, kit: Kit, tmp_path: Path) -> None:
    printed = shown(ALL_AT_ONCE, verdict_on("X-6", ALL_AT_ONCE), cluster, kit, tmp_path)
    assert '"reason":"BackoffLimitExceeded"' in printed
