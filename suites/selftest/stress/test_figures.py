"""Numbers of a stress run along time, by stage, and of one arm against the other.

What restarts leave behind is drawn over time, for every row that judges its growth.
"""

from pathlib import Path

import msgspec
import pytest

from crashloop.report.stress.plots import rows
from crashloop.report.stress.results import Series
from crashloop.slo.compare import EffectReading
from crashloop.slo.measurements import Lifecycle
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.comparing import ComparedRun, comparisons
from crashloop.stress.figures import along, highest, labelled, per_second, restart_times_ns, within
from crashloop.stress.judging import judge_run
from crashloop.stress.loads import Churn, Crash
from crashloop.stress.phases import Measurement, measurements
from crashloop.stress.profile import Stage, StressNode
from crashloop.stress.timeline import MAX_POINTS, dots, held, latencies, load_curves, timeline
from suites.selftest.kit.slo_kit import Values, crasher, ns, phase, restart, row, scrapes
from suites.selftest.kit.stress_kit import MAX_1S, example_run, marks, plan

CPU = "component_cpu_seconds_total"


def cpu(component: str, node: str = "node-1") -> tuple[str, tuple[tuple[str, str], ...]]:
    return CPU, (("component", component), ("node", node))


def healthy(asked_s: float, took_s: float, node: str = "node-1") -> Lifecycle:
    return Lifecycle(
        pod=f"h{asked_s}", uid="u", node=node, group="healthy", asked_ns=ns(asked_s), started_ns=ns(asked_s + took_s)
    )


def test_a_counter_grows_so_much_a_second_over_all_nodes() -> None:
    sources = [scrapes([0, 10], {("x_total", ()): (5, 25)}, node=node) for node in ("a", "b")]
    assert per_second(sources, "kubelet", "x_total", ns(0), ns(10)) == 4
    assert per_second(sources, "apiserver", "x_total", ns(0), ns(10)) is None


def test_the_highest_value_of_a_gauge_is_that_within_the_stretch() -> None:
    source = scrapes([0, 10, 20], {("rss", ()): (9, 5, 7)})
    assert highest([source], "kubelet", "rss", ns(5), ns(25)) == 7
    assert highest([source], "kubelet", "rss", ns(25), ns(30)) is None


def test_a_rate_is_that_from_scrape_to_scrape() -> None:
    source = scrapes([0, 10, 15], {cpu("kubelet"): (0, 5, 10), cpu("runtime"): (0, 50, 50)})
    times, rates = along(source, CPU, labelled(component="kubelet"))
    assert times.tolist() == [ns(10), ns(15)]
    assert rates.tolist() == [0.5, 1.0]


def test_a_scrape_right_after_a_late_one_makes_no_peak() -> None:
    source = scrapes([0, 9.99, 10, 15], {cpu("kubelet"): (0, 5, 6, 10)})
    times, rates = along(source, CPU)
    assert times.tolist() == [ns(9.99), ns(15)]
    assert rates.tolist() == pytest.approx([5 / 9.99, 5 / 5.01])


def test_restarts_are_counted_when_they_came() -> None:
    pods = [crasher(restart(1, 1), restart(8, None)), crasher(restart(2, 3), node="node-2")]
    assert within(restart_times_ns(pods), ns(0), ns(10)) == 2
    assert within(restart_times_ns(pods, "node-2"), ns(0), ns(5)) == 0


def test_the_timeline_counts_restarts_and_pods_in_steps() -> None:
    pod = msgspec.structs.replace(crasher(*(restart(at, 0.4) for at in range(10))), asked_ns=ns(2), deleted_ns=ns(12))
    lines = {each.name: each for each in timeline([], [pod], began_ns=ns(0), ended_ns=ns(20))}
    assert lines["restarts"].points[:3] == ((2.5, 1.0), (7.5, 1.0), (12.5, 0.0))
    assert [value for _, value in lines["pods"].points] == [0, 1, 1, 0, 0]


START_UP = row(
    {"kind": "samples", "of": "pod-startup"}, {"at_most": 4, "unit": "s"}, percentile=99, id="pod-startup-latency"
)


def test_dots_are_thinned_but_the_worst_stays_and_all_are_counted() -> None:
    pods = [healthy(at / 10, 9.0 if at % 7 == 0 else 1.0) for at in range(4 * MAX_POINTS)]
    (shown,) = dots(pods, [START_UP], began_ns=ns(0))
    assert len(shown.points) == MAX_POINTS
    assert (shown.samples, shown.missed) == (4 * MAX_POINTS, sum(1 for at in range(4 * MAX_POINTS) if at % 7 == 0))
    assert max(value for _, value in shown.points) == pytest.approx(9.0)


def test_the_target_of_dots_is_that_of_the_row_about_them() -> None:
    (drawn,) = dots([healthy(1, 4.5)], [START_UP], began_ns=ns(0))
    assert (drawn.target, drawn.slo, drawn.missed) == (4, "pod-startup-latency", 1)
    (bare,) = dots([healthy(1, 4.5)], [], began_ns=ns(0))
    assert (bare.target, bare.slo, bare.missed) == (None, "", 0)


def test_what_is_still_open_misses_its_target_once_it_has_taken_longer() -> None:
    def never(asked_s: float) -> Lifecycle:
        return Lifecycle(pod="h", uid="u", node="node-1", group="healthy", asked_ns=ns(asked_s), seen_until_ns=ns(30))

    (shown,) = dots([healthy(1, 1), never(10), never(28)], [START_UP], began_ns=ns(0))
    assert shown.points == ((1.0, 1.0), (10.0, 20.0))
    assert (shown.samples, shown.missed) == (2, 1)


def test_latency_along_time_is_the_percentile_of_all_calls_between_two_scrapes() -> None:
    metric = "apiserver_request_sli_duration_seconds"
    rule = row(
        {"kind": "histogram", "source": "apiserver", "metric": metric, "where": {"verb": ["POST"]}},
        {"at_most": 1, "unit": "s"},
        percentile=99,
        id="api-call-latency-mutating",
    )
    values: Values = {
        (f"{metric}_bucket", (("le", "1"), ("resource", "pods"), ("verb", "POST"))): (0, 10, 10, 10),
        (f"{metric}_bucket", (("le", "5"), ("resource", "pods"), ("verb", "POST"))): (0, 10, 10, 12),
        (f"{metric}_bucket", (("le", "+Inf"), ("resource", "pods"), ("verb", "POST"))): (0, 10, 10, 12),
        (f"{metric}_bucket", (("le", "+Inf"), ("resource", "pods"), ("verb", "GET"))): (0, 99, 99, 99),
    }
    source = scrapes([0, 5, 10, 15], values, source="apiserver", node="")
    (line,) = latencies([rule, START_UP], [source], began_ns=ns(0))
    assert (line.name, line.target, line.slo) == ("latency: p99 of mutating API calls", 1, "api-call-latency-mutating")
    assert line.points == ((5.0, 1.0), (15.0, 5.0))


def numbered(number: int, took_s: float, due_s: float) -> Lifecycle:
    return crasher(msgspec.structs.replace(restart(1, took_s, due_s=due_s), number=number), pod=f"p{number}-{took_s}")


def stormed(*mixes: str, each_s: float = 10, node: str = "storm") -> tuple[Measurement, ...]:
    """Stages that follow each other: a baseline, then one storm a mix."""
    stages = (
        Stage(name="baseline", duration_s=each_s),
        *(Stage(name="storm", duration_s=each_s, mix=mix) for mix in mixes),
    )
    return tuple(
        Measurement(
            index=index,
            stage=stage,
            phase=phase(each_s * index, each_s * (index + 1), stage.name),
            users=0,
            whole=True,
        )
        for index, stage in enumerate(stages)
    )


def test_a_curve_under_load_has_a_point_for_each_restart_that_came_often_enough() -> None:
    pods = [numbered(1, took, 0) for took in (0.1, 0.2, 0.9)] + [numbered(2, took, 1) for took in (1.1, 1.3)]
    (storm,) = stormed("", each_s=100)[1:]
    (curve,) = load_curves([*pods, numbered(3, 1.5, 1)], [storm], lambda node, _stage: f"profile of {node}")
    assert (curve.profile, curve.stage) == ("profile of node-1", "storm")
    assert [(each.restart, each.due_s, each.samples) for each in curve.points] == [(1, 0, 3), (2, 1, 2)]
    assert [curve.points[0].lowest_s, curve.points[0].p50_s, curve.points[0].highest_s] == [0.1, 0.2, 0.9]


def test_curves_of_different_loads_are_not_mixed_and_those_of_one_load_are_pooled() -> None:
    stages = stormed("5 pods", "10 pods", "5 pods")
    pods = [
        crasher(restart(at_s, took_s), restart(at_s, took_s), pod=f"p{at_s}")
        for at_s, took_s in ((5, 9.0), (15, 1.5), (25, 2.5), (35, 1.7))
    ]
    found = load_curves([*pods, crasher(restart(99, 1), restart(99, 1))], stages, lambda _node, _stage: "max-1s")
    assert [(each.stage, each.points[0].samples, each.points[0].highest_s) for each in found] == [
        ("storm, 5 pods", 4, 1.7),
        ("storm, 10 pods", 2, 2.5),
    ]


NODES = (
    StressNode(name="node-a", profile="max-300s", arm="baseline"),
    StressNode(name="node-b", profile="max-1s", arm="treatment"),
)
LOADS = {
    "a": Crash(node="node-a"),
    "b": Crash(node="node-b"),
    "healthy-a": Churn(node="node-a", rate_per_s=1),
    "healthy-b": Churn(node="node-b", rate_per_s=1),
}
BLOCKS = (
    Stage(name="storm", duration_s=10, users={"a": 1, "healthy-a": 1}, settle_s=0, arm="baseline", mix="all"),
    Stage(name="storm", duration_s=10, users={"b": 1, "healthy-b": 1}, settle_s=0, arm="treatment", mix="all"),
)


def test_arms_are_compared_by_the_node_that_each_block_has_loaded() -> None:
    the_plan = plan(KubeletProfile(name="max-300s"), MAX_1S, nodes=NODES, loads=LOADS, stages=BLOCKS, rounds=2)
    rows = [(index, what, 20 * index + at, 2) for index in range(4) for what, at in (("measure", 0), ("drain", 10))]
    measured = measurements(the_plan.stages, marks(*rows, stages=the_plan.stages))
    times = [second for index in range(4) for second in (20 * index, 20 * index + 10)]
    sources = [
        scrapes(
            times,
            {
                cpu("kubelet", "node-a"): (0, 1, 1, 1, 1, 2.1, 2.1, 2.1),
                cpu("kubelet", "node-b"): (0, 0, 0, 4, 4, 4, 4, 8.2),
            },
            source="processes",
            node="",
        )
    ]
    pods = [
        healthy(20 * index + at, (1.0, 3.0)[index % 2], node=("node-a", "node-b")[index % 2])
        for index in range(4)
        for at in (1, 2, 3)
    ]
    hosts = {"node-a": "node-a", "node-b": "node-b"}
    (found,) = comparisons(
        ComparedRun(the_plan, hosts, sources, pods, {"pod-startup": 5.0, "restart-lateness": 3.0}), measured
    )
    assert (found.mix, found.baseline, found.treatment) == ("all", "max-300s", "max-1s")
    effects = {(each.what, each.statistic): each for each in found.effects}
    kubelet = effects["CPU of the kubelet", "mean"]
    assert kubelet.reading is EffectReading.HIGHER
    assert kubelet.ratio == pytest.approx(8.2 / 2.1, rel=0.01)
    assert effects["start-up of healthy pods", "p50"].ratio == pytest.approx(3)
    assert effects["restarts", "mean"].reading is EffectReading.TOO_LITTLE


def test_a_run_without_both_arms_compares_nothing() -> None:
    assert comparisons(ComparedRun(plan(), {}, [], [], {}), []) == ()


NONE = {"at_most": 0.1, "unit": "per restart"}
SOURCE = {"kind": "growth", "source": "processes", "per": "restarts"}
FILES = row(SOURCE | {"metric": "cluster_files"}, NONE, id="inodes-left")
IDS = row(SOURCE | {"metric": "component_process_ids"}, NONE, id="process-ids-left")
OTHER = row({"kind": "samples", "of": "restart-lateness"}, {"at_most": 3, "unit": "s"}, percentile=99)
GAUGES: Values = {
    ("cluster_files", ()): (400, 500, 450),
    ("component_process_ids", (("component", "kubelet"), ("node", "node-1"))): (10, 11, 12),
    ("component_process_ids", (("component", "runtime"), ("node", "node-1"))): (20, 300, 21),
    ("component_open_files", (("component", "kubelet"), ("node", "node-1"))): (30, 31, 32),
}


def lines() -> list[Series]:
    sources = [
        scrapes([5, 10, 15], GAUGES, source="processes", node=""),
        scrapes([5, 10, 15], {("cluster_files", ()): (1, 2, 3)}, source="kubelet"),
    ]
    return list(held([FILES, OTHER, IDS], sources, began_ns=ns(5)))


def test_a_row_about_growth_has_a_line_for_each_of_its_series_and_no_other_row_has_one() -> None:
    assert [(each.name, each.node) for each in lines()] == [
        ("held, files and folders: ", "whole cluster"),
        ("held, process ids: kubelet", "node-1"),
        ("held, process ids: runtime", "node-1"),
    ]


def test_a_line_has_every_scrape_in_seconds_since_the_load_began() -> None:
    assert lines()[0].points == ((0.0, 400.0), (5.0, 500.0), (10.0, 450.0))


def test_a_series_without_a_value_has_no_line() -> None:
    """A run that was killed between the name of a series and its first value."""
    source = scrapes([5], {("cluster_files", ()): [None]}, source="processes", node="")
    assert list(held([FILES], [source], began_ns=ns(5))) == []


def test_the_report_has_a_plot_for_each_gauge(tmp_path: Path) -> None:
    results = msgspec.structs.replace(judge_run(example_run(tmp_path / "run").run), series=tuple(lines()))
    assert [
        (each.title, [line.name for chart in each.charts for line in chart.lines]) for each in rows(results)[-2:]
    ] == [
        ("files and folders", ["files and folders"]),
        ("process ids", ["kubelet", "runtime"]),
    ]
