"""Checkers of what one life runs in, and of what ends it from outside: files, volume, hook and environment, memory, a resize.

What a life runs in shows in the notes of its journal.
"""

from collections.abc import Callable, Iterator, Mapping

from crashloop.checks.checker import Life, Need, Seen, checker, lives
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.checks.kills import without_grace
from crashloop.history.instances import Instance
from crashloop.history.recording import Done, PodHistory
from crashloop.model.after_restart import HOOK, HOOK_AGAIN, HOOK_WITHIN_S, hook_notes, root_notes, volume_notes
from crashloop.restarts.case import Case
from crashloop.restarts.dependencies import kubelet_knows_by_ns, states_of_object, states_possible_at
from crashloop.restarts.evidence import blind_spot, why_it_ended
from crashloop.restarts.excuse import excuse
from crashloop.restarts.lives import exited_by_itself, ran
from crashloop.restarts.outages import SLOW_API_NS, held_by_api_ns
from crashloop.restarts.owed import owed_until_ns
from crashloop.spec.intervention import InterventionKind
from crashloop.spec.pod import Container
from crashloop.spec.program import LifeEnd
from crashloop.words import at_lines, seconds

RESTARTS = Need("restarts", 1, "restart", is_shown=False)
STARTS = Need("starts", 1, "start", "with something to note", is_shown=False)

DueNotes = Mapping[str, tuple[str, ...]]
"""The values that a note may have, by its name."""


@checker("fresh-root", RESTARTS, STARTS, "the notes of every life")
def check_fresh_root(case: Case, seen: Seen) -> Iterator[Finding]:
    """Each life of a container MUST find a fresh root filesystem, and all passes of a loop inside of it the same one."""
    yield from _by_notes(case, seen, lambda life: _exactly(root_notes(life.spec)))


@checker("volume-stays", RESTARTS, STARTS, "the notes of every life")
def check_volume_stays(case: Case, seen: Seen) -> Iterator[Finding]:
    """A volume in memory MUST stay mounted, so that each life of a container finds the mark of the first."""
    yield from _by_notes(
        case, seen, lambda life: _exactly(volume_notes(life.spec, is_first=_by_journal(life.instance) == 0))
    )


@checker(
    "hook-runs",
    RESTARTS,
    STARTS,
    "the notes of every life, each longer than the host can have held up the hook",
    about=lambda scenario: any(each.post_start for each in scenario.pod.containers),
)
def check_hook_runs(case: Case, seen: Seen) -> Iterator[Finding]:
    """The postStart hook of a container MUST run once at every start."""
    yield from _by_notes(case, seen, lambda life: _exactly(hook_notes(life.spec)))


@checker("environment", RESTARTS, STARTS, "the notes of every life, and after each change a start that has to know it")
def check_environment(case: Case, seen: Seen) -> Iterator[Finding]:
    """The environment from ConfigMaps and Secrets MUST be read again at every start."""
    findings = tuple(_by_notes(case, seen, lambda life: _in_force(case, life.spec, life.instance)))
    yield from findings
    if not findings:
        for pod in case.pods:
            for spec in case.scenario.pod.containers:
                yield from _unread(case, spec, ran(pod, spec.name))


def _exactly(notes: Mapping[str, str]) -> DueNotes:
    return {name: (value,) for name, value in notes.items()}


def _by_notes(case: Case, seen: Seen, due_notes: Callable[[Life], DueNotes]) -> Iterator[Finding]:
    restarts: dict[str, int] = {}
    for life in lives(case):
        due = due_notes(life)
        if due:
            seen["starts"] += 1
            seen["restarts"] += life.number > 0
            restarts[life.spec.name] = restarts.get(life.spec.name, 0) + (life.number > 0)
            yield from _noted(case, life, due)
    seen.facts["restarts"] = restarts


def _noted(case: Case, life: Life, due_notes: DueNotes) -> Iterator[Finding]:
    """The notes of one life."""
    found = {note.name: note for note in life.instance.notes}
    for what, due in due_notes.items():
        note, expected = found.get(what), " or ".join(due)
        if note is not None and note.value not in due:
            noted = f"{life.name} noted {what} {note.value} {at_lines([note.line])}"
            yield fail(f"{noted}; {expected} was due.", note.line)
        elif note is None:
            lines = life.instance.lines[:1]
            sentence = f"{life.name} noted no {what} {at_lines(lines)}; {expected} was due."
            # The program itself writes the others, so they can only be lost with its log, or cut off by a kill.
            if what == HOOK and life.instance.journal_exited is not None:
                yield fail_unless(_no_time_for_hook(case, life), sentence, *lines)
            else:
                yield inconclusive(sentence, *lines)
    again = found.get(HOOK_AGAIN)
    if again is not None and HOOK in due_notes:
        yield fail(f"{life.name} noted a second run of its hook {at_lines([again.line])}; one was due.", again.line)


def _no_time_for_hook(case: Case, life: Life) -> str | None:
    """Why a hook may not have had the time to note its run; None if it had. It can only note a life that has noted its start."""
    begun, exited = life.instance.journal_started or life.instance.start, life.instance.exit
    if begun is None or exited is None or begun.utc_ns is None or exited.utc_ns is None:
        return "No clock shows for how long it ran"
    number = _by_journal(life.instance)
    # A starved program outlives its plan, and its hook, in the same container, starves with it.
    planned_s = [each.run_s for each in life.spec.program.each_life()[number : number + 1]]
    had_s = min([(exited.utc_ns - begun.utc_ns) / 1e9, *planned_s])
    if had_s <= HOOK_WITHIN_S:
        return f"It had {seconds(had_s)} for that"
    return excuse(case, (begun.utc_ns, exited.utc_ns), 0.0, had_s - HOOK_WITHIN_S)


def _by_journal(instance: Instance) -> int:
    """The number of a life by its journal, else that of its instance."""
    return instance.ordinal if instance.life is None else instance.life


def _in_force(case: Case, spec: Container, instance: Instance) -> DueNotes:
    """The values that each variable may have at a start."""
    due: dict[str, tuple[str, ...]] = {}
    for variable in spec.env:
        each = next(one for one in case.scenario.objects if one.name == variable.object)
        possible = states_possible_at(case, states_of_object(case, each), instance.begun_ns or 0)
        values = [state.data[variable.name] for state in possible if state.data is not None]
        due[variable.name] = tuple(dict.fromkeys(values))
    return due


def _unread(case: Case, spec: Container, instances: tuple[Instance, ...]) -> Iterator[Finding]:
    """A change after which no start has to know it: then nothing shows that it was read again."""
    last_ns = max((each.begun_ns or 0 for each in instances), default=0)
    for each in case.scenario.objects:
        for state in states_of_object(case, each)[1:] if each.name in {one.object for one in spec.env} else ():
            if state.data is not None and kubelet_knows_by_ns(case, state) > last_ns:
                sentence = f'no start of "{spec.name}" came late enough after the change of {each.name}'
                yield inconclusive(f"{sentence} {at_lines([state.line or 0])}: {why_it_ended(case)}.", state.line or 0)


OUT_OF_MEMORY = "OOMKilled"
"""k8s.io/cri-api v1/api.proto@v0.37.1 ContainerStatus."""


@checker("exit-reason", Need("exits", 1, "exit", "for memory in a status", is_shown=False))
def check_exit_reason(case: Case, seen: Seen) -> Iterator[Finding]:
    """The last status of an exit MUST state OOMKilled if the kernel killed the container for its memory, and only then."""
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            stated = _stated_reasons(pod, spec.name)
            for number, instance in enumerate(() if spec.program.first_pod_only else ran(pod, spec.name)):
                reason, line = stated.get(instance.container_id or "", ("", 0))
                if not reason or instance.life != number or not exited_by_itself(case, spec.name, number, instance):
                    continue
                planned = spec.program.life(number)
                is_due = planned is not None and planned.end is LifeEnd.MEMORY
                seen["exits"] += is_due
                if (reason == OUT_OF_MEMORY) is not is_due:
                    lines = (*instance.lines[-1:], line)
                    what = "ran" if is_due else "did not run"
                    said = f'a status states {reason} of instance {number} of "{spec.name}" {at_lines(lines)}'
                    yield fail(f"{said}; it {what} out of memory.", *lines)
    seen.facts["exits_for_memory"] = seen["exits"]


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


@checker(
    "resize-restart",
    "each resize of a container that had begun, accepted by the API server, and a watch of 5 s after it",
)
def check_resize_restart(case: Case, seen: Seen) -> Iterator[Finding]:
    """A resize that asks to restart the container MUST stop it and start it once, whatever its rules say.

    Until the container is stopped, up to 30 s may be the update's way to the kubelet. Nothing is needed where the scenario
    resizes nothing.
    """
    took: list[float] = []
    findings: list[Finding] = []
    for spec in case.scenario.pod.containers:
        for done in case.recording.interventions if spec.restarts_on_resize else ():
            if (
                done.data.action == InterventionKind.RESIZE
                and (done.data.arguments or {}).get("container") == spec.name
            ):
                findings += _resized(case, spec.name, done, took)
    seen.facts["restarted_after_s"] = took
    yield from findings
    if (
        not findings
        and not took
        and any(each.action is InterventionKind.RESIZE for each in case.scenario.interventions)
    ):
        yield inconclusive(f"no resize was seen, one needed: {why_it_ended(case)}.")


def _resized(case: Case, name: str, done: Done, took: list[float]) -> Iterator[Finding]:
    """What is wrong with one resize; `took` gets the seconds from its answer to the start after it."""
    if not done.ok:
        yield inconclusive(f"the resize failed {at_lines([done.line])}: {done.data.outcome}.", done.line)
        return
    instances = ran(case.pod, name)
    later = [each for each in instances if _may_follow(each, done.t_ns)]
    earlier = instances[: len(instances) - len(later)]
    if not earlier:
        yield inconclusive(f'"{name}" had not begun when it was resized {at_lines([done.line])}.', done.line)
        return
    spec = case.scenario.pod.container(name)
    may_end_anyway = case.restarts_all or bool(spec.killing_probes)
    if len(later) > 1 and not may_end_anyway and not exited_by_itself(case, name, len(earlier), later[0]):
        lines = (done.line, *later[1].lines[:1])
        yield fail(f'the resize restarted "{name}" a second time {at_lines(lines)}; once was due.', *lines)
        return
    yield from without_grace(spec, earlier[-1], done.t_ns, "its resize", done.line) if later else ()
    answered_ns = done.data.ended_ns or done.t_ns
    owed_ns = owed_until_ns(case, case.pod) or case.recording.end_ns  # nothing of a pod that has ended is started
    until_ns = max(answered_ns, (later[0].begun_ns or 0) if later else min(owed_ns, case.recording.end_ns))
    took_s = (until_ns - answered_ns) / 1e9
    if later or took_s > RESIZED_WITHIN_S:
        took.append(round(took_s, 3))
    if later and took_s <= RESIZED_WITHIN_S:
        return
    lines = (done.line, *(later[0].lines[:1] if later else ()))
    started = "started" if later else "not started"
    sentence = (
        f'"{name}" was {started} within {seconds(took_s, unlike=RESIZED_WITHIN_S)} of its resize {at_lines(lines)}'
    )
    if took_s <= RESIZED_WITHIN_S:
        yield inconclusive(f"{sentence}: {why_it_ended(case)}.", *lines)
        return
    window_ns = (answered_ns, until_ns)
    unheard_s = _unheard_s(case, earlier[-1], *window_ns)
    if blind := blind_spot(case, case.pod, instances, *window_ns):
        doubt: str | None = f"A start could have gone unseen: {blind}"
    elif took_s - unheard_s <= RESIZED_WITHIN_S:
        doubt = f"Nothing shows that the kubelet had heard of it for {seconds(unheard_s)}"
    else:
        doubt = excuse(case, window_ns, 0.0, took_s - unheard_s - RESIZED_WITHIN_S)
    yield fail_unless(doubt, f"{sentence}; {seconds(RESIZED_WITHIN_S)} is the longest.", *lines)


def _unheard_s(case: Case, resized: Instance, answered_ns: int, until_ns: int) -> float:
    """For how long the update may have been on its way: until the container was stopped, and no longer than a slow API takes."""
    stopped_ns = until_ns if resized.exit_ns is None else max(answered_ns, resized.exit_ns)
    slow_ns = max(SLOW_API_NS, held_by_api_ns(case, answered_ns, until_ns))
    return min(stopped_ns - answered_ns, until_ns - answered_ns, slow_ns) / 1e9


def _may_follow(instance: Instance, t_ns: int) -> bool:
    """Whether it began after that time; a coarse stamp is rounded down."""
    begun = instance.begun
    return begun is not None and begun.utc_ns is not None and begun.utc_ns + begun.resolution_ns > t_ns
