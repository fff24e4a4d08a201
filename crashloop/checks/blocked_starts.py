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

from collections.abc import Iterable, Iterator
from itertools import pairwise, product
from typing import NamedTuple

import msgspec

from crashloop.checks.evidence import too_few
from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.checks.starts import owed_starts
from crashloop.history.recording import Done, PodHistory
from crashloop.history.stamps import Fact
from crashloop.model.blocked_start import retry_s
from crashloop.model.lateness import USUAL_START_S
from crashloop.restarts.absences import Absence, ObjectState, absences, missing_for
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, leaves_ns, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
from crashloop.restarts.restart_all import resets_of
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.scenario import Mode, PodScenario
from crashloop.words import at_lines, seconds

LEAST_DOWN_S = 10.0


def check_no_start_while(case: Case) -> Checked:
    """No container MUST start while its node has no kubelet.

    Needs a time of min_down_s (10) seconds without a kubelet, and a container that had exited by its end and starts after it.
    """
    found = tuple(absences(case))
    needed_s = case.number("min_down_s", LEAST_DOWN_S)
    longest_s = max((each.length_s for each in found), default=0.0)
    facts = {"without_kubelet_s": [round(each.length_s, 3) for each in found]}
    findings = [finding for absence in found for finding in _while_without_kubelet(case, absence)]
    if not findings and longest_s < needed_s:
        sentence = f"{seconds(longest_s)} without a kubelet seen, {seconds(needed_s)} needed: {why_it_ended(case)}."
        findings.append(inconclusive(sentence))
    return Checked(findings=tuple(findings), facts=facts)


def _start_without_kubelet(case: Case, absence: Absence, container: str, at: Fact) -> Finding:
    """A start in that time; one that the kubelet had requested before is the runtime's, as late as the host held it up."""
    lines, to_ns = (absence.line, at.line), at.utc_ns or absence.to_ns
    seen = f'"{container}" was started {at_lines(lines)} while its node had no kubelet.'
    after_s = (to_ns - absence.from_ns) / 1e9
    doubt = excuse(case, (absence.from_ns, to_ns), 0.0, after_s - USUAL_START_S)
    return fail_unless(doubt, seen, *lines)


def _while_without_kubelet(case: Case, absence: Absence) -> Iterator[Finding]:
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


WAITED_S = 5.0

_Came = tuple[int, int] | None
"""When that came which a container waited for: UTC nanoseconds, and the history's line. None: it was never seen to come."""


def check_volume_awaited(case: Case) -> Checked:
    """A container MUST NOT start before the objects are there that are mounted in it.

    Needs a start that came at least 5 s after the pod's creation because an object was missing until then.
    """
    mounting = ((each, _object_came(case, each)) for each in case.scenario.pod.containers if each.folders)
    return _first_after(case, mounting, what="a volume", before="the object was there that is mounted in it")


def check_network_awaited(case: Case) -> Checked:
    """A container MUST NOT start before its node has a pod network.

    Needs a start that came at least 5 s after the pod's creation because the network was away until then.
    """
    came = _network_came(case)
    return _first_after(
        case,
        ((each, came) for each in case.scenario.pod.containers),
        what="the network",
        before="its node had a pod network",
    )


def _first_after(case: Case, waiting: Iterable[tuple[Container, _Came]], *, what: str, before: str) -> Checked:
    findings: list[Finding] = []
    waited: dict[str, float] = {}
    for spec, came in waiting:
        first = next(iter(ran(case.pod, spec.name)), None)
        if first is None or first.begun_ns is None or came is None or case.pod.created is None:
            findings.append(inconclusive(f'no start of "{spec.name}" was seen: {why_it_ended(case)}.'))
        elif first.begun_ns < came[0]:
            lines = (*first.lines[:1], came[1])
            findings.append(fail(f'"{spec.name}" was started {at_lines(lines)} before {before}.', *lines))
        else:
            waited[spec.name] = round((came[0] - (case.pod.created.utc_ns or came[0])) / 1e9, 3)
    longest_s = max(waited.values(), default=0.0)
    if not findings and longest_s < WAITED_S:
        shown = f"the longest wait seen is {seconds(longest_s)}"
        findings.append(inconclusive(f"no start waited for {what} for {seconds(WAITED_S)}: {shown}."))
    return Checked(findings=tuple(findings), facts={"waited_s": waited})


def _object_came(case: Case, spec: Container) -> _Came:
    came = next((back for gone, back in missing_for(case, spec) if gone.line is None), None)
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


def check_retried_start(case: Case) -> Checked:
    """A container that has never run MUST be started within the kubelet's retry once the objects that it needs are there.

    Needs an object that was created while it was missing to a container.
    """
    findings: list[Finding] = []
    waits: dict[str, float] = {}
    for spec in case.scenario.pod.containers:
        for _, back in missing_for(case, spec):
            if back is None:
                findings.append(inconclusive(f'what "{spec.name}" needs was never created: {why_it_ended(case)}.'))
                continue
            free = _free_to_start(case, case.pod, spec, back)
            if free is None:
                seen = f'the init containers before "{spec.name}" were not seen to let it start'
                findings.append(inconclusive(f"{seen}: {why_it_ended(case)}."))
                continue
            finding, waited_s = _retried(case, case.pod, spec, free)
            findings += [finding] if finding else []
            waits[spec.name] = round(waited_s, 3)
    if not waits and not findings:
        findings.append(inconclusive("no container waited for an object, one needed."))
    return Checked(findings=tuple(findings), facts={"started_after_s": waits})


class _FreeToStart(msgspec.Struct, frozen=True):
    """From when nothing holds a start back any more, UTC, and what was the last to do so."""

    t_ns: int
    line: int
    what: str
    back_ns: int
    """From when the object is there."""


def _free_to_start(case: Case, pod: PodHistory, spec: Container, back: ObjectState) -> _FreeToStart | None:
    """None if the init containers before the container were not seen to let it go."""
    by_object = _FreeToStart(back.to_ns, back.line or 0, "the creation of what it needs", back.to_ns)
    if not case.scenario.pod.of_kind(ContainerKind.INIT):
        return by_object
    since = next((each.since for each in owed_starts(case, pod) if each.container is spec), None)
    if since is None or since.utc_ns is None:
        return None
    by_order = _FreeToStart(since.utc_ns, since.line, "what it waited for", back.to_ns)
    return max(by_object, by_order, key=lambda each: each.t_ns)


def _retried(case: Case, pod: PodHistory, spec: Container, free: _FreeToStart) -> tuple[Finding | None, float]:
    """Whether the container was created in time, and how many seconds after it was free to start."""
    beside = any(each.program.exits for each in case.scenario.pod.containers if each is not spec)
    bound_s = retry_s(case.prediction.deviations, beside_backoff=beside)
    instances = ran(pod, spec.name)
    first = instances[0].begun if instances else None
    leaves = leaves_ns(case, pod)
    until_ns = case.recording.end_ns if leaves is None else max(leaves, free.t_ns)
    ends_ns = first.utc_ns if first is not None and first.utc_ns is not None else until_ns
    waited_s = (ends_ns - free.t_ns) / 1e9
    lines = (free.line, *((first.line,) if first else ()))
    if first is not None and ends_ns < free.back_ns:
        return fail(f'"{spec.name}" was created {at_lines(lines)} before what it needs was there.', *lines), waited_s
    if first is not None and waited_s <= bound_s:
        return None, waited_s
    seen = (
        f'"{spec.name}" was {"created" if first else "not created within"} {seconds(waited_s, unlike=bound_s)}'
        f"{' after' if first else ' of'} {free.what} {at_lines(lines)}; {seconds(bound_s)} is the longest."
    )
    if waited_s <= bound_s:
        return inconclusive(f"{seen[:-1]}: {why_it_ended(case)}.", *lines), waited_s
    if any(free.t_ns <= each.t_ns <= ends_ns for each in resets_of(case, pod)):
        return inconclusive(f"{seen} RestartAllContainers made the pod begin again meanwhile.", *lines), waited_s
    blind = blind_spot(case, pod, instances, free.t_ns, ends_ns)
    doubt = (
        f"A start could have gone unseen: {blind}"
        if blind
        # The next attempt is counted from the end of the sync that failed, which the host may have held up as well.
        else excuse(case, (free.t_ns, ends_ns), 0.0, waited_s - bound_s)
    )
    return fail_unless(doubt, seen, *lines), waited_s


BY_EVENTS = 3
"""Looks that events of the pod may cause in one wait."""
TIMER_S = 10.0
"""The kubelet's timer is not shorter, but for the rest of a delay."""
MIN_WAITS = 1


def check_looks(case: Case) -> Checked:
    """A pod that waits MUST be looked at no more often than events of the pod and the kubelet's timer require.

    Needs a pod that nothing else makes the kubelet look at, and min_waits (1) waits of 10 s in which the log shows a look.
    """
    waits = list(_looked_at(case)) if _is_left_alone(case.scenario) else []
    findings = [_too_often(each) for each in waits if len(each.lines) > each.most_looks]
    if not findings:
        findings += too_few(case, len(waits), "min_waits", MIN_WAITS, "wait", "of 10 s with a look")
    return Checked(findings=tuple(findings), facts={"looks": [len(each.lines) for each in waits]})


class _Wait(NamedTuple):
    container: str
    waited_s: float
    lines: tuple[int, ...]
    """History lines of the looks."""

    @property
    def most_looks(self) -> int:
        return BY_EVENTS + int(self.waited_s / TIMER_S)


def _too_often(wait: _Wait) -> Finding:
    ends = (wait.lines[0], wait.lines[-1])
    return fail(
        f'"{wait.container}" waited for {seconds(wait.waited_s)}, and the kubelet looked {len(wait.lines)} times whether '
        f"to start it {at_lines(ends)}; {wait.most_looks} times are the most.",
        *ends,
    )


def _is_left_alone(scenario: PodScenario) -> bool:
    """Whether nothing but its own container makes the kubelet look at the pod: no other, no probe and no change of the pod."""
    containers, changes = scenario.pod.containers, {each.action for each in scenario.interventions}
    return (
        scenario.mode is Mode.NATURAL
        and len(containers) == 1
        and not containers[0].probes
        and changes <= {InterventionKind.CREATE_OBJECT, InterventionKind.CHANGE_OBJECT, InterventionKind.DELETE_OBJECT}
    )


def _looked_at(case: Case) -> Iterator[_Wait]:
    """The waits of 10 s and more in which the log shows a look."""
    for pod, spec in product(case.pods, case.scenario.pod.containers):
        logged = [each for each in pod.logged if each.container == spec.name]
        for from_ns, to_ns in _waiting_ns(case, pod, spec):
            lines = tuple(each.line for each in logged if from_ns <= each.t_ns <= to_ns)
            waited_s = (to_ns - from_ns) / 1e9
            if lines and waited_s >= TIMER_S:
                yield _Wait(spec.name, waited_s, lines)


def _waiting_ns(case: Case, pod: PodHistory, spec: Container) -> Iterator[tuple[int, int]]:
    """When it waited for a restart, or for an object without which it cannot start, UTC."""
    for before, after in pairwise(ran(pod, spec.name)):
        if before.exit_ns is not None and after.begun_ns is not None:
            yield before.exit_ns, after.begun_ns
    created_ns = pod.created.utc_ns if pod.created else None
    for gone, back in missing_for(case, spec):
        if created_ns is not None:
            yield max(created_ns, gone.to_ns), back.from_ns if back else case.recording.end_ns
