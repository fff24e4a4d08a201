"""Checkers of the kubelet's metrics, as they stood at the end of a recording.

Theory of operation. They count since the kubelet's start, over all pods of its node. So the kubelet is judged by itself: by how
many pods and containers it says that it has started. pkg/kubelet/metrics/metrics.go@v1.37.1.
"""

from collections.abc import Iterator

from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.history.recording import Sample
from crashloop.model.gates import gate_stage, is_enabled
from crashloop.model.pod_start_samples import most_samples
from crashloop.restarts.case import Case
from crashloop.spec.profile import MAX_PERIOD_GATE, REDUCED_DECAY_GATE, RESTART_ALL_GATE, RESTART_RULES_GATE
from crashloop.words import count

PROMISED_GATES = (MAX_PERIOD_GATE, REDUCED_DECAY_GATE, RESTART_RULES_GATE, RESTART_ALL_GATE)
"""Those whose stages the KEPs name."""
STARTS, FAILED_STARTS = "kubelet_started_containers_total", "kubelet_started_containers_errors_total"
QUESTIONS_A_START = 2
"""How often a start has the kubelet ask the runtime for the image: is it there, and as which user does it run.

A pull asks once more: how large is it. pkg/kubelet/images/image_manager.go imagePullPrecheck, pkg/kubelet/kuberuntime/helpers.go
getImageUser, kuberuntime_image.go GetImageSize @v1.37.1.
"""


def check_pod_starts_measured(case: Case) -> Checked:
    """kubelet_pod_start_duration_seconds MUST have no more than one sample for each pod that the kubelet has started.

    Needs the kubelet's metrics, and a pod that it has started.
    """
    sample, findings = _sample(case)
    pods = _total(sample, "kubelet_started_pods_total")
    samples = _total(sample, "kubelet_pod_start_duration_seconds_count")
    if sample is not None and not pods:
        findings = [inconclusive(f"the kubelet states no start of a pod (history line {sample.line}).", sample.line)]
    elif sample is not None:
        most = most_samples(pods, case.prediction.deviations)
        if not 1 <= samples <= most:
            findings = [
                fail(
                    f"kubelet_pod_start_duration_seconds has {count(samples, 'sample')} for {count(pods, 'start')} of pods "
                    f"(history line {sample.line}); from 1 to {most} were due.",
                    sample.line,
                )
            ]
    return Checked(findings=tuple(findings), facts={"samples": samples, "pods": pods})


def check_image_after_backoff(case: Case) -> Checked:
    """The kubelet MUST ask for an image only when it makes a start, and so not while a delay holds the start back.

    Needs the kubelet's metrics, and min_looks (10) looks that found a start held back, by the kubelet's log.
    """
    sample, findings = _sample(case)
    looks = sum(each.delay_s is not None for pod in case.pods for each in pod.logged)
    starts = _total(sample, STARTS)
    pulls = _total(sample, "kubelet_runtime_operations_total", operation_type="pull_image")
    questions = _total(sample, "kubelet_runtime_operations_total", operation_type="image_status") - pulls
    needed = int(case.number("min_looks", 10))
    if sample is not None and questions > QUESTIONS_A_START * starts:
        findings = [
            fail(
                f"the kubelet asked {count(questions, 'time')} for an image (its {count(pulls, 'pull')} left out) and made "
                f"{count(starts, 'start')} (history line {sample.line}); {QUESTIONS_A_START} a start are the most.",
                sample.line,
            )
        ]
    elif sample is not None and (not questions or looks < needed):
        seen = f"{count(questions, 'question')} for an image and {count(looks, 'look')} at a delay seen"
        findings = [inconclusive(f"{seen}, 1 and {needed} needed.", sample.line)]
    return Checked(findings=tuple(findings), facts={"questions": questions, "starts": starts, "looks": looks})


def check_starts_counted(case: Case) -> Checked:
    """kubelet_started_containers_total MUST have counted each start once: each that failed, and each start_container operation.

    A start counts before its image is asked for, and as an operation at its end, so each pod may have one under way:
    pkg/kubelet/kuberuntime/kuberuntime_manager.go SyncPod, instrumented_services.go StartContainer @v1.37.1. Needs the kubelet's
    metrics with the failed starts, and min_starts (5) starts, more than there are pods.
    """
    sample, findings = _sample(case)
    counted = _total(sample, STARTS)
    failed = _total(sample, FAILED_STARTS)
    carried_out = _total(sample, "kubelet_runtime_operations_total", operation_type="start_container")
    under_way = _total(sample, "kubelet_started_pods_total")
    needed = int(case.number("min_starts", 5))
    if sample is not None and FAILED_STARTS not in case.scenario.samples:
        findings = [inconclusive(f"{FAILED_STARTS} was not asked for.", sample.line)]
    elif sample is not None and not carried_out - under_way <= counted <= carried_out + failed + under_way:
        findings = [
            fail(
                f"the kubelet states {count(counted, 'start')} of containers and {count(carried_out, 'operation')} that "
                f"started one (history line {sample.line}); {count(failed, 'start')} failed, and {count(under_way, 'pod')} "
                "may have had one under way.",
                sample.line,
            )
        ]
    elif sample is not None and carried_out < max(needed, under_way + 1):
        seen = f"{count(carried_out, 'start')} of containers in {count(under_way, 'pod')} seen"
        findings = [inconclusive(f"{seen}, {max(needed, under_way + 1)} needed.", sample.line)]
    return Checked(findings=tuple(findings), facts={"counted": counted, "carried_out": carried_out, "failed": failed})


def check_gate_states(case: Case) -> Checked:
    """kubernetes_feature_enabled MUST state the gates of the KEPs in the stage and the state of the release.

    Needs the kubelet's metrics.
    """
    sample, findings = _sample(case)
    stated = {
        each.labels["name"]: (each.labels.get("stage", ""), bool(each.value))
        for each in (sample.data.series if sample is not None else ())
        if each.name == "kubernetes_feature_enabled" and each.labels.get("name") in PROMISED_GATES
    }
    if sample is not None:
        findings = [*_other_states(case, sample, stated)]
    return Checked(findings=tuple(findings), facts={"gates": dict(sorted(stated.items()))})


def _other_states(case: Case, sample: Sample, stated: dict[str, tuple[str, bool]]) -> Iterator[Finding]:
    kubelet = case.in_force_at(sample.t_ns)
    for gate in PROMISED_GATES:
        stage = gate_stage(gate, kubelet.version)
        due = None if stage is None else (stage, is_enabled(gate, kubelet.gates, kubelet.version))
        found = stated.get(gate)
        if found != due:
            yield fail(
                f"the kubelet states gate {gate} as {_spelt(found)} (history line {sample.line}); {_spelt(due)} was due.",
                sample.line,
            )


def _spelt(state: tuple[str, bool] | None) -> str:
    if state is None:
        return "unknown"
    stage, enabled = state
    return f"{stage.lower() or 'stable'} and {'on' if enabled else 'off'}"


def _sample(case: Case) -> tuple[Sample | None, list[Finding]]:
    """The last values that were read; if there are none, why."""
    last = next(iter(case.recording.samples[::-1]), None)
    if last is None:
        return None, [inconclusive("the kubelet's metrics were not read.")]
    if last.data.unread is not None:
        why = f"the kubelet's metrics could not be read (history line {last.line}): {last.data.unread}."
        return None, [inconclusive(why, last.line)]
    return last, []


def _total(sample: Sample | None, name: str, **labels: str) -> int:
    return 0 if sample is None else round(sample.total(name, **labels))
