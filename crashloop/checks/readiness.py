"""What statuses state as ready: they agree with themselves, and with what probes were answered.

Theory of operation. The kubelet makes `ready` and the conditions of the pod from the container states beside them, so
most is judged within one status, and no delay on its way matters:

- `ready` of a container without a readiness probe waits for nothing but a startup probe:
  pkg/kubelet/prober/prober_manager.go@v1.37.1 UpdatePodStatus.
- Ready may be False on its own: a controller misses the node, or a pod of a user has a readiness gate. Ready and ContainersReady
  are False as soon as a pod fails, while its containers are still ended: the phase follows them
  (pkg/kubelet/status/status_manager.go@v1.37.1 mergePodStatus). What a pod's end makes of its containers is written over its last
  status as well (TerminatePod).
- A success of a startup probe is written into the last status that was made, without `ready` and the conditions, which the next
  one has (pkg/kubelet/status/status_manager.go@v1.37.1 SetContainerStartup).

A container with a readiness probe is ready from a success on, until failures in a row reach the threshold. A status may lag, so
only a statement that stood for longer than that is wrong; but a container whose probe has never succeeded was ready at no time,
and no status says so before the kubelet has had the success. A status that comes late says by its condition since when the
containers are ready. Without that time, successes of the life before may have made it ready as well as its own.
"""

from collections.abc import Iterator
from itertools import pairwise, zip_longest

import msgspec

from crashloop.checks.checker import Holds, Need, Seen, checker, statements
from crashloop.checks.finding import Finding, fail, fail_unless
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.statuses import CONTAINERS_READY, READY, RESET_REASON, ContainerReport, StatusReport
from crashloop.model.after_restart import is_ready_with_its_kubelet, probes_go_on
from crashloop.model.planned_exit import successes_go_on
from crashloop.model.pod_status import FAILED, SUCCEEDED
from crashloop.restarts.answers import ProbeAnswer, answers_of, has_succeeded, successes_left
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import is_journal_lost, lost_watch
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
from crashloop.restarts.outages import kubelet_ended, may_be_old_ns, may_lag_ns, met_ns, settled_ns
from crashloop.restarts.restart_all import Replacement, replacements
from crashloop.spec.owner import StaticPod
from crashloop.spec.pod import Container, ContainerKind, Probe, ProbeKind
from crashloop.words import at_lines, count, seconds

WITHIN_NS = 1_000_000_000
"""Within this time after a time in whole seconds is what it says."""


@checker(
    "ready-conditions", Need("statuses", 1, "status", f"with {CONTAINERS_READY}"), once=True, holds=Holds.ANY_PROGRAM
)
def check_ready_conditions(case: Case, seen: Seen) -> Iterator[Finding]:
    """ContainersReady MUST be True if and only if all regular containers and sidecars are ready, and Ready only then.

    Of a pod that has ended both are False, whatever is said of its containers; of one that has succeeded because it has completed
    (pkg/kubelet/status/generate.go@v1.37.2, kubernetes/kubernetes#16113). Its lastTransitionTime MUST NOT move while the
    same lives are stated of containers without a readiness probe, and not stay where one has started or ended since.
    """
    asked = [each for each in case.scenario.pod.containers if _has_readiness(each)]
    for pod in case.pods:
        for status in pod.statuses:
            if status.containers_ready is not None and goes_on(status):
                seen["statuses"] += 1
                if status.ready_since_ns is None:
                    said = f"a status gives no lastTransitionTime of {CONTAINERS_READY} {at_lines([status.line])}"
                    yield fail(f"{said}; its kubelet knows since when it is so.", status.line)
                yield from _wrong_conditions(case, status, asked)
            elif status.phase in (SUCCEEDED, FAILED) and (status.containers_ready or status.ready):
                said = f"a status says that a pod in the phase {status.phase} is ready {at_lines([status.line])}"
                yield fail(f"{said}; it has ended.", status.line)
            elif status.phase == SUCCEEDED and status.containers_ready is False and not status.is_ending:
                said = f"a status says that a pod in the phase {SUCCEEDED} is unready {at_lines([status.line])}"
                yield fail(f"{said}, and not that it has completed.", status.line)
        if not any(each.probe(ProbeKind.READINESS) for each in asked):
            yield from _wrong_transitions(case, pod, asked)


def _wrong_transitions(case: Case, pod: PodHistory, asked: list[Container]) -> Iterator[Finding]:
    """The first lastTransitionTime of ContainersReady that the statuses of containers contradict, all in whole seconds."""
    for before, after in pairwise(each for each in pod.statuses if each.ready_since_ns is not None and goes_on(each)):
        since_ns, was_ns = after.ready_since_ns or 0, before.ready_since_ns or 0
        lines = before.line, after.line
        stepped_ns = case.recording.clocks.step_within_ns(before.t_ns, after.t_ns)
        doubt = "The wall clock jumped meanwhile" if stepped_ns else None
        # Of a static pod it has no status to read, and states it anew, its startTime too; that a startup probe has succeeded it
        # takes back, which may go unwritten.
        is_anew = isinstance(case.scenario.owner, StaticPod) or any(each.probe(ProbeKind.STARTUP) for each in asked)
        if is_anew and _kubelet_restarted(case, before, after):
            continue
        if before.containers_ready is after.containers_ready:
            moved = since_ns != was_ns and _states_lives(before, asked) == _states_lives(after, asked)
            if moved:
                apart = seconds(abs(since_ns - was_ns) / 1e9)
                said = f"lastTransitionTime of {CONTAINERS_READY} moved by {apart} {at_lines(lines)}"
                yield fail_unless(
                    doubt, f"{said}; it stayed {after.containers_ready}, and no container had changed.", *lines
                )
                return
            continue
        turned_ns = None if after.containers_ready else _unready_ns(before, after, asked)
        if turned_ns is not None and since_ns < turned_ns:
            said = f"{CONTAINERS_READY} is said to be False since {seconds((turned_ns - since_ns) / 1e9)}"
            yield fail_unless(doubt, f"{said} before a container made it so {at_lines(lines)}.", *lines)
            return


def _kubelet_restarted(case: Case, before: StatusReport, after: StatusReport) -> bool:
    """Whether the kubelet was restarted between the times at which it may have made two statuses."""
    from_ns = before.t_ns - may_be_old_ns(case, before.t_ns)
    return any(each.t_ns <= after.t_ns and (each.data.ended_ns or each.t_ns) >= from_ns for each in kubelet_ended(case))


def _states_lives(status: StatusReport, asked: list[Container]) -> list[tuple[object, ...]]:
    """What a status says of the containers that make a pod ready: its restarts, instance and last end, its state, started.

    One that waits for its delay has its last end, which one that is yet to start has not.
    """
    reports = [status.containers[each.name] for each in asked if each.name in status.containers]
    return [
        (each.restart_count, each.container_id, each.last_state, each.state.kind, each.ready, each.started)
        for each in reports
    ]


def _unready_ns(before: StatusReport, after: StatusReport, asked: list[Container]) -> int | None:
    """When the pod became unready, as the ends of the instances say that were all ready; None if others may have had a part.

    What has started in the meantime may have ended before a sync saw it ready, or have been made ready and unready unseen.
    """
    pairs = [(before.containers.get(each.name), after.containers.get(each.name)) for each in asked]
    ends = []
    for was, now in pairs:
        if was is None or now is None or not was.ready or now.restart_count != was.restart_count:
            return None
        ended = now.last_state if now.state.kind == "waiting" else now.state
        if not now.ready and (ended is None or ended.kind != "terminated"):
            return None
        ends += [ended.finished_ns] if not now.ready and ended is not None and ended.finished_ns else []
    return min(ends, default=None)


UNREACHED_NS = 60_000_000_000
"""A controller says of a pod that it is not ready once its node has not renewed its lease for 40 s, by default:
pkg/controller/nodelifecycle/node_lifecycle_controller.go@v1.37.1."""


def _wrong_conditions(case: Case, status: StatusReport, asked: list[Container]) -> Iterator[Finding]:
    """A condition of one status that contradicts its container statuses."""
    ours = all(each.program.known for each in asked)  # others may have readiness gates
    if status.containers_ready and status.ready is False and ours and not case.scenario.is_disturbed:
        said = f"a status says that {READY} of the pod is False {at_lines([status.line])}"
        from_ns = max(case.recording.begin_ns, status.t_ns - UNREACHED_NS)
        unreached = excuse(case, (from_ns, status.t_ns), 0.0, UNREACHED_NS / 2e9)
        doubt = unreached and "Its node may not have renewed its lease"
        yield fail_unless(
            doubt, f"{said}; {CONTAINERS_READY} is True, and no readiness gate asks for more.", status.line
        )
    unready = len(asked) - sum(status.containers[each.name].ready for each in asked if each.name in status.containers)
    some = f"{count(unready, 'container')} of it {'is' if unready == 1 else 'are'} not"
    for condition, stated in ((CONTAINERS_READY, status.containers_ready), (READY, status.ready)):
        if stated is not (unready == 0) and (stated or condition == CONTAINERS_READY):
            sentence = f"a status says that {condition} of the pod is {stated} {at_lines([status.line])}"
            yield fail(f"{sentence}; {some if unready else 'all its containers are'} ready.", status.line)


@checker(
    "ready-unprobed",
    Need("statuses", 1, "statement", "about a running container", is_shown=False),
    Need("restarted", 0, "statement", "about one that was restarted"),
    Need("down", 0, "statement", "about one that does not run"),
    watch="a status",
    once=True,
    holds=Holds.EVERY_POD,
)
def check_ready_unprobed(case: Case, seen: Seen) -> Iterator[Finding]:
    """A container without a readiness probe MUST be said to be ready if and only if it runs and has started.

    Judged of regular containers and sidecars of pods that have not ended and that nobody deletes. An init container is ready once
    it has succeeded: pkg/kubelet/prober/prober_manager.go@v1.37.1 UpdatePodStatus.
    """
    for pod, spec, status, report in statements(case):
        if spec.kind is ContainerKind.INIT and not spec.is_sidecar and goes_on(status):
            yield from _ready_init(spec, status, report)
        if not _has_readiness(spec) or spec.probe(ProbeKind.READINESS) is not None or not goes_on(status):
            continue
        runs = report.state.kind == "running"
        seen["statuses"] += runs
        seen["restarted"] += runs and report.restart_count > 0
        seen["down"] += not runs
        yield from _ready_without_running(spec, status)
        if runs and not report.ready:
            yield from _unready(case, pod, spec, status)
    seen.facts["running"] = seen["statuses"]


def _unready(case: Case, pod: PodHistory, spec: Container, status: StatusReport) -> Iterator[Finding]:
    """Not ready though it has started; behind a startup probe, for longer than the next status takes to say so."""
    startup, report = spec.probe(ProbeKind.STARTUP), status.containers[spec.name]
    said = f'a status says that "{spec.name}" is not ready {at_lines([status.line])}'
    if startup is None:
        if report.started:
            yield fail(f"{said}; it runs, has started and has no readiness probe.", status.line)
        return
    known = (each for each in pod.instances(spec.name) if each.container_id == report.container_id)
    answers = (each for instance in known for each in answers_of(instance, startup))
    had_ns = next((each.had_ns for each in answers if not each.failed), 0)
    newer = next((each.t_ns for each in pod.statuses if each.line > status.line), case.recording.end_ns)
    since_ns = max(status.t_ns, had_ns)
    if had_ns and newer - since_ns > may_lag_ns(case, since_ns, newer):
        stood = f"that stood for {seconds((newer - since_ns) / 1e9)} after its startup probe had succeeded"
        doubt = "The watch was lost meanwhile" if lost_watch(case, since_ns, newer) else None
        yield fail_unless(doubt, f"{said}; {stood}, and it has no readiness probe.", status.line)


def _has_readiness(spec: Container) -> bool:
    """Whether the pod is ready only while this container is. Init containers are ready once they are done."""
    return spec.kind is ContainerKind.REGULAR or spec.is_sidecar


def _ready_init(spec: Container, status: StatusReport, report: ContainerReport) -> Iterator[Finding]:
    """An init container is ready if and only if it has succeeded; one that waits for RestartAllContainers may still be."""
    succeeded = report.state.kind == "terminated" and report.state.exit_code == 0
    if report.ready is not succeeded and report.state.reason != RESET_REASON:
        said = f'a status says that "{spec.name}" is {"" if report.ready else "not "}ready {at_lines([status.line])}'
        yield fail(
            f"{said}; an init container is once it has succeeded{'' if succeeded else ', not before'}.", status.line
        )


def goes_on(status: StatusReport) -> bool:
    """Whether the pod of a status has neither ended nor is being ended."""
    return status.phase not in (SUCCEEDED, FAILED) and status.deletion_ns is None and not status.is_ending


def _ready_without_running(spec: Container, status: StatusReport) -> Iterator[Finding]:
    """That a status contradicts itself."""
    if spec.kind is ContainerKind.INIT and not spec.is_sidecar:
        return
    report = status.containers.get(spec.name)
    if report is not None and report.ready and report.state.kind != "running":
        said = f'a status says that "{spec.name}" is ready {at_lines([status.line])}'
        yield fail(f"{said}; by its state it is {report.state.kind}.", status.line)


class _ProbedLife(msgspec.Struct, frozen=True, kw_only=True):
    """An instance, and what its readiness probe was answered."""

    instance: Instance
    probe: Probe
    answers: tuple[tuple[ProbeAnswer, ...], ...]
    """One for each number of successes before that may go on."""
    successes_before: int
    """In a row, when the life before was over, at most."""
    made_room: Replacement | None
    """The RestartAllContainers that it followed."""


@checker(
    "ready-truth",
    Need("statuses", 1, "status"),
    Need("resets", 0, "status", "after a reset", is_shown=False),
    Need("later", 0, "ready instance", "after a success", is_shown=False),
    about=lambda scenario: any(each.probe(ProbeKind.READINESS) for each in scenario.pod.containers),
    watch="a status",
    once=True,
)
def check_ready_truth(case: Case, seen: Seen) -> Iterator[Finding]:
    """A container MUST be said to be ready if and only if its readiness probe succeeds in this life, and only while it runs.

    Counted are statuses of a running container with such a probe, those of them after a RestartAllContainers, and the lives after
    one whose probe succeeded of which a status says since when they are ready.
    """
    later: set[tuple[str, int]] = set()
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            probe = spec.probe(ProbeKind.READINESS)
            for status, newer, life in _reported(case, pod, spec, probe) if probe is not None else ():
                seen["statuses"] += 1
                seen["resets"] += life.made_room is not None
                if life.successes_before and _ready_since_ns(life.instance, status) is not None:
                    later.add((spec.name, life.instance.ordinal))
                release = case.in_force_at(status.t_ns).version.release
                if life.made_room is None or probes_go_on(spec, release, case.prediction.deviations):
                    yield from min(_wrong_readiness(case, pod, spec, life, status, newer), key=len)
            for status in pod.statuses:
                yield from _ready_without_running(spec, status)
    seen["later"] = len(later)


def _reported(
    case: Case, pod: PodHistory, spec: Container, probe: Probe
) -> Iterator[tuple[StatusReport, StatusReport | None, _ProbedLife]]:
    """Each status of a running instance, the next status, and the life of that instance."""
    by_id = {each.instance.container_id: each for each in _probed_lives(case, pod, spec, probe)}
    for status, newer in zip_longest(pod.statuses, pod.statuses[1:]):
        report = status.containers.get(spec.name)
        known = by_id.get(report.container_id) if report and report.container_id else None
        if report is not None and known is not None and report.state.kind == "running":
            yield status, newer, known


def _probed_lives(case: Case, pod: PodHistory, spec: Container, probe: Probe) -> Iterator[_ProbedLife]:
    replaced = replacements(case, pod, spec.name)
    go_on = successes_go_on(case.prediction.deviations)
    before, made_room = frozenset({0}), None
    for each in ran(pod, spec.name):
        answers = tuple(tuple(answers_of(each, probe, successes=one)) for one in sorted(before if go_on else {0}))
        yield _ProbedLife(
            instance=each, probe=probe, answers=answers, successes_before=max(before), made_room=made_room
        )
        before = frozenset(left for one in before for left in successes_left(each, probe, successes=one))
        made_room = replaced.get(each.ordinal)


def _wrong_readiness(
    case: Case,
    pod: PodHistory,
    spec: Container,
    life: _ProbedLife,
    status: StatusReport,
    newer: StatusReport | None,
) -> Iterator[list[Finding]]:
    """What is wrong by each of the numbers of successes before that may go on."""
    for answers in life.answers:
        yield list(_wrong_by(case, pod, spec, life, answers, status, newer))


def _wrong_by(
    case: Case,
    pod: PodHistory,
    spec: Container,
    life: _ProbedLife,
    answers: tuple[ProbeAnswer, ...],
    status: StatusReport,
    newer: StatusReport | None,
) -> Iterator[Finding]:
    instance, probe = life.instance, life.probe
    says = status.containers[spec.name].ready
    lost = instance.journal_started is None or is_journal_lost(case, pod)
    since_ns = _ready_since_ns(instance, status)
    said_ns = status.t_ns if since_ns is None else min(status.t_ns, since_ns + WITHIN_NS)
    if says and _comes_with_its_kubelet(case, pod, instance, answers, status.t_ns):
        return
    if says and not has_succeeded(answers, probe.success_threshold, said_ns):
        lines = (*instance.lines[:1], status.line)
        given = sum(each.had_ns <= said_ns for each in answers)
        times = "once" if probe.success_threshold == 1 else f"{probe.success_threshold} times in a row"
        sentence = (
            f'a status says that "{spec.name}" is ready {at_lines(lines)}; its readiness probe had not succeeded {times} '
            f"in {count(given, 'answer')}."
        )
        yield fail_unless("Its journal may lack answers" if lost else None, sentence, *lines)
    elif not lost:
        until_ns = newer.t_ns if newer else case.recording.end_ns
        if instance.exit_ns is not None:
            until_ns = min(until_ns, instance.exit_ns)
        since = _turned_by(answers, probe, ready=not says, until_ns=until_ns)
        if since is not None and until_ns - (begun_ns := max(since.had_ns, status.t_ns)) > settled_ns(
            case, begun_ns, until_ns
        ):
            yield _outdated(case, spec.name, since, status, until_ns, says=says)


def _comes_with_its_kubelet(
    case: Case, pod: PodHistory, instance: Instance, answers: tuple[ProbeAnswer, ...], t_ns: int
) -> bool:
    """Whether an instance counts as ready since its kubelet has started, which had not asked its readiness probe by then."""
    began_ns, begun_ns = met_ns(case, pod, t_ns), instance.begun_ns
    if begun_ns is None or begun_ns >= began_ns:
        return False
    release = case.in_force_at(t_ns).version.release
    asked_ns = min((each.had_ns for each in answers if each.had_ns > began_ns), default=t_ns)
    if t_ns - may_be_old_ns(case, t_ns) > asked_ns and lost_watch(case, asked_ns, t_ns) is None:
        return False
    return is_ready_with_its_kubelet((began_ns - begun_ns) / 1e9, release, case.prediction.deviations)


def _ready_since_ns(instance: Instance, status: StatusReport) -> int | None:
    """Since when the pod has been ready in this life, to the second below; None: it is not, or did not say."""
    since_ns, begun_ns = status.ready_since_ns, instance.begun_ns
    in_this_life = since_ns is not None and begun_ns is not None and since_ns >= begun_ns
    return since_ns if in_this_life and status.containers_ready else None


def _outdated(case: Case, name: str, since: ProbeAnswer, status: StatusReport, until_ns: int, *, says: bool) -> Finding:
    """A statement that stood for too long after an answer."""
    lines = (since.fact.line, status.line)
    was, answered = ("ready", "failed") if says else ("not ready", "succeeded")
    sentence = (
        f'"{name}" was said to be {was} until {seconds((until_ns - since.had_ns) / 1e9)} after its readiness probe '
        f"had {answered} {at_lines(lines)}."
    )
    lagging = until_ns - max(since.had_ns, status.t_ns) <= may_lag_ns(case, since.had_ns, until_ns)
    held_up = lagging or lost_watch(case, since.had_ns, until_ns) is not None
    doubt = "The host, the API server or the watch may have held a status up" if held_up else None
    return fail_unless(doubt, sentence, *lines)


def _turned_by(answers: tuple[ProbeAnswer, ...], probe: Probe, *, ready: bool, until_ns: int) -> ProbeAnswer | None:
    """The answer that made it ready, or not ready, until that time; None if it was not so then."""
    found, is_ready = None, False
    for each in answers:
        if each.had_ns > until_ns:
            break
        threshold = probe.failure_threshold if is_ready else probe.success_threshold
        now = is_ready if each.in_a_row < threshold else not each.failed
        if now is not is_ready:
            found, is_ready = each, now
    return found if is_ready is ready else None
