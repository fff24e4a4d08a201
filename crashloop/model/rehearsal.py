"""Plays a pod through in advance: when its containers exit, what is decided, how it ends, when the awaited evidence is complete.

Theory of operation. Every container follows its program; at every exit `restart.decide` decides and the counter gives the
wait before the restart. Init containers start one after the other, sidecars are passed once started, then all regular
containers start. RestartAllContainers sends every container back to the start, and its program continues with its next
life. The pace turns a due delay into the assumed wait: the delay itself, or the latest correct one.
Source: documentation, Init Containers and Sidecar Containers; the rules are those of restart.py, counter.py, pod_status.py.
"""

import heapq
import math
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Any

import msgspec

from crashloop.model.counter import Branch, Counter, Exit, Setting, branches
from crashloop.model.planned_exit import PlannedEnd, PlannedEnds, PlannedExit
from crashloop.model.pod_status import KnownState, StateKind, phase
from crashloop.model.restart import PUT_OFF, Decided, Decision, decide, effective_policy, looks_done, stranded
from crashloop.spec.pod import Container, ContainerKind, Pod, RestartPolicy
from crashloop.spec.scenario import Until


class Standing(Enum):
    """Where a container stands."""

    OUTSIDE = auto()
    """Not started, or reset; waits for its turn in the pod's order of start."""
    WAITING = auto()
    RUNNING = auto()
    DONE = auto()


_STATE_KINDS = {
    Standing.OUTSIDE: StateKind.WAITING,
    Standing.WAITING: StateKind.WAITING,
    Standing.RUNNING: StateKind.RUNNING,
    Standing.DONE: StateKind.TERMINATED,
}


class Actor:
    """A container in a rehearsal."""

    def __init__(self, container: Container, pod_grace_s: float) -> None:
        self.container = container
        self.stage = Standing.OUTSIDE
        self._ends = PlannedEnds(container, pod_grace_s)
        self.instance = -1
        """Ordinal of the latest instance; -1 before the first start."""
        self.epoch = 0
        """Rises when whatever was scheduled for it no longer holds."""
        self.entry: Counter | None = None
        self.following: Branch | None = None
        """What the counter allowed at the latest exit, until the restart."""
        self.previous_finished_s: float | None = None
        self.exits: list[PlannedExit] = []
        self.exits_s: list[float] = []
        self.starts_s: list[float] = []
        self._being_reset = False
        self._first_s = 0.0
        self._holds = False

    @property
    def end(self) -> PlannedEnd:
        """How its present life ends."""
        return self._ends.of_holding if self._holds else self._ends.of(self.instance)

    @property
    def succeeded(self) -> bool:
        return self.stage is Standing.DONE and self.exits[-1].exit_code == 0

    @property
    def state(self) -> KnownState:
        last = self.exits[-1] if self.exits else None
        return KnownState(
            kind=_STATE_KINDS[self.stage],
            last_exit_code=None if last is None else last.exit_code,
            killed=last is not None and last.killed,
            being_reset=self._being_reset,
        )

    def start(self, now_s: float) -> None:
        self.instance += 1
        self._first_s = now_s if self.instance == 0 else self._first_s
        recovers_s = self.container.program.fails_until_s
        self._holds = recovers_s is not None and now_s - self._first_s >= recovers_s
        self.starts_s.append(now_s)
        if self.following is not None:
            self.entry = self.following.entry_after(now_s)
            self.following = None
        self._being_reset = False
        self.stage = Standing.RUNNING

    def exit(self, now_s: float, exit_code: int, decided: Decided, *, killed: bool) -> None:
        self.exits.append(
            PlannedExit(
                instance=self.instance,
                exit_code=exit_code,
                decision=decided.decision,
                step=decided.step,
                killed=killed,
            )
        )
        self.exits_s.append(now_s)
        self.previous_finished_s = now_s

    def reset(self) -> None:
        """RestartAllContainers removes whatever there is of it, so that no exit is known any more."""
        self.epoch += 1
        self._being_reset = self.instance >= 0
        self.previous_finished_s = None
        self.stage = Standing.OUTSIDE

    def end_with_pod(self) -> None:
        """The pod has ended; what still runs or waits goes with it."""
        self.epoch += 1
        if self.stage is Standing.RUNNING or (self.stage is Standing.WAITING and self.exits):
            self.stage = Standing.DONE


KILLED = 137  # SIGKILL: what RestartAllContainers leaves of a running container
_LOOPS = 64
_MOST_EXITS = 1_000
"""Of one container; a pod of a load is made to exit for days."""


class Rehearsal(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod did in thought; times in seconds since it was created."""

    exits: dict[str, tuple[PlannedExit, ...]]
    exits_s: dict[str, tuple[float, ...]]
    starts_s: dict[str, tuple[float, ...]]
    """First starts included."""
    phase: str
    ended_s: float
    """When the last thing happened."""
    loops: bool
    """It would go on for ever; the rest is left out."""

    @property
    def restarts_s(self) -> dict[str, tuple[float, ...]]:
        return {name: starts_s[1:] for name, starts_s in self.starts_s.items()}


def rehearse(
    pod: Pod, setting: Setting, gates: dict[str, bool], *, pace: Callable[[float], float], start_s: float = 0.0
) -> Rehearsal:
    """Play `pod` through. `start_s` is what each start takes, the first one included."""
    return _Play(pod, setting, gates, pace, start_s).play()


class _Play:
    def __init__(
        self, pod: Pod, setting: Setting, gates: dict[str, bool], pace: Callable[[float], float], start_s: float
    ) -> None:
        self.pod, self.setting, self.gates, self.pace, self.start_s = pod, setting, gates, pace, start_s
        self.actors = {each.name: Actor(each, pod.grace_s) for each in pod.containers}
        self.agenda: list[tuple[float, int, int, str]] = []
        self.now_s = 0.0
        self.entered = 0

    def play(self) -> Rehearsal:
        most_exits = min(sum(each.program.exits for each in self.pod.containers), _MOST_EXITS) + _LOOPS
        self._start_what_can()
        while self.agenda and all(len(each.exits) < most_exits for each in self.actors.values()):
            self.now_s, _, epoch, name = heapq.heappop(self.agenda)
            actor = self.actors[name]
            if epoch != actor.epoch:
                continue
            if actor.stage is Standing.RUNNING:
                self._exit(actor)
            else:
                self._start(actor)
        return Rehearsal(
            exits={name: tuple(each.exits) for name, each in self.actors.items()},
            exits_s={name: tuple(each.exits_s) for name, each in self.actors.items()},
            starts_s={name: tuple(each.starts_s) for name, each in self.actors.items()},
            phase=phase(
                self.pod,
                {name: each.state for name, each in self.actors.items()},
                gates=self.gates,
                version=self.setting.version,
                initialized=any(each.instance >= 0 for each in self._of(ContainerKind.REGULAR)),
                deviations=self.setting.deviations,
            ),
            ended_s=self.now_s,
            loops=bool(self.agenda),
        )

    def _of(self, kind: ContainerKind) -> Iterator[Actor]:
        return (self.actors[each.name] for each in self.pod.of_kind(kind))

    def _start_what_can(self, after_s: float = 0.0) -> None:
        """Start what has not been started, as far as the init containers let it."""
        for actor in self._of(ContainerKind.INIT):
            self._enter(actor, after_s)
            if not (actor.container.is_sidecar or actor.succeeded):
                return
        for actor in (*self._of(ContainerKind.REGULAR), *self._of(ContainerKind.EPHEMERAL)):
            self._enter(actor, after_s)

    def _enter(self, actor: Actor, after_s: float) -> None:
        if actor.stage is Standing.OUTSIDE:
            actor.stage = Standing.WAITING
            self._schedule(actor, after_s + self.start_s)

    def _schedule(self, actor: Actor, in_s: float) -> None:
        if in_s < math.inf:
            self.entered += 1
            heapq.heappush(self.agenda, (self.now_s + in_s, self.entered, actor.epoch, actor.container.name))

    def _start(self, actor: Actor) -> None:
        actor.start(self.now_s)
        self._schedule(actor, actor.end.run_s)

    def _exit(self, actor: Actor) -> None:
        end = actor.end
        decided = decide(
            self.pod,
            actor.container,
            end.exit_code,
            gates=self.gates,
            version=self.setting.version,
            killed=end.killed,
            deviations=self.setting.deviations,
        )
        restart_all = decided.decision is Decision.RESTART_ALL
        policy, _ = effective_policy(self.pod, actor.container, self.gates, self.setting.version)
        branch = branches(
            actor.entry,
            Exit(
                finished_s=self.now_s,
                previous_finished_s=actor.previous_finished_s,
                killed=end.killed,
                by_rule_alone=policy is RestartPolicy.NEVER,
                restart_all=restart_all,
            ),
            self.setting,
        )[0]
        if end.killed:
            decided = self._after_kill(actor.container, end.exit_code, decided, branch.delay_s)
        actor.exit(self.now_s, end.exit_code, decided, killed=end.killed)
        if decided.decision is Decision.STOP:
            actor.stage = Standing.DONE
            self._after_stop(actor)
            return
        actor.following = branch
        wait_s = self.pace(branch.delay_s)
        if restart_all:
            self._restart_all(actor, wait_s)
        else:
            actor.stage = Standing.WAITING
            self._schedule(actor, wait_s + self.start_s)

    def _after_kill(self, container: Container, exit_code: int, decided: Decided, delay_s: float) -> Decided:
        """What the kubelet of two variants makes of a kill that it was to answer with a restart."""
        if decided.decision is not Decision.RESTART:
            return decided
        known: dict[str, Any] = {
            "gates": self.gates,
            "version": self.setting.version,
            "deviations": self.setting.deviations,
        }
        if delay_s > 0 and looks_done(self.pod, container, exit_code, **known):
            return PUT_OFF
        others = (each for each in self._of(ContainerKind.REGULAR) if each.container is not container)
        alone = all(each.stage is Standing.DONE for each in others)
        return stranded(self.pod, container, alone=alone, **known) or decided

    def _after_stop(self, actor: Actor) -> None:
        failed_init = actor.container.kind is ContainerKind.INIT and not actor.succeeded
        if failed_init or all(each.stage is Standing.DONE for each in self._of(ContainerKind.REGULAR)):
            for each in self.actors.values():
                each.end_with_pod()
        elif actor.container.kind is ContainerKind.INIT:
            self._start_what_can()

    def _restart_all(self, source: Actor, wait_s: float) -> None:
        because = f"container {source.container.name} triggered RestartAllContainers"
        for actor in (*self._of(ContainerKind.INIT), *self._of(ContainerKind.REGULAR)):
            if actor.stage is Standing.RUNNING and actor is not source:
                actor.exit(self.now_s, KILLED, Decided(Decision.RESTART_ALL, because), killed=True)
            actor.reset()
            if actor is not source:
                actor.following = None
        self._start_what_can(wait_s)


def complete_s(until: Until, rehearsal: Rehearsal) -> float:
    """When the evidence of a rehearsed pod is complete, at most `at_most_s`; that where the pod never gets there."""
    moments = [until.at_least_s]
    for times_s, wanted in ((rehearsal.restarts_s, until.restarts), (rehearsal.exits_s, until.exits)):
        for name, count in wanted.items():
            reached = times_s[name][count - 1 : count] if count else (0.0,)
            moments.append(reached[0] if reached else until.at_most_s)
    if until.phase is not None:
        moments.append(rehearsal.ended_s if rehearsal.phase == until.phase else until.at_most_s)
    return min(max(moments) + until.quiet_s, until.at_most_s)
