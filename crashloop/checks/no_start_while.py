"""Checker of the time without a kubelet: nothing starts in it."""

from collections.abc import Iterator

from crashloop.checks.finding import Checked, Finding, fail_unless, inconclusive
from crashloop.history.stamps import Fact
from crashloop.model.lateness import USUAL_START_S
from crashloop.restarts.absences import Absence, absences
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
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
    findings = [finding for absence in found for finding in _within(case, absence)]
    if not findings and longest_s < needed_s:
        sentence = f"{seconds(longest_s)} without a kubelet seen, {seconds(needed_s)} needed: {why_it_ended(case)}."
        findings.append(inconclusive(sentence))
    return Checked(findings=tuple(findings), facts=facts)


def _started(case: Case, absence: Absence, container: str, at: Fact) -> Finding:
    """A start in that time; one that the kubelet had requested before is the runtime's, as late as the host held it up."""
    lines, to_ns = (absence.line, at.line), at.utc_ns or absence.to_ns
    seen = f'"{container}" was started {at_lines(lines)} while its node had no kubelet.'
    after_s = (to_ns - absence.from_ns) / 1e9
    doubt = excuse(case, (absence.from_ns, to_ns), 0.0, after_s - USUAL_START_S)
    return fail_unless(doubt, seen, *lines)


def _within(case: Case, absence: Absence) -> Iterator[Finding]:
    waited, returned = [], False
    for spec in case.scenario.pod.containers:
        instances = ran(case.pod, spec.name)
        for each in instances:
            at = each.begun
            if at is not None and absence.from_ns < (at.utc_ns or 0) < absence.to_ns:
                yield _started(case, absence, spec.name, at)
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
