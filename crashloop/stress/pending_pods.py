"""Pods of a load that are Pending: on no node so far, or waiting for an image that does not come.

What the API server said of a pod without a node is kept until its history can begin.

Theory of operation. Images of users' own templates may not come. The kubelet tries again after 10 s, then after 20 s. A pod that
still waits after `GIVEN_S` has seen both fail, and a load with it is not the planned one.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

import msgspec

from crashloop.kube.objects import MissingImage, missing_images
from crashloop.kube.watch import PodObject
from crashloop.report.text import counted
from crashloop.stress.loads import load_of
from crashloop.yaml_text import Json

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


class SeenPod(NamedTuple):
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
        self._seen: dict[str, list[SeenPod]] = {}
        self._since_s: dict[str, float] = {}
        self._never: dict[str, str] = {}
        """Why, by the pod's name."""

    def take(self, pod: PodObject, received_ns: int) -> None:
        """A pod without a node."""
        name = pod.metadata.name
        self._since_s.setdefault(name, self._clock())
        self._seen.setdefault(name, []).append(SeenPod(received_ns, pod))

    def placed(self, name: str) -> list[SeenPod]:
        """The pod has a node: what was said of it before."""
        self._since_s.pop(name, None)
        return self._seen.pop(name, [])

    def gone(self, name: str) -> None:
        """The pod has ended, or its recording."""
        since_s, seen = self._since_s.get(name), self.placed(name)
        if since_s is not None and self._clock() - since_s >= WAITS_S:
            self._never[name] = _why_unplaced(seen[-1].pod)

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


def _why_unplaced(pod: PodObject) -> str:
    """The scheduler's words, in one line."""
    said: Iterable[_Condition] = msgspec.json.decode(pod.status, type=_Status).conditions
    message = next((each.message for each in said if each.type == "PodScheduled" and each.status == "False"), "")
    return " ".join(message.split()).rstrip(".") or "the scheduler has said nothing of it"


GIVEN_S = 40.0


class AwaitedImages:
    """Takes the statuses of pods, from any thread."""

    def __init__(self, loads: Collection[str]) -> None:
        """`loads` are those with a template."""
        self._loads = tuple(loads)
        self._since_s: dict[str, float] = {}
        """By pod."""
        self._missing: dict[str, MissingImage] = {}
        self._lock = threading.Lock()

    def concern(self, load: str | None) -> bool:
        """Whether statuses of a load's pods are wanted."""
        return load in self._loads

    def take(self, pod: str, status: Json, now_s: float) -> None:
        """Take the newest status of a pod; `now_s` by any clock that goes on."""
        missing = next(iter(missing_images(status)), None)
        with self._lock:
            if missing is None:
                self._since_s.pop(pod, None)
            else:
                self._since_s.setdefault(pod, now_s)
                self._missing[pod] = missing

    def forget(self, pod: str) -> None:
        """The pod is gone."""
        with self._lock:
            self._since_s.pop(pod, None)

    def overdue(self, now_s: float) -> str | None:
        """The sentence about a load whose pods have waited too long; None if none has."""
        with self._lock:
            late = [pod for pod, since_s in self._since_s.items() if now_s - since_s >= GIVEN_S]
            if not late:
                return None
            each = self._missing[late[0]]
        load = load_of(late[0], self._loads)
        pods = sum(load_of(pod, self._loads) == load for pod in late)
        return (
            f"load {load}: {counted(pods, 'pod')} without its image: container {each.container!r} of {late[0]} waits for "
            f"{each.image} ({each.reason}: {each.message.rstrip('.')}). Give its archive with --image-archive, or name an image "
            "that the node can pull."
        )
