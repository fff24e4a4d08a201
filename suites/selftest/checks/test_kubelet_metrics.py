"""The kubelet's metrics: each pod's start is measured once, images are asked for only at starts, gates are as released."""

from typing import Any

import msgspec
import pytest

from crashloop.checks.kinds import CHECKERS
from crashloop.history.event import Channel, Kind
from crashloop.model.variants import POD_START_MEASURED_TWICE
from crashloop.spec.program import exits_with
from crashloop.spec.scenario import PodScenario
from suites.selftest.kit.cases import STOCK, app, case, checked, scenario, told
from suites.selftest.kit.histories import History

CRASHING = scenario(app(exits_with(1, times=3)), profile=STOCK)
WITH_FAILED_STARTS = msgspec.structs.replace(CRASHING, samples=("kubelet_started_containers_errors_total",))
GATES = {
    "ContainerRestartRules": ("BETA", 1),
    "KubeletCrashLoopBackOffMax": ("BETA", 1),
    "ReduceDefaultCrashLoopBackOffDecay": ("ALPHA", 0),
    "RestartAllContainersOnContainerExits": ("BETA", 1),
}


def sampled(*series: tuple[str, dict[str, str], float], looks: int = 0, of: PodScenario = CRASHING) -> History:
    """A good pod whose kubelet states these values at the end, and has found so many starts held back."""
    history = History(of).lives("app", (0.5, 1.5, 1), (2.0, 3.0, 1))
    for number in range(looks):
        held: dict[str, Any] = {"line": "x", "delay_s": 10.0}
        history.add(3.5 + number / 2, Channel.KUBELET, Kind.LOG, held, container="app", pod=True)
    values = [{"name": name, "labels": labels, "value": value} for name, labels, value in series]
    return history.add(29.0, Channel.KUBELET, Kind.SAMPLE, {"series": values}).ends(30)


def measured(samples: int, pods: int) -> History:
    return sampled(
        ("kubelet_pod_start_duration_seconds_count", {}, samples),
        ("kubelet_pod_start_duration_seconds_bucket", {"le": "1"}, 1),
        ("kubelet_started_pods_total", {}, pods),
    )


def asked(questions: int, starts: int, *, looks: int = 20) -> History:
    return sampled(
        ("kubelet_runtime_operations_total", {"operation_type": "image_status"}, questions + 1),
        ("kubelet_runtime_operations_total", {"operation_type": "pull_image"}, 1),
        ("kubelet_runtime_operations_total", {"operation_type": "exec_sync"}, 99),
        ("kubelet_started_containers_total", {"container_type": "container"}, starts - 1),
        ("kubelet_started_containers_total", {"container_type": "init_container"}, 1),
        looks=looks,
    )


def stated(**others: tuple[str, int] | None) -> History:
    gates = {name: state for name, state in (GATES | others).items() if state is not None}
    return sampled(
        *(("kubernetes_feature_enabled", {"name": name, "stage": stage}, on) for name, (stage, on) in gates.items()),
        ("kubernetes_feature_enabled", {"name": "SomethingElse", "stage": ""}, 1),
    )


def test_accepts_one_sample_a_pod() -> None:
    answer = checked("pod-starts-measured", measured(5, 5), STOCK)
    assert told(answer) == []
    assert answer.facts == {"samples": 5, "pods": 5}


@pytest.mark.parametrize("samples", [0, 6, 10], ids=["none", "one-more", "two-a-pod"])
def test_a_start_that_is_not_measured_or_measured_more_than_once_is_a_fail(samples: int) -> None:
    history = measured(samples, 5)
    assert told(checked("pod-starts-measured", history, STOCK)) == [
        f"FAIL: kubelet_pod_start_duration_seconds has {samples} samples for 5 starts of pods "
        f"(history line {history.line_of(Kind.SAMPLE)}); from 1 to 5 were due."
    ]


def test_two_samples_a_pod_are_what_real_kubelets_have() -> None:
    """Those that were there when the kubelet started come on top."""
    for samples, findings in ((10, 0), (15, 0), (16, 1)):
        deviating = case(measured(samples, 5), STOCK, frozenset({POD_START_MEASURED_TWICE}))
        assert len(CHECKERS["pod-starts-measured"](deviating).findings) == findings


def test_accepts_two_questions_for_the_image_a_start() -> None:
    answer = checked("image-after-backoff", asked(8, 4), STOCK)
    assert told(answer) == []
    assert answer.facts == {"questions": 8, "starts": 4, "looks": 20}


def test_a_question_for_the_image_while_a_start_is_held_back_is_a_fail() -> None:
    history = asked(9, 4)
    assert told(checked("image-after-backoff", history, STOCK)) == [
        "FAIL: the kubelet asked 9 times for an image (its 1 pull left out) and made 4 starts "
        f"(history line {history.line_of(Kind.SAMPLE)}); "
        "2 a start are the most."
    ]


def test_accepts_the_gates_of_the_release() -> None:
    answer = checked("gate-states", stated(), STOCK)
    assert told(answer) == []
    assert answer.facts["gates"]["ReduceDefaultCrashLoopBackOffDecay"] == ("ALPHA", False)


@pytest.mark.parametrize(
    ("other", "spelt"),
    [
        pytest.param(("BETA", 0), "beta and off", id="off"),
        pytest.param(("", 1), "stable and on", id="stable"),
        pytest.param(None, "unknown", id="hidden"),
    ],
)
def test_a_gate_in_another_state_is_a_fail(other: tuple[str, int] | None, spelt: str) -> None:
    history = stated(ContainerRestartRules=other)
    assert told(checked("gate-states", history, STOCK)) == [
        f"FAIL: the kubelet states gate ContainerRestartRules as {spelt} (history line {history.line_of(Kind.SAMPLE)}); "
        "beta and on was due."
    ]


@pytest.mark.parametrize("checker", ["pod-starts-measured", "image-after-backoff", "gate-states"])
def test_metrics_that_were_not_read_are_inconclusive(checker: str) -> None:
    history = History(CRASHING).lives("app", (0.5, None, 0)).ends(30)
    assert told(checked(checker, history, STOCK)) == ["INCONCLUSIVE: the kubelet's metrics were not read."]
    refused = History(CRASHING).lives("app", (0.5, None, 0))
    refused.add(29.0, Channel.KUBELET, Kind.SAMPLE, {"unread": "read /metrics: 503"}).ends(30)
    line = refused.line_of(Kind.SAMPLE)
    assert told(checked(checker, refused, STOCK)) == [
        f"INCONCLUSIVE: the kubelet's metrics could not be read (history line {line}): read /metrics: 503."
    ]


def counted(
    starts: int, operations: int, *, failed: int = 0, pods: int = 3, of: PodScenario = WITH_FAILED_STARTS
) -> History:
    errors = [("kubelet_started_containers_errors_total", {"code": "ErrImagePull"}, failed)] if failed else []
    return sampled(
        ("kubelet_started_containers_total", {"container_type": "container"}, starts - 2),
        ("kubelet_started_containers_total", {"container_type": "init_container"}, 2),
        ("kubelet_runtime_operations_total", {"operation_type": "start_container"}, operations),
        ("kubelet_runtime_operations_total", {"operation_type": "create_container"}, 99),
        ("kubelet_started_pods_total", {}, pods),
        *errors,
        of=of,
    )


@pytest.mark.parametrize(("starts", "operations", "failed"), [(16, 16, 0), (19, 16, 0), (24, 16, 5), (16, 17, 0)])
def test_accepts_starts_that_are_counted_once(starts: int, operations: int, failed: int) -> None:
    answer = checked("starts-counted", counted(starts, operations, failed=failed), STOCK)
    assert told(answer) == []
    assert answer.facts == {"counted": starts, "carried_out": operations, "failed": failed}


@pytest.mark.parametrize(("starts", "operations", "failed"), [(32, 16, 0), (20, 16, 0), (25, 16, 5), (12, 16, 0)])
def test_starts_that_are_counted_twice_or_not_at_all_are_a_fail(starts: int, operations: int, failed: int) -> None:
    history = counted(starts, operations, failed=failed)
    assert told(checked("starts-counted", history, STOCK)) == [
        f"FAIL: the kubelet states {starts} starts of containers and {operations} operations that started one "
        f"(history line {history.line_of(Kind.SAMPLE)}); {failed} starts failed, and 3 pods may have had one under way."
    ]


def test_starts_are_compared_with_failures_only_where_these_were_asked_for() -> None:
    assert told(checked("starts-counted", counted(32, 16, of=CRASHING), STOCK)) == [
        "INCONCLUSIVE: kubelet_started_containers_errors_total was not asked for."
    ]


def test_as_many_starts_as_pods_do_not_show_how_starts_are_counted() -> None:
    assert told(checked("starts-counted", counted(6, 6, pods=6), STOCK)) == [
        "INCONCLUSIVE: 6 starts of containers in 6 pods seen, 7 needed."
    ]
