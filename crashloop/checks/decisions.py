"""After each exit a container is restarted, stays down or takes others along: as policy and rules say."""

import math
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise, zip_longest

import msgspec

from crashloop.checks.checker import Holds, Life, Need, Seen, checker, lives
from crashloop.checks.delays import missing_restart
from crashloop.checks.finding import Finding, fail, fail_unless, inconclusive, too_short
from crashloop.history.event import Channel
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact
from crashloop.model.prediction import Admission
from crashloop.model.restart import Decided, Decision
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, ended_by_node, unseen_exit, watched_s, why_it_ended
from crashloop.restarts.lives import exited_by_itself, leaves_ns, ran, was_killed
from crashloop.restarts.owed import decided_after, owed_after
from crashloop.restarts.restart import Restart, restarts_of
from crashloop.restarts.restart_all import RestartAllTrigger, replacements, resets_of, unseen_reset
from crashloop.spec.intervention import CHANGE_A_CONTAINER, RESTART_THE_KUBELET, InterventionKind
from crashloop.spec.pod import Container, ContainerKind
from crashloop.spec.program import KILLED
from crashloop.verdict import Outcome
from crashloop.words import at_lines, count, seconds

QUIET_FACTOR, QUIET_S = 2.0, 30.0
"""That something does not happen is watched for twice the delay that would be due, and a minute."""


class DecidedExit(msgspec.Struct, frozen=True, kw_only=True):
    """One exit, what the model decides after it, and what happened."""

    pod: PodHistory
    container: str
    number: int
    instance: Instance
    following: Instance | None
    decided: Decided
    delay: Restart | None

    @property
    def name(self) -> str:
        return f'"{self.container}" exited with {self.instance.exit_code}'

    @property
    def line(self) -> int:
        return self.instance.exit.line if self.instance.exit else 0


def exits_of(case: Case, pod: PodHistory, container: str) -> Iterator[DecidedExit]:
    """Every exit of a container, in order, but one whose restart is open: a probe may have been ending it when it ended."""
    instances = ran(pod, container)
    replaced = replacements(case, pod, container)
    delays = {each.due.restart: each for each in restarts_of(case, pod, container)}
    for number, (instance, following) in enumerate(zip_longest(instances, instances[1:])):
        reset = replaced.get(instance.ordinal)
        if instance.exit is None:
            continue
        decided = decided_after(case, container, number, instance, following, reset)
        is_open = owed_after(case, container, number, instance, following, reset) is None
        if not (is_open and following is not None and decided.decision is Decision.STOP):
            yield DecidedExit(
                pod=pod,
                container=container,
                number=number,
                instance=instance,
                following=following,
                decided=decided,
                delay=delays.get(number + 1),
            )


@checker(
    "restart-decision",
    Need("restarts", 0, "restart", is_shown=False),
    "each exit of each program up to the first that it stays down after, or all that are waited for",
)
def check_restart_decision(case: Case, seen: Seen) -> Iterator[Finding]:
    """A container MUST be restarted after an exit if and only if policy and rules say so.

    That something does not happen is watched for twice the delay that would be due, and a minute.
    """
    findings: list[Finding] = []
    decisions = seen.facts["decisions"] = {}
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            exits = tuple(exits_of(case, pod, spec.name))
            seen["restarts"] += sum(each.following is not None for each in exits)
            decisions[spec.name] = [f"{each.instance.exit_code}: {each.decided.decision}" for each in exits]
            findings += [found for each in exits if (found := _decided_otherwise(case, each)) is not None]
            findings += () if findings else _too_few(case, spec.name, exits)
        findings += _left_alone(case, pod)
    started = any(ran(pod, spec.name) for pod in case.pods for spec in case.scenario.pod.containers)
    if not findings and not started and case.prediction.admission is Admission.RUNS:
        findings = [inconclusive(f"no container was seen to start: {why_it_ended(case)}.")]
    yield from findings


@checker("no-restart", "a start of each container, and a watch after each of its exits", holds=Holds.DECLARED)
def check_no_restart(case: Case, seen: Seen) -> Iterator[Finding]:
    """No container MUST restart.

    After each exit it is watched for twice the delay that would be due, and a minute.
    """
    watched = seen.facts["watched_s"] = {}
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            instances = ran(pod, spec.name)
            if not instances:
                yield inconclusive(f'"{spec.name}" was never seen to start: {why_it_ended(case)}.')
            for before, again in pairwise(instances):
                lines = tuple(fact.line for fact in (before.exit, again.begun) if fact)
                yield fail(f'"{spec.name}" was started again {at_lines(lines)}; it was not to restart.', *lines)
            for each in exits_of(case, pod, spec.name):
                watched[spec.name] = round(watched_s(case.recording, each.instance.exit), 3)
                quiet = None if each.following else _quiet(case, each)
                if quiet is not None:
                    yield quiet


def _decided_otherwise(case: Case, each: DecidedExit) -> Finding | None:
    """One exit against its decision."""
    stays_down = each.decided.decision is Decision.STOP
    if each.following is not None and stays_down:
        again = each.following.begun
        lines = (each.line, *((again.line,) if again else ()))
        unseen = unseen_reset(case, each.pod, each.instance.exit_ns or 0, each.following.begun_ns or 0)
        doubt = f"An exit that restarts all could have gone unseen: {unseen}" if unseen else None
        sentence = f"{each.name} and was restarted {at_lines(lines)}; it was not to restart: {each.decided.step}."
        return fail_unless(doubt, sentence, *lines)
    if each.following is None and not stays_down and each.delay is not None:
        return missing_restart(case, each.delay, each.decided.step)
    if not (exited_by_itself(case, each.container, each.number, each.instance) or _kill_is_due(case, each)):
        return too_short(
            f"{each.name} {at_lines([each.line])} where its program says otherwise; the scenario was not carried out.",
            each.line,
        )
    is_last_wanted = each.number >= _wanted(case, each.container)
    if each.following is not None or not stays_down or is_last_wanted or _is_done(case, each):
        return None
    return _quiet(case, each)


def _wanted(case: Case, container: str) -> float:
    """How many exits the scenario waits for; without a number, all there are."""
    until = case.scenario.until
    named = [each[container] for each in (until.exits, until.restarts) if container in each]
    return max(named, default=math.inf)


def _is_done(case: Case, each: DecidedExit) -> bool:
    """Whether it is an init container after whose success the pod has gone on: nobody waits for it any more."""
    spec, exited = case.scenario.pod.container(each.container), each.instance.exit
    if spec.kind is not ContainerKind.INIT or each.instance.exit_code != 0 or exited is None or exited.utc_ns is None:
        return False
    begun = [instance.start for other in case.scenario.pod.containers for instance in ran(each.pod, other.name)]
    return any(start is not None and (start.utc_ns or 0) > exited.utc_ns for start in begun)


def _kill_is_due(case: Case, each: DecidedExit) -> bool:
    """Whether the scenario has somebody kill this container, or the pod was being deleted."""
    leaves, exited = leaves_ns(case, each.pod), each.instance.exit
    if leaves is not None and exited is not None and (exited.utc_ns or 0) >= leaves:
        return True
    spec = case.scenario.pod.container(each.container)
    killed = was_killed(case, each.container, each.number, each.instance)
    return killed and (bool(spec.killing_probes) or case.scenario.is_disturbed or case.restarts_all)


def _quiet(case: Case, each: DecidedExit) -> Finding | None:
    """INCONCLUSIVE unless the time after an exit was watched long enough, by a ground truth, to say: no restart."""
    exited = each.instance.exit
    if exited is None or exited.utc_ns is None:
        return inconclusive(f"{each.name}; no clock shows for how long it was watched after that.")
    due_s = each.delay.due.delay_s if each.delay else 0.0
    needed_s = QUIET_FACTOR * (due_s + QUIET_S)
    seen_s = watched_s(case.recording, exited)
    if seen_s < needed_s:
        return Finding(
            Outcome.INCONCLUSIVE,
            f"{each.name} {at_lines([exited.line])} and was watched for {seconds(seen_s)} after that, "
            f"{seconds(needed_s)} needed: {why_it_ended(case)}.",
            (exited.line,),
            is_too_short=True,
        )
    blind = blind_spot(case, each.pod, each.pod.instances(each.container), exited.utc_ns, case.recording.end_ns)
    if blind is None:
        return None
    return inconclusive(
        f"{each.name} {at_lines([exited.line])}; a start after that could have gone unseen: {blind}.", exited.line
    )


def _too_few(case: Case, container: str, exits: tuple[DecidedExit, ...]) -> Iterator[Finding]:
    """Not every exit of the program that the scenario waits for was seen, and it could go on."""
    wanted = _wanted(case, container)
    stays_down = bool(exits) and exits[-1].decided.decision is Decision.STOP
    if case.prediction.admission is Admission.RUNS and len(exits) < wanted < math.inf and not stays_down:
        yield inconclusive(f'{count(len(exits), "exit")} of "{container}" seen, {wanted} needed: {why_it_ended(case)}.')


def _left_alone(case: Case, pod: PodHistory) -> Iterator[Finding]:
    """Containers that a RestartAllContainers did not restart along with its source."""
    for reset in resets_of(case, pod):
        again = _first_after(ran(pod, reset.container), reset.t_ns)
        if again is None:
            continue
        for spec in case.scenario.pod.containers:
            if spec.name == reset.container or _taken_along(case, pod, spec, reset, again):
                continue
            lines = (reset.exited.line, again.line)
            sentence = (
                f'"{reset.container}" exited and was restarted without "{spec.name}" {at_lines(lines)}; '
                f"all containers were to restart: {reset.decided.step}."
            )
            blind = blind_spot(case, pod, pod.instances(spec.name), reset.t_ns, again.utc_ns or reset.t_ns)
            yield fail_unless(blind and f"But {blind}", sentence, *lines)


def _taken_along(case: Case, pod: PodHistory, spec: Container, reset: RestartAllTrigger, again: Fact) -> bool:
    """Whether a container had been ended or removed, and an init container run again, by the time the source started again."""
    instances = ran(pod, spec.name)
    before = [each for each in instances if each.begun and (each.begun_ns or 0) < reset.t_ns]
    if spec.kind is ContainerKind.EPHEMERAL or not before:
        return True
    ended_ns = before[-1].exit_ns
    if (
        ended_ns is None
        and _first_after(instances, reset.t_ns)
        and unseen_exit(case, pod, reset.t_ns, again.utc_ns or 0)
    ):
        return True  # its next instance shows that it ended, and nothing here could show when
    if (
        ended_ns is None
        or ended_ns > (again.utc_ns or 0)
        or _spared(case, spec, reset, instances, again, len(before) - 1)
    ):
        return False
    source = case.scenario.pod.container(reset.container)
    if spec.kind is not ContainerKind.INIT or source.kind is not ContainerKind.REGULAR:
        return True
    repeated = _first_after(instances, reset.t_ns)
    return repeated is not None and (repeated.utc_ns or 0) < (again.utc_ns or 0) + again.resolution_ns


def _spared(
    case: Case, spec: Container, reset: RestartAllTrigger, instances: tuple[Instance, ...], again: Fact, number: int
) -> bool:
    """Whether instance `number`, whose restart was put off at the trigger, was still there when the source started again."""
    instance, following = instances[number], next(iter(instances[number + 1 :]), None)
    if instance.created is None or (instance.exit_ns or 0) >= reset.t_ns:
        return False
    if following is not None and (following.begun_ns or 0) < reset.latest_ns:
        return False
    if decided_after(case, spec.name, number, instance, following, None).decision is not Decision.RESTART:
        return False
    removed, by_ns = instance.removed, (again.utc_ns or 0) + again.resolution_ns
    is_lost = any(case.recording.gaps_of(Channel.RUNTIME, instance.exit_ns or 0, by_ns))
    return not is_lost if removed is None else (removed.utc_ns or 0) > by_ns


def _first_after(instances: tuple[Instance, ...], t_ns: int) -> Fact | None:
    """When the first of these instances began that began after a time."""
    begun = [start for each in instances if (start := each.begun) and start.utc_ns is not None]
    return next((each for each in begun if (each.utc_ns or 0) > t_ns), None)


@checker("runs-on", Need("spared", 0, "exit", "beside a container that ran on"), once=True)
def check_runs_on(case: Case, seen: Seen) -> Iterator[Finding]:
    """A container MUST run on when another one of its pod exits, its readiness probe fails, or its kubelet restarts.

    Left out are those that are asked to end: with a liveness or startup probe, whose record is removed, one life for each change
    of image or size, those of a pod with RestartAllContainers or with interventions beyond these and restarts of the kubelet, and
    all of a pod that ends: one that starts no container any more.
    """
    spare = (*RESTART_THE_KUBELET, *CHANGE_A_CONTAINER, InterventionKind.REMOVE_CONTAINER)
    changed: Counter[tuple[str, str]] = Counter()
    if case.restarts_all or any(each.action not in spare for each in case.scenario.interventions):
        return
    for life in lives(case):
        seen["spared"] += sum(1 for _ in _exits_beside(case, life))
        name, of_pod = life.spec.name, (life.pod.uid, life.spec.name)
        if life.spec.killing_probes or case.is_removed(name) or not was_killed(case, name, life.number, life.instance):
            continue
        changed[of_pod] += 1
        exited = life.instance.exit
        by_ns = (exited.utc_ns or 0) + exited.resolution_ns if exited is not None else case.recording.end_ns
        if changed[of_pod] > sum(1 for each in case.changes_ns(name) if each <= by_ns):
            yield from _unasked(case, life)


def _exits_beside(case: Case, life: Life) -> Iterator[Instance]:
    """Exits of other containers while this instance ran."""
    from_ns, to_ns = life.instance.begun_ns or 0, life.instance.exit_ns or case.recording.end_ns
    others = (other for other in case.scenario.pod.containers if other is not life.spec)
    exited = (each for other in others for each in ran(life.pod, other.name) if each.exit_ns is not None)
    return (each for each in exited if from_ns < (each.exit_ns or 0) < to_ns)


def _unasked(case: Case, life: Life) -> Iterator[Finding]:
    """An instance that heard SIGTERM, in a pod that went on. A kill for memory is hard, and a lost sandbox takes all along."""
    pod, exited = life.pod, life.instance.exit
    if exited is None or exited.utc_ns is None or life.instance.exit_code == KILLED:
        return
    later = [each for other in case.scenario.pod.containers for each in ran(pod, other.name)]
    starts = [each for each in later if (each.begun_ns or 0) > exited.utc_ns]
    leaves = leaves_ns(case, pod)
    sandboxes = {each.sandbox_id for each in pod.sandboxes}
    if not starts or len(sandboxes) > 1 or ended_by_node(pod) or (leaves is not None and leaves <= exited.utc_ns):
        return
    lines = (exited.line, *starts[0].lines[:1])
    sentence = f'"{life.spec.name}" was ended, and its pod went on {at_lines(lines)}; nobody had asked for that.'
    blind = blind_spot(case, pod, (), case.recording.begin_ns, exited.utc_ns)
    yield fail_unless(blind and f"A life could have gone unseen: {blind}", sentence, *lines)
