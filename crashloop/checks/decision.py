"""Checker of the decision after each exit: restarted if and only if the model says so."""

import math
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from crashloop.checks.delays import missing_restart
from crashloop.checks.finding import Checked, Finding, fail, inconclusive
from crashloop.checks.restart_all_containers import left_out
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.model.admission import Admission
from crashloop.model.restart import Decided, Decision
from crashloop.restarts.case import Case
from crashloop.restarts.evidence import blind_spot, leaves_ns, watched_s, why_it_ended
from crashloop.restarts.lives import exited_by_itself, ran, was_killed
from crashloop.restarts.owed import decided_after
from crashloop.restarts.restart import Restart, restarts_of
from crashloop.restarts.restart_all import replacements
from crashloop.spec.pod import ContainerKind
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
    """Every exit of a container, in order."""
    instances = ran(pod, container)
    replaced = replacements(case, pod, container)
    delays = {each.due.restart: each for each in restarts_of(case, pod, container)}
    for number, instance in enumerate(instances):
        if instance.exit is None:
            continue
        following = instances[number + 1] if number + 1 < len(instances) else None
        yield DecidedExit(
            pod=pod,
            container=container,
            number=number,
            instance=instance,
            following=following,
            decided=decided_after(case, container, number, instance, following, replaced.get(instance.ordinal)),
            delay=delays.get(number + 1),
        )


def check_restart_decision(case: Case) -> Checked:
    """A container MUST be restarted after an exit if and only if policy and rules say so.

    Needs every exit of the programs up to the first after which a container stays down, or as many restarts as the
    scenario waits for; that something does not happen is watched for twice the delay that would be due, and a minute.
    """
    findings: list[Finding] = []
    facts: dict[str, list[str]] = {}
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            exits = tuple(exits_of(case, pod, spec.name))
            facts[spec.name] = [f"{each.instance.exit_code}: {each.decided.decision}" for each in exits]
            findings += [finding for each in exits if (finding := _judged(case, each)) is not None]
            missing = None if findings else _too_few(case, spec.name, exits)
            if missing is not None:
                findings.append(missing)
        findings += left_out(case, pod)
    return Checked(findings=tuple(findings), facts={"decisions": facts})


def check_no_restart(case: Case) -> Checked:
    """No container MUST restart.

    Needs a start of each, and after each exit a watch of twice the delay that would be due, and a minute.
    """
    findings: list[Finding] = []
    watched: dict[str, float] = {}
    for pod in case.pods:
        for spec in case.scenario.pod.containers:
            instances = ran(pod, spec.name)
            if not instances:
                findings.append(inconclusive(f'"{spec.name}" was never seen to start: {why_it_ended(case)}.'))
            for before, again in pairwise(instances):
                lines = tuple(fact.line for fact in (before.exit, again.begun) if fact)
                findings.append(
                    fail(f'"{spec.name}" was started again {at_lines(lines)}; it was not to restart.', *lines)
                )
            for each in exits_of(case, pod, spec.name):
                quiet = None if each.following else _quiet(case, each)
                findings += [quiet] if quiet else []
                watched[spec.name] = round(watched_s(case.recording, each.instance.exit), 3)
    return Checked(findings=tuple(findings), facts={"watched_s": watched})


def _judged(case: Case, each: DecidedExit) -> Finding | None:
    """One exit against its decision."""
    stays_down = each.decided.decision is Decision.STOP
    if each.following is not None and stays_down:
        again = each.following.begun
        lines = (each.line, *((again.line,) if again else ()))
        return fail(
            f"{each.name} and was restarted {at_lines(lines)}; it was not to restart: {each.decided.step}.", *lines
        )
    if each.following is None and not stays_down and each.delay is not None:
        return missing_restart(case, each.delay, each.decided.step)
    if not (exited_by_itself(case, each.container, each.number, each.instance) or _kill_is_due(case, each)):
        return inconclusive(
            f"{each.name} {at_lines([each.line])} where its program says otherwise; the scenario was not carried out.",
            each.line,
        )
    if (
        each.following is not None
        or not stays_down
        or _is_done(case, each)
        or each.number >= _wanted(case, each.container)
    ):
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
    return killed and (bool(spec.killing_probes) or bool(case.scenario.interventions) or case.restarts_all)


def _quiet(case: Case, each: DecidedExit) -> Finding | None:
    """INCONCLUSIVE unless the time after an exit was watched long enough, by a ground truth, to say: no restart."""
    exited = each.instance.exit
    if exited is None or exited.utc_ns is None:
        return inconclusive(f"{each.name}; no clock shows for how long it was watched after that.")
    due_s = each.delay.due.delay_s if each.delay else 0.0
    needed_s = QUIET_FACTOR * (due_s + QUIET_S)
    seen_s = watched_s(case.recording, exited)
    if seen_s < needed_s:
        return inconclusive(
            f"{each.name} {at_lines([exited.line])} and was watched for {seconds(seen_s)} after that, "
            f"{seconds(needed_s)} needed: {why_it_ended(case)}.",
            exited.line,
        )
    blind = blind_spot(case, each.pod, each.pod.instances(each.container), exited.utc_ns, case.recording.end_ns)
    if blind is None:
        return None
    return inconclusive(
        f"{each.name} {at_lines([exited.line])}; a start after that could have gone unseen: {blind}.", exited.line
    )


def _too_few(case: Case, container: str, exits: tuple[DecidedExit, ...]) -> Finding | None:
    """The least evidence: every exit of the program that the scenario waits for was seen."""
    wanted = _wanted(case, container)
    if case.prediction.admission is not Admission.RUNS or wanted == math.inf or len(exits) >= wanted:
        return None
    if exits and exits[-1].decided.decision is Decision.STOP:
        return None  # the program cannot go on
    return inconclusive(f'{count(len(exits), "exit")} of "{container}" seen, {wanted} needed: {why_it_ended(case)}.')
