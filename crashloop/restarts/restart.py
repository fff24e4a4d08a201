"""Every restart of a container, beside what was due: where history and model meet.

Theory of operation. Every exit is followed by a delay. The promise is exit -> next start, and no channel can make it look
shorter, so the shortest reading decides whether a start was too early. The kubelet checks the delay before it creates the
container, so exit -> create by the runtime decides as well: no slow start hides it. The kubelet's lateness is exit -> the
runtime's create; create -> start is the host's. If only the journal recorded the instance, its start replaces the create,
and `START_SHARE_S` is the assumed time from create to start.

Of a user's own pod the kubelet's delays are those before which nothing but its containers ended or held them. A life that
lasted until a probe could have failed often enough may have been killed, and while the kubelet kills or pulls for one container
it starts no other of the pod. So delays are known whose restart was created before the first such kill was possible, and for
regular containers from the first start of the last of them on. A restart without a known delay may be held up for as long as
the pod is seen.
"""

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from crashloop.history.clock import Clocks
from crashloop.history.event import Channel
from crashloop.history.instances import Instance
from crashloop.history.recording import PodHistory
from crashloop.history.stamps import Fact, Span, span
from crashloop.model.backoff import Due
from crashloop.model.restart import LEFT_OUT, PUT_OFF, Decided, Decision, looks_done
from crashloop.restarts.case import Case
from crashloop.restarts.excuse import late_window
from crashloop.restarts.lives import may_be_killed, ran, was_killed
from crashloop.restarts.model_input import observed
from crashloop.restarts.owed import decided_after, owed_after
from crashloop.restarts.restart_all import replacements
from crashloop.spec.pod import Container, ContainerKind


class Restart(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What followed an exit: the start by restart `due.restart`, if there was one."""

    pod: PodHistory
    container: str
    due: Due
    decided: Decided
    """Whether there is to be a restart at all."""
    previous: Instance
    next: Instance | None
    shortest: Span | None
    """Exit -> start by the channel that shows it shortest; None while there is no start."""
    to_create: Span | None
    """Exit -> the runtime's create; None if the runtime did not see it."""
    window_ns: tuple[int, int] | None
    """From the exit to the create or start in UTC; None without a start, or without a common clock."""
    row: dict[str, Any]
    """As the report draws it."""

    @property
    def name(self) -> str:
        """Its name in findings."""
        return f'restart {self.due.restart} of "{self.container}"'

    @property
    def soonest(self) -> Span | None:
        """The shortest time from the exit to what the kubelet may only do when the delay has passed: create, then start."""
        if self.shortest is None or self.to_create is None or self.to_create.channel != Channel.RUNTIME:
            return self.shortest
        return min(self.shortest, self.to_create, key=lambda each: each.longest_ns)

    @property
    def exit(self) -> Fact | None:
        return self.previous.exit

    @property
    def failed_attempt(self) -> Instance | None:
        """An instance that was created after the exit and never ran."""
        instances, following = self.pod.instances(self.container), self.previous.ordinal + 1
        attempt = instances[following] if following < len(instances) else None
        return attempt if attempt is not None and not attempt.has_run else None


def restarts_of(case: Case, pod: PodHistory, container: str) -> tuple[Restart, ...]:
    """The delay after each exit of a container, in order. Ends before the first instance whose times are unknown.

    Of a user's own pod those are left out that a kill or a pull may have lengthened.
    """
    key = case.prediction.deviations, pod.uid, container
    if key not in case.memo.delays:
        case.memo.delays[key] = tuple(_restarts(case, pod, container))
    return case.memo.delays[key]


def _restarts(case: Case, pod: PodHistory, container: str) -> Iterator[Restart]:
    instances, spec = ran(pod, container), case.scenario.pod.container(container)
    replaced = replacements(case, pod, container)
    begins = case.in_force_at(instances[0].begun_ns if instances else None)
    for ideal in case.prediction.dues_for(container, observed(case, pod, container), begins):
        previous = instances[ideal.restart - 1]
        following = instances[ideal.restart] if ideal.restart < len(instances) else None
        if not is_delay_known(case, pod, container, previous, following):
            continue
        reset = replaced.get(previous.ordinal)
        decided = decided_after(case, container, ideal.restart - 1, previous, following, reset)
        if reset is not None:
            since_ns: int | None = reset.trigger.t_ns
        elif decided.is_refused:  # it had ended for good, until its sandbox went
            since_ns = case.sandbox_killed_ns(previous, following)
        else:
            since_ns = case.record_lost_ns(container, previous)
        due = _since_trigger(ideal, previous, since_ns)
        shortest = _shortest(case.recording.clocks, previous, following) if following else None
        to_create = span(previous.exit, following.created) if following else None
        window_ns = _window_ns(previous, following) if following else None
        yield Restart(
            pod=pod,
            container=container,
            due=due,
            decided=_unless_put_off(case, pod, due, previous, following, decided, spec),
            previous=previous,
            next=following,
            shortest=shortest,
            to_create=to_create,
            window_ns=window_ns,
            row={
                "container": container,
                "restart": due.restart,
                "due_s": due.delay_s,
                "latest_s": due.latest_s,
                "seen_s": shortest.seconds if shortest else None,
                "created_s": to_create.seconds if to_create else None,
                "stalled_s": _held_s(case, window_ns, due) if window_ns else 0.0,
                "channel": shortest.channel if shortest else "",
                "reason": due.reason,
            },
        )


def _unless_put_off(
    case: Case,
    pod: PodHistory,
    due: Due,
    previous: Instance,
    following: Instance | None,
    decided: Decided,
    container: Container,
) -> Decided:
    """What the model decides, or that a restart which its delay puts off does not come, where none was seen."""
    if (
        following is not None
        or decided.decision is not Decision.RESTART
        or not any(each.delay_s for each in due.windows)
    ):
        return decided
    if decided.is_refused and _waits_in_next_sandbox(case, pod, due, previous):
        return LEFT_OUT
    kubelet = case.in_force_at(previous.exit_ns)
    is_over = was_killed(case, container.name, due.restart - 1, previous) and looks_done(
        case.scenario.pod,
        container,
        previous.exit_code or 0,
        gates=kubelet.gates,
        version=kubelet.version,
        deviations=case.prediction.deviations,
    )
    return PUT_OFF if is_over else decided


def _waits_in_next_sandbox(case: Case, pod: PodHistory, due: Due, previous: Instance) -> bool:
    """Whether a delay went on when the next sandbox was made: only that sync starts again what had ended for good.

    pkg/kubelet/kuberuntime/kuberuntime_manager.go@v1.37.2 computePodActions, doBackOff.
    """
    ended_ns, lost_ns = previous.exit_ns or 0, case.sandbox_killed_ns(previous, None) or 0
    made = (each.fact.utc_ns or 0 for each in pod.sandboxes if each.phase == "created")
    made_ns = next((each for each in made if each >= lost_ns), None)
    return made_ns is not None and any(each.delay_s > (made_ns - ended_ns) / 1e9 for each in due.windows)


def _held_s(case: Case, window_ns: tuple[int, int], due: Due) -> float:
    """For how long the host is shown to have held the restart up, from the due moment on."""
    return round(case.recording.host.held_s(*late_window(window_ns, due.delay_s)), 3)


def _since_trigger(due: Due, previous: Instance, since_ns: int | None) -> Due:
    """What had stopped before RestartAllContainers was triggered, or its record was lost, is late only from that on."""
    if since_ns is None or previous.exit_ns is None or previous.exit_ns >= since_ns:
        return due
    return msgspec.structs.replace(due, latest_s=due.latest_s + (since_ns - previous.exit_ns) / 1e9)


def _window_ns(previous: Instance, following: Instance) -> tuple[int, int] | None:
    ended, later_ns = previous.exit, following.begun_ns
    if ended is None or ended.utc_ns is None or later_ns is None:
        return None
    return ended.utc_ns, later_ns


def _shortest(clocks: Clocks, previous: Instance, following: Instance) -> Span | None:
    """Exit -> start by the channel that shows it shortest; by two channels only where none saw both."""
    by_journal = _slewed(clocks, previous.journal_exited, following.journal_started)
    alike = (span(previous.exited, following.started), by_journal)
    found = [each for each in alike if each is not None]
    if not found:
        mixed = (span(previous.exited, following.journal_started), span(previous.journal_exited, following.started))
        found = [each for each in mixed if each is not None]
    if not found and following.was_refused and (created := span(previous.exit, following.created)):
        return created
    return min(found, key=lambda each: each.longest_ns, default=None)


def _slewed(clocks: Clocks, exited: Fact | None, started: Fact | None) -> Span | None:
    """A span by the journal, which counts boot time, while the kubelet waits by UTC: by NTP either may be the longer one."""
    delay = span(exited, started)
    if delay is None or exited is None or started is None:
        return None
    return msgspec.structs.replace(delay, step_ns=delay.step_ns + clocks.drift_ns(exited.own_ns, started.own_ns))


class Exit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One exit of a container, whether a restart is owed after it, and what followed."""

    number: int
    """Of the restart after it, from 1."""
    instance: Instance
    following: Instance | None
    """The next instance that ran, or the newest one, which may still start."""
    decided: Decided | None
    """None where that depends on what is not known: whether a life was killed, or with which code it ended."""
    restart: Restart | None
    """None where no delay is known."""


def exits_of(case: Case, pod: PodHistory, container: str) -> Iterator[Exit]:
    """Every exit of a container of the scenario, in order, also those whose time is not known."""
    delays = {each.due.restart: each for each in restarts_of(case, pod, container)}
    replaced = replacements(case, pod, container)
    newest = pod.instances(container)[-1:]
    instances = ran(pod, container)
    followers = (*instances[1:], *(each for each in newest if not each.has_run), None)
    for number, (instance, following) in enumerate(zip(instances, followers, strict=False), start=1):
        if instance.exit is None:
            continue
        decided = owed_after(case, container, number - 1, instance, following, replaced.get(instance.ordinal))
        yield Exit(number=number, instance=instance, following=following, decided=decided, restart=delays.get(number))


def restarts(case: Case) -> Iterator[Restart]:
    """The delays of every container of every pod of the recording."""
    for pod in case.pods:
        for container in case.scenario.pod.containers:
            yield from restarts_of(case, pod, container.name)


def is_delay_known(case: Case, pod: PodHistory, container: str, exited: Instance, following: Instance | None) -> bool:
    """Whether the model's delay after an exit is the kubelet's; always so where every program is known."""
    if all(each.program.known for each in case.scenario.pod.containers):
        return True
    came_ns = math.inf if following is None or following.begun_ns is None else following.begun_ns
    return _complete_ns(case, pod, container) <= (exited.exit_ns or 0) and came_ns <= _possible_kill_ns(case, pod)


def _complete_ns(case: Case, pod: PodHistory, container: str) -> float:
    """When all containers that start beside this one had started: until then the kubelet may have pulled images for them."""
    own = case.scenario.pod.container(container)
    if own.kind is ContainerKind.INIT and not own.is_sidecar:
        return 0
    beside = (each for each in case.scenario.pod.of_kind(ContainerKind.REGULAR) if each.name != container)
    first_ns = (next((one.start_ns for one in ran(pod, each.name)), None) for each in beside)
    return max((math.inf if each is None else each for each in first_ns), default=0)


def _possible_kill_ns(case: Case, pod: PodHistory) -> float:
    """When a probe or a hook can have ended a container of the pod for the first time."""
    return min(
        (
            (life.start_ns or 0) + (spec.killed_after_s or 0.0) * 1e9
            for spec in case.scenario.pod.containers
            for life in ran(pod, spec.name)
            if may_be_killed(case, spec.name, life)
        ),
        default=math.inf,
    )
