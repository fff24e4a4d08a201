"""Checkers of disturbances: what a scenario does to the kubelet, to its control plane and to what a container depends on.

Theory of operation. What was not carried out as planned proves nothing. A kubelet without a control plane restarts on, and kills
for nothing that it cannot know; a container runs again once what it depends on is back.
"""

from collections.abc import Collection, Iterator

from crashloop.checks.checker import Holds, Need, Seen, checker, statements_about
from crashloop.checks.delays import MIN_DELAYS, is_delayed, judged
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.checks.kills import without_grace
from crashloop.history.instances import Instance
from crashloop.history.recording import Done, PodHistory
from crashloop.history.statuses import StatusReport
from crashloop.model.lateness import latest_s
from crashloop.restarts.answers import AHEAD_NS, answers_of
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, is_journal_lost, unseen_exit, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran, was_killed
from crashloop.restarts.outages import (
    SLOW_API_NS,
    ControlPlaneOutage,
    KubeletOutage,
    control_plane_outages,
    kubelet_outages,
    may_be_old_ns,
)
from crashloop.restarts.restart import Restart, restarts
from crashloop.spec.intervention import NEED_OWN_CONTROL_PLANE, RESTART_THE_KUBELET, Intervention, InterventionKind
from crashloop.spec.pod import Container, ProbeKind
from crashloop.words import at_lines, seconds

LEAST_AWAY_S = 20.0
KNOWN_AFTER_NS = 3_000_000_000
"""What began so shortly before a change may have been made of what is new already."""
ENDED_WITHIN_S = 30.0
"""The kubelet hears of another image at once, looks at the pod once a second, and has its grace period to end a container."""


@checker(
    "kubelet-restarts",
    "each planned restart: an answer of the new process, or the last words of the one that has refused its configuration",
)
def check_kubelet_restarts(case: Case, seen: Seen) -> Iterator[Finding]:
    """The kubelet MUST be restarted as planned, and refuse the profiles that it is to refuse."""
    planned = tuple(_planned(case, RESTART_THE_KUBELET))
    seen.facts["refusals"] = [done.data.outcome for _, done in planned if done is not None and done.refused]
    for each, done in planned:
        how = "the restart of the kubelet" if each.profile is None else f"the restart with profile {each.profile}"
        if done is None or not (done.refused if each.refused else done.ok):
            yield _not_carried_out(how, done)
        elif not each.refused and not any(node.since_ns >= done.t_ns for node in case.recording.nodes):
            yield inconclusive(f"after {how} {at_lines([done.line])} no kubelet answered.", done.line)


@checker("outages-as-planned", "each planned stop, start, cut and connection")
def check_outages_as_planned(case: Case, _: Seen) -> Iterator[Finding]:
    """Components of the control plane MUST stop and start, and nodes be cut off and connected, as planned."""
    for each, done in _planned(case, NEED_OWN_CONTROL_PLANE):
        if done is None or not done.ok:
            yield _not_carried_out(" ".join((each.action, *filter(None, [each.arguments.get("component")]))), done)


@checker("takes-new-image", Need("changed_images", 1, "change", "of the image of a container that ran", is_shown=False))
def check_takes_new_image(case: Case, seen: Seen) -> Iterator[Finding]:
    """A container that runs MUST be ended once its image changes; whether it then starts again is for restart-decision."""
    changes = [done for _, done in _planned(case, {InterventionKind.CHANGE_IMAGE}) if done is not None and done.ok]
    for done in changes:
        name = str((done.data.arguments or {}).get("container"))
        ran_then = [
            each
            for each in ran(case.pod, name)
            if (each.begun_ns or 0) <= done.t_ns - KNOWN_AFTER_NS and (each.exit_ns is None or each.exit_ns > done.t_ns)
        ]
        seen["changed_images"] += len(ran_then[:1])
        for each in ran_then[:1]:
            yield from without_grace(
                case.scenario.pod.container(name), each, done.t_ns, "its image had changed", done.line
            )
            ended_ns = case.recording.end_ns if each.exit_ns is None else each.exit_ns
            late_s = (ended_ns - done.t_ns) / 1e9 - ENDED_WITHIN_S
            if late_s <= 0:
                continue
            lines = (done.line, *each.lines[:1])
            sentence = (
                f'"{name}" ran on for {seconds(late_s + ENDED_WITHIN_S)} after its image had changed {at_lines(lines)}; '
                f"{seconds(ENDED_WITHIN_S)} are enough to end it."
            )
            unseen = unseen_exit(case, case.pod, done.t_ns, ended_ns)
            doubt = unseen and f"Its exit could have gone unseen: {unseen}"
            yield fail_unless(doubt or excuse(case, (done.t_ns, ended_ns), 0.0, late_s), sentence, *lines)


def _planned(case: Case, actions: Collection[InterventionKind]) -> Iterator[tuple[Intervention, Done | None]]:
    """The planned interventions of these kinds, each with how it was carried out; None if it was not."""
    done = {each.data.index: each for each in case.recording.interventions if each.data.index is not None}
    for index, each in enumerate(case.scenario.interventions):
        if each.action in actions:
            yield each, done.get(index)


def _not_carried_out(what: str, done: Done | None) -> Finding:
    if done is None:
        return inconclusive(f"{what} was not carried out.")
    return inconclusive(f"{what} has failed {at_lines([done.line])}: {done.data.outcome}", done.line)


RUN_BEFORE_NS = 12_000_000_000
"""10 s (pkg/kubelet/prober/prober_manager.go@v1.37.1 kubeletRestartGracePeriod), a start in whole seconds, a second of clocks."""


@checker(
    "kept-over-restart",
    Need("kept", 1, "status", "of a probed container after a restart of its kubelet"),
    watch="a status",
    once=True,
    about=lambda scenario: (
        any(each.action in RESTART_THE_KUBELET for each in scenario.interventions)
        and any(each.probes for each in scenario.pod.containers)  # what has none is for `ready-unprobed`
    ),
)
def check_kept_over_restart(case: Case, seen: Seen) -> Iterator[Finding]:
    """What a container that runs on over a restart of its kubelet is stated to be MUST stay until a probe of it says otherwise.

    Of a ready pod each container stays ready and started; of another one what is not ready stays so. Static pods are left out:
    their kubelet has no status of them when it starts. Nothing is judged of a pod that is being ended.
    """
    for outage in kubelet_outages(case):
        for pod in case.pods:
            before = [each for each in pod.statuses if each.t_ns < outage.from_ns]
            if not pod.mirrors and before:
                for spec in case.scenario.pod.containers:
                    yield from _not_kept(case, pod, spec, before[-1], outage, seen)


def _not_kept(
    case: Case, pod: PodHistory, spec: Container, before: StatusReport, outage: KubeletOutage, seen: Seen
) -> Iterator[Finding]:
    """Statuses after a restart of the kubelet that contradict what the last one before it has said of a running instance."""
    was = before.containers.get(spec.name)
    instance = next((each for each in ran(pod, spec.name) if was and each.container_id == was.container_id), None)
    if was is None or instance is None or was.ready is not before.ready or was.state.kind != "running":
        return
    if instance.begun_ns is None or instance.begun_ns > outage.to_ns - RUN_BEFORE_NS:
        return
    readiness = next((each for each in spec.probes if each.kind is ProbeKind.READINESS), None)
    if readiness is None and not was.ready:
        return
    answers = () if readiness is None else tuple(answers_of(instance, readiness))
    for _, _, status, report in statements_about(pod, spec):
        if status.t_ns <= outage.to_ns or report.container_id != was.container_id or report.state.kind != "running":
            continue
        if status.deletion_ns is not None or status.is_ending:
            return
        since_ns = before.t_ns - max(SLOW_API_NS, may_be_old_ns(case, before.t_ns))
        until_ns = status.t_ns + AHEAD_NS
        if any(each.failed is was.ready and since_ns <= each.had_ns <= until_ns for each in answers):
            return
        seen["kept"] += 1
        if report.ready is not was.ready or (was.ready and not report.started):
            said = "is ready" if not was.ready else "is not ready" if report.started else "is not started"
            why = (
                "was ready before, and no probe of it had failed"
                if was.ready
                else "was not, and no probe had succeeded"
            )
            lines = (before.line, outage.line, status.line)
            lost = instance.journal_started is None or is_journal_lost(case, pod)
            held = case.recording.host.kubelet_held_s(outage.to_ns, status.t_ns) >= _least_timeout_s(spec)
            late = was.ready and held
            doubt = (
                "Its journal may lack answers" if lost else "Its probe may have had no answer in time" if late else None
            )
            sentence = f'a status says that "{spec.name}" {said} after a restart of the kubelet {at_lines(lines)}'
            yield fail_unless(doubt, f"{sentence}; it ran on, {why}.", *lines)
            return


def _least_timeout_s(spec: Container) -> float:
    """After how long without an answer a probe of it may fail."""
    return min((float(each.timeout_s) for each in spec.probes), default=float("inf"))


@checker("delays-while-away", Need("delays", MIN_DELAYS, "delay", "without the control plane", is_shown=False))
def check_delays_while_away(case: Case, seen: Seen) -> Iterator[Finding]:
    """Delays that begin while the control plane is away MUST keep both bounds, and each restart due MUST come.

    Counted are those that end before it is back.
    """
    found = tuple(control_plane_outages(case))
    begun = [each for each in restarts(case) if each.exit and any(one.has(each.exit.utc_ns) for one in found)]

    def ended(each: Restart) -> bool:
        within = each.window_ns is not None and any(one.has(each.window_ns[1]) for one in found)
        return within and is_delayed(each)

    seen.facts |= _lengths_s(found)
    yield from judged(case, seen, begun, counts=ended)


@checker("killed-once-connected", "min_away_s (20) seconds from a deletion to the connection, and the kill after that")
def check_killed_once_connected(case: Case, seen: Seen) -> Iterator[Finding]:
    """A container MUST NOT be killed for a deletion that was requested while its node was cut off, before that ends."""
    found = tuple(control_plane_outages(case))
    done = case.recording.interventions
    requested_ns = [each.t_ns for each in done if each.ok and each.data.action == InterventionKind.DELETE_POD]
    during = [(cut, t_ns) for cut in found for t_ns in requested_ns if cut.has(t_ns)]
    needed_s = case.number("min_away_s", LEAST_AWAY_S)
    findings = [finding for cut, from_ns in during for finding in _killed_unasked(case, cut, from_ns)]
    longest_s = max(((cut.to_ns - from_ns) / 1e9 for cut, from_ns in during), default=0.0)
    seen.facts |= _lengths_s(found)
    yield from findings
    if not findings and longest_s < needed_s:
        sentence = f"the node was cut off for {seconds(longest_s)} after a deletion, {seconds(needed_s)} needed"
        yield inconclusive(f"{sentence}: {why_it_ended(case)}.")


def _lengths_s(found: tuple[ControlPlaneOutage, ...]) -> dict[str, list[float]]:
    return {"without_control_plane_s": [round(each.length_s, 3) for each in found]}


def _killed_unasked(case: Case, cut: ControlPlaneOutage, from_ns: int) -> Iterator[Finding]:
    """A kill of each container from the deletion to the connection, or none after it."""
    for spec in case.scenario.pod.containers:
        instances = ran(case.pod, spec.name)
        kills = [each.exit for n, each in enumerate(instances) if each.exit and was_killed(case, spec.name, n, each)]
        early = next((each for each in kills if from_ns <= (each.utc_ns or 0) <= cut.to_ns), None)
        blind = blind_spot(case, case.pod, instances, from_ns, cut.to_ns)
        if early is not None:
            after_s = ((early.utc_ns or 0) - from_ns) / 1e9
            sentence = f'"{spec.name}" was killed {seconds(after_s)} after the deletion {at_lines([early.line])}'
            yield fail(f"{sentence}; its node was cut off and could not know of it.", cut.line, early.line)
        elif blind is not None:
            yield inconclusive(f'a kill of "{spec.name}" could have gone unseen: {blind}.', cut.line)
        elif not any((each.utc_ns or 0) > cut.to_ns for each in kills):
            sentence = f'no kill of "{spec.name}" was seen after its node was connected again'
            yield inconclusive(f"{sentence}: {why_it_ended(case)}.", cut.line)


@checker("recovery", "the start of a life after what the container depends on is back", holds=Holds.DECLARED)
def check_recovery(case: Case, seen: Seen) -> Iterator[Finding]:
    """A container MUST run within the node's maximum delay, and the kubelet's retry, after what it depends on is back."""
    seen.facts["recovery_s"] = {}
    for spec in case.scenario.pod.containers:
        if spec.program.fails_until_s is not None:
            yield from _not_recovered(case, spec, spec.program.fails_until_s, seen.facts["recovery_s"])


def _not_recovered(
    case: Case, spec: Container, fails_until_s: float, recovery_s: dict[str, float]
) -> Iterator[Finding]:
    """A recovery that was late or not seen; how long it took is added to `recovery_s`."""
    instances = ran(case.pod, spec.name)
    first_ns = _began_ns(instances[0]) if instances else None
    if first_ns is None:
        yield inconclusive(f'"{spec.name}" was never seen to start: {why_it_ended(case)}.')
        return
    back_ns = first_ns + round(fails_until_s * 1e9)
    recovered = next((each for each in instances if (_began_ns(each) or 0) >= back_ns), None)
    took_s = ((case.recording.end_ns if recovered is None else (recovered.begun_ns or 0)) - back_ns) / 1e9
    failed_s = max((life.run_s for life in spec.program.lives), default=0.0)
    kubelet = case.in_force_at(back_ns)
    maximum_s = kubelet.curve.maximum_s
    bound_s = failed_s + latest_s(maximum_s, kubelet.version, mode=case.scenario.mode)
    lines = (recovered or instances[-1]).lines[:1]
    sentence = (
        f'"{spec.name}" {"was started" if recovered else "was not started"} within '
        f"{seconds(max(took_s, 0.0), unlike=bound_s)} of the return of what it depends on "
        f"{at_lines(lines)}; {seconds(bound_s)} is the longest."
    )
    if recovered or took_s > bound_s:
        recovery_s[spec.name] = round(took_s, 3)
    if took_s > bound_s:
        doubt = excuse(case, (back_ns, back_ns + round(took_s * 1e9)), maximum_s, took_s - bound_s)
        yield fail_unless(doubt, sentence, *lines)
    elif not recovered:
        yield inconclusive(f"{sentence[:-1]}: {why_it_ended(case)}.", *lines)


def _began_ns(instance: Instance) -> int | None:
    """When a life began by the clock that its program reads."""
    fact = instance.journal_started or instance.start
    return None if fact is None else fact.utc_ns
