"""Checker of the first start of every container: it comes once nothing holds it back, and not before.

Theory of operation. Init containers start one after the other: each waits for the success of the one before it, or for a
sidecar that runs and whose startup probe, if it has one, has succeeded. Regular containers wait for all of them. Left open is a
start before which RestartAllContainers made the pod begin again, and that of a container whose object was missing.
"""

from collections.abc import Iterable, Iterator

import msgspec

from crashloop.checks.finding import Checked, Finding, fail_unless, inconclusive
from crashloop.checks.probe_answers import answers_of
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact, span
from crashloop.model.admission import Admission
from crashloop.restarts.absences import missing_for
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, is_journal_lost, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.owed import owed_until_ns
from crashloop.restarts.restart_all import resets_of
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.probe import Probe, ProbeKind
from crashloop.words import at_lines, seconds

LATEST_S = 30.0
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
        findings += _too_soon(case, pod)
        for owed in (each for each in owed_starts(case, pod) if not any(missing_for(case, each.container))):
            began = next((each.begun for each in pod.instances(owed.container.name)), None)
            finding = _judged(case, pod, owed, began)
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
    lasting, probe = [each for each in instances if _runs_on(each)], startup_probe(init)
    return next((each.start for each in lasting), None) if probe is None else first_success(lasting, probe)


def startup_probe(sidecar: Container) -> Probe | None:
    """The startup probe of a sidecar; None without one."""
    return next((each for each in sidecar.probes if each.kind is ProbeKind.STARTUP), None)


def first_success(instances: Iterable[Instance], probe: Probe) -> Fact | None:
    """The first success of a startup probe in any life."""
    return next((answer.fact for each in instances for answer in answers_of(each, probe) if not answer.failed), None)


def _too_soon(case: Case, pod: PodHistory) -> Iterator[Finding]:
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


def _runs_on(sidecar: Instance) -> bool:
    """Whether an instance ran for as long as a start may take: one that exits sooner holds back what stands behind it."""
    ran = span(sidecar.start, sidecar.exit)
    return sidecar.start is not None and (sidecar.exit is None or (ran is not None and ran.seconds > LATEST_S))


def _judged(case: Case, pod: PodHistory, owed: Owed, began: Fact | None) -> Finding | None:
    since_ns = owed.since.utc_ns
    ends_ns = [case.recording.end_ns, owed_until_ns(case, pod) or case.recording.end_ns]
    until_ns = min(ends_ns) if began is None else began.utc_ns
    if since_ns is None or until_ns is None or (late_s := (until_ns - since_ns) / 1e9 - LATEST_S) <= 0:
        return None
    if any(since_ns <= each.t_ns <= until_ns for each in resets_of(case, pod)):
        return None
    lines = (owed.since.line, *((began.line,) if began else ()))
    came = "was started only" if began else "was not started within"
    seen = (
        f'"{owed.container.name}" {came} {seconds(late_s + LATEST_S)} {"after" if began else "of"} what it waited for '
        f"{at_lines(lines)}; {seconds(LATEST_S)} is the longest."
    )
    disturbed = next((each for each in case.recording.interventions if since_ns <= each.t_ns <= until_ns), None)
    if disturbed is not None:
        return inconclusive(f"{seen} The scenario intervened meanwhile (history line {disturbed.line}).", *lines)
    if began is None and (blind := blind_spot(case, pod, (), since_ns, until_ns)):
        return inconclusive(f"{seen} A start could have gone unseen: {blind}.", *lines)
    # The kubelet's own share is far below LATEST_S, so that a stall at any time of the wait may have made it too long.
    doubt = excuse(case, (since_ns, until_ns), 0.0, late_s)
    return fail_unless(doubt, seen, *lines)
