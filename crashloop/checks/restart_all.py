"""RestartAllContainers: in which order and how soon a pod starts again.

Theory of operation. KEP-5532 promises 5 s from the exit to the first start, in 99 % of all resets of a simple pod of two
containers. So one late reset in a hundred proves nothing, and several in a few do: as many as chance makes once in ten
thousand times. Of other pods it promises a minute. But a kubelet that has seen the exit kills and removes in one sync,
without a grace period, so the size of the pod hardly counts, and a single reset has a bound that no chance exceeds.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from crashloop.checks.checker import Holds, Need, Seen, checker
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive
from crashloop.checks.samples import Wait, doubt_of, late_waits
from crashloop.checks.starts import comes_before
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.model.lateness import OWN_S, RELIST_S, START_SHARE_S, latest_s
from crashloop.model.restart import Decision
from crashloop.model.variants import RESTART_ALL_STALLS
from crashloop.restarts.answers import first_success
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, is_journal_lost
from crashloop.restarts.excuse import late_window
from crashloop.restarts.lives import first_begun, ran
from crashloop.restarts.owed import owed_until_ns
from crashloop.restarts.restart import Restart, restarts
from crashloop.restarts.restart_all import RestartAllTrigger, resets_of, started_after
from crashloop.spec.pod import Container, ContainerKind, ProbeKind
from crashloop.words import at_lines, seconds

MOST_S = 5.0
LONGEST_S = 20.0
"""A sync that failed comes again after 15 s at the latest (pkg/kubelet/pod_workers.go@v1.37.1 completeWork), and needs its own
time. In quick runs 39 resets, of pods with up to six containers, took 0.3 s to 1.4 s; in stress runs 279 took 1.5 s in 99 %."""
RESET_MORE_S = RELIST_S + OWN_S
"""What a reset adds to a restart: the sync that removes what has ended, and the relist that the next one waits for."""
RESETS = Need("resets", 3, "reset", is_shown=False)


@checker("restart-all-order", Need("resets", 1, "ordered start-up"))
def check_restart_all_order(case: Case, seen: Seen) -> Iterator[Finding]:
    """After RestartAllContainers, each container MUST wait for the init containers before it, as at the pod's first start.

    Counted are the resets after which a container started that waits for an init container.
    """
    for pod in case.pods:
        for reset, end_ns in _resets_until_next(case, pod):
            started = tuple(_start_up(case, pod, reset, end_ns))
            seen["resets"] += bool(started)
            for each in started:
                if comes_before(each.start, each.ready):
                    yield _before_init(case, pod, reset, each)


@checker("ephemeral-kept", Need("resets", 1, "reset", "beside a running ephemeral container"))
def check_ephemeral_kept(case: Case, seen: Seen) -> Iterator[Finding]:
    """RestartAllContainers MUST NOT end an ephemeral container, nor start it again."""
    for pod in case.pods:
        for spec in case.scenario.pod.of_kind(ContainerKind.EPHEMERAL):
            for reset, end_ns in _resets_until_next(case, pod):
                instance = _running_at(ran(pod, spec.name), reset.t_ns)
                if instance is not None and started_after(pod, reset, end_ns) is not None:
                    seen["resets"] += 1
                    yield from _touched(case, pod, spec, reset, instance, end_ns)


class _Start(NamedTuple):
    """The first start of a container after a reset, and the init container that it had to wait for."""

    spec: Container
    start: Fact
    awaited: Container
    ready: Fact | None


def _start_up(case: Case, pod: PodHistory, reset: RestartAllTrigger, end_ns: int) -> Iterator[_Start]:
    """Of the containers that wait for another, in the order in which they have to start."""
    awaited: Container | None = None
    ready: Fact | None = None
    of_kind = case.scenario.pod.of_kind
    for spec in (*of_kind(ContainerKind.INIT), *of_kind(ContainerKind.REGULAR)):
        instances = ran(pod, spec.name)
        # An init container may begin in the instant of the removal, as far as coarse time stamps tell.
        from_ns = reset.soonest_ns if spec.kind is ContainerKind.INIT else reset.latest_ns
        again = first_begun(instances, from_ns, end_ns)
        start = again.begun if again else None
        if start is not None and awaited is not None:
            yield _Start(spec, start, awaited, ready)
        if spec.kind is ContainerKind.INIT:
            awaited, ready = spec, _ready(spec, start, instances, from_ns, end_ns)


def _before_init(case: Case, pod: PodHistory, reset: RestartAllTrigger, each: _Start) -> Finding:
    lines = (reset.exited.line, each.start.line, *((each.ready.line,) if each.ready else ()))
    probe = each.awaited.probe(ProbeKind.STARTUP) if each.awaited.is_sidecar else None
    what = "had started again" if each.awaited.is_sidecar else "had run again"
    what += ", by its startup probe" if probe else ""
    sentence = (
        f'after the exit of "{reset.container}", "{each.spec.name}" was started before "{each.awaited.name}" {what} '
        f"{at_lines(lines)}; {reset.decided.step}, which begins with the init containers in their order."
    )
    instances = pod.instances(each.awaited.name)
    blind = blind_spot(case, pod, instances, reset.t_ns, each.start.utc_ns or reset.t_ns)
    is_lost = probe is not None and is_journal_lost(case, pod)
    doubt = "Its journal may lack answers" if is_lost else blind and f"But {blind}"
    return fail_unless(doubt, sentence, *lines)


def _touched(
    case: Case, pod: PodHistory, spec: Container, reset: RestartAllTrigger, instance: Instance, end_ns: int
) -> Iterator[Finding]:
    """What a reset did to an ephemeral container that was running and would have gone on."""
    again = first_begun(ran(pod, spec.name), reset.t_ns, end_ns)
    ended = instance.exit
    left_alone = f"{reset.decided.step}, which leaves ephemeral containers alone"
    if again is not None and (start := again.begun) is not None:
        lines = (reset.exited.line, start.line)
        yield fail(f'"{spec.name}" was started again {at_lines(lines)}; {left_alone}.', *lines)
    elif ended is not None and ended.utc_ns is not None and ended.utc_ns < end_ns and not _by_itself(spec, instance):
        lines = (reset.exited.line, ended.line)
        yield fail(f'"{spec.name}" was ended {at_lines(lines)}; {left_alone}.', *lines)
    elif blind := blind_spot(case, pod, pod.instances(spec.name), reset.t_ns, end_ns):
        yield inconclusive(f'an end of "{spec.name}" could have gone unseen: {blind}.', reset.exited.line)


def _by_itself(spec: Container, instance: Instance) -> bool:
    """Whether the program of an ephemeral container, which has one life, ended it."""
    lives = spec.program.each_life()
    return bool(lives) and instance.exit_code == lives[0].exit_code


def _resets_until_next(case: Case, pod: PodHistory) -> Iterator[tuple[RestartAllTrigger, int]]:
    """Each reset that was seen, and the time of the next one, or of the end of the pod or recording."""
    resets = resets_of(case, pod)
    gone_ns = pod.deleted.utc_ns if pod.deleted else None
    ends_ns = (*(each.t_ns for each in resets[1:]), gone_ns or case.recording.end_ns)
    return ((each, end_ns) for each, end_ns in zip(resets, ends_ns, strict=False) if each.is_seen)


def _ready(
    init: Container, start: Fact | None, instances: tuple[Instance, ...], from_ns: int, to_ns: int
) -> Fact | None:
    """When an init container that began in that time let the next one start: by its success, its start, or its startup probe."""
    if not init.is_sidecar:
        return _success(instances, from_ns, to_ns)
    begun = [each for each in instances if from_ns <= (each.begun_ns or 0) < to_ns]
    probe = init.probe(ProbeKind.STARTUP)
    return start if probe is None else first_success(begun, probe)


def _success(instances: tuple[Instance, ...], from_ns: int, to_ns: int) -> Fact | None:
    """The first exit with 0 of an instance that began in that time."""
    begun = (each for each in instances if from_ns <= (each.begun_ns or 0) < to_ns)
    return next((each.exit for each in begun if each.exit_code == 0), None)


def _running_at(instances: tuple[Instance, ...], t_ns: int) -> Instance | None:
    return next(
        (
            each
            for each in instances
            if each.start
            and (each.start_ns or 0) < t_ns
            and (each.exit is None or (each.exit_ns is not None and each.exit_ns > t_ns))
        ),
        None,
    )


@checker("restart-all-first-start", RESETS, holds=Holds.DECLARED, compares=True)
def check_restart_all_first_start(cases: Sequence[Case], seen: Seen) -> Iterator[Finding]:
    """The first container MUST be created within 5 s after the exit in 99 % of all resets."""
    resets = [each for case in cases for each in _waits_after(case, MOST_S)]
    seen["resets"] += len(resets)
    if len(resets) < RESETS.asked(cases[0]):
        return
    yield from late_waits(
        resets,
        seen,
        f"{len(resets)} resets",
        lambda late, slowest: (
            f"in {late} of {len(resets)} RestartAllContainers nothing was created within {seconds(MOST_S)} after the exit, "
            f"but up to {slowest} after it"
        ),
    )


@checker(
    "restart-all-within", Need("resets", 1, "reset", is_shown=False), about=lambda scenario: scenario.pod.restarts_all
)
def check_restart_all_within(case: Case, seen: Seen) -> Iterator[Finding]:
    """The first container MUST be created within 20 s after the exit, in every reset."""
    resets = tuple(_waits_after(case, LONGEST_S))
    seen["resets"] += len(resets)
    seen.facts["took_s"] = [round(each.took_s, 3) for each in resets]
    yield from (_slow_reset(each) for each in resets if each.is_late)


@checker("restart-all-as-due", Need("resets", 3, "restart", "of what triggers RestartAllContainers", is_shown=False))
def check_restart_all_as_due(case: Case, seen: Seen) -> Iterator[Finding]:
    """What triggers RestartAllContainers MUST be created as soon after its delay as a reset takes, in 99 % of all resets.

    A single one may be late, as a sync that failed comes again. One that is late each time has no backoff that explains it.
    Counted are those of a pod whose only container has neither probe nor hook: others, their kills and their delays take time.
    """
    if RESTART_ALL_STALLS in case.prediction.deviations:
        yield inconclusive("resets of this kubelet stall, so that none is prompt.")
        return
    (first, *others), undisturbed = case.scenario.pod.containers, not case.scenario.is_disturbed
    is_plain = undisturbed and not others and not (first.probes or first.post_start or first.pre_stop_s)
    found = restarts(case) if is_plain else ()
    waits = [wait for each in found if (wait := _after_its_delay(case, each)) is not None]
    seen["resets"] += len(waits)
    if waits:
        yield from late_waits(
            waits,
            seen,
            f"{len(waits)} restarts by RestartAllContainers",
            lambda late, slowest: (
                f"{late} of {len(waits)} restarts by RestartAllContainers came more than {seconds(waits[0].most_s)} after "
                f"their delay, up to {slowest} after it"
            ),
        )


def _after_its_delay(case: Case, restart: Restart) -> Wait | None:
    """How long after its delay a container was created that has triggered RestartAllContainers; None if it was not."""
    came, window_ns, due = restart.to_create or restart.shortest, restart.window_ns, restart.due
    if restart.decided.decision is not Decision.RESTART_ALL or came is None or window_ns is None or due.alternatives:
        return None
    version, start_s = case.in_force_at(window_ns[0]).version, 0.0 if restart.to_create else START_SHARE_S
    most_s = latest_s(due.delay_s, version, mode=case.scenario.mode) - due.delay_s + RESET_MORE_S + start_s
    from_ns, to_ns = late_window(window_ns, due.delay_s)
    doubt = doubt_of(case, restart.pod, (restart.container,), (from_ns, to_ns), most_s)
    return Wait(restart.container, came.seconds - due.delay_s, most_s, doubt, case.scenario.name, came.lines)


def _slow_reset(reset: Wait) -> Finding:
    seen = (
        f'nothing was created for {seconds(reset.took_s)} after the exit of "{reset.source}" that triggers RestartAllContainers '
        f"{at_lines(reset.lines)}; {seconds(reset.most_s)} is the longest."
    )
    return fail_unless(reset.doubt, seen, *reset.lines)


def _waits_after(case: Case, most_s: float) -> Iterator[Wait]:
    for pod in case.pods:
        for trigger in resets_of(case, pod):
            reset = _wait_after(case, pod, trigger, most_s)
            if reset is not None:
                yield reset


def _wait_after(case: Case, pod: PodHistory, trigger: RestartAllTrigger, most_s: float) -> Wait | None:
    """None if nothing was created, and too little time was watched to call that late."""
    begun = [start for spec in case.scenario.pod.containers for each in ran(pod, spec.name) if (start := each.begun)]
    after = [each for each in begun if each.utc_ns is not None and each.utc_ns > trigger.t_ns]
    first = min(after, key=lambda each: each.utc_ns or 0, default=None)
    owed_ns = min(owed_until_ns(case, pod) or case.recording.end_ns, case.recording.end_ns)
    until_ns = owed_ns if first is None else first.utc_ns or 0
    took_s = (until_ns - trigger.t_ns) / 1e9
    if first is None and took_s <= most_s:
        return None
    names = [each.name for each in case.scenario.pod.containers]
    doubt = doubt_of(case, pod, names, (trigger.t_ns, until_ns), most_s)
    lines = (trigger.exited.line,) if first is None else (trigger.exited.line, first.line)
    return Wait(trigger.container, took_s, most_s, doubt, case.scenario.name, lines)
