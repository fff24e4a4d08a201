"""The pods that a worker follows, and the users that wait for them. Needs gevent, not Locust.

A change costs as much among thousands of pods and waiting users as among a few. Pods are found by their own name and by that of
their object, and a user wakes only when the step that it waits for has come.
"""

import time
from collections.abc import Callable, Collection
from typing import NamedTuple

from gevent.event import Event

from load.steps import SeenPod, Step, Steps

_GONE = "gone"
"""Stands among the steps for the end of the last pod."""


class _Pod(NamedTuple):
    steps: Steps
    owners: tuple[str, ...]


def owners_of(pod: str) -> tuple[str, ...]:
    """The names under which a pod is found: its own, and all that may be its object's.

    Pods of an object are called after it, but how far its name goes they do not say: `work-0-1-7d9f-x2k` may be of `work-0-1`
    or of `work-0`.
    """
    parts = pod.split("-")
    return tuple("-".join(parts[:number]) for number in range(1, len(parts) + 1))


class Followed:
    """Users wait by the name of a pod, or of the object that owns pods."""

    def __init__(self) -> None:
        self._pods: dict[str, _Pod] = {}
        self._owned: dict[str, dict[str, Steps]] = {}
        """By owner and pod; an owner without pods is not there."""
        self._waiting: dict[tuple[str, str], set[Event]] = {}
        """An event for each waiting user, by owner and step."""

    def expect(self, pod: str, asked_ns: int) -> None:
        """Register a pod before its creation; its steps are timed from now."""
        self._add(pod, asked_ns)

    def deleting(self, pod: str, asked_ns: int) -> None:
        """Register the request for a pod's deletion."""
        if pod in self._pods:
            self._pods[pod].steps.deleting_ns = asked_ns

    def forget(self, pod: str) -> None:
        """Forget a pod whose creation failed."""
        if pod in self._pods:
            self._drop(pod)

    def take(self, pod: SeenPod, now_ns: int) -> tuple[Step, ...]:
        """The new steps in the present state of a pod; its users wake."""
        name = pod.metadata.name
        followed = self._pods.get(name) or self._add(name, now_ns)
        steps = followed.steps.take(pod, now_ns)
        for step in steps:
            for owner in followed.owners:
                self._wake(owner, step.name)
        return steps

    def gone(self, pod: str, now_ns: int) -> Step:
        """The last step of a pod; its users wake."""
        return self._drop(pod).steps.gone(now_ns)

    def missing(self, present: Collection[str]) -> list[str]:
        """Pods that were seen, and are not among those."""
        return [name for name, pod in self._pods.items() if pod.steps.reached and name not in present]

    def address(self, pod: str) -> str:
        """The IP address of a pod; empty while it has none."""
        return self._pods[pod].steps.address if pod in self._pods else ""

    def has_reached(self, owner: str, step: str) -> bool:
        """Whether the pod of that name, or a pod of the object of that name, is there and reached a step."""
        return any(step in steps.reached for steps in self._owned.get(owner, {}).values())

    def is_gone(self, owner: str) -> bool:
        """Whether neither the pod of that name nor a pod of the object of that name is there."""
        return owner not in self._owned

    def wait_for(self, owner: str, step: str, *, timeout_s: float) -> bool:
        """Whether the pod of that name, or a pod of the object of that name, reached a step in time."""
        return self._wait(owner, step, lambda: self.has_reached(owner, step), timeout_s)

    def wait_gone(self, owner: str, *, timeout_s: float) -> bool:
        """Whether the pod of that name, and all pods of the object of that name, were gone in time."""
        return self._wait(owner, _GONE, lambda: self.is_gone(owner), timeout_s)

    def _add(self, pod: str, asked_ns: int) -> _Pod:
        added = self._pods[pod] = _Pod(Steps(asked_ns), owners_of(pod))
        for owner in added.owners:
            self._owned.setdefault(owner, {})[pod] = added.steps
        return added

    def _drop(self, pod: str) -> _Pod:
        dropped = self._pods.pop(pod)
        for owner in dropped.owners:
            del self._owned[owner][pod]
            if not self._owned[owner]:
                del self._owned[owner]
                self._wake(owner, _GONE)
        return dropped

    def _wake(self, owner: str, step: str) -> None:
        for event in self._waiting.get((owner, step), ()):
            event.set()

    def _wait(self, owner: str, step: str, holds: Callable[[], bool], timeout_s: float) -> bool:
        deadline_s = time.monotonic() + timeout_s
        changed = Event()
        waiting = self._waiting.setdefault((owner, step), set())
        waiting.add(changed)
        try:
            # A woken user runs later, when what it waited for may be past.
            while not holds():
                if not changed.wait(timeout=max(0.0, deadline_s - time.monotonic())):
                    return False
                changed.clear()
            return True
        finally:
            waiting.remove(changed)
            if not waiting:
                del self._waiting[owner, step]
