"""What every channel shares: its thread, the sink of its events, and the events of the recorder itself.

The history assigns positions (seq), so they are 0 here.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from crashloop.history.event import Channel, Event, Kind


class Sink(Protocol):
    """Takes what a channel has seen. Safe to call from any thread; what concerns no scenario that is watched is dropped."""

    def pod(self, pod: str, event: Event) -> None:
        """Something about a pod of the run's namespace: `event.pod_uid` says which, its name `pod` is for messages."""

    def node(self, node: str, event: Event) -> None:
        """Something that concerns every scenario on a node."""

    def everyone(self, event: Event) -> None:
        """Something that concerns every scenario."""


def now_ns() -> int:
    """Nanoseconds of UTC."""
    return time.time_ns()


def received_event(
    channel: Channel,
    kind: Kind,
    received_ns: int,
    data: dict[str, Any],
    *,
    node: str | None = None,
    pod_uid: str | None = None,
    container: str | None = None,
) -> Event:
    """What came without a stamp of its own, stamped with our clock on receipt."""
    return Event(
        seq=0,
        t_ns=received_ns,
        received_ns=received_ns,
        channel=channel,
        kind=kind,
        node=node,
        pod_uid=pod_uid,
        container=container,
        data=data,
    )


def recorder_event(kind: Kind, t_ns: int, data: dict[str, Any], *, node: str | None = None) -> Event:
    """An event of the recorder's own channel."""
    return Event(seq=0, t_ns=t_ns, received_ns=now_ns(), channel=Channel.RECORDER, kind=kind, node=node, data=data)


def intervention_event(
    began_ns: int,
    action: str,
    outcome: str,
    *,
    arguments: dict[str, Any] | None = None,
    index: int | None = None,
    node: str | None = None,
    **more: int,
) -> Event:
    """What was done from `began_ns` until now. `index` is its position in the scenario, if it stands there."""
    data = {"action": action, "arguments": arguments or {}, "outcome": outcome, "index": index, "ended_ns": now_ns()}
    return recorder_event(Kind.INTERVENTION, began_ns, data | more, node=node)


def gap(
    channel: Channel,
    *,
    from_ns: int,
    to_ns: int,
    reason: str,
    lost: bool = True,
    node: str | None = None,
    running: Sequence[str] = (),
) -> Event:
    """Time in which a channel was not heard; containers `running` at its end have not exited in it."""
    data: dict[str, Any] = {"channel": channel.value, "from_ns": from_ns, "reason": reason, "lost": lost}
    data |= {"running": list(running)} if running else {}
    return recorder_event(Kind.GAP, to_ns, data, node=node)


class Stopwatch:
    """For how long a call takes that is made again and again. Safe to read from any thread."""

    def __init__(self) -> None:
        self._took_s = 0.0
        self._began_s: float | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Time one call."""
        self._began_s = began_s = time.monotonic()
        try:
            yield
        finally:
            self._took_s, self._began_s = time.monotonic() - began_s, None

    @property
    def takes_s(self) -> float:
        """What the last one took, or the one under way has taken so far if that is more; 0 before the first."""
        began_s = self._began_s
        return self._took_s if began_s is None else max(self._took_s, time.monotonic() - began_s)


class Follower:
    """Runs `follow` in a thread of its own, from `start` to `stop`; a subclass says what that does, and heeds `stopped`."""

    def __init__(self, name: str) -> None:
        self.stopped = threading.Event()
        self._thread = threading.Thread(target=self.follow, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.stopped.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=2.0)

    def follow(self) -> None:
        raise NotImplementedError
