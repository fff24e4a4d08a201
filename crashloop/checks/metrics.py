"""What metrics state: the kubelet's own, and those that kube-state-metrics makes of statuses.

Theory of operation. The kubelet's stand as at the end of a recording. They count since the kubelet's start, over all pods of its
node. So the kubelet is judged by itself: by how many pods and containers it says that it has started.
pkg/kubelet/metrics/metrics.go@v1.37.1. What kube-state-metrics states of containers is judged by the statuses of that time.
"""

from collections.abc import Iterator

from crashloop.checks.checker import Need, Seen, checker
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.history.payload import SampleData
from crashloop.history.recording import PodHistory, Sample
from crashloop.history.statuses import ContainerReport
from crashloop.model.gates import gate_stage, is_enabled
from crashloop.model.pod_status import most_start_samples
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import lost_watch
from crashloop.spec.pod import ContainerKind
from crashloop.spec.profile import MAX_PERIOD_GATE, REDUCED_DECAY_GATE, RESTART_ALL_GATE, RESTART_RULES_GATE
from crashloop.spec.state_metrics import FAMILIES, LAST_CODE, LAST_REASON, RESTARTS, WAITING
from crashloop.words import count

PROMISED_GATES = (MAX_PERIOD_GATE, REDUCED_DECAY_GATE, RESTART_RULES_GATE, RESTART_ALL_GATE)
"""Those whose stages the KEPs name."""
STARTS, FAILED_STARTS = "kubelet_started_containers_total", "kubelet_started_containers_errors_total"
OPERATIONS = "kubelet_runtime_operations_total"
QUESTIONS_A_START = 2
"""How often a start has the kubelet ask the runtime for the image: is it there, and as which user does it run.

A pull asks once more: how large is it. pkg/kubelet/images/image_manager.go imagePullPrecheck, pkg/kubelet/kuberuntime/helpers.go
getImageUser, kuberuntime_image.go GetImageSize @v1.37.1.
"""
NEAR_NS = 1_000_000_000
"""The recorder and kube-state-metrics have each status by a watch of their own, one a moment before the other."""
REASONS = (WAITING, LAST_REASON)
"""Families that have their value in the label `reason`."""

Stated = dict[str, str]
"""The value of each family, as text; a family without a value is left out."""


@checker("pod-starts-measured", Need("pods", 1, "start", "of a pod in the kubelet's metrics"))
def check_pod_starts_measured(case: Case, seen: Seen) -> Iterator[Finding]:
    """kubelet_pod_start_duration_seconds MUST have no more than one sample for each pod that the kubelet has started."""
    pods = seen["pods"] = _total(case, "kubelet_started_pods_total")
    samples = seen.facts["samples"] = _total(case, "kubelet_pod_start_duration_seconds_count")
    sample = _read(case)
    if sample is None:
        yield from _unread(case)
    elif pods:
        most = most_start_samples(pods, case.prediction.deviations)
        if not 1 <= samples <= most:
            samples_of = f"{count(samples, 'sample')} for {count(pods, 'start')} of pods (history line {sample.line})"
            yield fail(f"kubelet_pod_start_duration_seconds has {samples_of}; from 1 to {most} were due.", sample.line)


@checker(
    "image-after-backoff", Need("questions", 1, "question", "for an image"), Need("looks", 10, "look", "at a delay")
)
def check_image_after_backoff(case: Case, seen: Seen) -> Iterator[Finding]:
    """The kubelet MUST ask for an image only when it makes a start, and so not while a delay holds the start back.

    Counted are the looks that found a start held back, by the kubelet's log.
    """
    seen["looks"] = sum(each.delay_s is not None for pod in case.pods for each in pod.logged)
    starts = seen.facts["starts"] = _total(case, STARTS)
    pulls = _total(case, OPERATIONS, operation_type="pull_image")
    questions = seen["questions"] = _total(case, OPERATIONS, operation_type="image_status") - pulls
    sample = _read(case)
    if sample is None:
        yield from _unread(case)
    elif questions > QUESTIONS_A_START * starts:
        asked = f"{count(questions, 'time')} for an image (its {count(pulls, 'pull')} left out)"
        sentence = f"the kubelet asked {asked} and made {count(starts, 'start')} (history line {sample.line})"
        yield fail(f"{sentence}; {QUESTIONS_A_START} a start are the most.", sample.line)


@checker(
    "starts-counted", Need("starts", 5, "start", "of containers", is_shown=False), "more starts than there are pods"
)
def check_starts_counted(case: Case, seen: Seen) -> Iterator[Finding]:
    """kubelet_started_containers_total MUST have counted each start once: each that failed, and each start_container operation.

    A start counts before its image is asked for, and as an operation at its end, so each pod may have one under way:
    pkg/kubelet/kuberuntime/kuberuntime_manager.go SyncPod, instrumented_services.go StartContainer @v1.37.1.
    """
    counted = _total(case, STARTS)
    failed = _total(case, FAILED_STARTS)
    carried_out = seen["starts"] = _total(case, OPERATIONS, operation_type="start_container")
    under_way = _total(case, "kubelet_started_pods_total")
    seen.facts |= {"counted": counted, "carried_out": carried_out, "failed": failed}
    sample = _read(case)
    if sample is None:
        yield from _unread(case)
    elif FAILED_STARTS not in case.scenario.samples:
        yield inconclusive(f"{FAILED_STARTS} was not asked for.", sample.line)
    elif not carried_out - under_way <= counted <= carried_out + failed + under_way:
        yield fail(
            f"the kubelet states {count(counted, 'start')} of containers and {count(carried_out, 'operation')} that "
            f"started one (history line {sample.line}); {count(failed, 'start')} failed, and {count(under_way, 'pod')} "
            "may have had one under way.",
            sample.line,
        )
    elif carried_out <= under_way:
        sentence = f"{count(carried_out, 'start')} of containers in {count(under_way, 'pod')} seen"
        yield inconclusive(f"{sentence}, {under_way + 1} needed.", sample.line)


@checker("gate-states", "the kubelet's metrics")
def check_gate_states(case: Case, seen: Seen) -> Iterator[Finding]:
    """kubernetes_feature_enabled MUST state the gates of the KEPs in the stage and the state of the release."""
    sample = _read(case)
    stated = {
        each.labels["name"]: (each.labels.get("stage", ""), bool(each.value))
        for each in (sample.data.series if sample is not None else ())
        if each.name == "kubernetes_feature_enabled" and each.labels.get("name") in PROMISED_GATES
    }
    seen.facts["gates"] = dict(sorted(stated.items()))
    yield from _unread(case) if sample is None else _other_states(case, sample, stated)


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


def _read(case: Case) -> Sample | None:
    """The last values, if there are any and they could be read."""
    last = next(iter(case.recording.samples[::-1]), None)
    return last if last is not None and last.data.unread is None else None


def _unread(case: Case, whose: str = "the kubelet's metrics") -> Iterator[Finding]:
    """Why there are none."""
    if not case.recording.samples:
        yield inconclusive(f"{whose} were not read.")
    else:
        last = case.recording.samples[-1]
        yield inconclusive(f"{whose} could not be read (history line {last.line}): {last.data.unread}.", last.line)


def _total(case: Case, name: str, **labels: str) -> int:
    sample = _read(case)
    return 0 if sample is None else round(sample.total(name, **labels))


@checker("state-metrics", Need("restarts", 20, "restart", "of a container that waits", is_shown=False))
def check_state_metrics(case: Case, seen: Seen) -> Iterator[Finding]:
    """kube-state-metrics MUST state restarts, waiting reason, and reason and code of the last exit as a status of then does."""
    last = _read(case)
    if last is None:
        yield from _unread(case, "the metrics of kube-state-metrics")
        return
    for pod in case.pods:
        for spec in case.scenario.pod.of_kind(ContainerKind.REGULAR):
            stated = _stated(last.data, pod.uid, spec.name)
            yield from _contradictions(case, last, pod, spec.name, stated)
            if WAITING in stated and LAST_CODE in stated:
                seen["restarts"] = max(seen["restarts"], int(stated.get(RESTARTS, 0)))
    seen.facts["restarts"] = seen["restarts"]


def _contradictions(case: Case, sample: Sample, pod: PodHistory, name: str, stated: Stated) -> Iterator[Finding]:
    """One for a container of which no status of that time says the same."""
    reports = [(each.line, each.t_ns, each.containers[name]) for each in pod.statuses if name in each.containers]
    before = [each for each in reports if each[1] <= sample.t_ns - NEAR_NS]
    near = [each for each in reports if abs(each[1] - sample.t_ns) < NEAR_NS]
    possible = [*before[-1:], *near]
    if not possible or any(_due(report) == stated for _, _, report in possible):
        return
    line, _, report = possible[-1]
    due = _due(report)
    family = next(each for each in FAMILIES if due.get(each) != stated.get(each))
    lost = lost_watch(case, possible[0][1], sample.t_ns + NEAR_NS)
    doubt = None if lost is None else f"The watch was lost meanwhile (history line {lost.line})"
    sentence = (
        f'{family} of "{name}" is {stated.get(family, "not stated")} (history line {sample.line}); by the statuses of '
        f"that time {due.get(family, 'no value')} was due (history line {line})."
    )
    yield fail_unless(doubt, sentence, sample.line, line)


def _stated(data: SampleData, uid: str, container: str) -> Stated:
    found: Stated = {}
    for each in data.series:
        if (each.labels.get("uid"), each.labels.get("container")) == (uid, container):
            found[each.name] = each.labels.get("reason", "") if each.name in REASONS else f"{each.value:g}"
    return found


def _due(report: ContainerReport) -> Stated:
    """What kube-state-metrics makes of a status: internal/store/pod.go@v2.15.0."""
    due = {RESTARTS: f"{report.restart_count:g}"}
    if report.state.kind == "waiting" and report.state.reason:
        due[WAITING] = report.state.reason
    if report.last_state is not None and report.last_state.kind == "terminated":
        due |= {LAST_REASON: report.last_state.reason, LAST_CODE: f"{report.last_state.exit_code or 0:g}"}
    return due
