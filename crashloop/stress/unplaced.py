"""Pods of a load that no node has so far: what the API server said of them, until their history can begin."""

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from crashloop.kube.watch import PodObject
from crashloop.report.text import counted

WAITS_S = 10.0
"""A pod that waited longer for a node, and never got one, is reported."""


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Condition(msgspec.Struct):
    type: str
    status: str = ""
    message: str = ""


class _Status(msgspec.Struct):
    conditions: tuple[_Condition, ...] = ()


class Seen(NamedTuple):
    """A pod as the API server stated it."""

    received_ns: int
    pod: PodObject


def node_of(pod: PodObject) -> str:
    """Name of the Node object that the scheduler chose; empty while there is none."""
    return msgspec.json.decode(pod.spec, type=_Spec).node_name


class UnplacedPods:
    """By name; for one thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, list[Seen]] = {}
        self._since_s: dict[str, float] = {}
        self._never: dict[str, str] = {}
        """Why, by the pod's name."""

    def take(self, pod: PodObject, received_ns: int) -> None:
        """A pod without a node."""
        name = pod.metadata.name
        self._since_s.setdefault(name, self._clock())
        self._seen.setdefault(name, []).append(Seen(received_ns, pod))

    def placed(self, name: str) -> list[Seen]:
        """The pod has a node: what was said of it before."""
        self._since_s.pop(name, None)
        return self._seen.pop(name, [])

    def gone(self, name: str) -> None:
        """The pod has ended, or its recording."""
        since_s, seen = self._since_s.get(name), self.placed(name)
        if since_s is not None and self._clock() - since_s >= WAITS_S:
            self._never[name] = _why(seen[-1].pod)

    def stray(self, name: str, node: str) -> None:
        """The pod is on a node that the run does not know."""
        self._never[name] = f"it is on node {node}, which the run does not take"

    def sentence(self) -> str | None:
        """On the pods that never were on a node of the run; None if there are none."""
        for name in list(self._seen):
            self.gone(name)
        if not self._never:
            return None
        name, why = next(iter(self._never.items()))
        were = "was" if len(self._never) == 1 else "were"
        return f"{counted(len(self._never), 'pod')} of the load {were} on no node of the run, such as {name}: {why}."


def _why(pod: PodObject) -> str:
    """The scheduler's words, in one line."""
    said: Iterable[_Condition] = msgspec.json.decode(pod.status, type=_Status).conditions
    message = next((each.message for each in said if each.type == "PodScheduled" and each.status == "False"), "")
    return " ".join(message.split()).rstrip(".") or "the scheduler has said nothing of it"
