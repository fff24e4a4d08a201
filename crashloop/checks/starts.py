"""Checkers of starts that nothing holds back: the first comes in its turn and in time, and one instance runs at a time.

Theory of operation. Init containers start one after the other: each waits for the success of the one before it, or for a
sidecar that runs and whose startup probe, if it has one, has succeeded. Regular containers wait for all of them. Left open is a
start before which RestartAllContainers made the pod begin again, and that of a container whose object was missing.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import msgspec

from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.checks.probe_answers import answers_of
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact, span
from crashloop.model.admission import Admission
from crashloop.restarts.absences import missing_for
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, is_journal_lost, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
from crashloop.restarts.owed import owed_until_ns
from crashloop.restarts.restart_all import resets_of
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.probe import Probe, ProbeKind
from crashloop.words import at_lines, seconds

STARTED_WITHIN_S = 30.0
"""No text names a number. A kubelet starts a container at the sync that what it waited for causes; where that sync is lost, it
looks again 10 s to 16 s later, and this leaves room for a second look (pkg/kubelet/pod_workers.go@v1.34.4 completeWork)."""


class Owed(msgspec.Struct, frozen=True):
    """A container that no other holds back from a fact on."""

    container: Container
    since: Fact


def check_first_start(case: Case) -> Checked:
    """Each container MUST be started once every init container before it has succeeded, and every sidecar has started.

    It MUST NOT be started before the startup probe of a sidecar before it has succeeded.

    Needs the creation of a pod and one start.
    """
    findings: list[Finding] = []
    took: dict[str, float] = {}
    for pod in case.pods:
        findings += _before_startup_probe(case, pod)
        for owed in (each for each in owed_starts(case, pod) if not any(missing_for(case, each.container))):
            began = next((each.begun for each in pod.instances(owed.container.name)), None)
            finding = _first_start(case, pod, owed, began)
            findings += [finding] if finding else []
            if began is not None and began.utc_ns is not None and owed.since.utc_ns is not None:
                took[owed.container.name] = round((began.utc_ns - owed.since.utc_ns) / 1e9, 3)
    if not findings and not took:
        findings.append(inconclusive(f"no start was seen that nothing held back: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts={"first_start_s": took})


def owed_starts(case: Case, pod: PodHistory) -> Iterator[Owed]:
    """Every init and regular container of a pod that is owed a start, in the order of the starts."""
    since = pod.created if case.prediction.admission is Admission.RUNS else None
    for init in case.scenario.pod.of_kind(ContainerKind.INIT):
        if since is None:
            return
        yield Owed(init, since)
        since = _lets_go(init, pod.instances(init.name))
    if since is not None:
        yield from (Owed(each, since) for each in case.scenario.pod.of_kind(ContainerKind.REGULAR))


def _lets_go(init: Container, instances: tuple[Instance, ...]) -> Fact | None:
    """From when an init container no longer holds the next one back; None if that was not seen."""
    if not init.is_sidecar:
        return next((each.exit for each in instances if each.exit_code == 0), None)
    lasting, probe = [each for each in instances if _lasts(each)], startup_probe(init)
    return next((each.start for each in lasting), None) if probe is None else first_success(lasting, probe)


def startup_probe(sidecar: Container) -> Probe | None:
    """The startup probe of a sidecar; None without one."""
    return next((each for each in sidecar.probes if each.kind is ProbeKind.STARTUP), None)


def first_success(instances: Iterable[Instance], probe: Probe) -> Fact | None:
    """The first success of a startup probe in any life."""
    return next((answer.fact for each in instances for answer in answers_of(each, probe) if not answer.failed), None)


def _before_startup_probe(case: Case, pod: PodHistory) -> Iterator[Finding]:
    """Containers that began before the startup probe of a sidecar before them had succeeded."""
    inits, regulars = (case.scenario.pod.of_kind(kind) for kind in (ContainerKind.INIT, ContainerKind.REGULAR))
    for index, init in enumerate(inits):
        probe = startup_probe(init) if init.is_sidecar else None
        if probe is None:
            continue
        lives = pod.instances(init.name)
        success = first_success(lives, probe)
        for held in (*inits[index + 1 :], *regulars):
            began = next((each.begun for each in pod.instances(held.name)), None)
            if (
                began is None
                or began.utc_ns is None
                or (success and (success.utc_ns or 0) < began.utc_ns + began.resolution_ns)
            ):
                continue
            lines = (began.line, *((success.line,) if success else ()))
            lost = is_journal_lost(case, pod) or any(each.journal_started is None for each in lives)
            yield fail_unless(
                "Its journal may lack answers" if lost else None,
                f'"{held.name}" was started before the startup probe of "{init.name}" had succeeded {at_lines(lines)}.',
                *lines,
            )


def _lasts(sidecar: Instance) -> bool:
    """Whether an instance ran for as long as a start may take: one that exits sooner holds back what stands behind it."""
    ran = span(sidecar.start, sidecar.exit)
    return sidecar.start is not None and (sidecar.exit is None or (ran is not None and ran.seconds > STARTED_WITHIN_S))


def _first_start(case: Case, pod: PodHistory, owed: Owed, began: Fact | None) -> Finding | None:
    since_ns = owed.since.utc_ns
    ends_ns = [case.recording.end_ns, owed_until_ns(case, pod) or case.recording.end_ns]
    until_ns = min(ends_ns) if began is None else began.utc_ns
    if since_ns is None or until_ns is None or (late_s := (until_ns - since_ns) / 1e9 - STARTED_WITHIN_S) <= 0:
        return None
    if any(since_ns <= each.t_ns <= until_ns for each in resets_of(case, pod)):
        return None
    lines = (owed.since.line, *((began.line,) if began else ()))
    came = "was started only" if began else "was not started within"
    seen = (
        f'"{owed.container.name}" {came} {seconds(late_s + STARTED_WITHIN_S)} {"after" if began else "of"} what it waited for '
        f"{at_lines(lines)}; {seconds(STARTED_WITHIN_S)} is the longest."
    )
    disturbed = next((each for each in case.recording.interventions if since_ns <= each.t_ns <= until_ns), None)
    if disturbed is not None:
        return inconclusive(f"{seen} The scenario intervened meanwhile (history line {disturbed.line}).", *lines)
    if began is None and (blind := blind_spot(case, pod, (), since_ns, until_ns)):
        return inconclusive(f"{seen} A start could have gone unseen: {blind}.", *lines)
    # The kubelet's own share is far below LATEST_S, so that a stall at any time of the wait may have made it too long.
    doubt = excuse(case, (since_ns, until_ns), 0.0, late_s)
    return fail_unless(doubt, seen, *lines)


def check_start_order(case: Case) -> Checked:
    """Init containers MUST be started one after the other in their order, and then the regular ones in theirs.

    An init container is done when it has exited with 0, a sidecar and a regular container when it has started. Needs the first
    start of each. A container whose ConfigMap or Secret was missing starts when it can, so its place is left open.
    """
    findings: list[Finding] = []
    pod = case.scenario.pod
    in_turn = (*pod.of_kind(ContainerKind.INIT), *pod.of_kind(ContainerKind.REGULAR))
    order = [each for each in in_turn if not any(missing_for(case, each))]
    first = {each.name: ran(case.pod, each.name) for each in order}
    for each in order:
        if not first[each.name]:
            findings.append(inconclusive(f'"{each.name}" was never seen to start: {why_it_ended(case)}.'))
    for before, after in pairwise(order):
        done, began = _let_next_start(before, first[before.name]), _began(first[after.name])
        if began is None or began.utc_ns is None:
            continue
        if done is None or done.utc_ns is None or began.utc_ns < done.utc_ns:
            lines = (began.line, *((done.line,) if done else ()))
            what = "had started" if _needs_start(before) else "was done"
            findings.append(
                fail(f'"{after.name}" was created {at_lines(lines)} before "{before.name}" {what}.', *lines)
            )
    starts = sorted((fact.utc_ns or 0, name) for name, each in first.items() if (fact := _began(each)) is not None)
    return Checked(findings=tuple(findings), facts={"order": [name for _, name in starts]})


def _needs_start(container: Container) -> bool:
    return container.kind is ContainerKind.REGULAR or container.is_sidecar


def _began(instances: tuple[Instance, ...]) -> Fact | None:
    return instances[0].begun if instances else None


def _let_next_start(container: Container, instances: tuple[Instance, ...]) -> Fact | None:
    """When what follows may be started. A start is reported a moment after the process began, so its creation counts."""
    if _needs_start(container):
        return _began(instances)
    return next((each.exit for each in instances if each.exit_code == 0), None)


def check_starts_once(case: Case) -> Checked:
    """An instance MUST NOT start before the one before it has exited, nor a regular container before init is done.

    A container whose program never exits MUST start exactly once. Needs one start of each container.
    """
    findings: list[Finding] = []
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            instances = ran(pod, spec.name)
            findings += _overlapping(spec.name, instances)
            if not instances:
                findings.append(inconclusive(f'"{spec.name}" was never seen to start: {why_it_ended(case)}.'))
            elif spec.program.known and not spec.program.exits and not _is_killed(case, spec) and len(instances) > 1:
                lines = instances[1].lines[:1]
                findings.append(
                    fail(f'"{spec.name}" was started again {at_lines(lines)}; it was to start once.', *lines)
                )
        findings += _before_init(case, pod)
    starts = {spec.name: len(ran(case.pod, spec.name)) for spec in case.scenario.pod.containers}
    return Checked(findings=tuple(findings), facts={"starts": starts})


def _is_killed(case: Case, spec: Container) -> bool:
    """Whether something of the scenario ends a container whose program holds."""
    ends = {InterventionKind.KILL_SANDBOX, InterventionKind.REMOVE_CONTAINER}
    is_ended = any(each.action in ends for each in case.scenario.interventions)
    return bool(spec.killing_probes) or case.restarts_all or is_ended or case.is_changed(spec.name)


def _overlapping(container: str, instances: tuple[Instance, ...]) -> list[Finding]:
    found = []
    for before, after in pairwise(instances):
        start, ended = after.start, before.exit
        if start is None:
            continue
        if ended is None:
            lines = (*before.lines[:1], start.line)
            sentence = f'"{container}" was started {at_lines(lines)} while the instance before it had not exited.'
            found.append(
                fail(sentence, *lines) if before.exited is None and after.started else inconclusive(sentence, *lines)
            )
        elif start.utc_ns is not None and ended.utc_ns is not None and start.utc_ns < ended.utc_ns:
            lines = (start.line, ended.line)
            found.append(
                fail(f'"{container}" was started {at_lines(lines)} before the instance before it had exited.', *lines)
            )
    return found


def _before_init(case: Case, pod: PodHistory) -> list[Finding]:
    """Regular containers that started before every regular init container had exited 0."""
    inits = [each for each in case.scenario.pod.of_kind(ContainerKind.INIT) if not each.is_sidecar]
    done_ns, done_line = 0, 0
    for init in inits:
        successes = [each.exit for each in ran(pod, init.name) if each.exit_code == 0 and each.exit]
        if not successes or successes[0].utc_ns is None:
            done_ns, done_line = case.recording.end_ns, 0
            break
        if successes[0].utc_ns > done_ns:
            done_ns, done_line = successes[0].utc_ns, successes[0].line
    found = []
    for spec in case.scenario.pod.of_kind(ContainerKind.REGULAR) if inits else ():
        for each in ran(pod, spec.name)[:1]:
            if each.start and each.start_ns is not None and each.start_ns < done_ns:
                lines = tuple(line for line in (each.start.line, done_line) if line)
                found.append(
                    fail(f'"{spec.name}" was started {at_lines(lines)} before the init containers were done.', *lines)
                )
    return found
