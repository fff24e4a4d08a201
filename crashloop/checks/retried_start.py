"""Checker of starts that could not succeed because an object was missing: how soon one comes once it is there.

Theory of operation. A start is due from when the object is there, and every init container before it has let it go
(`first_start`). What RestartAllContainers puts off meanwhile is left open.
"""

import msgspec

from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.checks.first_start import owed_starts
from crashloop.history.recording import PodHistory
from crashloop.model.blocked_start import retry_s
from crashloop.restarts.absences import ObjectState, missing_for
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, leaves_ns, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
from crashloop.restarts.restart_all import resets_of
from crashloop.spec.pod import Container, ContainerKind
from crashloop.words import at_lines, seconds


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
            free = _free(case, case.pod, spec, back)
            if free is None:
                seen = f'the init containers before "{spec.name}" were not seen to let it start'
                findings.append(inconclusive(f"{seen}: {why_it_ended(case)}."))
                continue
            finding, waited_s = _judged(case, case.pod, spec, free)
            findings += [finding] if finding else []
            waits[spec.name] = round(waited_s, 3)
    if not waits and not findings:
        findings.append(inconclusive("no container waited for an object, one needed."))
    return Checked(findings=tuple(findings), facts={"started_after_s": waits})


class _Free(msgspec.Struct, frozen=True):
    """From when nothing holds a start back any more, UTC, and what was the last to do so."""

    t_ns: int
    line: int
    what: str
    back_ns: int
    """From when the object is there."""


def _free(case: Case, pod: PodHistory, spec: Container, back: ObjectState) -> _Free | None:
    """None if the init containers before the container were not seen to let it go."""
    by_object = _Free(back.to_ns, back.line or 0, "the creation of what it needs", back.to_ns)
    if not case.scenario.pod.of_kind(ContainerKind.INIT):
        return by_object
    since = next((each.since for each in owed_starts(case, pod) if each.container is spec), None)
    if since is None or since.utc_ns is None:
        return None
    by_order = _Free(since.utc_ns, since.line, "what it waited for", back.to_ns)
    return max(by_object, by_order, key=lambda each: each.t_ns)


def _judged(case: Case, pod: PodHistory, spec: Container, free: _Free) -> tuple[Finding | None, float]:
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
