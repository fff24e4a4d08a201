"""What preconditions are about is worked out from what was measured; what a restart cost goes to predictions."""

import pytest

from crashloop.errors import ObservationError
from crashloop.slo.measurements import Lifecycle, Measured
from crashloop.slo.preconditions import FACTS, fact_in_words, facts_of
from crashloop.slo.scrapes import NodeSample, Scrapes
from crashloop.stress.costing import costs_of
from suites.selftest.kit.slo_kit import (
    Labels,
    Values,
    cpu,
    crasher,
    host,
    measured,
    ns,
    phase,
    restart,
    scrapes,
    started,
)

STORM, BASELINE = phase(50, 100, "storm"), phase(0, 50, "baseline")
TIMES = (0, 50, 100)


def processes(**changed: tuple[float, float, float]) -> Scrapes:
    spent = {
        "kubelet": (0.0, 1.0, 4.0),
        "runtime": (0.0, 0.5, 10.5),
        "apiserver": (0.0, 1.0, 4.0),
        "etcd": (0.0, 0.25, 1.0),
        "harness": (0.0, 1.0, 2.3),
    } | changed
    values: Values = {cpu(component): each for component, each in spent.items()}
    busy: Values = {host("busy"): (0, 5, 25), host("idle"): (0, 95, 175)}
    return scrapes(TIMES, {**values, **busy}, source="processes", node="")


def kubelet() -> Scrapes:
    def method(name: str) -> tuple[str, Labels]:
        return "rest_client_requests_total", (("method", name),)

    values: Values = {method("GET"): (0, 10, 60), method("PATCH"): (0, 20, 90), method("POST"): (0, 0, 10)}
    return scrapes(TIMES, values)


def cadvisor(cores: float = 2) -> Scrapes:
    return scrapes(TIMES, {("machine_cpu_cores", ()): (cores, cores, cores)}, source="cadvisor")


def storm(*sources: Scrapes) -> Measured:
    pods = [crasher(*(restart(50.5 + at, 2.0 if at % 2 else 2.2) for at in range(40)))]
    return measured(*sources, lifecycles=pods, phases=(BASELINE, STORM))


def test_facts_of_a_phase() -> None:
    facts = facts_of(storm(processes(), kubelet(), cadvisor()), STORM)
    assert facts == {
        "churn_per_s": 0,
        "pods_per_node": 1,
        "longest_due_s": 1,
        "nodes": 1,
        "cores": 2,
        "harness_cpu_share": pytest.approx(1.3 / 13),
        "cpu_busy_share": pytest.approx(0.2),
        "foreign_cpu_share": pytest.approx((20 - 16.75 - 1.3) / 100),
        "cluster_cpu_share": pytest.approx(16.75 / 20),
    }


def test_no_more_is_found_out_than_was_asked() -> None:
    known = storm(processes(), kubelet(), cadvisor())
    assert facts_of(known, STORM, {"cores", "steady_utilisation"}) == {"cores": 2}
    assert facts_of(measured(facts={"cores": 8.0, "nodes": 3.0}), phase(), {"nodes"}) == {"nodes": 3}


def test_cores_that_the_run_may_not_use_do_not_count() -> None:
    bound = scrapes(TIMES, {("host_cpu_cores", ()): (1, 1, 1)}, source="processes")
    assert facts_of(storm(bound, cadvisor()), STORM)["cores"] == 1
    assert facts_of(storm(bound, cadvisor(0.5)), STORM)["cores"] == 0.5


def test_nodes_that_were_not_scraped_count_too() -> None:
    sample = NodeSample(scraped=1, of=50, seed=1)
    assert facts_of(measured(scrapes(TIMES, {}, sample=sample)), phase())["nodes"] == 50


def test_what_was_not_measured_is_not_known() -> None:
    assert facts_of(measured(), phase()) == {}


def test_what_the_load_knows_of_itself_wins() -> None:
    assert facts_of(measured(facts={"cores": 8.0}), phase())["cores"] == 8.0


def test_churn_is_the_most_in_any_second() -> None:
    pods = [started(1.1, 1), started(1.5, 1), started(1.9, 1, deleted_ns=started(7.2, 1).asked_ns), started(7.3, 1)]
    assert facts_of(measured(lifecycles=pods), phase())["churn_per_s"] == 3
    assert facts_of(measured(lifecycles=pods), phase(5, 100))["churn_per_s"] == 2


def test_pods_per_node_are_those_there_at_once() -> None:
    gone = started(10, 1).asked_ns
    pods = [started(1, 1, deleted_ns=gone), started(2, 1, deleted_ns=gone), started(20, 1), started(3, 1, node="other")]
    assert facts_of(measured(lifecycles=pods), phase())["pods_per_node"] == 2
    assert facts_of(measured(lifecycles=pods), phase(50, 100))["pods_per_node"] == 1


def test_pods_that_a_controller_made_count_from_when_they_were_seen() -> None:
    """Only the Job was requested; its pods still fill the node."""
    pods = [Lifecycle(pod=f"job-0-{at}", uid=f"{at}", node="node-1", seen_ns=ns(1 + at / 10)) for at in range(5)]
    facts = facts_of(measured(lifecycles=pods), phase(), {"churn_per_s", "pods_per_node"})
    assert facts == {"churn_per_s": 5, "pods_per_node": 5}


def test_the_longest_delay_is_that_due_after_the_exits_of_the_phase() -> None:
    pods = [crasher(restart(10, 1, due_s=0), restart(60, 2, due_s=10), restart(70, None, due_s=4))]
    assert facts_of(measured(lifecycles=pods), phase(50, 100))["longest_due_s"] == 10
    assert facts_of(measured(lifecycles=pods), phase(0, 50))["longest_due_s"] == 0
    assert facts_of(measured(lifecycles=[crasher(restart(1, 9, due_s=None))]), phase())["longest_due_s"] == 0


def test_the_smallest_node_counts() -> None:
    assert facts_of(measured(cadvisor(4), cadvisor(2)), phase())["cores"] == 2


def test_a_fact_in_words() -> None:
    assert fact_in_words("churn_per_s", 9.04) == "9.04 pods/s churn"
    assert all("{}" in fact.words for fact in FACTS.values())


def test_costs_are_what_the_storm_took_beyond_the_baseline() -> None:
    costs = costs_of(storm(processes(), kubelet(), cadvisor()), STORM, source="made up")
    assert (costs.restarts, costs.cores, costs.sustained_per_s) == (40, 2, None)
    assert costs.api_requests == pytest.approx((50 + 70 + 10 - 30) / 40)
    assert costs.api_writes == pytest.approx((70 + 10 - 20) / 40)
    assert costs.kubelet_cpu_s == pytest.approx(2 / 40)
    assert costs.runtime_cpu_s == pytest.approx(9.5 / 40, abs=1e-4)
    assert costs.overhead_s == pytest.approx(
        2.2 - 1.25
    )  # exit to start on average, less the delay of 1 s and its jitter


def test_a_cost_has_an_interval_if_there_are_blocks_enough() -> None:
    uneven = scrapes(
        tuple(range(0, 101, 10)),
        {("rest_client_requests_total", (("method", "PATCH"),)): (0, 0, 0, 0, 0, 0, 30, 50, 90, 110, 160)},
    )
    costs = costs_of(storm(processes(), uneven, cadvisor()), STORM, source="made up")
    low, high = costs.intervals["api_requests"]
    assert 0 <= low < costs.api_requests < high
    assert "kubelet_cpu_s" not in costs.intervals  # two scrapes in the storm are one block


def test_without_a_baseline_the_costs_are_gross() -> None:
    costs = costs_of(storm(processes(), kubelet(), cadvisor()), STORM, source="made up", idle=None)
    assert costs.kubelet_cpu_s == pytest.approx(3 / 40)


def test_a_host_that_the_cluster_keeps_busy_sustains_no_more() -> None:
    busy: Values = {host("busy"): (0, 5, 85), host("idle"): (0, 95, 100)}
    spent: Values = {cpu("kubelet"): (0, 1, 20), cpu("runtime"): (0, 1, 60)}
    rest: Values = {cpu("apiserver"): (0, 1, 2), cpu("etcd"): (0, 1, 2)}
    full = scrapes(TIMES, {**busy, **spent, **rest}, source="processes", node="")
    assert costs_of(storm(full, kubelet(), cadvisor()), STORM, source="made up").sustained_per_s == pytest.approx(0.8)


def test_a_cost_below_nothing_is_nothing() -> None:
    noisy = storm(processes(etcd=(0.0, 1.0, 1.5)), kubelet(), cadvisor())
    assert costs_of(noisy, STORM, source="made up").etcd_cpu_s == 0


def test_without_cores_or_restarts_there_are_no_costs() -> None:
    with pytest.raises(ObservationError, match="machine_cpu_cores was not scraped"):
        costs_of(storm(processes(), kubelet()), STORM, source="made up")
    calm = measured(processes(), kubelet(), cadvisor(), lifecycles=[crasher()], phases=(BASELINE, STORM))
    with pytest.raises(ObservationError, match="no restart was seen in the phase"):
        costs_of(calm, STORM, source="made up")
