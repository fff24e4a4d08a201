"""A run with servers, from its directory to its results."""

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from crashloop.report.stress.document import stress_document
from crashloop.stress.assignment import Operation
from crashloop.stress.judging import judge_run
from crashloop.stress.loads import Burst, Demand
from crashloop.stress.pods import SERVER, arrivals_ns
from crashloop.stress.profile import Slos, Stage
from crashloop.verdict import Outcome
from suites.selftest.kit.histories import ns
from suites.selftest.kit.stress_kit import Folder, plan

LOAD = Demand(node="storm", rate_per_s=2, cpu_limit="50m", bursts=(Burst(after_s=10, for_s=10, rate_per_s=10),))
STAGE = Stage(name="loop", duration_s=100, users={"limited": 1})


def loop(root: Path, load: Demand = LOAD) -> Folder:
    """A server that is killed at 15 s and at 35 s, and then stays down."""
    return demand_run(root, load, ((0.5, 15, 137), (20, 35, 137)), ends_s=101)


def demand_run(root: Path, load: Demand, lives: Sequence[tuple[float, float | None, int]], *, ends_s: float) -> Folder:
    """A run with one server with these lives; requests of the time in which it is down are never answered."""
    folder = Folder(root, plan(loads={"limited": load}, stages=(STAGE,), slos=Slos(files=("liveness",), report=("*",))))
    folder.marks((0, "begin", 0, 0), (0, "measure", 1, 1), (0, "drain", 101, 1), (0, "end", 103, 0))
    folder.write(folder.pod("limited-0-0", *lives, ends_s=ends_s, of=SERVER))
    folder.operations(Operation(load="limited", what="create", pod="limited-0-0", sent_ns=ns(0), code=201))
    for due in takewhile(lambda t_ns: t_ns < ns(101), arrivals_ns(LOAD, ns(1.5))):
        is_up = any(ns(from_s) <= due < ns(ends_s if to_s is None else to_s) for from_s, to_s, _ in lives)
        what, took_ns = ("request", 50_000_000) if is_up else ("unanswered", 0)
        sent_ns = due if is_up else ns(101)
        folder.operations(
            Operation(
                load="limited",
                what=what,
                pod="limited-0-0",
                intended_ns=due,
                sent_ns=sent_ns,
                took_ns=took_ns,
                code=200,
            )
        )
    return folder


def test_a_server_that_stays_down_is_one_that_did_not_recover(tmp_path: Path) -> None:
    results = judge_run(loop(tmp_path / "run").run)
    (server,) = results.served
    assert (server.load, server.stage, server.figures["kills"], server.figures["unrecovered"]) == (
        "limited", "loop", 2, 1,
    )  # fmt: skip
    by_id = {each.slo: each for each in results.verdicts}
    assert by_id["loop-ends"].value == 1
    assert by_id["load-as-planned"].outcome is Outcome.PASS
    growth = by_id["backlog-grows-while-down"].value
    assert growth is not None
    assert growth > 0.9


def test_nothing_is_promised_where_it_is_unknown_whether_limits_took_effect(tmp_path: Path) -> None:
    results = judge_run(loop(tmp_path / "run").run)
    (verdict,) = (each for each in results.judged if each.requirement == "PROBE-9")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "limits_as_planned is not known" in verdict.findings[0]


def test_a_kill_by_a_probe_breaks_no_rule_of_a_pod(tmp_path: Path) -> None:
    results = judge_run(loop(tmp_path / "run").run)
    assert {each.outcome for each in results.judged if each.requirement == "BACKOFF-24"} == {Outcome.PASS}


def test_the_report_has_a_row_and_two_plots_per_server(tmp_path: Path) -> None:
    results = judge_run(loop(tmp_path / "run").run)
    assert {(each.name, each.node) for each in results.series if each.node == "limited"} == {
        ("answers", "limited"), ("backlog", "limited"),
    }  # fmt: skip
    document = stress_document(results)
    assert "servers" in [each.anchor for each in document.sections]
