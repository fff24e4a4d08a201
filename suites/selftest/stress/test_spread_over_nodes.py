"""A recorded run whose load was spread over three nodes, of which two were scraped."""

import html
from pathlib import Path

import pytest

from crashloop.report.html import to_html
from crashloop.report.stress.document import stress_document
from crashloop.report.stress.results import StressResults
from crashloop.slo.measurements import Lifecycle, SloVerdict
from crashloop.slo.scrapes import NodeSample
from crashloop.stress.assignment import read_jsonl
from crashloop.stress.folder import LIFECYCLES, Cause
from crashloop.stress.judging import judge_run
from crashloop.stress.lent_nodes import spread_out
from crashloop.stress.openmetrics import exported
from crashloop.verdict import Outcome
from suites.selftest.kit.stress_kit import Folder, arrivals, crashing, plan

NODES = ("node-1", "node-2", "node-3")
SAMPLE = NodeSample(scraped=2, of=3, seed=1)
STARTED = ("kubelet_started_containers_total", (("container_type", "container"),))
TIMES = (0, 24, 26, 56, 86, 90)
STARTS = 22
"""Of a pod."""


def recorded(root: Path, **counted: int) -> Folder:
    """Two pods crash on each node; `counted` are the starts by the counters of nodes whose kubelets miscount."""
    folder = Folder(root, spread_out(plan(), {name: name for name in NODES}))
    marks = [
        (0, "begin", 0, 0),
        (0, "measure", 2, 3),
        (0, "drain", 22, 3),
        (0, "end", 24, 0),
        (1, "begin", 24, 0),
        (1, "measure", 26, 9),
        (1, "drain", 86, 9),
        (1, "end", 88, 0),
    ]
    folder.marks(*marks)
    for number in range(6):
        lives = crashing(25.0 + number / 10, *[0.3, *[1.4] * (STARTS - 2)])
        folder.write(folder.pod(f"crashers-0-{number}", *lives, node=NODES[number % 3]))
    every = [second for second in range(2, 87) if second not in (23, 24)]
    folder.operations(*(each for number in range(3) for each in arrivals(every, first=number * len(every))))
    for name in NODES[:2]:
        last = counted.get(name.replace("-", "_"), 2 * STARTS)
        folder.scrape("kubelet", TIMES, {STARTED: [0, 0, 2, 30, last, last]}, node=name, sample=SAMPLE)
    return folder


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StressResults:
    return judge_run(recorded(tmp_path_factory.mktemp("spread") / "run").run)


def verdict(results: StressResults, slo: str) -> SloVerdict:
    return next(each for each in results.verdicts if each.slo == slo)


def test_a_load_that_came_to_all_nodes_is_as_planned(results: StressResults) -> None:
    names = ("load-as-planned", "evidence-complete", "no-early-restart", "no-lost-restart", "nothing-left")
    assert [verdict(results, name).outcome for name in names] == [Outcome.PASS] * len(names)
    assert results.totals["restarts"] == 6 * (STARTS - 1)
    assert [each.users for each in results.stages] == [{"healthy": 3}, {"healthy": 3, "crashers": 6}]


def test_starts_are_compared_on_the_nodes_that_were_scraped(results: StressResults) -> None:
    conserved = verdict(results, "restarts-conserved")
    assert {each.group["node"]: (each.value, each.samples) for each in conserved.results} == {
        "node-1": (0, 2 * STARTS),
        "node-2": (0, 2 * STARTS),
    }
    assert "Judged by 2 of 3 nodes, a sample by seed 1." in conserved.sentence


def test_one_node_of_the_sample_that_miscounts_is_found(tmp_path: Path) -> None:
    conserved = verdict(judge_run(recorded(tmp_path / "run", node_2=2 * STARTS - 9).run), "restarts-conserved")
    assert (conserved.outcome, conserved.value) == (Outcome.FAIL, 9)
    assert "Shown is the worst of 2: node node-2." in conserved.sentence


def test_a_pod_has_the_node_on_which_it_was_placed(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "run")
    judge_run(folder.run)
    pods = read_jsonl(folder.run.metrics_dir / LIFECYCLES, Lifecycle)
    assert [each.node for each in pods] == [*NODES, *NODES]
    assert exported(folder.run.root).profiles == dict.fromkeys(NODES, "max-1s")


def test_plots_are_those_of_the_group(results: StressResults) -> None:
    assert {each.node for each in results.dots} == {"storm"}
    assert {each.node for each in results.series if each.name == "restarts"} == {"storm"}
    assert [(each.node, each.profile, each.points[0].samples) for each in results.curves] == [("storm", "max-1s", 6)]


def test_the_report_names_the_nodes_and_those_that_were_scraped(results: StressResults) -> None:
    assert [(each.name, each.stands_for) for each in results.nodes] == [("storm", NODES)]
    page = html.unescape(to_html(stress_document(results)))
    assert "storm (3 nodes)" in page
    assert "The scheduler spread the load of storm over 3 nodes: node-1, node-2, node-3." in page
    assert "Kubelets were scraped on 2 of 3 nodes, a sample by seed 1: node-1, node-2." in page


def test_pods_without_a_node_make_the_run_inconclusive(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "run")
    sentence = "2 pods of the load were on no node of the run, such as crashers-0-8: 0/3 nodes are available."
    folder.incident(95, Cause.UNPLACED, sentence)
    found = verdict(judge_run(folder.run), "load-as-planned")
    assert (found.outcome, found.sentence) == (Outcome.INCONCLUSIVE, f"load-as-planned: {sentence}")
