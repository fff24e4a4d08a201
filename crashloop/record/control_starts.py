"""Control starts: a kubelet with a valid configuration in the node in which others are to be refused.

Without one a refusal may be anything's fault: a port that is taken, a runtime that does not come up, a full disk.
"""

from collections.abc import Callable
from threading import Lock

import msgspec

from crashloop.history.event import Event


class ControlStarts:
    """Those of a run, by node and profile: one is enough for all refusals beside it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._done: dict[tuple[str, str], tuple[Event, ...]] = {}

    def of(self, node: str, profile: str, start: Callable[[], tuple[Event, ...]]) -> tuple[Event, ...]:
        """The events of the control start in that node, marked as such; the first call starts it."""
        with self._lock:
            if (node, profile) not in self._done:
                self._done[node, profile] = tuple(_marked(each, profile) for each in start())
            return self._done[node, profile]


def _marked(event: Event, profile: str) -> Event:
    return msgspec.structs.replace(event, data={**event.data, "control": profile})
