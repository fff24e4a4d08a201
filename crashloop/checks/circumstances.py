"""Checkers of what one life runs in, and of what ends it from outside: files, volume, hook and environment, memory, a resize."""

from collections.abc import Callable, Iterator, Mapping

from crashloop.checks.finding import Checked, Finding, fail, fail_unless, inconclusive
from crashloop.history.instances import Instance
from crashloop.history.recording import Done, PodHistory
from crashloop.model.surroundings import HOOK, HOOK_AGAIN, HOOK_WITHIN_S, hook_notes, root_notes, volume_notes
from crashloop.restarts.absences import SLOW_API_NS, held_over_time, known_by_ns, possible_at
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import exited_by_itself, ran
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container
from crashloop.spec.program import LifeEnd
from crashloop.words import at_lines, count, seconds

MIN_RESTARTS = 1

DueNotes = Mapping[str, tuple[str, ...]]
"""The values that a note may have, by its name."""


def check_fresh_root(case: Case) -> Checked:
    """Each life of a container MUST find a fresh root filesystem, and all passes of a loop inside of it the same one.

    Needs the notes of every life, and min_restarts (1) restarts.
    """
    return _by_notes(case, lambda spec, _: {name: (value,) for name, value in root_notes(spec).items()})


def check_volume_stays(case: Case) -> Checked:
    """A volume in memory MUST stay mounted, so that each life of a container finds the mark of the first.

    Needs the notes of every life, and min_restarts (1) restarts.
    """

    def due(spec: Container, instance: Instance) -> DueNotes:
        notes = volume_notes(spec, is_first=(instance.ordinal if instance.life is None else instance.life) == 0)
        return {name: (value,) for name, value in notes.items()}

    return _by_notes(case, due)


def check_hook_runs(case: Case) -> Checked:
    """The postStart hook of a container MUST run once at every start.

    Needs the notes of every life, each longer than the host can have held up the hook, and min_restarts (1) restarts.
    """
    return _by_notes(case, lambda spec, _: {name: (value,) for name, value in hook_notes(spec).items()})


def check_environment(case: Case) -> Checked:
    """The environment from ConfigMaps and Secrets MUST be read again at every start.

    Needs the notes of every life, min_restarts (1) restarts, and after each change a start that has to know it.
    """
    checked = _by_notes(case, lambda spec, instance: _in_force(case, spec, instance))
    unread = [
        finding
        for pod in case.pods
        for spec in case.scenario.pod.containers
        for finding in _unread(case, spec, ran(pod, spec.name))
    ]
    return Checked(findings=checked.findings or tuple(unread), facts=checked.facts)


def _by_notes(case: Case, due_notes: Callable[[Container, Instance], DueNotes]) -> Checked:
    findings: list[Finding] = []
    restarts: dict[str, int] = {}
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            instances = ran(pod, spec.name)
            if not any(due_notes(spec, each) for each in instances):
                continue
            findings += [finding for each in instances for finding in _noted(case, spec, each, due_notes(spec, each))]
            restarts[spec.name] = restarts.get(spec.name, 0) + max(0, len(instances) - 1)
    needed, seen = int(case.number("min_restarts", MIN_RESTARTS)), sum(restarts.values())
    if not findings and (not restarts or seen < needed):
        findings.append(inconclusive(f"{count(seen, 'restart')} seen, {needed} needed: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts={"restarts": restarts})


def _noted(case: Case, spec: Container, instance: Instance, due_notes: DueNotes) -> Iterator[Finding]:
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
                yield fail_unless(_no_time_for_hook(case, spec, instance), sentence, *lines)
            else:
                yield inconclusive(sentence, *lines)
    again = found.get(HOOK_AGAIN)
    if again is not None and HOOK in due_notes:
        yield fail(f"{name} noted a second run of its hook {at_lines([again.line])}; one was due.", again.line)


def _no_time_for_hook(case: Case, spec: Container, instance: Instance) -> str | None:
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


def _in_force(case: Case, spec: Container, instance: Instance) -> DueNotes:
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


OUT_OF_MEMORY = "OOMKilled"
"""k8s.io/cri-api v1/api.proto@v0.37.1 ContainerStatus."""
MIN_EXITS = 1


def check_exit_reason(case: Case) -> Checked:
    """The last status that shows an exit MUST state OOMKilled if the kernel killed the container for its memory, and only then.

    Needs min_exits (1) exits for memory in a status.
    """
    findings: list[Finding] = []
    seen = 0
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            stated = _stated_reasons(pod, spec.name)
            for number, instance in enumerate(() if spec.program.first_pod_only else ran(pod, spec.name)):
                reason, line = stated.get(instance.container_id or "", ("", 0))
                if not reason or instance.life != number or not exited_by_itself(case, spec.name, number, instance):
                    continue
                life = spec.program.life(number)
                is_due = life is not None and life.end is LifeEnd.MEMORY
                seen += is_due
                if (reason == OUT_OF_MEMORY) is not is_due:
                    lines = (*instance.lines[-1:], line)
                    what = "ran" if is_due else "did not run"
                    said = f'a status states {reason} of instance {number} of "{spec.name}" {at_lines(lines)}'
                    findings.append(fail(f"{said}; it {what} out of memory.", *lines))
    least = int(case.number("min_exits", MIN_EXITS))
    if not findings and seen < least:
        sentence = f"{count(seen, 'exit')} for memory seen in a status, {least} needed: {why_it_ended(case)}."
        findings.append(inconclusive(sentence))
    return Checked(findings=tuple(findings), facts={"exits_for_memory": seen})


def _stated_reasons(pod: PodHistory, name: str) -> dict[str, tuple[str, int]]:
    """The last reason that was stated of each exited instance, and its line, by container id."""
    found: dict[str, tuple[str, int]] = {}
    for status in pod.statuses:
        report = status.containers.get(name)
        for state in (report.last_state, report.state) if report is not None else ():
            if state is not None and state.kind == "terminated" and state.container_id:
                found[state.container_id] = state.reason, status.line
    return found


RESIZED_WITHIN_S = 5.0
"""An update of a pod makes the kubelet look at it at once; it stops the container within the grace period of 2 s."""


def check_resize_restart(case: Case) -> Checked:
    """A resize that asks to restart the container MUST stop it and start it once, whatever its rules say.

    Needs a resize of a container that had begun, accepted by the API server, and a watch of 5 s after its answer; nothing where
    the scenario resizes nothing. Until the container is stopped, up to 30 s may be the update's way to the kubelet.
    """
    findings: list[Finding] = []
    took: list[float] = []
    for spec in case.scenario.pod.containers:
        for done in case.recording.interventions if spec.restarts_on_resize else ():
            if done.data.action != InterventionKind.RESIZE or (done.data.arguments or {}).get("container") != spec.name:
                continue
            if not done.ok:
                findings.append(
                    inconclusive(f"the resize failed {at_lines([done.line])}: {done.data.outcome}.", done.line)
                )
                continue
            finding, took_s = _resized(case, spec.name, done)
            findings += [finding] if finding else []
            took += [] if took_s is None else [round(took_s, 3)]
    asked = any(each.action is InterventionKind.RESIZE for each in case.scenario.interventions)
    if asked and not took and not findings:
        findings.append(inconclusive(f"no resize was seen, one needed: {why_it_ended(case)}."))
    return Checked(findings=tuple(findings), facts={"restarted_after_s": took})


def _resized(case: Case, name: str, done: Done) -> tuple[Finding | None, float | None]:
    instances = ran(case.pod, name)
    later = [each for each in instances if _may_follow(each, done.t_ns)]
    earlier = instances[: len(instances) - len(later)]
    if not earlier:
        return inconclusive(f'"{name}" had not begun when it was resized {at_lines([done.line])}.', done.line), None
    if len(later) > 1:
        lines = (done.line, *later[1].lines[:1])
        return fail(f'the resize restarted "{name}" a second time {at_lines(lines)}; once was due.', *lines), None
    answered_ns = done.data.ended_ns or done.t_ns
    until_ns = max(answered_ns, (later[0].begun_ns or 0) if later else case.recording.end_ns)
    took_s = (until_ns - answered_ns) / 1e9
    if later and took_s <= RESIZED_WITHIN_S:
        return None, took_s
    lines = (done.line, *(later[0].lines[:1] if later else ()))
    started = "started" if later else "not started"
    seen = f'"{name}" was {started} within {seconds(took_s, unlike=RESIZED_WITHIN_S)} of its resize {at_lines(lines)}'
    if took_s <= RESIZED_WITHIN_S:
        return inconclusive(f"{seen}: {why_it_ended(case)}.", *lines), None
    seen = f"{seen}; {seconds(RESIZED_WITHIN_S)} is the longest."
    window_ns = (answered_ns, until_ns)
    blind = blind_spot(case, case.pod, instances, *window_ns)
    unheard_s = _unheard_s(earlier[-1], *window_ns)
    if blind:
        doubt: str | None = f"A start could have gone unseen: {blind}"
    elif took_s - unheard_s <= RESIZED_WITHIN_S:
        doubt = f"Nothing shows that the kubelet had heard of it for {seconds(unheard_s)}"
    else:
        doubt = excuse(case, window_ns, 0.0, took_s - unheard_s - RESIZED_WITHIN_S)
    return fail_unless(doubt, seen, *lines), took_s


def _unheard_s(resized: Instance, answered_ns: int, until_ns: int) -> float:
    """For how long the update may have been on its way: until the container was stopped, and no longer than a slow API takes."""
    stopped_ns = until_ns if resized.exit_ns is None else max(answered_ns, resized.exit_ns)
    return min(stopped_ns - answered_ns, until_ns - answered_ns, SLOW_API_NS) / 1e9


def _may_follow(instance: Instance, t_ns: int) -> bool:
    """Whether it began after that time; a coarse stamp is rounded down."""
    begun = instance.begun
    return begun is not None and begun.utc_ns is not None and begun.utc_ns + begun.resolution_ns > t_ns
