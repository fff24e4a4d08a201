"""Rows and checks that name a requirement judge it: with its mode, under its preconditions, and only where it holds."""

from functools import partial
from pathlib import Path

import msgspec
import pytest

from crashloop.checks.checker import Holds
from crashloop.checks.everywhere import LOGS, holding
from crashloop.checks.kinds import CHECKERS
from crashloop.report.results import RESULTS_FORMAT, Results
from crashloop.report.stress.results import StressResults
from crashloop.requirements import CHECKED, load_requirements
from crashloop.rundir import read_document
from crashloop.slo.judge import judge_requirement
from crashloop.slo.rows import SloRow
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.folder import load_rows, publish_stress
from crashloop.stress.judging import judge_run
from crashloop.stress.plan import StressPlan
from crashloop.stress.profile import Stage, StressNode
from crashloop.stress.requirements import requirement_verdicts
from crashloop.verdict import Evidence, ExitCode, Outcome, Verdict, VerdictMode
from suites.selftest.kit.cases import CRASHING
from suites.selftest.kit.slo_kit import crasher, measured, ns, phase, started
from suites.selftest.kit.stress_kit import CRASHERS, MAX_1S, Folder, crashing, example_run, plan

CATALOGUE = load_requirements()
EVERYWHERE = {
    each.id
    for each in holding(CATALOGUE, Holds.LOADS).values()
    if LOGS not in each.needs and all(CHECKERS[name].about(CRASHING) for name in each.everywhere)
}
"""Judged on every pod. Nobody lists the logs of loads, and no rule of their pods restarts all containers."""
ROWS = load_rows("restarts")
NEIGHBOUR = next(row for row in ROWS if row.id == "healthy-neighbour-startup")
UNEXPECTED = next(row for row in ROWS if row.id == "unexpected-restarts")


def named(results: StressResults, requirement: str) -> Verdict:
    return next(each for each in results.judged if each.requirement == requirement)


def on_a_node_with(crashing_pods: int, *, took_s: float = 2.0, **facts: float) -> Verdict:
    """LOAD-11 after a storm of so many pods on a node of two cores, with 100 healthy pods beside them."""
    storm = [crasher(pod=f"c-{number}", asked_ns=ns(-10)) for number in range(crashing_pods)]
    healthy = [
        started(0.5 + 0.9 * number, took_s, pod=f"h-{number}", deleted_ns=ns(1.4 + 0.9 * number))
        for number in range(100)
    ]
    run = measured(lifecycles=[*storm, *healthy], facts={"cores": 2.0} | facts)
    (verdict,) = requirement_verdicts(
        plan(), CATALOGUE, [NEIGHBOUR], partial(judge_requirement, measured=run), (), METRICS
    )
    return verdict


METRICS = ("apiserver.jsonl", "kubelet-storm.jsonl", "lifecycles.jsonl", "processes.jsonl")


def test_a_row_judges_its_requirement_on_a_full_node() -> None:
    verdict = on_a_node_with(18)
    assert (verdict.requirement, verdict.scenario, verdict.profile) == ("LOAD-11", "example/storm", "max-1s")
    assert (verdict.outcome, verdict.mode) == (Outcome.PASS, VerdictMode.REPORT)
    assert verdict.evidence == (Evidence(file="metrics/lifecycles.jsonl"),)
    assert verdict.facts == {
        "slo": "healthy-neighbour-startup",
        "value": pytest.approx(2.0),
        "unit": "s",
        "target": 5.0,
        "percentile": 99,
        "samples": 100,
        "interval": pytest.approx([2.0, 2.0]),
    }


def test_a_missed_requirement_that_is_only_reported_says_what_was_seen_and_fails_nothing() -> None:
    verdict = on_a_node_with(18, took_s=9.0)
    assert (verdict.outcome, verdict.fails_the_run) == (Outcome.FAIL, False)
    assert verdict.findings == (
        "LOAD-11: healthy-neighbour-startup: p99 9 s of 100 pods, target at most 5 s, phase storm at 4 pods/s churn, "
        "19 pods per node. 100 % missed the target, budget 1 %. The evidence is strong (100 effective samples).",
    )


def test_the_start_up_beside_a_full_node_is_judged_for_its_requirement_whatever_the_host_does() -> None:
    alone, busy = (on_a_node_with(18, took_s=9.0, **facts) for facts in ({}, {"cpu_busy_share": 0.99}))
    assert busy == alone


def test_a_node_that_is_not_full_shows_nothing_about_full_nodes() -> None:
    verdict = on_a_node_with(10, took_s=9.0)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.findings[0].endswith(
        "Precondition not met in phase storm: 11 pods per node, at least 16 is promised."
    )


def test_of_a_load_with_steps_only_those_that_fill_the_node_count() -> None:
    storm = [crasher(pod=f"c-{number}", asked_ns=ns(-10), deleted_ns=ns(100)) for number in range(18)]
    healthy = [
        started(0.5 + asked_s, 2.0 if asked_s < 99 else 9.0, pod=f"h-{asked_s}", deleted_ns=ns(1.4 + asked_s))
        for asked_s in range(200)
    ]
    steps = (phase(), msgspec.structs.replace(phase(100, 200), mix="few"))
    run = measured(lifecycles=[*storm, *healthy], phases=steps, facts={"cores": 2.0})
    judge = partial(judge_requirement, measured=run)
    (verdict,) = requirement_verdicts(plan(), CATALOGUE, [NEIGHBOUR], judge, (), METRICS)
    assert verdict.outcome is Outcome.PASS
    assert verdict.findings[0].endswith("Left out: phase storm, few (1 pod per node, at least 16 is promised).")


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        pytest.param(
            msgspec.structs.replace(plan(), kubernetes_version="1.33.13"),
            "needs Kubernetes 1.34 or newer; this kubelet is v1.33.13.",
            id="older-release",
        ),
        pytest.param(
            plan(KubeletProfile(name="rules-off", config={"featureGates": {"ContainerRestartRules": False}})),
            "needs gate ContainerRestartRules; it is off on this node (kubelet v1.37.1).",
            id="gate-off",
        ),
        pytest.param(
            plan(
                MAX_1S,
                KubeletProfile(name="old", kubernetes_version="1.34.4"),
                nodes=(StressNode(name="storm", profile="max-1s"), StressNode(name="older", profile="old")),
            ),
            "needs gate ContainerRestartRules; it is off on this node (kubelet v1.34.4).",
            id="one-of-two-nodes",
        ),
    ],
)
def test_a_requirement_that_does_not_hold_for_a_node_is_skipped(asked: StressPlan, reason: str) -> None:
    run = measured(lifecycles=[crasher()])
    (verdict,) = requirement_verdicts(
        asked, CATALOGUE, [UNEXPECTED], partial(judge_requirement, measured=run), (), METRICS
    )
    assert (verdict.outcome, verdict.findings) == (Outcome.SKIPPED, (f"SLO-5: {reason}",))
    assert (verdict.evidence, verdict.facts) == ((), {})


def test_one_early_restart_of_one_pod_fails_the_check_and_its_requirement(tmp_path: Path) -> None:
    folder = example_run(tmp_path / "run")
    folder.write(folder.pod("crashers-0-5", *crashing(25, 0.2, 0.7)))
    results = judge_run(folder.run)
    broken = named(results, "BACKOFF-2")
    assert (broken.outcome, broken.mode, broken.scenario) == (Outcome.FAIL, VerdictMode.GATE, "every pod")
    (finding,) = broken.findings
    assert finding.startswith('BACKOFF-2: in crashers-0-5 (max-1s): restart 2 of "app" came 0.7 s after the exit')
    check = next(each for each in results.verdicts if each.slo == "no-early-restart")
    assert check.sentence == (
        'no-early-restart: crashers-0-5: restart 2 of "app" came 0.700 s after the exit; 1 s was due.'
    )
    assert results.exit_code == ExitCode.FAIL


def test_results_json_holds_all_verdicts_in_the_form_that_every_run_has(tmp_path: Path) -> None:
    run = example_run(tmp_path / "run").run
    results = judge_run(run)
    publish_stress(run, results)
    written = read_document(run.results_json, Results, RESULTS_FORMAT)
    slos = {each.slo for each in results.verdicts}
    assert {each.requirement for each in written.verdicts} > slos
    assert {each.requirement: each.outcome for each in written.verdicts if each.requirement not in slos} == {
        "LOAD-1": Outcome.INCONCLUSIVE,
        "LOAD-11": Outcome.INCONCLUSIVE,
        "SLO-2": Outcome.INCONCLUSIVE,
        "SLO-5": Outcome.INCONCLUSIVE,
        **dict.fromkeys(EVERYWHERE, Outcome.PASS),
    }
    assert (written.suite, written.scope, written.exit_code) == ("stress", "example", results.exit_code)
    assert written.requirement("LOAD-11").sentence == CATALOGUE["LOAD-11"].sentence
    assert written.requirement("restart-lateness").sentence == "p99 at most 3 s"
    assert written.coverage is not None
    assert written.coverage.sentence == f"{len(EVERYWHERE)} of {len(CATALOGUE)} requirements judged, 4 undecided."


def rows_that_judge() -> dict[str, SloRow]:
    return {row.id: row for row in load_rows() if row.requirement is not None}


def test_every_slo_that_the_catalogue_names_names_the_requirement_too() -> None:
    both = {**CHECKED, **{name: row.requirement for name, row in rows_that_judge().items()}}
    assert {(slo, each.id) for each in CATALOGUE.values() for slo in each.slos} == set(both.items())


def test_every_check_that_judges_a_requirement_is_one_of_a_stress_run(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "run", plan(stages=tuple(step(pods) for pods in (1, 2, 3))))
    folder.marks(
        *((index, what, 20 * index + at, 2) for index in range(3) for what, at in (("measure", 5), ("drain", 15)))
    )
    folder.write(folder.pod("crashers-0-0", *crashing(1.0, 0.3, *([1.4] * 20))))
    results = judge_run(folder.run)
    assert set(CHECKED) <= {each.slo for each in results.verdicts}
    limit = next(each for each in results.judged if each.requirement == "LOAD-16")
    assert (limit.outcome, limit.mode) == (Outcome.INCONCLUSIVE, VerdictMode.REPORT)
    assert "highest-rate" in {each.id for each in results.rows}


def step(pods: int) -> Stage:
    return Stage(name="storm", mix=f"{pods} pods", duration_s=10, users={"crashers": pods}, settle_s=0)


def test_a_comparison_needs_the_gates_of_the_nodes_that_it_judges_alone() -> None:
    off = KubeletProfile(name="off", config={"featureGates": {"KubeletCrashLoopBackOffMax": False}})
    nodes = (StressNode(name="storm", profile="max-1s"), StressNode(name="off", profile="off"))
    loads = {"crashers": CRASHERS, "without": msgspec.structs.replace(CRASHERS, node="off")}
    stages = tuple(
        Stage(name="storm", mix=mix, duration_s=60, users={load: 1})
        for load, mix in (("crashers", "on"), ("without", "off"))
    )
    asked = plan(MAX_1S, off, nodes=nodes, loads=loads, stages=stages)
    rule = msgspec.structs.replace(NEIGHBOUR, requirement="LOAD-2")
    found = [
        requirement_verdicts(
            asked,
            CATALOGUE,
            [msgspec.structs.replace(rule, mixes=(mix,))],
            partial(judge_requirement, measured=measured(lifecycles=[crasher()])),
            (),
            METRICS,
        )[0]
        for mix in ("on", "off")
    ]
    assert [(each.outcome, each.profile) for each in found] == [
        (Outcome.INCONCLUSIVE, "max-1s"),
        (Outcome.SKIPPED, "off"),
    ]
