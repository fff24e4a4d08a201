"""How the figures of a stage vary within it."""

import pytest

from crashloop.slo.measurements import Interval, Lifecycle
from crashloop.stress.figures import intervals
from suites.selftest.kit.slo_kit import crasher, ns, phase, restart, scrapes

TARGETS = {"pod-startup": 5.0, "restart-lateness": 3.0}
"""In seconds."""

CPU = "component_cpu_seconds_total"
TIMES = (0, 25, 50, 75, 100)


def of(component: str, node: str = "") -> tuple[str, tuple[tuple[str, str], ...]]:
    return CPU, (("component", component), ("node", node))


def healthy(number: int) -> Lifecycle:
    return Lifecycle(
        pod=f"h{number}", uid="u", group="healthy", asked_ns=ns(number), started_ns=ns(number + 1 + number / 100)
    )


def test_cpu_varies_by_what_lies_between_two_scrapes_of_all_nodes() -> None:
    steady = scrapes(
        TIMES, {of("kubelet", "a"): (0, 5, 10, 15, 20), of("kubelet", "b"): (0, 5, 10, 15, 20)}, source="processes"
    )
    assert intervals(phase(), [steady], [], TARGETS)["kubelet_cpu_cores"] == Interval(0.4, 0.4)
    uneven = scrapes(TIMES, {of("runtime"): (0, 0, 0, 0, 50)}, source="processes")
    spread = intervals(phase(), [uneven], [], TARGETS)["runtime_cpu_cores"]
    assert spread.lower == 0
    assert spread.upper is not None
    assert spread.upper > 0.5


def test_percentiles_lie_within_their_samples_and_a_drift_within_the_stage_makes_them_uncertain() -> None:
    found = intervals(phase(), [], [healthy(number) for number in range(100)], TARGETS)
    median = found["startup_p50_s"]
    assert median.lower is not None
    assert median.upper is not None
    assert 1 < median.lower < 1.3 < 1.7 < median.upper < 2
    assert found["startup_p99_s"].upper == pytest.approx(1.99)


def test_requests_go_with_the_restarts_between_the_same_scrapes() -> None:
    pods = [crasher(*(restart(10 * number + 1, 2) for number in range(10)))]
    kubelet = scrapes(TIMES, {("rest_client_requests_total", ()): (0, 10, 20, 35, 45)})
    spread = intervals(phase(), [kubelet], pods, TARGETS)["requests_per_restart"]
    assert spread.lower is not None
    assert spread.upper is not None
    assert spread.lower < 4.5 < spread.upper


def test_a_figure_of_which_too_little_was_seen_has_no_interval() -> None:
    once = scrapes((0,), {of("kubelet"): (1,)}, source="processes")
    two = scrapes((0, 100), {of("kubelet"): (0, 9)}, source="processes")
    for sources in ([], [once], [two]):
        assert intervals(phase(), sources, [], TARGETS).keys() == {"restarts_per_s"}
