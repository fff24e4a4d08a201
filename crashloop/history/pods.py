"""The reduction of one pod's events."""

from collections import defaultdict
from collections.abc import Callable
from typing import TypeVar

import msgspec

from crashloop.history import payload
from crashloop.history.clock import Clocks
from crashloop.history.event import Channel, Event, Kind
from crashloop.history.facts import Fact, fact_of
from crashloop.history.instances import Contradiction, Instance, Life, RuntimeInstance, merge
from crashloop.history.jsonl import Damage
from crashloop.history.recording import LoggedDelay, PodHistory, SandboxEvent
from crashloop.history.statuses import StatusReport, report_of

T = TypeVar("T")


class PodReducer:
    """Folds in the events of one pod."""

    def __init__(self, uid: str) -> None:
        self._uid = uid
        self._created: Fact | None = None
        self._deleted: Fact | None = None
        self._channels: set[Channel] = set()
        self._statuses: list[StatusReport] = []
        self._sandboxes: list[SandboxEvent] = []
        self._logged: list[LoggedDelay] = []
        self._runtime: dict[str, dict[str, RuntimeInstance]] = defaultdict(dict)
        self._journal: dict[str, list[tuple[int, Event, int | None]]] = defaultdict(list)
        self._damage: list[Damage] = []
        self._handlers: dict[tuple[Channel, Kind], Callable[[int, Event], None]] = {
            (Channel.API, Kind.CREATED): self._accepted,
            (Channel.API, Kind.STATUS): self._status,
            (Channel.API, Kind.DELETED): self._gone,
            (Channel.RUNTIME, Kind.SANDBOX): self._sandbox,
            (Channel.RUNTIME, Kind.CREATED): self._container,
            (Channel.RUNTIME, Kind.STARTED): self._container,
            (Channel.RUNTIME, Kind.EXITED): self._container,
            (Channel.RUNTIME, Kind.REMOVED): self._container,
            (Channel.RUNTIME, Kind.OOM): self._shown,
            (Channel.RUNTIME, Kind.EXEC_EXITED): self._shown,
            (Channel.JOURNAL, Kind.STARTED): self._life,
            (Channel.JOURNAL, Kind.EXITED): self._life,
            (Channel.KUBELET, Kind.LOG): self._log,
        }

    def take(self, line: int, event: Event) -> None:
        """Fold one event in. Raises msgspec.ValidationError if its data are unusable."""
        handler = self._handlers.get((event.channel, event.kind))
        if handler is None:
            self._damage.append(Damage(line=line, problem=f"{event.kind!s} event of channel {event.channel!s}"))
            return
        self._channels.add(event.channel)
        handler(line, event)

    def reduced(self, clocks: Clocks) -> tuple[PodHistory, list[Damage]]:
        """The pod's history, and what of it could not be used."""
        containers: dict[str, tuple[Instance, ...]] = {}
        contradictions: list[Contradiction] = []
        for name in dict.fromkeys((*self._runtime, *self._journal)):
            lives, told_twice = self._lives(name, clocks)
            containers[name], contradicting = merge(name, self._runtime.get(name, {}).values(), lives)
            contradictions += (*told_twice, *contradicting)
        history = PodHistory(
            uid=self._uid,
            created=self._created,
            containers=containers,
            statuses=tuple(self._statuses),
            sandboxes=tuple(self._sandboxes),
            deleted=self._deleted,
            logged=tuple(self._logged),
            contradictions=tuple(contradictions),
            channels=frozenset(self._channels),
        )
        return history, self._damage

    def _accepted(self, line: int, event: Event) -> None:
        self._created = self._created or fact_of(line, event)

    def _gone(self, line: int, event: Event) -> None:
        self._deleted = fact_of(line, event)

    def _status(self, line: int, event: Event) -> None:
        self._statuses.append(report_of(line, event.received_ns, _data(event, payload.StatusData).status))

    def _shown(self, line: int, event: Event) -> None:
        """Evidence for people; nothing is judged by it."""

    def _log(self, line: int, event: Event) -> None:
        delay = event.data.get("delay_s")
        delay_s = float(delay) if isinstance(delay, int | float) else None
        self._logged.append(LoggedDelay(line=line, t_ns=event.t_ns, container=event.container, delay_s=delay_s))

    def _sandbox(self, line: int, event: Event) -> None:
        data = _data(event, payload.RuntimeData)
        self._sandboxes.append(
            SandboxEvent(fact=fact_of(line, event), sandbox_id=data.container_id, phase=data.phase or "")
        )

    def _container(self, line: int, event: Event) -> None:
        data = _data(event, payload.RuntimeData)
        if event.container is None:
            self._damage.append(Damage(line=line, problem=f"{event.kind!s} event without a container name"))
            return
        of_name = self._runtime[event.container]
        instance = of_name.get(data.container_id)
        if instance is None:
            instance = of_name[data.container_id] = RuntimeInstance(container_id=data.container_id)
        if getattr(instance, event.kind.value) is not None:
            self._damage.append(
                Damage(line=line, problem=f"{event.kind!s} a second time for container {data.container_id[:12]}")
            )
            return
        setattr(instance, event.kind.value, fact_of(line, event))
        if event.kind is Kind.EXITED:
            instance.exit_code = data.exit_code

    def _life(self, line: int, event: Event) -> None:
        data = _data(event, payload.JournalData)
        if event.container is None or event.instance is None:
            self._damage.append(Damage(line=line, problem="journal event without container name and life number"))
            return
        self._journal[event.container].append((line, msgspec.structs.replace(event, data={}), data.exit_code))

    def _lives(self, name: str, clocks: Clocks) -> tuple[list[Life], list[Contradiction]]:
        """The lives of a container. A later log repeats the earlier lives: the same line twice is one."""
        lives: dict[int, Life] = {}
        contradictions = []
        for line, event, exit_code in self._journal.get(name, ()):
            number = event.instance or 0
            life = lives.setdefault(number, Life(number=number))
            known = life.started if event.kind is Kind.STARTED else life.exited
            if known is not None and known.own_ns != event.t_ns:
                contradictions.append(
                    Contradiction(
                        container=name,
                        lines=(known.line, line),
                        problem=f"the journal stamps life {number} as {event.kind!s} twice, differently",
                    )
                )
            elif event.kind is Kind.STARTED:
                life.started = known or fact_of(line, event, clocks)
            else:
                life.exited = known or fact_of(line, event, clocks)
                life.exit_code = exit_code if life.exit_code is None else life.exit_code
        return list(lives.values()), contradictions


def _data(event: Event, kind: type[T]) -> T:
    return msgspec.convert(event.data, type=kind)
