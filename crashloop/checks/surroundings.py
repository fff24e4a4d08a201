"""Checkers of what each life of a container finds around it, by the notes in its journal."""

from collections.abc import Callable, Iterator, Mapping

from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.history.instances import Instance
from crashloop.model.surroundings import (
    HOOK,
    HOOK_AGAIN,
    HOOK_WITHIN_S,
    hook_notes,
    root_notes,
    volume_notes,
)
from crashloop.restarts.absences import held_over_time, known_by_ns, possible_at
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import ran
from crashloop.spec.pod import Container
from crashloop.words import at_lines, count, seconds

MIN_RESTARTS = 1

Due = Mapping[str, tuple[str, ...]]
"""The values that a note may have, by its name."""


def check_fresh_root(case: Case) -> Checked:
    """Each life of a container MUST find a fresh root filesystem, and all passes of a loop inside of it the same one.

    Needs the notes of every life, and min_restarts (1) restarts.
    """
    return _checked(case, lambda spec, _: {name: (value,) for name, value in root_notes(spec).items()})


def check_volume_stays(case: Case) -> Checked:
    """A volume in memory MUST stay mounted, so that each life of a container finds the mark of the first.

    Needs the notes of every life, and min_restarts (1) restarts.
    """

    def due(spec: Container, instance: Instance) -> Due:
        notes = volume_notes(spec, is_first=(instance.ordinal if instance.life is None else instance.life) == 0)
        return {name: (value,) for name, value in notes.items()}

    return _checked(case, due)


def check_hook_runs(case: Case) -> Checked:
    """The postStart hook of a container MUST run once at every start.

    Needs the notes of every life, each longer than the host can have held up the hook, and min_restarts (1) restarts.
    """
    return _checked(case, lambda spec, _: {name: (value,) for name, value in hook_notes(spec).items()})


def check_environment(case: Case) -> Checked:
    """The environment from ConfigMaps and Secrets MUST be read again at every start.

    Needs the notes of every life, min_restarts (1) restarts, and after each change a start that has to know it.
    """
    checked = _checked(case, lambda spec, instance: _in_force(case, spec, instance))
    unread = [
        finding
        for pod in case.pods
        for spec in case.scenario.pod.containers
        for finding in _unread(case, spec, ran(pod, spec.name))
    ]
    return Checked(findings=checked.findings or tuple(unread), facts=checked.facts)


def _checked(case: Case, due_notes: Callable[[Container, Instance], Due]) -> Checked:
    findings: list[Finding] = []
    restarts: dict[str, int] = {}
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            instances = ran(pod, spec.name)
            if not any(due_notes(spec, each) for each in instances):
                continue
            findings += [finding for each in instances for finding in _judged(case, spec, each, due_notes(spec, each))]
            restarts[spec.name] = restarts.get(spec.name, 0) + max(0, len(instances) - 1)
    needed, seen = int(case.number("min_restarts", MIN_RESTARTS)), sum(restarts.values())
    if not findings and (not restarts or seen < needed):
        findings.append(inconclusive(f"{count(seen, 'restart')} seen, {needed} needed: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts={"restarts": restarts})


def _judged(case: Case, spec: Container, instance: Instance, due_notes: Due) -> Iterator[Finding]:
    """The notes of one life."""
    name = f'instance {instance.ordinal} of "{spec.name}"'
    found = {note.name: note for note in instance.notes}
    for what, due in due_notes.items():
        note = found.get(what)
        expected = " or ".join(due)
        if note is not None and note.value not in due:
            yield fail(f"{name} noted {what} {note.value} {at_lines([note.line])}; {expected} was due.", note.line)
        elif note is None:
            lines = instance.lines[:1]
            sentence = f"{name} noted no {what} {at_lines(lines)}; {expected} was due."
            # The program itself writes the others, so they can only be lost with its log, or cut off by a kill.
            if what == HOOK and instance.journal_exited is not None:
                yield fail_unless(_no_time(case, spec, instance), sentence, *lines)
            else:
                yield inconclusive(sentence, *lines)
    again = found.get(HOOK_AGAIN)
    if again is not None and HOOK in due_notes:
        yield fail(f"{name} noted a second run of its hook {at_lines([again.line])}; one was due.", again.line)


def _no_time(case: Case, spec: Container, instance: Instance) -> str | None:
    """Why a hook may not have had the time to note its run; None if it had. It can only note a life that has noted its start."""
    begun, exited = instance.journal_started or instance.start, instance.exit
    if begun is None or exited is None or begun.utc_ns is None or exited.utc_ns is None:
        return "No clock shows for how long it ran"
    life = instance.ordinal if instance.life is None else instance.life
    planned = spec.program.each_life()[life : life + 1]
    # A starved program outlives its plan, and its hook, in the same container, starves with it.
    had_s = min([(exited.utc_ns - begun.utc_ns) / 1e9, *(life.run_s for life in planned)])
    if had_s <= HOOK_WITHIN_S:
        return f"It had {seconds(had_s)} for that"
    return excuse(case, (begun.utc_ns, exited.utc_ns), 0.0, had_s - HOOK_WITHIN_S)


def _in_force(case: Case, spec: Container, instance: Instance) -> Due:
    """The values that each variable may have at a start."""
    due: dict[str, tuple[str, ...]] = {}
    for variable in spec.env:
        each = next(one for one in case.scenario.objects if one.name == variable.object)
        possible = possible_at(case, held_over_time(case, each), instance.begun_ns or 0)
        values = [state.data[variable.name] for state in possible if state.data is not None]
        due[variable.name] = tuple(dict.fromkeys(values))
    return due


def _unread(case: Case, spec: Container, instances: tuple[Instance, ...]) -> Iterator[Finding]:
    """A change after which no start has to know it: then nothing shows that it was read again."""
    last_ns = max((each.begun_ns or 0 for each in instances), default=0)
    for each in case.scenario.objects:
        for state in held_over_time(case, each)[1:] if each.name in {one.object for one in spec.env} else ():
            if state.data is not None and known_by_ns(case, state) > last_ns:
                sentence = f'no start of "{spec.name}" came late enough after the change of {each.name}'
                yield inconclusive(f"{sentence} {at_lines([state.line or 0])}: {why_it_ended(case)}.", state.line or 0)
