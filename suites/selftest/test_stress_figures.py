"""Numbers of a stress run along time, by stage, and of one arm against the other."""

import msgspec
import pytest

from crashloop.slo.compare import Reading
from crashloop.slo.types import Lifecycle
from crashloop.spec.profile import KubeletProfile
from crashloop.stress.comparing import Seen, comparisons
from crashloop.stress.curves import load_curves
from crashloop.stress.loads import Churn, Crash
from crashloop.stress.phases import measurements
from crashloop.stress.profile import Stage, StressNode
from crashloop.stress.readings import along, highest, labelled, per_second, restart_times_ns, within
from crashloop.stress.timeline import MAX_POINTS, dots, timeline
from suites.selftest.slo_kit import crasher, ns, restart, scrapes
from suites.selftest.stress_kit import MAX_1S, marks, plan

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


def test_restarts_are_counted_when_they_came() -> None:
    pods = [crasher(restart(1, 1), restart(8, None)), crasher(restart(2, 3), node="node-2")]
    assert within(restart_times_ns(pods), ns(0), ns(10)) == 2
    assert within(restart_times_ns(pods, "node-2"), ns(0), ns(5)) == 0


def test_the_timeline_counts_restarts_and_pods_in_steps() -> None:
    pod = msgspec.structs.replace(crasher(*(restart(at, 0.4) for at in range(10))), asked_ns=ns(2), deleted_ns=ns(12))
    lines = {each.name: each for each in timeline([], [pod], began_ns=ns(0), ended_ns=ns(20))}
    assert lines["restarts"].points[:3] == ((2.5, 1.0), (7.5, 1.0), (12.5, 0.0))
    assert [value for _, value in lines["pods"].points] == [0, 1, 1, 0, 0]


def test_dots_are_thinned_but_the_worst_stays() -> None:
    pods = [healthy(at / 10, 9.0 if at == 777 else 1.0) for at in range(4 * MAX_POINTS)]
    (shown,) = dots(pods, began_ns=ns(0))
    assert len(shown.points) == MAX_POINTS
    assert max(value for _, value in shown.points) == pytest.approx(9.0)


def numbered(number: int, took_s: float, due_s: float) -> Lifecycle:
    return crasher(msgspec.structs.replace(restart(1, took_s, due_s=due_s), number=number), pod=f"p{number}-{took_s}")


def test_a_curve_under_load_has_a_point_for_each_restart_that_came_often_enough() -> None:
    pods = [numbered(1, took, 0) for took in (0.1, 0.2, 0.9)] + [numbered(2, took, 1) for took in (1.1, 1.3)]
    (curve,) = load_curves([*pods, numbered(3, 1.5, 1)], lambda node: f"profile of {node}")
    assert curve.profile == "profile of node-1"
    assert [(each.restart, each.due_s, each.samples) for each in curve.points] == [(1, 0, 3), (2, 1, 2)]
    assert [curve.points[0].lowest_s, curve.points[0].p50_s, curve.points[0].highest_s] == [0.1, 0.2, 0.9]


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
    pods = [healthy(20 * index + at, 1.0 if index % 2 == 0 else 3.0) for index in range(4) for at in (1, 2, 3)]
    hosts = {"node-a": "node-a", "node-b": "node-b"}
    (found,) = comparisons(Seen(the_plan, hosts, sources, pods), measured)
    assert (found.mix, found.baseline, found.treatment) == ("all", "max-300s", "max-1s")
    effects = {(each.what, each.statistic): each for each in found.effects}
    kubelet = effects["CPU of the kubelet", "mean"]
    assert kubelet.reading is Reading.HIGHER
    assert kubelet.ratio == pytest.approx(8.2 / 2.1, rel=0.01)
    assert effects["start-up of healthy pods", "p50"].ratio == pytest.approx(3)
    assert effects["restarts", "mean"].reading is Reading.TOO_LITTLE


def test_a_run_without_both_arms_compares_nothing() -> None:
    assert comparisons(Seen(plan(), {}, [], []), []) == ()
