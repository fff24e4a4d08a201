"""The reduction of one pod's lines."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from sys import intern
from typing import Any

from crashloop.history import lines
from crashloop.history.clock import Clocks
from crashloop.history.event import Channel, Damage
from crashloop.history.instances import Contradiction, Instance, JournalLife, Note, RuntimeInstance, merge
from crashloop.history.lines import AnyLine, ContainerLine, Line
from crashloop.history.payload import AcceptedContainer
from crashloop.history.recording import KubernetesEvent, LogFiles, LoggedDelay, MirrorEvent, PodHistory, SandboxEvent
from crashloop.history.stamps import Fact, fact_of
from crashloop.history.statuses import StatusReport, report_of

NO_BOOT = "-"
"""What a container writes that cannot see from which boot its time counts."""
MEMORY_RAN_OUT_NS = 100_000_000
"""A sandbox that ends so soon after its pod's memory ran out was ended by the kernel: no kubelet looks and stops it so soon."""
_API, _RUNTIME, _JOURNAL, _KUBELET = Channel.API, Channel.RUNTIME, Channel.JOURNAL, Channel.KUBELET


class PodReducer:
    """Folds in the lines of one pod."""

    def __init__(self, uid: str) -> None:
        self._uid = uid
        self._created: Fact | None = None
        self._spec: tuple[AcceptedContainer, ...] = ()
        self._deleted: Fact | None = None
        self._channels: set[Channel] = set()
        self._statuses: list[StatusReport] = []
        self._sandboxes: list[SandboxEvent] = []
        self._mirrors: list[MirrorEvent] = []
        self._events: list[KubernetesEvent] = []
        self._logged: list[LoggedDelay] = []
        self._log_files: list[LogFiles] = []
        self._runtime: dict[str, dict[str, RuntimeInstance]] = defaultdict(dict)
        self._journal: dict[str, list[tuple[int, ContainerLine]]] = defaultdict(list)
        self._damage: list[Damage] = []
        self._oom_ns: dict[str, int] = {}
        """When the memory of a sandbox's pod ran out last, by its id."""
        self._handlers: dict[Channel, dict[type[Line], Callable[[int, Any], None]]] = {
            _API: {
                lines.Created: self._accepted,
                lines.Status: self._status,
                lines.Mirror: self._mirror,
                lines.Deleted: self._gone,
            },
            _RUNTIME: {
                lines.Sandbox: self._sandbox,
                lines.Created: self._container,
                lines.Started: self._container,
                lines.Exited: self._container,
                lines.Cleared: self._container,
                lines.Removed: self._container,
                lines.Oom: self._oom,
                lines.ExecExited: self._shown,
            },
            _JOURNAL: {lines.Started: self._life, lines.Noted: self._life, lines.Exited: self._life},
            _KUBELET: {lines.Log: self._log, lines.LogFilesLine: self._listed},
            Channel.EVENTS: {lines.KubernetesEventLine: self._kubernetes_event},
            Channel.RECORDER: {},
        }

    def take(self, number: int, line: AnyLine) -> None:
        """Fold one line in."""
        handler = self._handlers[line.channel].get(type(line))
        if handler is None:
            self._object(number, f"{line.kind!s} event of channel {line.channel!s}")
            return
        self._channels.add(line.channel)
        handler(number, line)

    def reduced(self, clocks: Clocks, boots: frozenset[str]) -> tuple[PodHistory, list[Damage]]:
        """The pod's history, and what of it could not be used. `boots`: ids of those that the clocks count from."""
        containers: dict[str, tuple[Instance, ...]] = {}
        contradictions: list[Contradiction] = []
        for name in dict.fromkeys((*self._runtime, *self._journal)):
            lives, repeated = self._lives(name, clocks)
            containers[name], contradicting = merge(name, self._runtime.get(name, {}).values(), lives)
            contradictions += (*repeated, *contradicting, *self._other_boots(name, boots), *_backwards(name, lives))
        history = PodHistory(
            uid=self._uid,
            created=self._created,
            accepted=self._spec,
            containers=containers,
            statuses=tuple(self._statuses),
            sandboxes=tuple(self._sandboxes),
            mirrors=tuple(self._mirrors),
            deleted=self._deleted,
            events=tuple(self._events),
            logged=tuple(self._logged),
            log_files=tuple(self._log_files),
            contradictions=tuple(contradictions),
            channels=frozenset(self._channels),
        )
        return history, self._damage

    def _object(self, number: int, problem: str) -> None:
        self._damage.append(Damage(line=number, problem=problem))

    def _accepted(self, number: int, line: lines.Created) -> None:
        self._created = self._created or fact_of(number, line)
        if line.data.pod is not None:
            self._spec = line.data.pod.spec.each

    def _gone(self, number: int, line: Line) -> None:
        self._deleted = fact_of(number, line)

    def _status(self, number: int, line: lines.Status) -> None:
        data = line.data
        if self._mirrors and data.status.is_blank:
            return  # a mirror pod that was made just now; the kubelet has not stated its pod in it yet
        try:
            self._statuses.append(report_of(number, line.received_ns, data.status, deletion=data.deletion))
        except ValueError as error:
            self._object(number, f"status event with a time that is none ({error})")

    def _mirror(self, number: int, line: lines.Mirror) -> None:
        data = line.data
        self._mirrors.append(MirrorEvent(fact=fact_of(number, line), mirror_uid=data.mirror_uid, phase=data.phase))

    def _kubernetes_event(self, number: int, line: lines.KubernetesEventLine) -> None:
        self._events.append(KubernetesEvent(line=number, t_ns=line.t_ns, container=line.container, data=line.data))

    def _log(self, number: int, line: lines.Log) -> None:
        data = line.data
        logged = LoggedDelay(
            line=number, t_ns=line.t_ns, container=line.container, delay_s=data.delay_s, pod_bytes=data.pod_bytes
        )
        self._logged.append(logged)

    def _listed(self, number: int, line: lines.LogFilesLine) -> None:
        self._log_files.append(LogFiles(line=number, t_ns=line.t_ns, logs=line.data.logs))

    def _shown(self, number: int, line: Line) -> None:
        """Evidence for people; nothing is judged by it."""

    def _oom(self, _: int, line: lines.Oom) -> None:
        if line.container is None and line.data.container_id is not None:
            self._oom_ns[line.data.container_id] = line.t_ns

    def _sandbox(self, number: int, line: lines.Sandbox) -> None:
        sandbox_id, ended = line.data.container_id, line.data.phase == "exited"
        ran_out = (
            ended and line.t_ns - self._oom_ns.get(sandbox_id, line.t_ns - MEMORY_RAN_OUT_NS - 1) <= MEMORY_RAN_OUT_NS
        )
        fact = fact_of(number, line)
        self._sandboxes.append(
            SandboxEvent(fact=fact, sandbox_id=sandbox_id, phase=line.data.phase, out_of_memory=ran_out)
        )

    def _container(self, number: int, line: ContainerLine) -> None:
        name, identity = line.container, line.data.container_id
        if name is None or identity is None:
            self._object(number, f"{line.kind!s} event without a container's {'name' if name is None else 'id'}")
            return
        of_name = self._runtime[name]
        instance = of_name.get(identity)
        if instance is None:
            identity = intern(identity)
            instance = of_name[identity] = RuntimeInstance(container_id=identity)
        fact, moment = fact_of(number, line), type(line)
        if moment is lines.Created and instance.created is None:
            instance.created = fact
        elif moment is lines.Started and instance.started is None:
            instance.started = fact
        elif moment is lines.Exited and instance.exited is None:
            instance.exited, instance.exit_code = fact, line.data.exit_code
        elif moment is lines.Cleared and instance.cleared is None:
            instance.cleared = fact
        elif moment is lines.Removed and instance.removed is None:
            instance.removed = fact
        else:
            self._object(number, f"{line.kind!s} a second time for container {identity[:12]}")

    def _life(self, number: int, line: ContainerLine) -> None:
        if line.container is None or line.instance is None:
            self._object(number, "journal event without container name and life number")
            return
        self._journal[line.container].append((number, line))

    def _other_boots(self, name: str, boots: frozenset[str]) -> Iterator[Contradiction]:
        """A life whose clock is not the node's, as in a sandbox with its own kernel: its times cannot be compared."""
        first: str | None = None
        for number, line in self._journal.get(name, ()):
            boot = line.data.boot_id
            if boot is None:
                continue
            if boot == NO_BOOT or (boots and boot not in boots) or boot != (first or boot):
                problem = f"the journal counts from boot {boot}, and no clock of the node does"
                yield Contradiction(container=name, lines=(number,), problem=problem)
                return
            first = boot

    def _lives(self, name: str, clocks: Clocks) -> tuple[list[JournalLife], list[Contradiction]]:
        """The lives of a container. A later log repeats the earlier lives: the same line twice is one."""
        lives: dict[int, JournalLife] = {}
        contradictions = []
        for number, line in self._journal.get(name, ()):
            ordinal, begins = line.instance or 0, type(line) is lines.Started
            life = lives.get(ordinal)
            if life is None:
                life = lives[ordinal] = JournalLife(number=ordinal)
            if type(line) is lines.Noted:
                life.notes += (Note(name=line.data.name, value=line.data.value, fact=fact_of(number, line, clocks)),)
                continue
            known = life.started if begins else life.exited
            if known is not None and known.own_ns != line.t_ns:
                contradictions.append(
                    Contradiction(
                        container=name,
                        lines=(known.line, number),
                        problem=f"the journal stamps life {ordinal} as {line.kind!s} twice, differently",
                    )
                )
            elif begins:
                life.started = known or fact_of(number, line, clocks)
            else:
                life.exited = known or fact_of(number, line, clocks)
                life.exit_code = line.data.exit_code if life.exit_code is None else life.exit_code
                life.told = life.told or line.data.told
        return list(lives.values()), contradictions


def _backwards(name: str, lives: Iterable[JournalLife]) -> Iterator[Contradiction]:
    """A life that was written down after the exit before it and is stamped earlier: a clock that does not go on."""
    in_order = sorted(lives, key=lambda life: life.number)
    for before, after in pairwise(in_order):
        ended, started = before.exited, after.started
        if ended is not None and started is not None and ended.line < started.line and started.own_ns < ended.own_ns:
            problem = f"the journal's clock runs backwards from life {before.number} to life {after.number}"
            yield Contradiction(container=name, lines=(ended.line, started.line), problem=problem)
            return
