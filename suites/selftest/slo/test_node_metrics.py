"""Metrics of a node: whether they exist and move, how high a gauge rose, and whether exits are counted."""

from typing import Any

import pytest

from crashloop.slo.judge import judge
from crashloop.slo.measurements import SloVerdict
from crashloop.slo.scrapes import NodeSample
from crashloop.verdict import Outcome
from suites.selftest.kit.slo_kit import Values, crasher, measured, ns, phase, restart, row, scrapes

TIMES = tuple(range(0, 101, 10))
NAMES = ("kubelet_http_requests_total", "kubelet_pod_start_duration_seconds", "kubelet_http_inflight_requests")
PODS = [crasher(*(restart(at, 1) for at in range(30)))]
MEMORY = ("process_resident_memory_bytes", ())
OPEN_FILES = "component_open_files"
TERMINATED = "kubelet_terminated_containers_total"


def moving(values: Values, *, families: tuple[str, ...] = NAMES, pods: Any = PODS) -> SloVerdict:
    sli = {"kind": "moves", "metrics": list(NAMES[:2]), "present": [NAMES[2]]}
    rule = row(sli, {"at_most": 0, "unit": "metrics"}, min_samples=20)
    return judge(rule, measured(scrapes(TIMES, values, families=families), lifecycles=pods))


RISES: list[float] = list(range(11))
STILL: list[float] = [4] * 11
GOOD: dict[tuple[str, Any], Any] = {
    (NAMES[0], ()): STILL,
    (NAMES[0], (("path", "pods"),)): RISES,
    (f"{NAMES[1]}_count", ()): RISES,
    (NAMES[2], ()): STILL,
}


def test_metrics_of_which_one_series_moves_are_good_and_some_only_have_to_exist() -> None:
    verdict = moving(GOOD)
    assert (verdict.outcome, verdict.value, verdict.samples) == (Outcome.PASS, 0, 30)


def test_metrics_that_stand_still_or_are_missing_are_named() -> None:
    verdict = moving({(NAMES[0], ()): STILL, (NAMES[2], ()): STILL})
    assert (verdict.outcome, verdict.value) == (Outcome.FAIL, 2)
    assert verdict.sentence == (
        "made-up: 2 metrics of 30 restarts, target at most 0 metrics, phase storm. "
        "kubelet_pod_start_duration_seconds does not exist. kubelet_http_requests_total did not move."
    )


def test_a_series_that_came_in_the_phase_has_moved() -> None:
    assert moving({**GOOD, (NAMES[0], (("path", "pods"),)): [None] * 5 + [3.0] * 6}).outcome is Outcome.PASS


def test_without_restarts_nothing_has_to_move() -> None:
    assert moving(GOOD, pods=[crasher()]).outcome is Outcome.INCONCLUSIVE


def test_a_metric_that_was_not_kept_is_no_missing_one() -> None:
    verdict = moving(GOOD, families=NAMES[:2])
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "metric 'kubelet_http_inflight_requests' of kubelet was not kept in this run." in verdict.sentence


def memory(*values: float | None, relative_to: str | None = "baseline", most: float = 1.5) -> SloVerdict:
    sli = {"kind": "gauge", "metric": MEMORY[0], "relative_to": relative_to}
    rule = row(sli, {"at_most": most, "unit": "times"}, phase="storm")
    seen = scrapes((0, 10, 20, 30, 40), {MEMORY: values})
    return judge(rule, measured(seen, phases=(phase(0, 15, "baseline"), phase(18, 45))))


def test_a_gauge_is_judged_by_its_highest_value_against_the_highest_of_another_phase() -> None:
    assert (memory(80, 100, 90, 149, 80).value, memory(80, 100, 90, 149, 80).outcome) == (1.49, Outcome.PASS)
    assert memory(80, 100, 90, 151, 80).outcome is Outcome.FAIL
    assert memory(80, 100, 90, 151, 80, relative_to=None, most=151).outcome is Outcome.PASS


def test_a_gauge_of_nodes_that_are_a_sample_is_judged_on_these_and_says_so() -> None:
    sample = NodeSample(scraped=2, of=50, seed=1)
    seen = [
        scrapes((0, 10, 20), {MEMORY: (5, 5, highest)}, node=f"node-{highest}", sample=sample) for highest in (6, 7)
    ]
    rule = row({"kind": "gauge", "metric": MEMORY[0]}, {"at_most": 6, "unit": "bytes"}, phase="storm")
    verdict = judge(rule, measured(*seen, scrapes((0, 10), {}, source="apiserver", node="")))
    assert (verdict.outcome, len(verdict.results)) == (Outcome.FAIL, 2)
    assert verdict.sentence == (
        "made-up: 7 bytes of 3 scrapes, target at most 6 bytes, phase storm. Judged by 2 of 50 nodes, a sample by seed 1. "
        "Shown is the worst of 2: node node-7."
    )


def test_nodes_that_one_source_covers_are_judged_one_by_one() -> None:
    seen = scrapes(
        (0, 10, 20, 30),
        {
            (OPEN_FILES, (("node", "one"),)): (200, 200, 210, 210),
            (OPEN_FILES, (("node", "two"),)): (100, 100, 160, 160),
        },
        source="processes",
        node="",
    )
    sli = {"kind": "gauge", "source": "processes", "metric": OPEN_FILES, "relative_to": "baseline"}
    rule = row(sli, {"at_most": 1.5, "unit": "times"}, phase="storm")
    verdict = judge(rule, measured(seen, phases=(phase(0, 15, "baseline"), phase(18, 45))))
    assert (verdict.outcome, verdict.value) == (Outcome.FAIL, 1.6)
    assert {each.group["node"]: each.value for each in verdict.results} == {"one": 1.05, "two": 1.6}


def test_a_row_without_metrics_of_nodes_says_nothing_of_a_sample() -> None:
    seen = scrapes((0, 10, 20), {}, sample=NodeSample(scraped=2, of=50, seed=1))
    rule = row({"kind": "rate", "of": "restarts"}, {"at_most": 1, "unit": "restarts/s"}, phase="storm")
    assert "sample by seed" not in judge(rule, measured(seen, lifecycles=PODS)).sentence


@pytest.mark.parametrize("values", [(None, None, 5, 5, 5), (5, 5, None, None, None), (0, 0, 5, 5, 5)])
def test_a_gauge_without_a_value_in_one_phase_is_inconclusive(values: tuple[float | None, ...]) -> None:
    assert memory(*values).outcome is Outcome.INCONCLUSIVE


def test_exits_are_those_before_restarts_and_those_that_are_final() -> None:
    sli = {"kind": "ratio", "metric": TERMINATED, "per": "exits"}
    rule = row(sli, {"at_least": 0.95, "unit": "counts/exit"})
    pods = [crasher(*(restart(at, 1) for at in range(1, 90)), finals_ns=(ns(1), ns(95)))]

    def counted(total: int) -> SloVerdict:
        counter: Values = {(TERMINATED, ()): [total * at / 10 for at in range(11)]}
        return judge(rule, measured(scrapes(TIMES, counter), lifecycles=pods))

    assert (counted(90).samples, counted(90).outcome) == (90, Outcome.PASS)
    assert counted(80).outcome is Outcome.FAIL
