"""The kubelet's metrics: each pod's start is measured once, images are asked for only at starts, gates are as released."""

from typing import Any

import pytest

from crashloop.checks.registry import POD_CHECKERS
from crashloop.history.event import Channel, Kind
from crashloop.model.variants import POD_START_MEASURED_TWICE
from crashloop.spec.program import exits_with
from suites.selftest.kit.cases import STOCK, app, case, checked, scenario, told
from suites.selftest.kit.histories import History

CRASHING = scenario(app(exits_with(1, times=3)), profile=STOCK)
GATES = {
    "ContainerRestartRules": ("BETA", 1),
    "KubeletCrashLoopBackOffMax": ("BETA", 1),
    "ReduceDefaultCrashLoopBackOffDecay": ("ALPHA", 0),
    "RestartAllContainersOnContainerExits": ("BETA", 1),
}


def sampled(*series: tuple[str, dict[str, str], float], looks: int = 0) -> History:
    """A good pod whose kubelet states these values at the end, and has found so many starts held back."""
    history = History(CRASHING).lives("app", (0.5, 1.5, 1), (2.0, 3.0, 1))
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
    for samples, findings in ((10, 0), (20, 0), (21, 1)):
        deviating = case(measured(samples, 5), STOCK, frozenset({POD_START_MEASURED_TWICE}))
        assert len(POD_CHECKERS["pod-starts-measured"](deviating).findings) == findings


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


def test_few_looks_at_a_delay_are_inconclusive() -> None:
    assert told(checked("image-after-backoff", asked(8, 4, looks=3), STOCK)) == [
        "INCONCLUSIVE: 8 questions for an image and 3 looks at a delay seen, 1 and 10 needed."
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
