"""Checkers of starts that cannot come yet: none comes while something is missing, one comes soon after, and few looks meanwhile.

Theory of operation. Nothing starts while a node has no kubelet. The kubelet makes no container of a pod before its node has a
pod network and all volumes of the pod are mounted, so that wait is no start that failed: the delays of the container begin with
its first exit (pkg/kubelet/kubelet.go@v1.37.1 SyncPod: networkErrors, WaitForAttachAndMount). A start that failed for a missing
object is due from when the object is there, and every init container before it has let it go (`starts`); what
RestartAllContainers puts off meanwhile is left open.

Each sync that holds a start back, or fails to make one, is a line of the kubelet's log. The next comes by the kubelet's timer:
when the delay is over, up to 1.34 and after a start that failed 10 s to 16 s later (pkg/kubelet/pod_workers.go@v1.37.1
completeWork). Events of the pod make it look as well: its sandbox and an exit.
"""

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise, product

import msgspec

from crashloop.checks.checker import Need, Seen, checker
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.checks.starts import owed_starts
from crashloop.history.recording import Done, PodHistory
from crashloop.history.stamps import Fact
from crashloop.model.lateness import USUAL_START_S
from crashloop.model.lives import retry_s
from crashloop.restarts.case import Case
from crashloop.restarts.dependencies import ObjectState, missing_dependencies
from crashloop.restarts.evidence import blind_spot, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import by_sandbox, leaves_ns, ran
from crashloop.restarts.outages import KubeletOutage, kubelet_outages
from crashloop.restarts.restart_all import resets_of
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.scenario import Mode, PodScenario
from crashloop.words import at_lines, seconds

LEAST_DOWN_S = 10.0


@checker(
    "no-start-while",
    "min_down_s (10) seconds without a kubelet, and a container that had exited by their end and starts after it",
)
def check_no_start_while(case: Case, seen: Seen) -> Iterator[Finding]:
    """No container MUST start while its node has no kubelet."""
    found = tuple(kubelet_outages(case))
    seen.facts["without_kubelet_s"] = [round(each.length_s, 3) for each in found]
    findings = [finding for absence in found for finding in _while_without_kubelet(case, absence)]
    yield from findings
    needed_s = case.number("min_down_s", LEAST_DOWN_S)
    longest_s = max((each.length_s for each in found), default=0.0)
    if not findings and longest_s < needed_s:
        sentence = f"{seconds(longest_s)} without a kubelet seen, {seconds(needed_s)} needed"
        yield inconclusive(f"{sentence}: {why_it_ended(case)}.")


def _while_without_kubelet(case: Case, absence: KubeletOutage) -> Iterator[Finding]:
    waited, returned = [], False
    for spec in case.scenario.pod.containers:
        instances = ran(case.pod, spec.name)
        for each in instances:
            at = each.begun
            if at is not None and absence.from_ns < (at.utc_ns or 0) < absence.to_ns:
                yield _start_without_kubelet(case, absence, spec.name, at)
        before = [each for each in instances if each.start and (each.start_ns or 0) <= absence.from_ns]
        exited = before[-1].exit if before else None
        if exited is None or exited.utc_ns is None or exited.utc_ns >= absence.to_ns:
            continue
        waited.append(spec.name)
        returned = returned or instances[-1] is not before[-1]
        blind = blind_spot(case, case.pod, instances, absence.from_ns, absence.to_ns)
        if blind is not None:
            yield inconclusive(f'a start of "{spec.name}" could have gone unseen: {blind}.', absence.line, exited.line)
    if not waited:
        yield inconclusive("no container had exited while the node had no kubelet.", absence.line)
    elif not returned:
        names = " and ".join(f'"{name}"' for name in waited)
        sentence = f"no start of {names} was seen after the kubelet had come back: {why_it_ended(case)}."
        yield inconclusive(sentence, absence.line)


def _start_without_kubelet(case: Case, absence: KubeletOutage, container: str, at: Fact) -> Finding:
    """A start in that time; one that the kubelet had requested before is the runtime's, as late as the host held it up."""
    lines, to_ns = (absence.line, at.line), at.utc_ns or absence.to_ns
    after_s = (to_ns - absence.from_ns) / 1e9
    doubt = excuse(case, (absence.from_ns, to_ns), 0.0, after_s - USUAL_START_S)
    return fail_unless(doubt, f'"{container}" was started {at_lines(lines)} while its node had no kubelet.', *lines)


WAITED_S = 5.0

_Came = tuple[int, int] | None
"""When that came which a container waited for: UTC nanoseconds, and the history's line. None: it was never seen to come."""


@checker("volume-awaited", Need("waits", 1, "wait", "of 5 s for a volume", is_shown=False))
def check_volume_awaited(case: Case, seen: Seen) -> Iterator[Finding]:
    """A container MUST NOT start before the objects are there that are mounted in it."""
    mounting = ((each, _object_came(case, each)) for each in case.scenario.pod.containers if each.folders)
    yield from _first_after(case, seen, mounting, "the object was there that is mounted in it")


@checker("network-awaited", Need("waits", 1, "wait", "of 5 s for the network", is_shown=False))
def check_network_awaited(case: Case, seen: Seen) -> Iterator[Finding]:
    """A container MUST NOT start before its node has a pod network."""
    came = _network_came(case)
    waiting = ((each, came) for each in case.scenario.pod.containers)
    yield from _first_after(case, seen, waiting, "its node had a pod network")


def _first_after(case: Case, seen: Seen, waiting: Iterable[tuple[Container, _Came]], before: str) -> Iterator[Finding]:
    """First starts before that came which they waited for; waits count from the pod's creation."""
    waited: dict[str, float] = {}
    for spec, came in waiting:
        first = next(iter(ran(case.pod, spec.name)), None)
        if first is None or first.begun_ns is None or came is None or case.pod.created is None:
            yield inconclusive(f'no start of "{spec.name}" was seen: {why_it_ended(case)}.')
        elif first.begun_ns < came[0]:
            lines = (*first.lines[:1], came[1])
            yield fail(f'"{spec.name}" was started {at_lines(lines)} before {before}.', *lines)
        else:
            waited[spec.name] = round((came[0] - (case.pod.created.utc_ns or came[0])) / 1e9, 3)
            seen["waits"] += waited[spec.name] >= WAITED_S
    seen.facts["waited_s"] = waited


def _object_came(case: Case, spec: Container) -> _Came:
    came = next((back for gone, back in missing_dependencies(case, spec) if gone.line is None), None)
    return None if came is None else (came.from_ns, came.line or 0)


def _network_came(case: Case) -> _Came:
    """When the network was given back that had been taken before the pod was created."""
    taken, given = (_first_done(case, each) for each in (InterventionKind.TAKE_NETWORK, InterventionKind.GIVE_NETWORK))
    created_ns = case.pod.created.utc_ns if case.pod.created else None
    if taken is None or given is None or created_ns is None or (taken.data.ended_ns or taken.t_ns) > created_ns:
        return None
    return given.t_ns, given.line


def _first_done(case: Case, action: InterventionKind) -> Done | None:
    return next((each for each in case.recording.interventions if each.ok and each.data.action == action), None)


@checker("retried-start", Need("waits", 1, "wait", "for an object", is_shown=False))
def check_retried_start(case: Case, seen: Seen) -> Iterator[Finding]:
    """A container that has never run MUST be started within the kubelet's retry once the objects that it needs are there."""
    waits: dict[str, float] = {}
    for spec in case.scenario.pod.containers:
        for _, back in missing_dependencies(case, spec):
            free = None if back is None else _free_to_start(case, spec, back)
            if back is None:
                yield inconclusive(f'what "{spec.name}" needs was never created: {why_it_ended(case)}.')
            elif free is None:
                unseen = f'the init containers before "{spec.name}" were not seen to let it start'
                yield inconclusive(f"{unseen}: {why_it_ended(case)}.")
            else:
                seen["waits"] += 1
                first = next((each.begun for each in ran(case.pod, spec.name)), None)
                ends_ns = _ends_ns(case, free, first)
                waits[spec.name] = round((ends_ns - free.t_ns) / 1e9, 3)
                yield from _retried(case, spec, free, first, ends_ns)
    seen.facts["started_after_s"] = waits


class _FreeToStart(msgspec.Struct, frozen=True):
    """From when nothing holds a start back any more, UTC, and what was the last to do so."""

    t_ns: int
    line: int
    what: str
    back_ns: int
    """From when the object is there."""


def _free_to_start(case: Case, spec: Container, back: ObjectState) -> _FreeToStart | None:
    """None if the init containers before the container were not seen to let it go."""
    by_object = _FreeToStart(back.to_ns, back.line or 0, "the creation of what it needs", back.to_ns)
    if not case.scenario.pod.of_kind(ContainerKind.INIT):
        return by_object
    since = next(
        (each.since for each in owed_starts(case, case.pod, by_sandbox(case.pod)[0]) if each.container is spec), None
    )
    if since is None or since.utc_ns is None:
        return None
    by_order = _FreeToStart(since.utc_ns, since.line, "what it waited for", back.to_ns)
    return max(by_object, by_order, key=lambda each: each.t_ns)


def _ends_ns(case: Case, free: _FreeToStart, first: Fact | None) -> int:
    """When the wait ended: with the first instance, or with the pod or the recording."""
    if first is not None and first.utc_ns is not None:
        return first.utc_ns
    leaves = leaves_ns(case, case.pod)
    return case.recording.end_ns if leaves is None else max(leaves, free.t_ns)


def _retried(case: Case, spec: Container, free: _FreeToStart, first: Fact | None, ends_ns: int) -> Iterator[Finding]:
    """A first instance before its object was there, or later than the kubelet tries again."""
    created_ns = free.t_ns if case.pod.created is None else case.pod.created.utc_ns or free.t_ns
    failed_for_s = (free.t_ns - created_ns) / 1e9
    bound_s = retry_s(case.prediction.deviations, _delays_beside(case, spec, free.t_ns), failed_for_s)
    waited_s = (ends_ns - free.t_ns) / 1e9
    lines = (free.line, *((first.line,) if first else ()))
    if first is not None and ends_ns < free.back_ns:
        yield fail(f'"{spec.name}" was created {at_lines(lines)} before what it needs was there.', *lines)
        return
    if first is not None and waited_s <= bound_s:
        return
    waited = seconds(waited_s, unlike=bound_s)
    came = f"was created {waited} after" if first else f"was not created within {waited} of"
    sentence = f'"{spec.name}" {came} {free.what} {at_lines(lines)}; {seconds(bound_s)} is the longest'
    if waited_s <= bound_s:
        yield inconclusive(f"{sentence}: {why_it_ended(case)}.", *lines)
        return
    if any(free.t_ns <= each.t_ns <= ends_ns for each in resets_of(case, case.pod)):
        doubt: str | None = "RestartAllContainers made the pod begin again meanwhile"
    elif blind := blind_spot(case, case.pod, ran(case.pod, spec.name), free.t_ns, ends_ns):
        doubt = f"A start could have gone unseen: {blind}"
    else:
        # The next attempt is counted from the end of the sync that failed, which the host may have held up as well.
        doubt = excuse(case, (free.t_ns, ends_ns), 0.0, waited_s - bound_s)
    yield fail_unless(doubt, f"{sentence}.", *lines)


def _delays_beside(case: Case, spec: Container, free_ns: int) -> Iterator[tuple[float, float]]:
    """The waits of other containers that had begun when a start could succeed: how long after that each ended, and its length."""
    for other in case.scenario.pod.containers:
        for before, after in pairwise((*ran(case.pod, other.name), None) if other is not spec else ()):
            if before is None or before.exit_ns is None or before.exit_ns > free_ns:
                continue
            ends_ns = math.inf if after is None or after.begun_ns is None else after.begun_ns
            yield (ends_ns - free_ns) / 1e9, (ends_ns - before.exit_ns) / 1e9


BY_EVENTS = 3
"""Looks that events of the pod may cause in one wait."""
TIMER_S = 10.0
"""The kubelet's timer is not shorter, but for the rest of a delay."""


@checker("looks", Need("waits", 1, "wait", "of 10 s with a look", is_shown=False))
def check_looks(case: Case, seen: Seen) -> Iterator[Finding]:
    """A pod that waits MUST be looked at no more often than events of the pod and the kubelet's timer require.

    Judged are pods that nothing else makes the kubelet look at, and their waits of 10 s and more in which the log shows a look.
    """
    seen.facts["looks"] = []
    for pod, spec in product(case.pods, case.scenario.pod.containers if _is_left_alone(case.scenario) else ()):
        logged = [each for each in pod.logged if each.container == spec.name]
        for from_ns, to_ns in _waiting_ns(case, pod, spec):
            lines = tuple(each.line for each in logged if from_ns <= each.t_ns <= to_ns)
            waited_s = (to_ns - from_ns) / 1e9
            if not lines or waited_s < TIMER_S:
                continue
            seen["waits"] += 1
            seen.facts["looks"].append(len(lines))
            most = BY_EVENTS + int(waited_s / TIMER_S)
            if len(lines) > most:
                ends = (lines[0], lines[-1])
                looked = f"the kubelet looked {len(lines)} times whether to start it {at_lines(ends)}"
                waited = f'"{spec.name}" waited for {seconds(waited_s)}'
                yield fail(f"{waited}, and {looked}; {most} times are the most.", *ends)


def _is_left_alone(scenario: PodScenario) -> bool:
    """Whether nothing but its own container makes the kubelet look at the pod: no other, no probe and no change of the pod."""
    containers, changes = scenario.pod.containers, {each.action for each in scenario.interventions}
    return (
        scenario.mode is Mode.NATURAL
        and len(containers) == 1
        and not containers[0].probes
        and changes <= {InterventionKind.CREATE_OBJECT, InterventionKind.CHANGE_OBJECT, InterventionKind.DELETE_OBJECT}
    )


def _waiting_ns(case: Case, pod: PodHistory, spec: Container) -> Iterator[tuple[int, int]]:
    """When it waited for a restart, or for an object without which it cannot start, UTC."""
    for before, after in pairwise(ran(pod, spec.name)):
        if before.exit_ns is not None and after.begun_ns is not None:
            yield before.exit_ns, after.begun_ns
    created_ns = pod.created.utc_ns if pod.created else None
    for gone, back in missing_dependencies(case, spec):
        if created_ns is not None:
            yield max(created_ns, gone.to_ns), back.from_ns if back else case.recording.end_ns
