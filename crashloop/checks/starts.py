"""Checkers of starts that nothing holds back: the first comes in its turn and in time, and one instance runs at a time.

Theory of operation. Init containers start one after the other: each waits for the success of the one before it, or for a
sidecar that runs and whose startup probe, if it has one, has succeeded. Regular containers wait for all of them. Left open is a
start before which RestartAllContainers made the pod begin again, and that of a container whose object was missing.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from crashloop.checks.checker import Holds, Need, Seen, checker, lives
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.checks.started import comes_with_its_kubelet
from crashloop.history.event import Channel
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact, span
from crashloop.model.prediction import Admission
from crashloop.model.restart import Decision, gets_no_second_sandbox
from crashloop.restarts.answers import first_success
from crashloop.restarts.case import Case
from crashloop.restarts.dependencies import missing_dependencies
from crashloop.restarts.evidence import blind_spot, is_journal_lost, unseen_exit, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import InSandbox, by_sandbox, exited_by_itself, first_sign_ns, leaves_ns, ran
from crashloop.restarts.outages import held_by_api_ns
from crashloop.restarts.owed import owed_until_ns
from crashloop.restarts.restart import restarts_of
from crashloop.restarts.restart_all import resets_of
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container, ContainerKind, ProbeKind
from crashloop.spec.program import KILLED
from crashloop.words import at_lines, seconds

STARTED_WITHIN_S = 30.0
"""No text names a number. A kubelet starts a container at the sync that what it waited for causes; where that sync is lost, it
looks again 10 s to 16 s later, and this leaves room for a second look (pkg/kubelet/pod_workers.go@v1.34.4 completeWork)."""


class Owed(msgspec.Struct, frozen=True):
    """A container that no other holds back from a fact on."""

    container: Container
    since: Fact


@checker("first-start", Need("starts", 1, "start", "that nothing held back", is_shown=False))
def check_first_start(case: Case, seen: Seen) -> Iterator[Finding]:
    """Each container MUST be started once every init container before it has succeeded, and every sidecar has started.

    It MUST NOT be started before the startup probe of a sidecar before it has succeeded. In another sandbox a pod begins anew.
    """
    took: dict[str, float] = {}
    for pod, there in ((each, there) for each in case.pods for there in by_sandbox(each)):
        yield from _before_startup_probe(case, pod, there)
        for owed in (
            each for each in owed_starts(case, pod, there) if not any(missing_dependencies(case, each.container))
        ):
            began = _began(there.instances(owed.container.name))
            yield from _too_late(case, pod, owed, began, there.until_ns)
            if began is not None and began.utc_ns is not None and owed.since.utc_ns is not None:
                seen["starts"] += 1
                took[owed.container.name] = round((began.utc_ns - owed.since.utc_ns) / 1e9, 3)
    seen.facts["first_start_s"] = took


def owed_starts(case: Case, pod: PodHistory, there: InSandbox) -> Iterator[Owed]:
    """Every init and regular container of a pod that is owed a start in a sandbox, in the order of the starts."""
    mirrored = next((each.fact for each in pod.mirrors if each.phase == "created"), None)
    since = (there.since or pod.created or mirrored) if case.prediction.admission is Admission.RUNS else None
    for init in case.scenario.pod.of_kind(ContainerKind.INIT):
        if since is None:
            return
        yield Owed(init, since)
        since = _lets_go(init, there.instances(init.name))
        if since is not None and _is_left(case, pod, there, since):
            return
    if since is not None:
        regular = case.scenario.pod.of_kind(ContainerKind.REGULAR)
        yield from (Owed(each, since) for each in regular if not _had_ended(case, pod, there, each))


def _is_left(case: Case, pod: PodHistory, there: InSandbox, since: Fact) -> bool:
    """Whether the sandbox was lost before then, and the pod gets no other: what an init container lets go cannot start."""
    from_ns = first_sign_ns(pod) if there.since is None else there.since.utc_ns or 0
    lost = any(from_ns <= each <= (since.utc_ns or 0) for each in case.sandbox_kills_ns)
    return lost and gets_no_second_sandbox(case.scenario.pod, case.prediction.deviations)


def _had_ended(case: Case, pod: PodHistory, there: InSandbox, container: Container) -> bool:
    """Whether it had ended before a sandbox was lost, for good or by itself, or its end was why: other rules are about that."""
    if there.since is None:
        return False
    before = [each for each in ran(pod, container.name) if (each.begun_ns or 0) < (there.since.utc_ns or 0)]
    if not before:
        return False
    stops = case.decided(container.name, before[-1]).decision is Decision.STOP
    took_it = before[-1].exit_ns in case.sandbox_kills_ns
    return stops or took_it or exited_by_itself(case, container.name, len(before) - 1, before[-1])


def _lets_go(init: Container, instances: tuple[Instance, ...]) -> Fact | None:
    """From when an init container no longer holds the next one back; None if that was not seen."""
    if not init.is_sidecar:
        return next((each.exit for each in instances if each.exit_code == 0), None)
    lasting, probe = [each for each in instances if _lasts(each)], init.probe(ProbeKind.STARTUP)
    return next((each.start for each in lasting), None) if probe is None else first_success(lasting, probe)


def comes_before(began: Fact, awaited: Fact | None) -> bool:
    """Whether a start surely came before what it had to wait for, or that never came: its stamp is rounded down."""
    return awaited is None or (began.utc_ns or 0) + began.resolution_ns <= (awaited.utc_ns or 0)


def _before_startup_probe(case: Case, pod: PodHistory, there: InSandbox) -> Iterator[Finding]:
    """Containers that began before the startup probe of a sidecar before them had succeeded."""
    inits, regulars = (case.scenario.pod.of_kind(kind) for kind in (ContainerKind.INIT, ContainerKind.REGULAR))
    for index, init in enumerate(inits):
        probe = init.probe(ProbeKind.STARTUP) if init.is_sidecar else None
        if probe is None:
            continue
        instances = there.instances(init.name)
        success = first_success(instances, probe)
        is_lost = is_journal_lost(case, pod) or any(each.journal_started is None for each in instances)
        for held in (*inits[index + 1 :], *regulars):
            began = _began(there.instances(held.name))
            if began is None or began.utc_ns is None:
                continue
            began_ns = began.utc_ns
            waited_for = [each for each in instances if each.exit_ns is None or each.exit_ns > began_ns]
            if any(comes_with_its_kubelet(case, pod, each, probe, began_ns) for each in waited_for):
                continue
            if comes_before(began, success):
                lines = (began.line, *((success.line,) if success else ()))
                early = f'"{held.name}" was started before the startup probe of "{init.name}" had succeeded'
                doubt = "Its journal may lack answers" if is_lost else None
                yield fail_unless(doubt, f"{early} {at_lines(lines)}.", *lines)


def _lasts(sidecar: Instance) -> bool:
    """Whether an instance ran for as long as a start may take: one that exits sooner holds back what stands behind it."""
    lasted = span(sidecar.start, sidecar.exit)
    is_long = lasted is not None and lasted.seconds > STARTED_WITHIN_S
    return sidecar.start is not None and (sidecar.exit is None or is_long)


def _too_late(case: Case, pod: PodHistory, owed: Owed, began: Fact | None, until_ns: int | None) -> Iterator[Finding]:
    """A start after the longest wait, or none until then; what RestartAllContainers interrupts is left open."""
    since_ns, end_ns = owed.since.utc_ns, case.recording.end_ns
    ends_ns = [end_ns, owed_until_ns(case, pod) or end_ns, until_ns or end_ns]
    until_ns = min(ends_ns) if began is None else began.utc_ns
    if since_ns is None or until_ns is None or (late_s := (until_ns - since_ns) / 1e9 - STARTED_WITHIN_S) <= 0:
        return
    if any(since_ns <= each.t_ns <= until_ns for each in resets_of(case, pod)):
        return
    lines = (owed.since.line, *((began.line,) if began else ()))
    waited = seconds(late_s + STARTED_WITHIN_S)
    came = f"was started only {waited} after" if began else f"was not started within {waited} of"
    sentence = (
        f'"{owed.container.name}" {came} what it waited for {at_lines(lines)}; '
        f"{seconds(STARTED_WITHIN_S)} is the longest."
    )
    disturbed = next((each for each in case.recording.interventions if since_ns <= each.t_ns <= until_ns), None)
    if disturbed is not None:
        doubt: str | None = f"The scenario intervened meanwhile (history line {disturbed.line})"
    elif (
        began is None
        and not _surely_none(case, pod, since_ns)
        and (blind := blind_spot(case, pod, (), since_ns, until_ns))
    ):
        doubt = f"A start could have gone unseen: {blind}"
    else:
        # The kubelet's own share is far below STARTED_WITHIN_S: a stall at any time of the wait may have made it too long.
        doubt = excuse(case, (since_ns, until_ns), 0.0, late_s)
    yield fail_unless(doubt, sentence, *lines)


def _surely_none(case: Case, pod: PodHistory, since_ns: int) -> bool:
    """Whether nothing of the pod ran, though its node's runtime was followed: control containers come by the same channel."""
    is_named = any(report.container_id for status in pod.statuses for report in status.containers.values())
    is_seen = is_named or Channel.RUNTIME in pod.channels or Channel.JOURNAL in pod.channels
    lost = any(case.recording.gaps_of(Channel.RUNTIME, since_ns, case.recording.end_ns))
    return (
        not is_seen
        and not lost
        and case.recording.host.held(since_ns, case.recording.end_ns).slowest_control_s is not None
    )


@checker("start-order", "the first start of each container")
def check_start_order(case: Case, seen: Seen) -> Iterator[Finding]:
    """Init containers MUST be started one after the other in their order, and then the regular ones in theirs.

    An init container is done when it has exited with 0, a sidecar and a regular container when it has started. A container whose
    ConfigMap or Secret was missing starts when it can, so its place is left open, as is that of one whose delay goes on in
    another sandbox. In another sandbox a pod begins anew.
    """
    pod = case.scenario.pod
    in_turn = [
        each
        for kind in (ContainerKind.INIT, ContainerKind.REGULAR)
        for each in pod.of_kind(kind)
        if not any(missing_dependencies(case, each))
    ]
    orders = [
        [(each, there.ran(each.name)) for each in in_turn if there.since is None or not _waits(case, there, each)]
        for there in by_sandbox(case.pod)
    ]
    begun = (
        (began.utc_ns or 0, each.name) for order in orders for each, instances in order if (began := _began(instances))
    )
    seen.facts["order"] = [name for _, name in sorted(begun)]
    yield from (_never_started(case, each) for each, instances in orders[0] if not instances)
    for order in orders:
        yield from _out_of_order(order)


def _waits(case: Case, there: InSandbox, spec: Container) -> bool:
    """Whether a regular container that ran before had a delay to wait for in another sandbox, or was never due there."""
    if spec.kind is not ContainerKind.REGULAR:
        return False
    first = next(iter(there.ran(spec.name)), None)
    delays_s = (
        window.delay_s
        for each in restarts_of(case, case.pod, spec.name)
        for window in each.due.windows
        if each.next is first
    )
    return first is None or any(delays_s)


def _out_of_order(order: Sequence[tuple[Container, tuple[Instance, ...]]]) -> Iterator[Finding]:
    """Containers that began in a sandbox before those that come before them let them."""
    for (before, earlier), (after, later) in pairwise(order):
        done, began = _let_next_start(before, earlier), _began(later)
        if began is None or began.utc_ns is None:
            continue
        if comes_before(began, done):
            lines = (began.line, *((done.line,) if done else ()))
            what = "had started" if _needs_start(before) else "was done"
            yield fail(f'"{after.name}" was created {at_lines(lines)} before "{before.name}" {what}.', *lines)


def _never_started(case: Case, spec: Container) -> Finding:
    return inconclusive(f'"{spec.name}" was never seen to start: {why_it_ended(case)}.')


def _needs_start(container: Container) -> bool:
    return container.kind is ContainerKind.REGULAR or container.is_sidecar


def _began(instances: Sequence[Instance]) -> Fact | None:
    return instances[0].begun if instances else None


def _let_next_start(container: Container, instances: Sequence[Instance]) -> Fact | None:
    """When what follows may be started. A start is reported a moment after the process began, so its creation counts."""
    if _needs_start(container):
        return _began(instances)
    return next((each.exit for each in instances if each.exit_code == 0), None)


@checker("one-at-a-time", "one start of each container", holds=Holds.ANY_PROGRAM)
def check_one_at_a_time(case: Case, seen: Seen) -> Iterator[Finding]:
    """An instance MUST NOT start before the one before it has exited."""
    containers = case.scenario.pod.containers
    seen.facts["starts"] = {spec.name: len(ran(case.pod, spec.name)) for spec in containers}
    for pod in case.pods:
        for spec in containers:
            instances = ran(pod, spec.name)
            yield from _overlapping(case, pod, spec.name, instances)
            if not instances:
                yield _never_started(case, spec)


@checker("starts-once", "one start of each container", holds=Holds.ANY_PROGRAM)
def check_starts_once(case: Case, seen: Seen) -> Iterator[Finding]:
    """An instance MUST NOT start before the one before it has exited, nor a regular container before init is done.

    A container whose program never exits MUST start exactly once.
    """
    yield from check_one_at_a_time.find(case, seen)
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            instances = ran(pod, spec.name)
            if instances[1:] and spec.program.known and not spec.program.exits and not _is_killed(case, spec):
                lines = instances[1].lines[:1]
                yield fail(f'"{spec.name}" was started again {at_lines(lines)}; it was to start once.', *lines)
        for there in by_sandbox(pod):
            yield from _before_init(case, there)


def _is_killed(case: Case, spec: Container) -> bool:
    """Whether something of the scenario ends a container whose program holds."""
    ends = {InterventionKind.KILL_SANDBOX, InterventionKind.REMOVE_CONTAINER}
    is_ended = any(each.action in ends for each in case.scenario.interventions)
    return bool(spec.killing_probes) or case.restarts_all or is_ended or case.is_changed(spec.name)


def _overlapping(case: Case, pod: PodHistory, container: str, instances: Sequence[Instance]) -> Iterator[Finding]:
    """Instances that began before the exit of the one before them; without the runtime's start, its exit may be missing too.

    So it may where the runtime was not seen from the one to the other: a program that is killed stamps no exit.
    """
    for before, after in pairwise(instances):
        start, ended = after.start, before.exit
        if start is None:
            continue
        if ended is None:
            lines = (*before.lines[:1], start.line)
            sentence = f'"{container}" was started {at_lines(lines)} while the instance before it had not exited.'
            unseen = unseen_exit(case, pod, before.begun_ns or 0, start.utc_ns or case.recording.end_ns)
            doubt = f"Its exit could have gone unseen: {unseen}" if unseen else None
            yield fail_unless(doubt, sentence, *lines) if after.started else inconclusive(sentence, *lines)
        elif start.utc_ns is not None and ended.utc_ns is not None and start.utc_ns < ended.utc_ns:
            lines = (start.line, ended.line)
            yield fail(f'"{container}" was started {at_lines(lines)} before the instance before it had exited.', *lines)


def _before_init(case: Case, there: InSandbox) -> Iterator[Finding]:
    """Regular containers that started in a sandbox before every regular init container had exited 0 there."""
    inits = [each for each in case.scenario.pod.of_kind(ContainerKind.INIT) if not each.is_sidecar]
    done = [next((each.exit for each in there.ran(init.name) if each.exit_code == 0), None) for init in inits]
    for spec in case.scenario.pod.of_kind(ContainerKind.REGULAR):
        start = next((each.start for each in there.ran(spec.name)[:1]), None)
        if start is None or start.utc_ns is None:
            continue
        awaited = [each for each in done if comes_before(start, each)]
        if awaited:
            lines = (start.line, *(each.line for each in awaited[-1:] if each))
            yield fail(f'"{spec.name}" was started {at_lines(lines)} before the init containers were done.', *lines)


ENDS_WITHIN_S = 4.0
"""From the request to delete a pod to the last start of a sync that had begun before the kubelet learned of it."""


@checker("no-start-at-end", Need("exits", 1, "exit", "of what ended by itself while its pod did"), holds=Holds.DECLARED)
def check_no_start_at_end(case: Case, seen: Seen) -> Iterator[Finding]:
    """Nothing of a pod MUST start once its deletion has begun, whatever ends meanwhile."""
    for life in lives(case):
        since_ns, instance = leaves_ns(case, life.pod), life.instance
        if since_ns is None:
            continue
        by_itself = instance.exit_code not in (None, KILLED, life.spec.exit_code_on_term)
        seen["exits"] += by_itself and (instance.exit_ns or 0) > since_ns
        late_s = ((instance.begun_ns or 0) - since_ns) / 1e9
        if late_s > ENDS_WITHIN_S:
            started = f"{life.name} was started {seconds(late_s)} after its pod began to end"
            doubt = _learned_late(case, instance, since_ns, late_s - ENDS_WITHIN_S)
            yield fail_unless(doubt, f"{started} {at_lines(instance.lines[:1])}; nothing was to.", *instance.lines[:1])


def _learned_late(case: Case, instance: Instance, since_ns: int, excess_s: float) -> str | None:
    """Why a sync may have begun so late before the kubelet learned of the end, by its watch, and gone on as long; None: no why.

    What the runtime took before it said that it had created the instance is as long as what it took to start it.
    """
    window_ns, took = (since_ns, instance.begun_ns or 0), span(instance.created, instance.started)
    excess_s -= took.seconds if took is not None else 0.0
    heard_s = held_by_api_ns(case, *window_ns, unmeasured_ns=0) / 1e9
    if excess_s <= 0:
        return "The runtime was starting it as long"
    if excess_s <= heard_s:
        return f"The API server or the watch may have held that up for {seconds(heard_s)}"
    return excuse(case, window_ns, 0.0, excess_s - heard_s, own_way=True)
