"""The kills that container programs want from the node: which running instance is due for one. Pure.

A first process cannot be killed from within its container, so the recorder kills it through the runtime.
"""

from collections import defaultdict

import msgspec

from crashloop.history.event import Channel, Event, Kind
from crashloop.spec.pod import Pod
from crashloop.spec.program import LifeEnd

SIGKILL = 9


class DueSignal(msgspec.Struct, frozen=True, kw_only=True):
    """A signal that one instance of a container is to get, and when (UTC)."""

    container: str
    container_id: str
    at_ns: int
    signal: int = SIGKILL


class Signals:
    """Follows the runtime's events of one scenario."""

    def __init__(self, pod: Pod) -> None:
        self._lives = {each.name: each.program.each_life() for each in pod.containers}
        self._starts: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._wanted: dict[str, DueSignal] = {}

    def take(self, event: Event) -> None:
        """A container that was started may want a signal, one that exited wants none."""
        if event.channel is not Channel.RUNTIME or event.container is None or event.pod_uid is None:
            return
        container_id = str(event.data.get("container_id"))
        if event.kind is Kind.STARTED:
            lives = self._lives.get(event.container, ())
            number = self._starts[event.container, event.pod_uid]
            self._starts[event.container, event.pod_uid] = number + 1
            if number < len(lives) and lives[number].end is LifeEnd.SIGNAL:
                self._wanted[container_id] = DueSignal(
                    container=event.container,
                    container_id=container_id,
                    at_ns=event.t_ns + round(lives[number].run_s * 1e9),
                )
        elif event.kind is Kind.EXITED:
            self._wanted.pop(container_id, None)

    def due(self, now_ns: int) -> list[DueSignal]:
        """Those that have become due, each once."""
        found = [each for each in self._wanted.values() if each.at_ns <= now_ns]
        for each in found:
            del self._wanted[each.container_id]
        return found
